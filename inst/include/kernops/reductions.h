// Reductions of one entry. The struct of a reduction has functions that add a value to a running state, merge states,
// and return the result.
//
// A State contains `values` numbers and `indices` integers. Each member is a scalar, or a SIMD pack with one state per
// lane.
//   start(s)      makes s empty
//   add(s, x, j)  adds value x of index j
//   settle(s)     is called after each tile
//   merge(s, o)   joins the state o; if values are equal, keeps the value with the lower index
//   absorb(s, o)  joins the sum o, for which settle() has not been called
//   finish(s, n)  returns result n of `outputs`; an index counts from 1, and is 0 if s is empty
#pragma once
#include <kernops/extremes.h>
#include <kernops/moments.h>
#include <kernops/sums.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// The result that is computed from max f and sums of exp(f - max f): the logarithm of a sum (log_sum), weighted means
// (softmax), or the maximum and the sums.
enum class Shifted { log_sum, softmax, max_and_sums };

// If a pair has at least this number of weights, a GPU computes weighted sums as sums of vectors
// (cuda/wide/vector_sum.cuh). With fewer weights, GPU kernels convert exponents to base 2.
constexpr int many_weights = 16;

// The product v[0] * 2^v[1]. The separate exponent v[1] prevents an overflow of intermediate products.
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
    constexpr double most = 2200;  // beyond this exponent the result is Inf or 0
    return ldexp(double(s.v[0]), int(min(max(double(s.v[1]), -most), most)));
  }
};

// Maps false to 0, true to 1, and NaN to a number between 0 and 1, so that results do not depend on the order of the
// values.
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
