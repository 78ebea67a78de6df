#include "formula/masks.h"

#include <algorithm>
#include <cmath>

#include "formula/limits.h"

namespace kernops {
namespace {

OpId op_of(const Node& node) { return node.kind == Node::operation ? OpId(op_table()[node.id].id) : OpId(-1); }

}  // namespace

bool Masks::is(Tree t, OpId op) const { return t >= 0 && op_of(graph_[t]) == op; }
bool Masks::is_zero(Tree t) const { return graph_.is_constant(t, 0) || is(t, OpId::Zero); }

Tree Masks::of(Tree t) {
  while (Tree(masks_.size()) <= t) look_up(), masks_.push_back(mask_of(Tree(masks_.size())));
  return masks_[t];
}

// An outer mask of 0 is 0 even if the inner mask is NaN, as a condition inside a branch that is not taken may be.
Tree Masks::chain(Tree outer, Tree inner) {
  if (outer < 0 || inner < 0) return outer < 0 ? inner : outer;
  return graph_.operation(OpId::Mask, {outer, inner});
}

Tree Masks::either(Tree a, Tree b) {
  if (a < 0 || b < 0) return -1;
  return a == b ? a : graph_.operation(OpId::Or, {a, b});
}

// A mask of size 1 that is 0 where all entries are; -1 if some entry never is. Masks are 0 or positive.
Tree Masks::any(Tree mask) {
  for (const OpId fills : {OpId::ElemT, OpId::ExtractT, OpId::Real2Complex, OpId::Imag2Complex, OpId::SumT})
    while (is(mask, fills)) mask = graph_[mask].args[0];
  if (mask < 0 || graph_[mask].kind == Node::constant) return -1;
  return graph_[mask].size == 1 ? mask : graph_.operation(OpId::Sum, {mask});
}

// 1 where there is no mask.
Tree Masks::expanded(Tree mask, int size) {
  if (mask < 0) mask = graph_.constant(1);
  return graph_[mask].size == size ? mask : graph_.operation(OpId::SumT, {mask}, {size});
}

// The mask of b where a >= 0, else 0, or of the opposite.
Tree Masks::branch(const Node& node) {
  const auto [a, b, c] = node.args;
  if (is_zero(c)) return chain(graph_.operation(OpId::Step, {a}), masks_[b]);
  if (is_zero(b)) return chain(graph_.operation(OpId::LessThan, {a, graph_.constant(0)}), masks_[c]);
  return -1;
}

// The mask of an operation that moves entries, and maybe fills up with zeros. Unit vectors, the directions of
// Laplacians, have none: formulas without conditions keep their derivatives as they are.
Tree Masks::moved(const Node& node, bool fills) {
  const Tree mask = masks_[node.args[0]];
  if (graph_[node.args[0]].kind == Node::constant) return -1;
  if (!fills && (mask < 0 || graph_[mask].size == 1)) return mask;
  return graph_.operation(node.id, {expanded(mask, graph_[node.args[0]].size)},
                          {node.ints.begin(), node.ints.begin() + op_table()[node.id].integers.size()});
}

Tree Masks::concatenated(const Node& node) {
  const auto [a, b, none] = node.args;
  if (masks_[a] < 0 && masks_[b] < 0) return -1;
  return graph_.operation(OpId::Concat, {expanded(masks_[a], graph_[a].size), expanded(masks_[b], graph_[b].size)});
}

// long: one line for each sort of operation
Tree Masks::mask_of(Tree t) {
  const Node node = graph_[t];
  const Tree a = node.args[0] < 0 ? -1 : masks_[node.args[0]], b = node.args[1] < 0 ? -1 : masks_[node.args[1]];
  switch (op_of(node)) {
    case OpId::Equal:
    case OpId::NotEqual:
    case OpId::LessThan:
    case OpId::LessOrEqual:
    case OpId::And:
    case OpId::Or:
    case OpId::Not:
    case OpId::Step:
    case OpId::OneHot: return t;
    case OpId::IfElse: return branch(node);
    case OpId::Mask: return chain(node.args[0], b);
    case OpId::Mult: return chain(b, a);  // g is the last factor of a gradient row
    case OpId::Scalprod: return any(chain(b, a));
    case OpId::Add:
    case OpId::Subtract: return either(a, b);
    case OpId::Pow: return node.ints[0] > 0 ? a : -1;
    case OpId::Divide:
    case OpId::Minus:
    case OpId::Square:
    case OpId::Sqrt:
    case OpId::Abs:
    case OpId::Conj:
    case OpId::SumT: return a;
    case OpId::Sum:
    case OpId::ComplexSum:
    case OpId::ComplexSumT: return any(a);
    case OpId::MatVecMult:
    case OpId::VecMatMult:
    case OpId::MatMult:
    case OpId::TensorProd:
    case OpId::ComplexMult:
    case OpId::ComplexRealScal: return chain(any(b), any(a));
    case OpId::Elem:
    case OpId::Extract:
    case OpId::Reverse:
    case OpId::Transpose:
    case OpId::ComplexReal:
    case OpId::ComplexImag: return moved(node, false);
    case OpId::ElemT:
    case OpId::ExtractT:
    case OpId::Real2Complex:
    case OpId::Imag2Complex: return moved(node, true);
    case OpId::Concat: return concatenated(node);
    default: return -1;
  }
}

namespace {

// True if finite arguments have a finite result.
bool keeps_finite(OpId op, int p) {
  switch (op) {
    case OpId::Pow: return p >= 0;
    case OpId::Divide:
    case OpId::Inv:
    case OpId::Powf:
    case OpId::Sqrt:
    case OpId::Rsqrt:
    case OpId::Exp:
    case OpId::Exp2:
    case OpId::Log:
    case OpId::XLogX:
    case OpId::Tan:
    case OpId::Asin:
    case OpId::Acos:
    case OpId::Sinh:
    case OpId::Cosh:
    case OpId::Expm1:
    case OpId::Log1p:
    case OpId::Log2:
    case OpId::Log10:
    case OpId::Mod:
    case OpId::Gamma:
    case OpId::Lgamma:
    case OpId::Polygamma:
    case OpId::BesselKOrder:
    case OpId::PowBesselKOrder:
    case OpId::MaternOrder:
    case OpId::ComplexExp: return false;
    default: return true;
  }
}

}  // namespace

bool Masks::finite(const Node& node) const {
  if (node.kind == Node::constant) return std::isfinite(node.value);
  if (node.kind != Node::operation) return node.kind != Node::reduced;
  return keeps_finite(op_of(node), node.ints[0]) &&
         std::all_of(node.args.begin(), node.args.end(), [this](Tree arg) { return arg < 0 || finite_[arg]; });
}

bool Masks::is_finite(Tree t) {
  while (Tree(finite_.size()) <= t) finite_.push_back(finite(graph_[Tree(finite_.size())]));
  return finite_[t];
}

bool Masks::is_finite(const Expr& row, const Scope& scope) {
  if (row.kind == Expr::number) return true;
  if (row.kind == Expr::name) return row.text == "g" || is_finite(scope.at(row.text));
  const int op = find_op(row.text);
  if (op < 0 || op_table()[op].id < 0 || !keeps_finite(OpId(op_table()[op].id), -1)) return false;
  return std::all_of(row.args.begin(), row.args.end(), [&](const Expr& arg) { return is_finite(arg, scope); });
}

// 1 - Cos(a), Cosh(a) - 1, and 1 less a function of what is flat, whose extreme value 1 is at 0.
bool Masks::is_extreme(const Node& difference) const {
  const auto [a, b, none] = difference.args;
  const Tree other = graph_.is_constant(a, 1) ? b : graph_.is_constant(b, 1) ? a : -1;
  if (other < 0) return false;
  return is(other, OpId::Cos) || is(other, OpId::Cosh) || (is(other, OpId::Exp) && flat_[graph_[other].args[0]]);
}

// long: one line for each sort of operation
bool Masks::flat(const Node& node) const {
  const auto [a, b, c] = node.args;
  switch (op_of(node)) {
    case OpId::Square:
    case OpId::SqNorm2:
    case OpId::SqDist:
    case OpId::DiagSqNorm:
    case OpId::DiagSqDist:
    case OpId::Hypot:
    case OpId::Acos:
    case OpId::Abs:
    case OpId::ComplexAbs:
    case OpId::ComplexSquareAbs: return true;
    case OpId::Pow: return node.ints[0] >= 2 && (node.ints[0] % 2 == 0 || flat_[a]);
    case OpId::Scalprod:
      for (const auto& [v, product] : {std::make_pair(a, b), std::make_pair(b, a)})
        if (flat_[v] || (is(product, OpId::MatVecMult) && graph_[product].args[1] == v) ||
            (is(product, OpId::VecMatMult) && graph_[product].args[0] == v))
          return true;
      return false;
    case OpId::Mult: return flat_[a] || flat_[b];
    case OpId::Add:
    case OpId::Max2: return flat_[a] && flat_[b];
    case OpId::Subtract: return is_extreme(node);
    case OpId::IfElse: return flat_[b] && flat_[c];
    case OpId::Mask: return flat_[b];
    case OpId::Divide:
    case OpId::Minus:
    case OpId::Powf:
    case OpId::Sqrt:
    case OpId::XLogX:
    case OpId::Log1p:
    case OpId::Expm1:
    case OpId::Sin:
    case OpId::Tan:
    case OpId::Asin:
    case OpId::Atan:
    case OpId::Sinh:
    case OpId::Tanh:
    case OpId::Erf:
    case OpId::Sum:
    case OpId::SumT:
    case OpId::Max:
    case OpId::Elem:
    case OpId::Extract: return flat_[a];
    default: return false;
  }
}

bool Masks::has_factor(Tree t, Tree a) const {
  std::vector<Tree> factors{t};
  for (size_t n = 0; n < factors.size(); ++n) {
    if (factors[n] == a) return true;
    const Node& node = graph_[factors[n]];
    const OpId op = op_of(node);
    if (op == OpId::Mult || op == OpId::Square || op == OpId::Minus || (op == OpId::Pow && node.ints[0] > 0))
      factors.push_back(node.args[0]);
    if (op == OpId::Mult) factors.push_back(node.args[1]);
  }
  return false;
}

bool Masks::is_flat(Tree t) {
  while (Tree(flat_.size()) <= t) flat_.push_back(flat(graph_[Tree(flat_.size())]));
  return flat_[t];
}

}  // namespace kernops
