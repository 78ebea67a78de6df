// Reorders products of scalars by the axes of their factors. For 2 * (-s * (Exp(..) * (b * e))), the loop over pairs
// has only two multiplications after the reordering, of Exp(..) by b and by (2 * -s * e), instead of four.
#include "formula/regroup.h"

#include <kernops/reductions.h>

#include <algorithm>

#include "formula/op_table.h"
#include "formula/per_item.h"

namespace kernops {
namespace {

constexpr double log2_e = 1.4426950408889634;
constexpr int most_sums = 4;  // limits the recursion

class Regrouper {
 public:
  Regrouper(Graph& graph, const std::vector<Tree>& roots, bool base_2, unsigned rows)
      : graph_(graph),
        per_item_(graph, rows),
        base_2_(base_2),
        mult_(find_op(OpId::Mult)),
        last_(*std::max_element(roots.begin(), roots.end())),
        uses_(last_ + 1, 0),
        jumps_(last_ + 1, false),
        inside_(last_ + 1, false),
        now_(last_ + 1, -1) {
    for (const Tree root : roots)
      if (root >= 0) uses_[root] = 2;  // as if used twice: a root is never merged into a longer product
    for (Tree t = last_; t >= 0; --t)
      if (uses_[t]) visit_arguments(t);
    for (Tree t = 0; t <= last_; ++t)
      if (uses_[t]) mark_parts(t);
    for (Tree t = 0; t <= last_; ++t)
      if (uses_[t] && !inside_[t]) now_[t] = rebuilt(t);
  }

  Tree operator()(Tree t) const { return t < 0 ? t : now_[t]; }

  // Returns a root times log2(e), where log2(e) is merged with the factors of the root.
  Tree root_times_log2_e(Tree root) {
    --uses_[root];  // the product uses the root once
    return times_log2_e(root);
  }

 private:
  // Multiplies a scalar by log2(e). log2(e) is then merged with the constant factors of the scalar. If the scalar is a
  // sum, log2(e) multiplies each term, provided that a pair then takes no more multiplications than for the product of
  // log2(e) and the sum. The exponent c |x - y|^2 + b then remains a product plus a number of the row or column.
  Tree times_log2_e(Tree a, int sums = most_sums) {
    if (is_sum(a) && uses_[a] == 1 && sums > 0) {
      const Node node = graph_[a];
      if (cost_of_factor(node.args[0], sums) + cost_of_factor(node.args[1], sums) <= 1)
        return graph_.operation(node.id, {times_log2_e(node.args[0], sums - 1), times_log2_e(node.args[1], sums - 1)},
                                {});
    }
    std::vector<Tree> factors = is_product(a) ? factors_of(a) : std::vector<Tree>{now_[a]};
    factors.push_back(graph_.constant(log2_e));
    return product(factors);
  }

  void visit_arguments(Tree t) {
    const Node& node = graph_[t];
    for (size_t n = 0; n < node.args.size(); ++n) {
      const Tree arg = node.args[n];
      if (arg < 0) continue;
      ++uses_[arg];
      if (jumps_[t] || (node.kind == Node::operation && is_zero(op_table()[node.id].gradients[n]))) jumps_[arg] = true;
    }
  }

  // True for products of scalars. A quotient counts as a product with the inverse of its divisor if the divisor is
  // constant along an axis, and a negation as a product with -1. A quotient does not count if a discontinuous function
  // depends on it, as in Floor(x / y), because rounding makes 49 * (1 / 49) less than 1.
  bool is_product(Tree t) const {
    const Node& node = graph_[t];
    if (node.kind != Node::operation || node.size != 1) return false;
    if (node.id == minus_) return true;
    const bool rare_divisor =
        node.id == divide_ && graph_[node.args[1]].axes != both && node.axes == both && !jumps_[t];
    return (node.id == mult_ || rare_divisor) && graph_[node.args[0]].size == 1 && graph_[node.args[1]].size == 1;
  }

  bool is_part(Tree t) const { return is_product(t) && uses_[t] == 1; }  // merged into the only product that uses it

  // Marks the products that are merged into longer products, for which no nodes are created.
  void mark_parts(Tree t) {
    const Node& node = graph_[t];
    if (!is_product(t)) return;
    for (const Tree arg : {node.args[0], node.id == mult_ ? node.args[1] : -1})
      if (arg >= 0 && is_part(arg)) inside_[arg] = true;
  }

