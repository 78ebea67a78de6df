// A formula and its declarations -> a Program: the reduction asked for, and those it needs first.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "formula.h"

namespace kernops {
namespace {

bool is_name(const std::string& text) {
  if (text.empty() || std::isdigit((unsigned char)text[0]) || text[0] == '_') return false;
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.' || c >= 0x80; });
}

int whole_number(const Expr& e, const char* what, int least) {
  if (e.kind != Expr::number || e.value != std::floor(e.value) || e.value < least || e.value > most_entries)
    throw FormulaError(std::string(what) + " must be a whole number from " + std::to_string(least) +
                           (e.value > most_entries ? " to " + std::to_string(most_entries) : ""),
                       e.position);
  return int(e.value);
}

// `Sum` and `sum_reduction` mean Sum_Reduction; what is no reduction at all means none.
std::string reduction_meant(const std::string& name) {
  if (find_reduction(name, false) >= 0 || find_reduction(name, true) >= 0) return name + "_Reduction";
  return name.find("_reduction") != name.npos ? name : "";
}

// "x = Vi(3)", "x = Vi(0, 3)"; position -1 where none is given.
Variable declared(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == text.npos)
    throw FormulaError("a declaration reads `name = Vi(size)`, with Vi, Vj or Pm", text.empty() ? -1 : 0);
  std::string name = text.substr(0, equals), value = text.substr(equals + 1);
  name.erase(0, name.find_first_not_of(" \t\n"));
  name.erase(name.find_last_not_of(" \t\n") + 1);
  if (!is_name(name)) throw FormulaError("`" + name + "` is not a valid variable name", 0);
  const int shift = int(equals) + 1;
  try {
    const Expr e = parse(value);
    static const std::map<std::string, Axes> kinds = {{"Vi", axis_i}, {"Vj", axis_j}, {"Pm", none}};
    const auto kind = kinds.find(e.text);
    if (e.kind != Expr::call || kind == kinds.end() || e.args.empty() || e.args.size() > 2)
      throw FormulaError("expected `Vi(size)`, `Vj(size)` or `Pm(size)`", e.position);
    const int position = e.args.size() == 2 ? whole_number(e.args[0], "the position", 0) : -1;
    return {name, position, whole_number(e.args.back(), "the size", 1), kind->second};
  } catch (FormulaError& error) {
    error.position += shift;
    throw;
  }
}

class Compiler {
 public:
  Compiler(Program& program, const std::string& formula) : program_(program), formula_(parse(formula)) {}

  void compile(const std::vector<std::string>& declarations) {
    declare(declarations);
    collect_inline(formula_);
    check_positions();
    for (size_t n = 0; n < program_.variables.size(); ++n) {
      const Variable& v = program_.variables[n];
      const Tree node = program_.graph.variable(int(n), v.size, v.axes);
      scope_[v.name] = node;
      scope_["Var(" + std::to_string(n) + ")"] = node;
    }
    const Reduction last = reduction(formula_);
    check_used();
    const Tree node = program_.graph.reduced(last);
    program_.result = program_.graph[node].id;
  }

 private:
  void declare(const std::vector<std::string>& declarations) {
    std::set<std::string> names;
    for (const std::string& text : declarations) {
      try {
        program_.variables.push_back(declared(text));
        if (!names.insert(program_.variables.back().name).second)
          throw FormulaError("the variable `" + program_.variables.back().name + "` is declared twice", 0);
      } catch (FormulaError& error) {
        error.text = text;
        throw;
      }
    }
    const auto positioned = std::count_if(program_.variables.begin(), program_.variables.end(),
                                          [](const Variable& v) { return v.position >= 0; });
    if (positioned == 0)
      for (size_t n = 0; n < program_.variables.size(); ++n) program_.variables[n].position = int(n);
    else if (size_t(positioned) < program_.variables.size())
      throw FormulaError("either all declarations give a position, as in `Vi(0, 3)`, or none", -1);
  }

  // Var(position, size, category) inside the formula: category 0 is i, 1 is j, 2 a parameter.
  void collect_inline(const Expr& e) {
    for (const Expr& arg : e.args) collect_inline(arg);
    if (e.kind == Expr::name) used_.insert(e.text);
    if (e.kind != Expr::call || e.text != "Var") return;
    if (e.args.size() != 3)
      throw FormulaError("`Var(position, size, category)` takes 3 arguments", e.position);
    const int position = whole_number(e.args[0], "the position", 0),
              size = whole_number(e.args[1], "the size", 1);
    const int category = whole_number(e.args[2], "the category", 0);
    if (category > 2) throw FormulaError("the category is 0 (Vi), 1 (Vj) or 2 (Pm)", e.args[2].position);
    const Axes axes = category == 0 ? axis_i : category == 1 ? axis_j : none;
    for (const Variable& known : program_.variables) {
      if (known.position != position) continue;
      if (known.size != size || known.axes != axes)
        throw FormulaError("position " + std::to_string(position) + " is already `" + known.name +
                               "`, of another size or category",
                           e.position);
      used_.insert(known.name);
      return;
    }
    const std::string name = "var" + std::to_string(position);
    for (const Variable& known : program_.variables)
      if (known.name == name)
        throw FormulaError("variable " + std::to_string(position) + " is called `" + name +
                               "`: the declared one needs another name",
                           e.position);
    program_.variables.push_back({name, position, size, axes});
    used_.insert(name);
  }

