// Compiles a formula and its declarations to a Program: the reduction that is the result, and the reductions that must
// be computed before it.
#include "formula/program.h"

#include "formula/build.h"
#include "formula/declare.h"
#include "formula/text.h"
#include "formula/gradient.h"
#include "formula/limits.h"
#include "formula/op_table.h"
#include "formula/shapes.h"

namespace kernops {
namespace {

// Returns the full name of a reduction: `Sum` and `sum_reduction` mean Sum_Reduction. The result is empty if the name
// is not that of a reduction.
std::string reduction_meant(const std::string& name) {
  if (find_reduction(name, false) >= 0 || find_reduction(name, true) >= 0) return name + "_Reduction";
  return name.find("_reduction") != name.npos ? name : "";
}

class Compiler {
 public:
  explicit Compiler(Program& program) : program_(program) {
    for (const Variable& v : program.variables) {
      const Tree node = program.graph.variable(v.position, v.size, v.axes);
      scope_[v.name] = scope_[variable_key(v.position)] = node;
    }
  }

  Reduction reduction(const Expr& e) {
    check_stack(e.position);
    if (e.kind == Expr::call && e.text == "Grad") return gradient_of(e);
    if (e.kind == Expr::call && e.text == "Let") {
      scope_ = with_names(program_.graph, e, scope_);
      return reduction(e.args.back());
    }
    const size_t end = e.text.rfind("_Reduction");
    if (e.kind != Expr::call || end == e.text.npos)
      throw FormulaError("the outermost part must be a reduction, such as `Sum_Reduction(f, 1)`", e.position,
                         reduction_meant(e.text));
    const std::string name = e.text.substr(0, end);
    if (find_reduction(name, false) < 0 && find_reduction(name, true) < 0)
      throw FormulaError("there is no reduction `" + e.text + "`", e.position, e.text);
    std::vector<Expr> args = e.args;
    // KeOps writes the axis before the weights
    if (args.size() == 3 && is_axis(args[1]) && !is_axis(args[2])) std::swap(args[1], args[2]);
    const int row = find_row(e, name, args);
    const ReductionRow& kind = reduction_table()[row];
    Reduction r{row, 0, expression(args[0]), -1, axis(args.back()), 0};
    if (kind.counted) r.k = whole_number(args[1], "K", 1);
    if (kind.weighted) r.w = expression(args[1]);
    r.size = at(e.position, [&] { return size_of(kind, program_.graph, r.f, r.w, r.k); });
    if (r.size <= 0)
      throw FormulaError(
          "`" + e.text + "` needs a scalar to reduce, not " + std::to_string(program_.graph[r.f].size) + " entries",
          e.position);
    if (r.over == both && name != "Sum") throw FormulaError("only `Sum_Reduction` sums over both axes", e.position);
    return r;
  }

 private:
  int find_row(const Expr& e, const std::string& name, const std::vector<Expr>& args) const {
    for (const bool weighted : {false, true}) {
      const int row = find_reduction(name, weighted);
      if (row < 0) continue;
      const bool option = weighted || reduction_table()[row].counted;
      if (args.size() == (option ? 3u : 2u)) return row;
    }
    const bool weighted = find_reduction(name, false) < 0, either = !weighted && find_reduction(name, true) >= 0;
    const bool takes_k = reduction_table()[find_reduction(name, weighted)].counted;
    throw FormulaError("`" + e.text + "(f, " +
                           (takes_k    ? "K, "
                            : weighted ? "w, "
                            : either   ? "[w,] "
                                       : "") +
                           "axis)` does not take " + counted(args.size(), "argument", "arguments"),
                       e.position);
  }

  // Differentiates a reduction. Grad(reduction, v, e) is a sum over the axis along which v does not vary or, if v is a
  // parameter, over both axes.
  Reduction gradient_of(const Expr& e) {
    if (e.args.size() != 3)
      throw FormulaError("`Grad(f, v, e)` takes 3 arguments, not " + std::to_string(e.args.size()), e.position);
    Graph& graph = program_.graph;
    const Reduction inner = reduction(e.args[0]);
    const Tree v = expression(e.args[1]), g = expression(e.args[2]);
    if (graph[v].kind != Node::variable)
      throw FormulaError("the second argument of `Grad` must be a variable", e.args[1].position);
    if (graph[g].size != inner.size || (graph[g].axes & inner.over))
      throw FormulaError("the incoming gradient must have the shape of the result: " + std::to_string(inner.size) +
                             (inner.size == 1 ? " entry" : " entries") +
                             (inner.axes() == axis_i   ? " for each i"
                              : inner.axes() == axis_j ? " for each j"
                                                       : ""),
                         e.args[2].position);
    // If the first argument is itself a `Grad`, its result has the shape of the variable of this inner `Grad`, and the
    // incoming gradient g has the same shape. If the formula reads this variable as a matrix, g is read as a matrix,
    // too.
    if (e.args[0].text == "Grad")
      for (const Shape& shape : graph.matrices[expression(e.args[0].args[1])]) read_as_matrix(graph, g, shape);
    const Tree f = at(e.position, [&] { return gradient_or_zeros(graph, inner, v, g); });
    return {find_reduction("Sum", false), 0, f, -1, both & ~graph[v].axes, graph[v].size};
  }

  Tree expression(const Expr& e) { return build(program_.graph, e, scope_); }

  static bool is_axis(const Expr& e) {
    return e.text == "0" || e.text == "1" || e.text == "i" || e.text == "j" || e.text == "ij";
  }
  static unsigned axis(const Expr& e) {
    if (!is_axis(e))
      throw FormulaError(
          "the last argument must be the axis to sum over: 0 or i (one result row per j), 1 or j (one per i)",
          e.position);
    return e.text == "ij" ? both : e.text == "0" || e.text == "i" ? axis_i : axis_j;
  }

  Program& program_;
  Scope scope_;
};

}  // namespace

Program compile(const std::string& formula, const std::vector<std::string>& declarations) {
  const Expr expr = parse(formula);
  Program program;
  program.variables = declare(declarations, expr);
  const Reduction result = Compiler(program).reduction(expr);
  program.unused = unused_variables(program.variables, expr);
  for (Variable& v : program.variables)
    v.matrices = program.graph.matrices[program.graph.variable(v.position, v.size, v.axes)];
  program.result = program.graph[program.graph.reduced(result)].id;
  return program;
}

void store_terms(Program& program) {
  Reduction terms = program.graph.reductions[program.result];
  if (!reduction_table()[terms.row].sums() || terms.over == both)
    throw FormulaError("only a sum over one axis can be used as a matrix", -1);
  terms.row = store_row(), terms.over = terms.axes();
  program.result = program.graph[program.graph.reduced(terms)].id;
}

}  // namespace kernops
