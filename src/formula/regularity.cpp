#include "formula/regularity.h"

#include <algorithm>
#include <cmath>

namespace kernops {

bool Regularity::finite(const Node& node) const {
  if (node.kind == Node::constant) return std::isfinite(node.value);
  if (node.kind != Node::operation) return node.kind != Node::reduced;
  return op_table()[node.id].keeps_finite(node.ints[0]) &&
         std::all_of(node.args.begin(), node.args.end(), [this](Tree arg) { return arg < 0 || finite_[arg]; });
}

bool Regularity::is_finite(Tree t) {
  while (Tree(finite_.size()) <= t) finite_.push_back(finite(graph_[Tree(finite_.size())]));
  return finite_[t];
}

bool Regularity::is_finite(const Expr& row, const Scope& scope) {
  if (row.kind == Expr::number) return true;
  if (row.kind == Expr::name) return row.text == "g" || is_finite(scope.at(row.text));
  const int op = find_op(row.text);
  if (op < 0 || op_table()[op].id < 0 || !op_table()[op].keeps_finite(-1)) return false;
  return std::all_of(row.args.begin(), row.args.end(), [&](const Expr& arg) { return is_finite(arg, scope); });
}

// True for 1 - Cos(a), Cosh(a) - 1, and, if a is flat, 1 - Exp(a): where such a difference is 0, its derivatives are 0.
bool Regularity::is_extreme(const Node& difference) const {
  const auto [a, b, none] = difference.args;
  const Tree other = graph_.is_constant(a, 1) ? b : graph_.is_constant(b, 1) ? a : -1;
  if (other < 0) return false;
  if (is(graph_[other], OpId::Exp)) return flat_[graph_[other].args[0]];
  return is(graph_[other], OpId::Cos) || is(graph_[other], OpId::Cosh);
}

bool Regularity::flat(const Node& node) const {
  if (node.kind != Node::operation) return false;
  const auto [a, b, c] = node.args;
  if (is(node, OpId::Subtract)) return is_extreme(node);
  if (is(node, OpId::Scalprod)) return is_quadratic(a, b) || is_quadratic(b, a);
  const auto is_flat = [this](Tree arg) { return arg >= 0 && flat_[arg]; };
  const OpRow& row = op_table()[node.id];
  return row.flat && row.flat(is_flat(a), is_flat(b), is_flat(c), node.ints[0]);
}

// True if v is flat, or if the inner product of v and `other` is a quadratic form of v.
bool Regularity::is_quadratic(Tree v, Tree other) const {
  const Node& product = graph_[other];
  return flat_[v] || (is(product, OpId::MatVecMult) && product.args[1] == v) ||
         (is(product, OpId::VecMatMult) && product.args[0] == v);
}

bool Regularity::has_factor(Tree t, Tree a) const {
  std::vector<Tree> factors{t};
  for (size_t n = 0; n < factors.size(); ++n) {
    if (factors[n] == a) return true;
    const Node& node = graph_[factors[n]];
    const bool power = is(node, OpId::Square) || (is(node, OpId::Pow) && node.ints[0] > 0);
    const bool product = is(node, OpId::Mult);
    if (product || power || is(node, OpId::Minus)) factors.push_back(node.args[0]);
    if (product) factors.push_back(node.args[1]);
  }
  return false;
}

bool Regularity::is_flat(Tree t) {
  while (Tree(flat_.size()) <= t) flat_.push_back(flat(graph_[Tree(flat_.size())]));
  return flat_[t];
}

}  // namespace kernops
