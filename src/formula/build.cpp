// Converts parsed formulas to nodes of a Graph. The same code converts the user's formula and the gradients that the
// tables ops.def and reductions.def define.
#include "formula/build.h"

#include <cmath>

#include "formula/built.h"
#include "formula/declare.h"
#include "formula/text.h"
#include "formula/gradient.h"
#include "formula/limits.h"
#include "formula/shapes.h"

namespace kernops {
namespace {

class Builder {
 public:
  Builder(Graph& graph, const Scope& scope, unsigned over) : graph_(graph), scope_(scope), over_(over) {}

  Tree build(const Expr& e) {
    check_stack(e.position);
    switch (e.kind) {
      case Expr::number: return graph_.constant(e.value);
      case Expr::name: return named(e);
      case Expr::list: throw FormulaError("a list of numbers is not allowed here", e.position);
      default: return call(e);
    }
  }

 private:
  Tree named(const Expr& e) {
    const auto match = scope_.find(e.text);
    if (match != scope_.end()) return match->second;
    static const std::map<std::string, double> numbers = {
        {"Inf", HUGE_VAL}, {"NaN", std::nan("")}, {"pi", 3.14159265358979323846}};
    if (const auto number = numbers.find(e.text); number != numbers.end()) return graph_.constant(number->second);
    if (find_op(e.text) >= 0)
      throw FormulaError("`" + e.text + "` is an operation: it needs arguments in parentheses", e.position);
    throw FormulaError("`" + e.text + "` is not declared" + declared(), e.position, e.text);
  }

  Tree declared_variable(const Expr& e) {
    const auto match = e.args.empty() ? scope_.end() : scope_.find(variable_key(integer(e, 0)));
    if (match == scope_.end()) throw FormulaError("this variable is not declared" + declared(), e.position);
    return match->second;
  }

  std::string declared() const {
    std::string names;
    for (const auto& [name, node] : scope_)
      if (name.find('(') == name.npos) names += (names.empty() ? "`" : ", `") + name + "`";
    return names.empty() || names.size() > 60 ? "" : ": the variables are " + names;
  }

  Tree call(const Expr& e) {
    if (e.text == "^") return power(e);
    if (e.text == "Grad") return grad(e);
    if (e.text == "Let") return let(e);
    if (is_inline_variable(e)) return declared_variable(e);
    if (e.text == "Index") return graph_.index(over_);
    if (const size_t end = e.text.rfind("_Reduction"); end != e.text.npos) return reduction(e, e.text.substr(0, end));
    if (const Built* kind = find_built(e.text)) return built(e, *kind);
    if ((e.text == "Max" || e.text == "Min") && e.args.size() == 2) {  // KeOps accepts these names for Max2 and Min2
      Expr of_two = e;
      of_two.text += "2";
      return call(of_two);
    }
    if (lacks_default(e)) {
      Expr whole = e;
      whole.args.emplace_back().position = e.position;  // the optional argument, which is 0 by default
      return call(whole);
    }
    const int op = find_op(e.text);
    if (op < 0) throw FormulaError("there is no operation `" + e.text + "`", e.position, e.text);
    return operation(e, op);
  }

  // True if a call of Round or Mod omits its last argument: Round(a) is Round(a, 0), and Mod(a, b) is Mod(a, b, 0), as
  // in KeOps.
  static bool lacks_default(const Expr& e) {
    return (e.text == "Round" && e.args.size() == 1) || (e.text == "Mod" && e.args.size() == 2);
  }

