// Selects the nearest columns of a row from the row's lists; each split of the columns has one list.
#pragma once
#include <kernops/cuda/wide/nearest_list.cuh>
#include <kernops/cuda/wide/nearest_points.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Computes the nearest columns of one row, with one warp per row.
template <class Formula, class Nearest> struct NearestOfRow {
  using List = NearestOfWarp<double, Nearest::listed>;
  static constexpr int k = Nearest::k, listed = Nearest::listed;
  const NearestJob& job;
  const int row;
  List list;

  __device__ __forceinline__ const Neighbour* kept(int split) const {
    return job.lists + (row * (long long)job.splits + split) * (listed + nearest_waiting);
  }
  // Returns the limit of the bounds of the row. Columns with larger bounds are not among the k nearest columns.
  __device__ __forceinline__ float limit() const {
    NearestOfWarp<float, listed> all;
    all.clear();
    for (int s = 0; s < job.splits; ++s)
      for (int first = 0; first < listed && kept(s)[first].number < all.at(k - 1); first += 32) {
        const Neighbour own = kept(s)[first + lane_of_warp()];
        all.join_sorted({own.number, own.column});
      }
    return BoundsOf<Nearest>::limit(all.at(k - 1), job.rows.bounds[row], longest_column<Nearest>(job));
  }
  // Returns the number that the search minimises: the squared distance, or the inner product times `product`.
  __device__ __forceinline__ double number(int column) const {
    const double* const x = row_vector<Formula, Nearest>(job, row);
    const double* const y = column_vector<Formula, Nearest>(job, column);
    double sum = 0;
    KERNOPS_UNROLL_BY(8)
    for (int e = lane_of_warp(); e < Nearest::size; e += 32)
      sum += Nearest::product ? Nearest::product * x[e] * y[e] : sq(x[e] - y[e]);
    return sum_of_warp(sum);
  }
  // Joins the columns of a split's list. Returns true if the last bound of this list exceeds the limit. In this case,
  // no unlisted column of the split can be among the nearest columns.
  __device__ __forceinline__ bool join(int split, float limit) {
    for (int first = 0; first < listed; first += 32) {
      const Neighbour own = kept(split)[first + lane_of_warp()];
      const int count = __popc(__ballot_sync(~0u, own.number < limit));
      OfLane<double> some = OfLane<double>::none();
      KERNOPS_UNROLL_BY(1)
      for (int n = 0; n < count; ++n) {
        const double exact = number(__shfl_sync(~0u, own.column, n));
        if (lane_of_warp() == n) some = {exact, own.column};
      }
      if (count > 0) list.join(some);
      if (count < 32) return true;
    }
    return false;
  }
  __device__ __forceinline__ void put() const {
    double* const out = job.out + row * job.out_row;
    KERNOPS_EACH(p, List::parts) {
      const int n = 32 * p + lane_of_warp();
      if (n >= k) break;
      const double exact = Nearest::negated ? -list.part[p].number : list.part[p].number;
      if (Nearest::values) out[n * job.out_entry] = Nearest::root ? sqrt(exact) : exact;
      if (Nearest::positions) out[(n + (Nearest::values ? k : 0)) * job.out_entry] = list.part[p].column + 1;
    }
  }
};

template <class Formula, class Nearest> __device__ __forceinline__ void finish_nearest(const NearestJob& job) {
  NearestOfRow<Formula, Nearest> of{job, int((blockIdx.x * blockDim.x + threadIdx.x) / 32), {}};
  if (of.row >= job.rows.count) return;
  of.list.clear();
  const float limit = of.limit();
  bool all = true;
  for (int s = 0; s < job.splits; ++s) all &= of.join(s, limit);
  if (!all) *job.odd = 1;
  of.put();
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
