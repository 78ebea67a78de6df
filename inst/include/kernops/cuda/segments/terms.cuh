// Terms of segments: numbers that are computed from values which are not contiguous, or from a value and its partner. A
// partner is a weight, or a vector entry that a sparse matrix selects. Values may be in any order.
#pragma once
#include <kernops/missing.h>
#include <kernops/segment_terms.h>
#include <kernops/cuda/segments/values.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

enum class Where { in_order, ordered, shifted };

// Returns the number of segments that end before the warp's values. The first of these values has the position `first`.
__device__ __forceinline__ int rows_before(const SegmentPlan& plan, int tile, int first) {
  int before = 0;
  for (int n = lane_id(); n < (first - tile) / 32; n += 32) before += __popc(plan.ends[tile / 32 + n]);
  return plan.limits[tile / segment_tile] + __shfl_sync(all_lanes, sum_below(before) + before, 31);
}

// Calls f(k, m, at, row) for each value of this lane. Value k of the lane is number m in the order of the segments, and
// is at position `at` of x. If `rows` is true, the value belongs to segment `row`. A lane has groups of `quad`
// neighbouring values; the lanes of a warp have neighbouring groups.
template <int VT, int quad, Where where, class F>
__device__ __forceinline__ void each_place(const SegmentRun& job, int tile, int first, bool rows, F f) {
  const int within = lane_id() * quad;
  const unsigned* words = job.plan.ends + first / 32;
  int row = rows ? rows_before(job.plan, tile, first) : 0;
  KERNOPS_EVERY(k, quad, VT) {
    int mine = row;
    unsigned ends = 0;
    KERNOPS_UNROLL
    for (int n = 0; n < quad && rows; ++n) {
      const unsigned word = words[k + n];
      if (n == within / 32) ends = word, mine += __popc(word & ((1u << within % 32) - 1));
      if (n < within / 32) mine += __popc(word);
      row += __popc(word);
    }
    KERNOPS_EACH(e, quad) {
      const int n = first + k * 32 + within + e;
      const long long m = job.first + n;
      if (n < job.plan.count)
        f(k + e, m,
          where == Where::ordered   ? (long long)job.order[m]
          : where == Where::shifted ? m + job.shifts[mine]
                                    : m,
          mine);
      mine += ends >> (within + e) % 32 & 1;
    }
  }
}

__device__ __forceinline__ bool is_gap(double x) { return is_missing(x); }
__device__ __forceinline__ bool is_gap(float) { return false; }
__device__ __forceinline__ bool is_gap(int x) { return x == int(0x80000000); }

template <class V> __device__ __forceinline__ V value_at(const SegmentRun& job, int column, long long at) {
  return static_cast<const V*>(job.x)[at * job.x_row + column * job.x_column];
}
template <class W> __device__ __forceinline__ W partner_at(const SegmentRun& job, int column, long long at) {
  const long long by = job.through ? (long long)job.through[at] - 1 : at;
  return static_cast<const W*>(job.partner)[by * job.partner_row + column * job.partner_column];
}
// Loads the partners of VT values, whose positions are at(0), at(1), ..
template <class W, class T, int VT, class At>
__device__ __forceinline__ void partners(const SegmentRun& job, int column, At at, T (&v)[VT]) {
  const W* const y = static_cast<const W*>(job.partner) + column * job.partner_column;
  if (!job.through) {
    KERNOPS_EACH(k, VT) v[k] = number<T>(y[at(k) * job.partner_row]);
    return;
  }
  int by[VT];
  KERNOPS_EACH(k, VT) by[k] = job.through[at(k)] - 1;
  KERNOPS_EACH(k, VT) v[k] = number<T>(y[by[k] * job.partner_row]);
}
__device__ __forceinline__ double given_at(const SegmentRun& job, int k, int column, int row) {
  return job.given[k][column * job.given_column + result_row(job, row)];
}

// The numbers in SegmentRun::given that belong to segment `row` of the plan; the call operator returns number k.
struct Given {
  const SegmentRun& job;
  int column, row;
  __device__ __forceinline__ double operator()(int k) const { return given_at(job, k, column, row); }
};

// Computes the terms of the VT values of a lane, whose positions are at(0), at(1), .. The loads of the values are
// independent, so that many loads are in flight at a time. Each kind of term (Kind) has a function terms() that calls
// this function.
template <class Kind, class T, int VT, class At>
__device__ __forceinline__ void each_term(const SegmentRun& job, int column, At at, T (&v)[VT]) {
  KERNOPS_EACH(k, VT) v[k] = Kind::term(job, column, at(k), 0);
}

// A term of one value. If `given` is true, the term also depends on the numbers in SegmentRun::given that belong to the
// value's segment.
template <class V, class T, class Term, bool given = false> struct Mapped {
  using Value = T;
  static constexpr int quad = 16 / sizeof(V);
  static constexpr bool by_segment = given;
  static __device__ __forceinline__ T term(const SegmentRun& job, int column, long long at, int row) {
    return Term::of(Given{job, column, row}, number<T>(value_at<V>(job, column, at)), T(0));
  }
  template <int VT, class At>
  static __device__ __forceinline__ void terms(const SegmentRun& job, int column, At at, T (&v)[VT]) {
    each_term<Mapped>(job, column, at, v);
  }
  static __device__ __forceinline__ bool gap(const SegmentRun& job, int column, long long at) {
    return is_gap(value_at<V>(job, column, at));
  }
};

// A term of a value and its partner.
template <class V, class W, class T, class Term, bool given = false> struct Paired {
  using Value = T;
  static constexpr int quad = 16 / sizeof(V);
  static constexpr bool by_segment = given;
  static __device__ __forceinline__ T term(const SegmentRun& job, int column, long long at, int row) {
    return Term::of(Given{job, column, row}, number<T>(value_at<V>(job, column, at)),
                    number<T>(partner_at<W>(job, column, at)));
  }
  template <int VT, class At>
  static __device__ __forceinline__ void terms(const SegmentRun& job, int column, At at, T (&v)[VT]) {
    partners<W>(job, column, at, v);
    KERNOPS_EACH(k, VT) v[k] = Term::of(Given{job, column, 0}, number<T>(value_at<V>(job, column, at(k))), v[k]);
  }
  static __device__ __forceinline__ bool gap(const SegmentRun& job, int column, long long at) {
    return is_gap(value_at<V>(job, column, at)) || is_gap(partner_at<W>(job, column, at));
  }
};

// A term that consists of the partner only, without a value.
template <class W, class T> struct PartnerAlone {
  using Value = T;
  static constexpr int quad = 16 / sizeof(W);
  static constexpr bool by_segment = false;
  static __device__ __forceinline__ T term(const SegmentRun& job, int column, long long at, int) {
    return number<T>(partner_at<W>(job, column, at));
  }
  template <int VT, class At>
  static __device__ __forceinline__ void terms(const SegmentRun& job, int column, At at, T (&v)[VT]) {
    partners<W>(job, column, at, v);
  }
  static __device__ __forceinline__ bool gap(const SegmentRun& job, int column, long long at) {
    return is_gap(partner_at<W>(job, column, at));
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
