// Products of tensors, computed by transpositions and one product of matrices.
#include "formula/built.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace kernops {
namespace built {
namespace {

int product(const Integers& dims) { return std::accumulate(dims.begin(), dims.end(), 1, std::multiplies<int>()); }

Integers choose(const Integers& from, const Integers& places) {
  Integers chosen;
  for (const int place : places) chosen.push_back(from[place]);
  return chosen;
}

Integers count_to(size_t n) {
  Integers numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

Integers others(size_t n, const Integers& places) {
  Integers rest;
  for (int place = 0; place < int(n); ++place)
    if (std::find(places.begin(), places.end(), place) == places.end()) rest.push_back(place);
  return rest;
}

Integers joined(Integers a, const Integers& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

bool distinct_places(Integers places, size_t n) {
  std::sort(places.begin(), places.end());
  return std::adjacent_find(places.begin(), places.end()) == places.end() &&
         (places.empty() || (places.front() >= 0 && places.back() < int(n)));
}

void check_shape(const Graph& graph, Tree a, const Integers& shape, const char* which) {
  const bool positive = std::all_of(shape.begin(), shape.end(), [](int d) { return d > 0; });
  double entries = 1;
  for (const int d : shape) entries *= d;
  if (!positive || entries != graph[a].size)
    fail(std::string("the shape of the ") + which + " argument has " + std::to_string((long long)entries) +
         " entries, but the argument has " + std::to_string(graph[a].size));
}

// Permutes the dimensions of a tensor: dimension n of the result is dimension order[n] of a. Each step exchanges two
// adjacent groups of dimensions, which moves the next dimension to the front of the remaining ones.
Tree permuted(Graph& graph, Tree a, const Integers& shape, const Integers& order) {
  Integers now = count_to(shape.size());
  for (size_t n = 0; n < order.size(); ++n) {
    const auto from = now.begin() + n, wanted = std::find(from, now.end(), order[n]);
    const int before = product(choose(shape, {from, wanted})), rest = product(choose(shape, {wanted, now.end()}));
    if (before > 1 && rest > 1) a = graph.operation(OpId::Transpose, {a}, {before, rest});
    std::rotate(from, wanted, now.end());
  }
  return a;
}

}  // namespace

Tree tensor_dot(Graph& graph, const Trees& args, const Lists& lists) {
  const Integers &shape_a = lists[0], &shape_b = lists[1], &dims_a = lists[2], &dims_b = lists[3];
  check_shape(graph, args[0], shape_a, "first");
  check_shape(graph, args[1], shape_b, "second");
  if (!distinct_places(dims_a, shape_a.size()) || !distinct_places(dims_b, shape_b.size()) ||
      choose(shape_a, dims_a) != choose(shape_b, dims_b))
    fail("the contracted dimensions must be distinct, counted from 0, and of pairwise equal length");
  const Integers kept_a = others(shape_a.size(), dims_a), kept_b = others(shape_b.size(), dims_b);
  const Tree a = permuted(graph, args[0], shape_a, joined(kept_a, dims_a)),
             b = permuted(graph, args[1], shape_b, joined(dims_b, kept_b));
  const Tree result = graph.operation(OpId::MatMult, {a, b}, {product(choose(shape_a, dims_a))});
  if (lists.size() < 5) return result;
  const Integers shape = joined(choose(shape_a, kept_a), choose(shape_b, kept_b)), &to = lists[4];
  if (to.size() != shape.size() || !distinct_places(to, shape.size()))
    fail("the permutation must contain the numbers from 0 to " + std::to_string(int(shape.size()) - 1));
  Integers order(to.size());
  for (size_t n = 0; n < to.size(); ++n) order[to[n]] = int(n);
  return permuted(graph, result, shape, order);
}

Tree kron(Graph& graph, const Trees& args, const Lists& lists) {
  check_shape(graph, args[0], lists[0], "first");
  check_shape(graph, args[1], lists[1], "second");
  const size_t n = lists[0].size();
  if (lists[1].size() != n) fail("both shapes must have the same number of dimensions");
  Integers by_turns;
  for (size_t k = 0; k < n; ++k) by_turns.push_back(int(k)), by_turns.push_back(int(n + k));
  return permuted(graph, graph.operation(OpId::TensorProd, args), joined(lists[0], lists[1]), by_turns);
}

}  // namespace built
}  // namespace kernops
