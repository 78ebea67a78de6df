#include "formula/masks.h"

#include "formula/limits.h"

namespace kernops {

bool Masks::is_zero(Tree t) const { return graph_.is_constant(t, 0) || is(graph_[t], OpId::Zero); }

Tree Masks::of(Tree t) {
  while (Tree(masks_.size()) <= t) look_up(), masks_.push_back(mask_of(Tree(masks_.size())));
  return masks_[t];
}

// Combines two masks. If the outer mask is 0, the result is 0 even if the inner mask is NaN; an inner mask is NaN, for
// example, for a condition within a branch of IfElse that is not taken.
Tree Masks::chain(Tree outer, Tree inner) {
  if (outer < 0 || inner < 0) return outer < 0 ? inner : outer;
  return graph_.operation(OpId::Mask, {outer, inner});
}

Tree Masks::either(Tree a, Tree b) {
  if (a < 0 || b < 0) return -1;
  return a == b ? a : graph_.operation(OpId::Or, {a, b});
}

// True for a node that recycles its argument or pads the argument with zeros, so that each entry is zero or an entry of
// the argument.
bool Masks::is_filled(const Node& node) {
  return is(node, OpId::SumT) || (node.kind == Node::operation && op_table()[node.id].mask == MaskRule::filled);
}

// Returns a mask of size 1 that is 0 if all entries of `mask` are 0; -1 if some entry is never 0. Entries of masks are
// never negative.
Tree Masks::any(Tree mask) {
  while (mask >= 0 && is_filled(graph_[mask])) mask = graph_[mask].args[0];
  if (mask < 0 || graph_[mask].kind == Node::constant) return -1;
  return graph_[mask].size == 1 ? mask : graph_.operation(OpId::Sum, {mask});
}

// Recycles a mask to `size` entries; without a mask, all entries are 1.
Tree Masks::expanded(Tree mask, int size) {
  if (mask < 0) mask = graph_.constant(1);
  return graph_[mask].size == size ? mask : graph_.operation(OpId::SumT, {mask}, {size});
}

// Returns the mask of IfElse(a, b, c) if b or c is 0. If c is 0, the mask is that of b where a >= 0, and 0 elsewhere.
// If b is 0, the mask is that of c where a < 0, and 0 elsewhere.
Tree Masks::branch(const Node& node) {
  const auto [a, b, c] = node.args;
  if (is_zero(c)) return chain(graph_.operation(OpId::Step, {a}), masks_[b]);
  if (is_zero(b)) return chain(graph_.operation(OpId::LessThan, {a, graph_.constant(0)}), masks_[c]);
  return -1;
}

// Returns the mask of an operation that moves entries and may pad them with zeros. Constant vectors, such as the unit
// vectors in Laplacians, have no mask, so that derivatives of formulas without conditions stay free of masks.
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

Tree Masks::mask_of(Tree t) {
  const Node node = graph_[t];
  if (node.kind != Node::operation) return -1;
  const Tree a = node.args[0] < 0 ? -1 : masks_[node.args[0]], b = node.args[1] < 0 ? -1 : masks_[node.args[1]];
  switch (op_table()[node.id].mask) {
    case MaskRule::itself: return t;
    case MaskRule::first: return a;
    case MaskRule::product: return chain(b, a);  // the mask of b is the outer mask: in gradients of ops.def, b is g
    case MaskRule::either: return either(a, b);
    case MaskRule::total: return any(a);
    case MaskRule::total_product: return chain(any(b), any(a));
    case MaskRule::moved: return moved(node, false);
    case MaskRule::filled: return moved(node, true);
    case MaskRule::none: break;
  }
  switch (OpId(op_table()[node.id].id)) {
    case OpId::IfElse: return branch(node);
    case OpId::Mask: return chain(node.args[0], b);
    case OpId::Scalprod: return any(chain(b, a));
    case OpId::Pow: return node.ints[0] > 0 ? a : -1;
    case OpId::Concat: return concatenated(node);
    default: return -1;
  }
}

}  // namespace kernops
