// Splits gradients into summands. A gradient is often a sum of vectors that are zero except for a few adjacent entries.
// Such a vector may be multiplied by a factor that is the same for all pairs.
#include "formula/summands.h"

#include "formula/op_table.h"

namespace kernops {
namespace {

class Summands {
 public:
  explicit Summands(Graph& graph) : graph_(graph) {}

  void add(SummandTrees term) {
    const Node node = graph_[term.value];
    const Tree a = node.args[0], b = node.args[1];
    if (is(node, OpId::ElemT)) {
      add({a, term.times, entries(term.factor, node.ints[1], 1), term.at + node.ints[1], 1});
    } else if (is(node, OpId::ExtractT)) {
      const int size = graph_[a].size;
      add({a, term.times, entries(term.factor, node.ints[0], size), term.at + node.ints[0], size});
    } else if (is_sum(node)) {
      add(with(term, a));
      SummandTrees second = with(term, b);
      if (is(node, OpId::Subtract)) second.factor = product(second.factor, graph_.constant(-1));
      add(second);
    } else if (is(node, OpId::Minus)) {
      SummandTrees opposite = with(term, a);
      opposite.factor = product(term.factor, graph_.constant(-1));
      add(opposite);
    } else if (is(node, OpId::Mult) && (add_multiple(term, a, b) || add_multiple(term, b, a))) {
    } else {
      summands.push_back(term);
    }
  }

  std::vector<SummandTrees> summands;

 private:
  // Returns whether a node is a sum of vectors that are padded with zeros. All other sums are kept as one value.
  bool is_sum(const Node& node) const {
    if (!is(node, OpId::Add) && !is(node, OpId::Subtract)) return false;
    for (const Tree arg : {node.args[0], node.args[1]}) {
      const Node& part = graph_[arg];
      if (part.size != node.size) return false;
      if (!is(part, OpId::ElemT) && !is(part, OpId::ExtractT) && !is_sum(part)) return false;
    }
    return true;
  }

  // Splits the product of `by` and `value` if `by` is the same for all pairs, or is one number for all entries. Returns
  // whether the product was split.
  bool add_multiple(SummandTrees term, Tree by, Tree value) {
    const bool uniform = graph_[by].axes == none;
    if (graph_[value].size != term.size || (!uniform && (graph_[by].size > 1 || term.size == 1))) return false;
    Tree& part = uniform ? term.factor : term.times;
    part = product(part, by);
    return add(with(term, value)), true;
  }

  static SummandTrees with(SummandTrees term, Tree value) { return term.value = value, term; }

  Tree product(Tree a, Tree b) { return a < 0 ? b : graph_.operation(OpId::Mult, {a, b}); }

  Tree entries(Tree factor, int first, int count) {
    return factor < 0 || graph_[factor].size == 1 ? factor : graph_.operation(OpId::Extract, {factor}, {first, count});
  }

  Graph& graph_;
};

}  // namespace

std::vector<SummandTrees> summands_of(Graph& graph, const Reduction& reduction) {
  Summands terms(graph);
  if (reduction_table()[reduction.row].stores()) terms.add({reduction.f, -1, -1, 0, graph[reduction.f].size});
  return terms.summands;
}

}  // namespace kernops
