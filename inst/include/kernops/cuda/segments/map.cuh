// The second pass of a softmax and of a gradient: combines each value with the results of its segment. This file also
// has the kernel that marks NA: if a result is NaN and a value of the segment is NA, the result becomes NA.
#pragma once
#include <kernops/cuda/segments/ops.cuh>
#include <kernops/cuda/segments/terms.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// A value of a segment, and its partner (a weight or a second value).
template <class V, class W> struct InSegment {
  const SegmentRun& job;
  int column, row;
  long long m, at;

  __device__ double x() const { return number<double>(value_at<V>(job, column, at)); }
  __device__ double incoming() const { return number<double>(partner_at<W>(job, column, at)); }
  __device__ double given(int k) const { return given_at(job, k, column, row); }
  __device__ double length() const { return double(job.offsets[row + 1] - job.offsets[row]); }
  __device__ double position() const { return double(m - job.offsets[row] + 1); }
  __device__ double softmax() const { return softmax_of(Given{job, column, row}, x()); }
};

// Calls f(InSegment) for each value of the tile.
template <class V, class W, Where where, int VT, class F> __device__ void each_in_segment(const SegmentRun& job, F f) {
  const int tile = blockIdx.x * segment_tile, first = tile + threadIdx.x / 32 * 32 * VT, column = blockIdx.y;
  if (first >= job.plan.count) return;
  each_place<VT, 1, where>(job, tile, first, true, [&](int, long long m, long long at, int row) {
    f(InSegment<V, W>{job, column, row, m, at});
  });
}

// Computes a result for each value. If `in_place` is true, writes the result to the position of the value. If not,
// results are in the order of the segments; a value may then have several results, because it may be in several
// segments.
template <class What, class V, class W, class Result, Where where, bool in_place, int VT>
__device__ void map_values(const SegmentRun& job) {
  each_in_segment<V, W, where, VT>(job, [&](const InSegment<V, W>& s) {
    static_cast<Result*>(job.out)[s.column * job.out_column + (in_place ? s.at : s.m)] = Result(What::of(s));
  });
}

// Sets the results of segments with an NA to NA. Several threads may write to the same result, but all of these threads
// write the same value.
template <class Term, Where where, int VT> __device__ void mark_gaps(const SegmentRun& job) {
  each_in_segment<double, double, where, VT>(job, [&](const InSegment<double, double>& s) {
    double& result = static_cast<double*>(job.out)[s.column * job.out_column + result_row(job, s.row)];
    if (result != result && Term::gap(job, s.column, s.at)) result = missing();
  });
}

#define KERNOPS_SEGMENT_MAP(What, V, W, Result, where, in_place, VT)                             \
  KERNOPS_KERNEL(__launch_bounds__(kernops::segment_tile / VT) kernops_map, kernops::SegmentRun, \
                 kernops::map_values<What, V, W, Result, where, in_place, VT>)
#define KERNOPS_GAPS(Term, where, VT)                                                             \
  KERNOPS_KERNEL(__launch_bounds__(kernops::segment_tile / VT) kernops_gaps, kernops::SegmentRun, \
                 kernops::mark_gaps<Term, where, VT>)

}  // namespace KERNOPS_ISA
}  // namespace kernops
