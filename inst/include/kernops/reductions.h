// Reductions of one entry: how a running state takes a value, joins another state and becomes a result.
//
// State holds `values` numbers and `indices` integers; they are scalars, or SIMD packs that reduce one lane
// each.
//   start(s)      nothing has joined yet            add(s, x, j)  value x of index j joins
//   settle(s)     called after each tile            merge(s, o)   o joins; of equals the lower index stays
//   absorb(s, o)  o, a sum that was not settled yet, joins
//   finish(s, n)  result n of `outputs`; indices are given back from 1, and 0 where there was none
#pragma once
#include <kernops/extremes.h>
#include <kernops/moments.h>
#include <kernops/sums.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// The result of max f and sums of exp(f - max f): the log of a sum, weighted means, or max and sums themselves.
enum class Shifted { log_sum, softmax, max_and_sums };

// From so many weights on, a GPU adds up what they weigh as sums of vectors (cuda/wide/vector_sum.cuh). Below,
// exponents are in base 2 there.
constexpr int many_weights = 16;

// v[0] * 2^v[1]: what is multiplied on the way may be beyond all numbers where the product is not.
struct Product : Settled<2> {
  template <class S> static KERNOPS_FN void start(S& s) { s.v[0] = 1, s.v[1] = 0; }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I) {
    s.v[0] = significand(s.v[0] * x, s.v[1]);
  }
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) {
    s.v[1] += o.v[1];
    add(s, o.v[0], 0);
  }
  template <class S> static KERNOPS_FN double finish(const S& s, int) {
    constexpr double most = 2200;  // from there on it is Inf, or 0
    return ldexp(double(s.v[0]), int(min(max(double(s.v[1]), -most), most)));
  }
};

// 0 for false, 1 for true, and NaN between them: it does not matter where one decides.
template <class V> KERNOPS_FN V truth_of(V x) { return select(x == x, select(x == V(0), V(0), V(1)), V(0.5)); }
template <int sign> struct Decides : Settled<1> {  // sign = 1: all, -1: any
  template <class S> static KERNOPS_FN void start(S& s) { s.v[0] = sign > 0; }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I) {
    s.v[0] = sign > 0 ? min(s.v[0], truth_of(x)) : max(s.v[0], truth_of(x));
  }
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) {
    s.v[0] = sign > 0 ? min(s.v[0], o.v[0]) : max(s.v[0], o.v[0]);
  }
  template <class S> static KERNOPS_FN double finish(const S& s, int) {
    return s.v[0] == 0.5 ? not_a_number<double>() : double(s.v[0]);
  }
};
using All = Decides<1>;
using Any = Decides<-1>;

}  // namespace KERNOPS_ISA
}  // namespace kernops