  // The factors of a product from left to right. The divisor of a quotient and the sign of a negation come after the
  // factors of the arguments.
  std::vector<Tree> factors_of(Tree product) {
    std::vector<Tree> factors;
    std::vector<std::pair<Tree, bool>> todo{{product, false}};  // the flag is true if the arguments have been processed
    while (!todo.empty()) {
      const auto [t, done] = todo.back();
      todo.pop_back();
      const Node node = graph_[t];
      if (done && node.id == divide_) {
        factors.push_back(graph_.operation(OpId::Inv, {now_[node.args[1]]}));
      } else if (done) {
        factors.push_back(graph_.constant(-1));
      } else if (t != product && !is_part(t)) {
        factors.push_back(now_[t]);
      } else {
        todo.push_back({node.id == mult_ ? node.args[1] : t, node.id != mult_});
        todo.push_back({node.args[0], false});
      }
    }
    return factors;
  }

  Tree rebuilt(Tree t) {
    const Node node = graph_[t];
    if (node.kind != Node::operation) return t;
    if (is_product(t)) return product(factors_of(t));
    if (base_2_ && node.id == exp_ && node.size == 1) return power_of_2(node.args[0]);
    if (node.axes == both && !jumps_[t])
      if (const Tree made = per_item_(node, now_); made >= 0) return made;
    const OpRow& row = op_table()[node.id];
    std::vector<Tree> args;
    for (size_t n = 0; n < row.vectors.size(); ++n) args.push_back(now_[node.args[n]]);
    return graph_.operation(node.id, args, {node.ints.begin(), node.ints.begin() + row.integers.size()});
  }

  // Rewrites exp(a) as 2^(log2(e) a).
  Tree power_of_2(Tree a) { return graph_.operation(OpId::Exp2, {times_log2_e(a)}); }

  bool is_sum(Tree t) const {
    const Node& node = graph_[t];
    return node.kind == Node::operation && (node.id == add_ || node.id == subtract_) && node.size == 1 && !jumps_[t];
  }
  // The number of additional multiplications per pair if a scalar is multiplied by a constant: 0 if the scalar varies
  // along one axis only, or has a factor that varies along one axis only.
  int cost_of_factor(Tree t, int sums) const {
    const Node& node = graph_[t];
    if (node.axes != both) return 0;
    if (is_sum(t) && uses_[t] == 1 && sums > 0)
      return cost_of_factor(node.args[0], sums - 1) + cost_of_factor(node.args[1], sums - 1);
    return is_part(t) && (node.id == minus_ || graph_[node.args[0]].axes != both || graph_[node.args[1]].axes != both)
               ? 0
               : 1;
  }

  // Multiplies constants and parameters first, then factors that vary along axis i, then factors that vary along axis
  // j. Factors that vary along both axes come last.
  Tree product(std::vector<Tree> factors) {
    std::stable_sort(factors.begin(), factors.end(),
                     [this](Tree a, Tree b) { return graph_[a].axes < graph_[b].axes; });
    Tree of_axes[4] = {-1, -1, -1, -1};
    for (const Tree factor : factors) multiply(of_axes[graph_[factor].axes], factor);
    multiply(of_axes[of_axes[axis_i] >= 0 ? axis_i : of_axes[axis_j] >= 0 ? axis_j : both], of_axes[none]);
    Tree result = of_axes[both];
    multiply(result, of_axes[axis_j]);
    multiply(result, of_axes[axis_i]);
    return result;
  }

  void multiply(Tree& product, Tree factor) {
    if (factor < 0) return;
    product = product < 0 ? factor : graph_.operation(mult_, {factor, product}, {});
  }

  Graph& graph_;
  PerItem per_item_;
  const bool base_2_;
  const int mult_, divide_ = find_op(OpId::Divide), minus_ = find_op(OpId::Minus), exp_ = find_op(OpId::Exp),
                   add_ = find_op(OpId::Add), subtract_ = find_op(OpId::Subtract);
  const Tree last_;
  std::vector<int> uses_;
  std::vector<bool> jumps_;   // true if a discontinuous function (with gradient 0) depends on the node
  std::vector<bool> inside_;  // true if the node is merged into a longer product
  std::vector<Tree> now_;
};

}  // namespace

Reduction regroup(Graph& graph, Reduction reduction, bool base_2) {
  // a reduction that computes exponentials uses base 2, too, if its weights are not long vectors
  const bool weighs_many = reduction.w >= 0 && graph[reduction.w].size >= many_weights;
  const bool scales = base_2 && reduction_table()[reduction.row].exponentiates() && !weighs_many;
  const unsigned rows = reduction_table()[reduction.row].stores() ? none : reduction.over == axis_i ? axis_j : axis_i;
  Regrouper regrouped(graph, {reduction.f, reduction.w}, base_2, rows);
  reduction.f = scales ? regrouped.root_times_log2_e(reduction.f) : regrouped(reduction.f);
  reduction.w = regrouped(reduction.w);
  return reduction;
}

}  // namespace kernops