  void check_positions() {
    auto& variables = program_.variables;
    std::stable_sort(variables.begin(), variables.end(),
                     [](const Variable& a, const Variable& b) { return a.position < b.position; });
    for (size_t n = 0; n < variables.size(); ++n)
      if (variables[n].position != int(n))
        throw FormulaError("the positions of the variables must be 0, 1, 2, ... without gap or repetition",
                           -1);
  }

  void check_used() const {
    for (const Variable& v : program_.variables)
      if (!used_.count(v.name))
        throw FormulaError("the variable `" + v.name + "` is declared but not used", -1);
  }

  Reduction reduction(const Expr& e) {
    if (e.kind == Expr::call && e.text == "Grad") return gradient_of(e);
    const size_t end = e.text.rfind("_Reduction");
    if (e.kind != Expr::call || end == e.text.npos)
      throw FormulaError("the outermost part must be a reduction, such as `Sum_Reduction(f, 1)`", e.position,
                         reduction_meant(e.text));
    const std::string name = e.text.substr(0, end);
    if (find_reduction(name, false) < 0 && find_reduction(name, true) < 0)
      throw FormulaError("there is no reduction `" + e.text + "`", e.position, e.text);
    std::vector<Expr> args = e.args;
    if (args.size() == 3 && is_axis(args[1]) && !is_axis(args[2]))
      std::swap(args[1], args[2]);  // KeOps' order
    const int row = find_row(e, name, args);
    const ReductionRow& kind = reduction_table()[row];
    Reduction r{row, 0, expression(args[0]), -1, axis(args.back()), 0};
    if (kind.counted) r.k = whole_number(args[1], "K", 1);
    if (kind.weighted) r.w = expression(args[1]);
    r.size = at(e.position, [&] { return size_of(kind, program_.graph, r.f, r.w, r.k); });
    if (r.size <= 0)
      throw FormulaError("`" + e.text + "` needs a scalar to reduce, not " +
                             std::to_string(program_.graph[r.f].size) + " entries",
                         e.position);
    if (r.over == both && name != "Sum")
      throw FormulaError("only `Sum_Reduction` sums over both axes", e.position);
    return r;
  }

  int find_row(const Expr& e, const std::string& name, const std::vector<Expr>& args) const {
    for (const bool weighted : {false, true}) {
      const int row = find_reduction(name, weighted);
      if (row < 0) continue;
      const bool option = weighted || reduction_table()[row].counted;
      if (args.size() == (option ? 3u : 2u)) return row;
    }
    const bool weighted = find_reduction(name, false) < 0,
               either = !weighted && find_reduction(name, true) >= 0;
    const bool counted = reduction_table()[find_reduction(name, weighted)].counted;
    throw FormulaError("`" + e.text + "(f, " +
                           (counted    ? "K, "
                            : weighted ? "w, "
                            : either   ? "[w,] "
                                       : "") +
                           "axis)` does not take " + std::to_string(args.size()) +
                           (args.size() == 1 ? " argument" : " arguments"),
                       e.position);
  }

  // Grad(reduction, v, e): a sum over the axis that v does not run along; over both for a parameter.
  Reduction gradient_of(const Expr& e) {
    if (e.args.size() != 3)
      throw FormulaError("`Grad(f, v, e)` takes 3 arguments, not " + std::to_string(e.args.size()),
                         e.position);
    Graph& graph = program_.graph;
    const Reduction inner = reduction(e.args[0]);
    const Tree v = expression(e.args[1]), g = expression(e.args[2]);
    if (graph[v].kind != Node::variable)
      throw FormulaError("the second argument of `Grad` must be a variable", e.args[1].position);
    if (graph[g].size != inner.size || (graph[g].axes & inner.over))
      throw FormulaError(
          "the incoming gradient must have the shape of the result: " + std::to_string(inner.size) +
              (inner.size == 1 ? " entry" : " entries") +
              (inner.axes() == axis_i   ? " for each i"
               : inner.axes() == axis_j ? " for each j"
                                        : ""),
          e.args[2].position);
    Tree f = at(e.position, [&] { return kernops::gradient(graph, inner, v, g); });
    if (f < 0) f = graph.operation(find_op("Zero"), {}, {graph[v].size});
    return {find_reduction("Sum", false), 0, f, -1, both & ~graph[v].axes, graph[v].size};
  }

  Tree expression(const Expr& e) { return build(program_.graph, e, scope_); }

  static bool is_axis(const Expr& e) {
    return e.text == "0" || e.text == "1" || e.text == "i" || e.text == "j" || e.text == "ij";
  }
  static unsigned axis(const Expr& e) {
    if (!is_axis(e))
      throw FormulaError(
          "the last argument is the axis summed over: 0 or i (one result row per j), 1 or j (one per i)",
          e.position);
    return e.text == "ij" ? both : e.text == "0" || e.text == "i" ? axis_i : axis_j;
  }

  Program& program_;
  const Expr formula_;
  Scope scope_;
  std::set<std::string> used_;
};

}  // namespace

Program compile(const std::string& formula, const std::vector<std::string>& declarations) {
  Program program;
  Compiler(program, formula).compile(declarations);
  return program;
}

}  // namespace kernops