  Tree operation(const Expr& e, int op) {
    const auto& table = op_table();
    const OpRow& first = table[op];
    const size_t vectors = first.vectors.size(), arity = vectors + first.integers.size();
    if (e.args.size() != arity)
      throw FormulaError("`" + e.text + "(" + first.arguments + ")` takes " + counted(arity, "argument", "arguments") +
                             ", not " + std::to_string(e.args.size()),
                         e.position);
    if (first.leaf) return graph_.index(e.text == "IndexI" ? axis_i : axis_j);
    std::vector<Tree> args;
    std::vector<int> ints;
    for (size_t n = 0; n < arity; ++n) {
      if (n < vectors)
        args.push_back(build(e.args[n]));
      else
        ints.push_back(integer(e, n));
    }
    return at(e.position, [&] {
      for (; op < int(table.size()) && table[op].name == e.text; ++op) {
        if (size_of(table[op], graph_, args, ints) <= 0) continue;
        if (!table[op].composite) {
          read_matrices(graph_, table[op], args, ints);
          return graph_.operation(op, args, ints);
        }
        const auto known = graph_.composites.find({op, args, ints});
        if (known != graph_.composites.end()) return known->second;
        const Scope scope = arguments_scope(table[op], graph_, args, ints);
        return graph_.composites[{op, args, ints}] = Builder(graph_, scope, over_).build(table[op].body);
      }
      throw FormulaError(misfit(e, first, args), e.position);
    });
  }

  Tree built(const Expr& e, const Built& kind) {
    const size_t count = e.args.size();
    if (count < kind.vectors + kind.least_lists || count > kind.vectors + kind.most_lists)
      throw FormulaError("`" + e.text + "(" + op_table()[find_op(e.text)].arguments + ")` does not take " +
                             counted(count, "argument", "arguments"),
                         e.position);
    std::vector<Tree> vectors;
    std::vector<std::vector<int>> lists;
    for (size_t n = 0; n < count; ++n) {
      if (n < kind.vectors)
        vectors.push_back(build(e.args[n]));
      else
        lists.push_back(integers(e, n));
    }
    return at(e.position, [&] {
      const Tree made = kind.make(graph_, vectors, lists);
      read_tensors(graph_, vectors, lists);
      return made;
    });
  }

  // Reads a list of integers, written as [2, 3] or Ind(2, 3). A list of one number, (2), is parsed as the number 2.
  std::vector<int> integers(const Expr& call, size_t n) {
    const Expr& list = call.args[n];
    if (list.kind != Expr::list && !(list.kind == Expr::call && list.text == "Ind")) return {integer(call, n)};
    std::vector<int> all;
    for (size_t k = 0; k < list.args.size(); ++k) all.push_back(integer(list, k));
    return all;
  }

  // Returns an error message such as "`x - y` needs arguments of equal size (or of size 1): x has 3 entries, y has 7".
  std::string misfit(const Expr& e, const OpRow& row, const std::vector<Tree>& args) const {
    std::string message = "`" + text_of(e) + "` needs " + row.rule;
    for (size_t n = 0; n < args.size(); ++n)
      message +=
          (n == 0 ? ": `" : ", `") + text_of(e.args[n]) + "` has " + counted(graph_[args[n]].size, "entry", "entries");
    return message;
  }

  int integer(const Expr& call, size_t n) {
    const Node node = graph_[build(call.args[n])];
    if (node.kind != Node::constant || node.value != std::floor(node.value) || std::fabs(node.value) > 1e9)
      throw FormulaError((call.kind == Expr::list
                              ? "a list must contain integers only"
                              : "argument " + std::to_string(n + 1) + " of `" + call.text + "` must be an integer") +
                             (call.text == "Pow" ? "; `a ^ b` accepts any exponent" : ""),
                         call.args[n].position);
    return int(node.value);
  }

  // Converts a power. Integer powers such as x^2 and x^-1 are exact and defined for x < 0, unlike x^0.5 and x^y.
  Tree power(const Expr& e) {
    const Tree base = build(e.args[0]), exponent = build(e.args[1]);
    const Node to = graph_[exponent];
    if (to.kind == Node::constant && to.value == std::floor(to.value) && std::fabs(to.value) <= 1e9)
      return graph_.operation(OpId::Pow, {base}, {int(to.value)});
    const int op = find_op(OpId::Powf);
    if (size_of(op_table()[op], graph_, {base, exponent}, {}) <= 0)
      throw FormulaError(misfit(e, op_table()[op], {base, exponent}), e.position);
    return graph_.operation(op, {base, exponent}, {});
  }

