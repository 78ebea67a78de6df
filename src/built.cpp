// Operations that are made of others: those that take lists, those that need a loop, and derivatives.
#include <algorithm>
#include <functional>
#include <numeric>

#include "formula.h"

namespace kernops {
namespace {

using Trees = std::vector<Tree>;
using Integers = std::vector<int>;
using Lists = std::vector<Integers>;

[[noreturn]] void fail(const std::string& message) { throw FormulaError(message, -1); }

Tree op(Graph& graph, const char* name, const Trees& args, const Integers& ints = {}) {
  return graph.operation(find_op(name), args, ints);
}

Tree concat(Graph& graph, const Trees& parts) {
  Tree whole = parts[0];
  for (size_t n = 1; n < parts.size(); ++n) whole = op(graph, "Concat", {whole, parts[n]});
  return whole;
}

// ---- tensors

int product(const Integers& dims) {
  return std::accumulate(dims.begin(), dims.end(), 1, std::multiplies<int>());
}

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
         " entries, the argument " + std::to_string(graph[a].size));
}

// The tensor with its dimensions in another order: dimension n of the result is dimension order[n] of a. What
// comes next is brought to the front of what is left, by turning the matrix of what is before and from there
// on.
Tree permuted(Graph& graph, Tree a, const Integers& shape, const Integers& order) {
  Integers now = count_to(shape.size());
  for (size_t n = 0; n < order.size(); ++n) {
    const auto from = now.begin() + n, wanted = std::find(from, now.end(), order[n]);
    const int before = product(choose(shape, {from, wanted})),
              rest = product(choose(shape, {wanted, now.end()}));
    if (before > 1 && rest > 1) a = op(graph, "Transpose", {a}, {before, rest});
    std::rotate(from, wanted, now.end());
  }
  return a;
}

Tree tensor_dot(Graph& graph, const Trees& args, const Lists& lists) {
  const Integers &shape_a = lists[0], &shape_b = lists[1], &dims_a = lists[2], &dims_b = lists[3];
  check_shape(graph, args[0], shape_a, "first");
  check_shape(graph, args[1], shape_b, "second");
  if (!distinct_places(dims_a, shape_a.size()) || !distinct_places(dims_b, shape_b.size()) ||
      choose(shape_a, dims_a) != choose(shape_b, dims_b))
    fail("the contracted dimensions must be different ones, counted from 0, and pairwise of the same length");
  const Integers kept_a = others(shape_a.size(), dims_a), kept_b = others(shape_b.size(), dims_b);
  const Tree a = permuted(graph, args[0], shape_a, joined(kept_a, dims_a)),
             b = permuted(graph, args[1], shape_b, joined(dims_b, kept_b));
  const Tree result = op(graph, "MatMult", {a, b}, {product(choose(shape_a, dims_a))});
  if (lists.size() < 5) return result;
  const Integers shape = joined(choose(shape_a, kept_a), choose(shape_b, kept_b)), &to = lists[4];
  if (to.size() != shape.size() || !distinct_places(to, shape.size()))
    fail("the permutation must hold the numbers from 0 to " + std::to_string(int(shape.size()) - 1));
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
  return permuted(graph, op(graph, "TensorProd", args), joined(lists[0], lists[1]), by_turns);
}

// ---- soft dynamic time warping, diagonal by diagonal: all of a diagonal depends on the two before it.

// The soft minimum of three.
Tree soft_min(Graph& graph, Tree a, Tree b, Tree c, Tree gamma) {
  const Tree least = op(graph, "Min2", {a, op(graph, "Min2", {b, c})});
  const auto weight = [&](Tree x) {
    return op(graph, "Exp", {op(graph, "Divide", {op(graph, "Subtract", {least, x}), gamma})});
  };
  const Tree sum = op(graph, "Add", {weight(a), op(graph, "Add", {weight(b), weight(c)})});
  return op(graph, "Subtract", {least, op(graph, "Mult", {gamma, op(graph, "Log", {sum})})});
}

// A diagonal of the table of costs: cells (i, n - i) for i from `first`.
struct Diagonal {
  Tree cells;
  int first, last;
};

