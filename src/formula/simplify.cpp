// Simplifies operations by a table of rewriting rules. The rules are applied when a node is created, so that a tree is
// simplified from its leaves to its root.
//
// In a rule, a, b and c match any value, p and q match constants, and A, B and C are the sizes of a, b and c. A rule
// applies only if the result has the size of the operation.
#include "formula/simplify.h"

#include <unordered_map>

#include "formula/build.h"

namespace kernops {
namespace {

const char* const rules_text[][2] = {
    {"a + 0", "a"},
    {"0 + a", "a"},
    {"a - 0", "a"},
    {"0 - a", "-a"},
    {"1 * a", "a"},
    {"a * 1", "a"},
    {"a / 1", "a"},
    {"-(-a)", "a"},
    {"-(a - b)", "b - a"},
    {"a + -b", "a - b"},
    {"-a + b", "b - a"},
    {"a - -b", "a + b"},
    {"-a * -b", "a * b"},
    {"-1 * a", "-a"},
    {"p * (q * a)", "(p * q) * a"},
    {"p * (a * q)", "(p * q) * a"},
    {"(p * a) * q", "(p * q) * a"},
    {"p * -a", "-p * a"},
    {"-(p * a)", "-p * a"},
    {"Pow(a, 0)", "SumT(1, A)"},
    {"Pow(a, 1)", "a"},
    {"Pow(a, 2)", "Square(a)"},
    {"Pow(a, -1)", "Inv(a)"},
    {"1 / a", "Inv(a)"},
    {"Powf(a, 0)", "SumT(1, A)"},
    {"Powf(a, 1)", "a"},
    {"Powf(a, 2)", "Square(a)"},
    {"Powf(a, 0.5)", "Sqrt(a)"},
    {"Sqrt(Square(a))", "Abs(a)"},
    {"Square(Abs(a))", "Square(a)"},
    {"Square(-a)", "Square(a)"},
    {"Square(a - b)", "SqDist(a, b)"},
    {"Square(Sqrt(SqDist(a, b)))", "SqDist(a, b)"},
    {"Square(Sqrt(SqNorm2(a)))", "SqNorm2(a)"},
    {"Log(Exp(a))", "a"},
    {"Mask(a, a)", "a"},
    {"Mask(a, Mask(a, b))", "Mask(a, b)"},
    {"Mask(a, Mask(b, c))", "Mask(Mask(a, b), c)"},
    {"Mask(Or(a, 0), b)", "Mask(a, b)"},
    {"Mask(Or(a, 1), b)", "b"},
    {"-Mask(a, b)", "Mask(a, -b)"},
    {"Mask(a, b) + Mask(a, c)", "Mask(a, b + c)"},
    {"Mask(Step(a), b) + Mask(a < 0, c)", "IfElse(a, b, c)"},
    {"Mask(a < 0, b) + Mask(Step(a), c)", "IfElse(a, c, b)"},
    {"Sum(Mask(a, b))", "Mask(a, Sum(b))"},
    {"Sum(a)", "a"},
    {"Sum(SumT(a, p))", "p * a"},
    {"SumT(a, p)", "a"},
    {"Sum(a * Square(b))", "DiagSqNorm(a, b)"},
    {"Sum(Square(a - b))", "SqDist(a, b)"},
    {"Sum(Square(a))", "SqNorm2(a)"},
    {"Sum(a * b)", "Scalprod(a, b)"},
    {"Sum(-a)", "-Sum(a)"},
    {"Scalprod(a, a)", "SqNorm2(a)"},
    {"Scalprod(a, Square(b))", "DiagSqNorm(a, b)"},
    {"Scalprod(Square(a), b)", "DiagSqNorm(b, a)"},
    {"Scalprod(a, b)", "a * b"},
    {"SqNorm2(a - b)", "SqDist(a, b)"},
    {"SqNorm2(a)", "Square(a)"},
    {"DiagSqNorm(a, b - c)", "DiagSqDist(a, b, c)"},
    {"Elem(a, 0)", "a"},
    {"Extract(a, 0, p)", "a"},
    {"ExtractT(a, 0, p)", "a"},
    {"ElemT(a, 1, 0)", "a"},
    {"Transpose(a, 1, p)", "a"},
    {"Transpose(a, p, 1)", "a"},
    {"Transpose(Transpose(a, p, q), q, p)", "a"},
    {"Reverse(Reverse(a))", "a"},
    {"Conj(Conj(a))", "a"},
};

struct Rule {
  Expr pattern, replacement;
};

// Returns the rules for the operation in row `op`.
const std::vector<Rule>& rules_of(int op) {
  static const auto rules = [] {
    std::unordered_map<int, std::vector<Rule>> by_op;
    for (const auto& rule : rules_text) {
      const Expr pattern = parse(rule[0]);
      by_op[find_op(pattern.text)].push_back({pattern, parse(rule[1])});
    }
    return by_op;
  }();
  static const std::vector<Rule> no_rules;
  const auto match = rules.find(op);
  return match == rules.end() ? no_rules : match->second;
}

bool bind(const Graph& graph, Scope& scope, const std::string& name, Tree tree) {
  if (name[0] >= 'p' && graph[tree].kind != Node::constant) return false;
  return scope.emplace(name, tree).first->second == tree;
}

bool match(Graph& graph, const Expr& pattern, Tree tree, Scope& scope);

bool match_arguments(Graph& graph, const Expr& pattern, const std::vector<Tree>& args, const std::vector<int>& ints,
                     Scope& scope) {
  for (size_t n = 0; n < args.size(); ++n)
    if (!match(graph, pattern.args[n], args[n], scope)) return false;
  for (size_t n = 0; n < ints.size(); ++n)
    if (!match(graph, pattern.args[args.size() + n], graph.constant(ints[n]), scope)) return false;
  return true;
}

bool match(Graph& graph, const Expr& pattern, Tree tree, Scope& scope) {
  const Node node = graph[tree];
  if (pattern.kind == Expr::name) return bind(graph, scope, pattern.text, tree);
  if (pattern.kind == Expr::number) return graph.is_constant(tree, pattern.value);
  if (pattern.text == "Minus" && pattern.args[0].kind == Expr::number)
    return graph.is_constant(tree, -pattern.args[0].value);
  if (node.kind != Node::operation || op_table()[node.id].name != pattern.text) return false;
  const OpRow& row = op_table()[node.id];
  return match_arguments(graph, pattern, {node.args.begin(), node.args.begin() + row.vectors.size()},
                         {node.ints.begin(), node.ints.begin() + row.integers.size()}, scope);
}

}  // namespace

Tree rewrite(Graph& graph, int op, const std::vector<Tree>& args, const std::vector<int>& ints, int size) {
  for (const Rule& rule : rules_of(op)) {
    Scope scope;
    if (!match_arguments(graph, rule.pattern, args, ints, scope)) continue;
    for (const char name : {'a', 'b', 'c'}) {
      const auto bound = scope.find(std::string(1, name));
      if (bound != scope.end())
        scope[std::string(1, char(name - 'a' + 'A'))] = graph.constant(graph[bound->second].size);
    }
    try {
      const Tree simpler = build(graph, rule.replacement, scope);
      if (graph[simpler].size == size) return simpler;
    } catch (const FormulaError&) {  // the replacement is invalid for these sizes, so the operation is kept
    }
  }
  return -1;
}

}  // namespace kernops