  Tree let(const Expr& e) {
    const Scope scope = with_names(graph_, e, scope_, over_);
    return Builder(graph_, scope, over_).build(e.args.back());
  }

  Tree grad(const Expr& e) {
    if (e.args.size() != 3)
      throw FormulaError("`Grad(f, v, e)` takes 3 arguments, not " + std::to_string(e.args.size()), e.position);
    const Tree f = build(e.args[0]), v = build(e.args[1]);
    Tree g = build(e.args[2]);
    const int size = graph_[f].size;
    if (graph_[v].kind != Node::variable)
      throw FormulaError("the second argument of `Grad` must be a variable", e.args[1].position);
    if (graph_[g].size == 1 && size > 1) g = graph_.operation(OpId::SumT, {g}, {size});
    if (graph_[g].size != size)
      throw FormulaError("the third argument of `Grad` must have the size of the first: it has " +
                             std::to_string(graph_[g].size) + " entries, not " + std::to_string(size),
                         e.args[2].position);
    return at(e.position, [&] { return gradient_or_zeros(graph_, f, v, g); });
  }

  // Converts a reduction that a gradient of reductions.def contains. This inner reduction is computed before the loop
  // over pairs, along the axis of the reduction that is differentiated.
  Tree reduction(const Expr& e, const std::string& name) {
    if (over_ == none)
      throw FormulaError("a reduction is allowed only as the outermost part, or directly in `Grad`", e.position);
    const int plain = find_reduction(name, false);
    const bool counted = plain >= 0 && reduction_table()[plain].counted;
    const Tree f = build(e.args[0]), w = e.args.size() > 1 && !counted ? build(e.args[1]) : -1;
    const int k = counted ? integer(e, 1) : 0, row = find_reduction(name, w >= 0);
    return graph_.reduced({row, k, f, w, over_, size_of(reduction_table()[row], graph_, f, w, k)});
  }

  Graph& graph_;
  const Scope& scope_;
  unsigned over_;
};

}  // namespace

Scope arguments_scope(const OpRow& row, Graph& graph, const std::vector<Tree>& args, const std::vector<int>& ints) {
  Scope scope;
  for (size_t n = 0; n < args.size(); ++n) {
    scope[std::string(1, row.vectors[n])] = args[n];
    scope[std::string(1, char(row.vectors[n] - 'a' + 'A'))] = graph.constant(graph[args[n]].size);
  }
  for (size_t n = 0; n < ints.size(); ++n) scope[std::string(1, row.integers[n])] = graph.constant(ints[n]);
  return scope;
}

Scope with_names(Graph& graph, const Expr& let, Scope scope, unsigned over) {
  const size_t count = let.args.size();
  if (count < 3 || count % 2 == 0)
    throw FormulaError("`Let(a, f, ..., h)` takes pairs of a name and its formula, then a result, not " +
                           counted(count, "argument", "arguments"),
                       let.position);
  for (size_t n = 0; n + 1 < count; n += 2) {
    const Expr& name = let.args[n];
    if (name.kind != Expr::name) throw FormulaError("a name is expected here", name.position);
    const Tree tree = build(graph, let.args[n + 1], scope, over);
    if (!scope.emplace(name.text, tree).second)
      throw FormulaError("the name `" + name.text + "` is already used", name.position);
  }
  return scope;
}

std::string variable_key(int position) { return "Var(" + std::to_string(position) + ")"; }

Tree build(Graph& graph, const Expr& expr, const Scope& scope, unsigned over) {
  return Builder(graph, scope, over).build(expr);
}

}  // namespace kernops