Tree soft_dtw(Graph& graph, const Trees& args, const Lists&) {
  const Tree x = args[0], y = op(graph, "Reverse", {args[1]}), gamma = args[2];
  const int A = graph[x].size, B = graph[y].size;
  if (graph[gamma].size != 1) fail("the smoothing of SoftDTW_SqDist must be one number");
  const auto part = [&](Tree v, int from, int to) {
    return op(graph, "Extract", {v}, {from, to - from + 1});
  };
  Diagonal two_before{}, before{};
  for (int n = 0; n <= A + B - 2; ++n) {
    Diagonal now{-1, std::max(0, n - B + 1), std::min(n, A - 1)};
    const Tree cost =
        op(graph, "Square",
           {op(graph, "Subtract",
               {part(x, now.first, now.last), part(y, B - 1 - n + now.first, B - 1 - n + now.last)})});
    const auto of = [](const Diagonal& d, int i) { return i - d.first; };
    Trees reached;  // at the least cost, from the cells before
    const int inner_first = std::max(now.first, 1), inner_last = std::min(now.last, n - 1);
    if (n > 0 && now.first == 0) reached.push_back(part(before.cells, of(before, 0), of(before, 0)));
    if (inner_first <= inner_last) {
      const auto inner = [&](const Diagonal& d, int shift) {
        return part(d.cells, of(d, inner_first + shift), of(d, inner_last + shift));
      };
      reached.push_back(soft_min(graph, inner(before, -1), inner(before, 0), inner(two_before, -1), gamma));
    }
    if (n > 0 && now.last == n) reached.push_back(part(before.cells, of(before, n - 1), of(before, n - 1)));
    now.cells = n == 0 ? cost : op(graph, "Add", {cost, concat(graph, reached)});
    two_before = before, before = now;
  }
  return before.cells;
}

// ---- derivatives

Tree unit(Graph& graph, int size, int k) { return op(graph, "ElemT", {graph.constant(1)}, {size, k}); }

Tree zeros(Graph& graph, int size) { return op(graph, "Zero", {}, {size}); }

void check_variable(const Graph& graph, Tree v) {
  if (graph[v].kind != Node::variable)
    fail("derivatives are taken by a variable: the second argument must be one");
}

Tree gradient_or_zeros(Graph& graph, Tree f, Tree v, Tree g) {
  const Tree found = gradient(graph, f, v, g);
  return found < 0 ? zeros(graph, graph[v].size) : found;
}

Tree grad_matrix(Graph& graph, const Trees& args, const Lists&) {
  check_variable(graph, args[1]);
  Trees rows;
  for (int size = graph[args[0]].size, k = 0; k < size; ++k)
    rows.push_back(gradient_or_zeros(graph, args[0], args[1], unit(graph, size, k)));
  return concat(graph, rows);
}

// The gradient (df/dv)^T g is linear in g, so its own gradient by g along u is (df/dv) u.
Tree along(Graph& graph, Tree f, Tree v, Tree u) {
  const int size = graph[f].size;
  const Tree g = graph.variable(-1 - graph.count(), size, none);
  const Tree back = gradient(graph, f, v, g);
  const Tree forth = back < 0 ? -1 : gradient(graph, back, g, u);
  return forth < 0 ? zeros(graph, size) : forth;
}

Tree diff(Graph& graph, const Trees& args, const Lists&) {
  check_variable(graph, args[1]);
  if (graph[args[2]].size != graph[args[1]].size)
    fail("the change must have the size of the variable, " + std::to_string(graph[args[1]].size) + ", not " +
         std::to_string(graph[args[2]].size));
  return along(graph, args[0], args[1], args[2]);
}

Tree divergence(Graph& graph, const Trees& args, const Lists&) {
  check_variable(graph, args[1]);
  const int size = graph[args[1]].size;
  if (graph[args[0]].size != size)
    fail("a divergence needs as many entries as the variable has, " + std::to_string(size) + ", not " +
         std::to_string(graph[args[0]].size));
  Tree sum = -1;
  for (int k = 0; k < size; ++k) {
    const Tree term = op(graph, "Elem", {along(graph, args[0], args[1], unit(graph, size, k))}, {k});
    sum = sum < 0 ? term : op(graph, "Add", {sum, term});
  }
  return sum;
}

Tree laplacian(Graph& graph, const Trees& args, const Lists&) {
  check_variable(graph, args[1]);
  if (graph[args[0]].size != 1) fail("a Laplacian needs a scalar");
  return divergence(graph, {gradient_or_zeros(graph, args[0], args[1], graph.constant(1)), args[1]}, {});
}

}  // namespace

const Built* find_built(const std::string& name) {
  static const std::map<std::string, Built> all = {{"TensorDot", {tensor_dot, 2, 4, 5}},
                                                   {"Kron", {kron, 2, 2, 2}},
                                                   {"SoftDTW_SqDist", {soft_dtw, 3, 0, 0}},
                                                   {"GradMatrix", {grad_matrix, 2, 0, 0}},
                                                   {"Diff", {diff, 3, 0, 0}},
                                                   {"Divergence", {divergence, 2, 0, 0}},
                                                   {"Laplacian", {laplacian, 2, 0, 0}}};
  const auto found = all.find(name);
  return found == all.end() ? nullptr : &found->second;
}

}  // namespace kernops
