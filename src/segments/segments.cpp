// The positions of segments, the table of operations, and user formulas that combine two values.
#include "segments/segments.h"

#include <kernops/jobs/segments.h>

#include <algorithm>

#include "formula/build.h"

namespace kernops {

void Segments::set_lengths(const std::vector<Count>& lengths, Count begin, const std::vector<Count>& sources_of) {
  count = Count(lengths.size()), first = begin;
  const Count empty = std::count(lengths.begin(), lengths.end(), Count(0));
  offsets_.reserve(lengths.size() - empty + 1);
  if (empty > 0) rows.reserve(lengths.size() - empty), empties.reserve(empty);
  offsets_[0] = begin;
  for (Count s = 0; s < count; ++s) {
    if (lengths[s] == 0) {
      empties.push_back(s);
      continue;
    }
    if (lengths[s] > segment_block) large.push_back(Count(offsets_.size()) - 1);
    if (empty > 0) rows.push_back(s);
    if (!sources_of.empty()) sources.push_back(sources_of[s]);
    offsets_.push_back(offsets_.back() + lengths[s]);
    longest = std::max(longest, lengths[s]);
  }
  covered = offsets_.back() - begin;
}

const std::vector<std::uint32_t>& Segments::order() const {
  std::call_once(sorted_, [this] {
    std::vector<Count> next(count, 0);
    for (Count s = 0; s < segments(); ++s) next[row(s)] = offsets_[s];
    order_.resize(size_t(covered));
    for (Count n = 0; n < values; ++n)
      if (const Count row = groups[n]; row >= 0) order_[size_t(next[row]++)] = std::uint32_t(n);
  });
  return order_;
}

SegmentFormula segment_formula(const std::string& text) {
  Graph graph;
  const Scope scope = {{"a", graph.variable(0, 1, axis_j)}, {"b", graph.variable(1, 1, axis_j)}};
  const Expr expr = parse(text);
  const Tree f = build(graph, expr, scope);
  if (graph[f].size != 1)
    throw FormulaError("the formula must give one number, not " + std::to_string(graph[f].size), expr.position);
  SegmentFormula formula = {plan(graph, {find_reduction("Sum", false), 0, f, -1, axis_j, 1})};
  if (formula.plan.counts_indices) throw FormulaError("the formula must not depend on positions", expr.position);
  return formula;
}

}  // namespace kernops
