// Soft dynamic time warping. The table of costs is computed by diagonals, each of which depends on the previous two.
#include "formula/built.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace kernops {
namespace built {
namespace {

// The soft minimum of a, b and c: -gamma log(exp(-a / gamma) + exp(-b / gamma) + exp(-c / gamma)).
Tree soft_min(Graph& graph, Tree a, Tree b, Tree c, Tree gamma) {
  const Tree least = graph.operation(OpId::Min2, {a, graph.operation(OpId::Min2, {b, c})});
  const auto weight = [&](Tree x) {
    return graph.operation(OpId::Exp,
                           {graph.operation(OpId::Divide, {graph.operation(OpId::Subtract, {least, x}), gamma})});
  };
  const Tree sum = graph.operation(OpId::Add, {weight(a), graph.operation(OpId::Add, {weight(b), weight(c)})});
  return graph.operation(OpId::Subtract,
                         {least, graph.operation(OpId::Mult, {gamma, graph.operation(OpId::Log, {sum})})});
}

// A diagonal of the table of costs: the cells (i, n - i) of diagonal n, for i = first .. last.
struct Diagonal {
  Tree cells;
  int first, last;
};

// The maximum number of values of both series together. The limit is needed because each diagonal takes some twenty
// nodes.
constexpr int most_numbers = 4096;

}  // namespace

Tree soft_dtw(Graph& graph, const Trees& args, const Lists&) {
  const Tree x = args[0], y = graph.operation(OpId::Reverse, {args[1]}), gamma = args[2];
  const int A = graph[x].size, B = graph[y].size;
  if (graph[gamma].size != 1) fail("the smoothing parameter of SoftDTW_SqDist must be a scalar");
  if (A > most_numbers || B > most_numbers - A)
    fail("the series of SoftDTW_SqDist have " + std::to_string(int64_t(A) + B) +
         " numbers together; it takes at most " + std::to_string(most_numbers));
  const auto part = [&](Tree v, int from, int to) {
    return graph.operation(OpId::Extract, {v}, {from, to - from + 1});
  };
  Diagonal two_before{}, before{};
  for (int n = 0; n <= A + B - 2; ++n) {
    Diagonal diagonal{-1, std::max(0, n - B + 1), std::min(n, A - 1)};
    const Tree cost = graph.operation(
        OpId::Square,
        {graph.operation(OpId::Subtract, {part(x, diagonal.first, diagonal.last),
                                          part(y, B - 1 - n + diagonal.first, B - 1 - n + diagonal.last)})});
    const auto of = [](const Diagonal& d, int i) { return i - d.first; };
    Trees reached;  // for each cell, the soft minimum of the costs of the adjacent cells in earlier diagonals
    const int inner_first = std::max(diagonal.first, 1), inner_last = std::min(diagonal.last, n - 1);
    if (n > 0 && diagonal.first == 0) reached.push_back(part(before.cells, of(before, 0), of(before, 0)));
    if (inner_first <= inner_last) {
      const auto inner = [&](const Diagonal& d, int shift) {
        return part(d.cells, of(d, inner_first + shift), of(d, inner_last + shift));
      };
      reached.push_back(soft_min(graph, inner(before, -1), inner(before, 0), inner(two_before, -1), gamma));
    }
    if (n > 0 && diagonal.last == n) reached.push_back(part(before.cells, of(before, n - 1), of(before, n - 1)));
    diagonal.cells = n == 0 ? cost : graph.operation(OpId::Add, {cost, concat(graph, reached)});
    two_before = before, before = diagonal;
  }
  return before.cells;
}

}  // namespace built
}  // namespace kernops
