// The nearest columns of each row, by panels. Products of matrices give bounds from below of the squared distances, and
// each row has a list of the columns with the smallest. When all panels have passed, the distances of these are
// computed: if the last of those wanted is below the last bound of the list, no other column is as near. Else tiles
// take over.
//
// What is compiled comes as a struct of the generated text:
//   size, k, listed          entries of the vectors, columns that are wanted, and those that are listed
//   row, column              where the vectors stand in their items, which begin with their norms seen from the centre
//   root, values, positions  whether distances have roots; what the results are
#pragma once
#include <kernops/cuda/wide/panels.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// The columns with the smallest numbers so far, the first ones of those with the same; lane l of a warp has 32 n + l.
template <int listed> struct NearestOfWarp {
  static constexpr int parts = listed / 32;
  double number[parts];
  int column[parts];

  static __device__ __forceinline__ int lane() { return threadIdx.x % 32; }
  __device__ __forceinline__ explicit NearestOfWarp(const Neighbour* list) {
    KERNOPS_UNROLL
    for (int n = 0; n < parts; ++n) {
      number[n] = list ? list[32 * n + lane()].number : infinity<double>();
      column[n] = list ? list[32 * n + lane()].column : 0x7fffffff;
    }
  }
  __device__ __forceinline__ void put(Neighbour* list) const {
    KERNOPS_UNROLL
    for (int n = 0; n < parts; ++n) list[32 * n + lane()] = {number[n], column[n]};
  }
  __device__ __forceinline__ double at(int n) const {
    double found = 0;
    KERNOPS_UNROLL
    for (int p = 0; p < parts; ++p)
      if (n / 32 == p) found = __shfl_sync(~0u, number[p], n % 32);
    return found;
  }
  // The same for all lanes. What it pushes out of a part comes first in the next one.
  __device__ __forceinline__ void insert(double x, int j) {
    KERNOPS_UNROLL
    for (int n = 0; n < parts; ++n) {
      const bool stays = number[n] < x || (number[n] == x && column[n] < j);
      const int here = __popc(__ballot_sync(~0u, stays));
      const double last = __shfl_sync(~0u, number[n], 31), before = __shfl_up_sync(~0u, number[n], 1);
      const int last_column = __shfl_sync(~0u, column[n], 31), column_before = __shfl_up_sync(~0u, column[n], 1);
      if (here == 32) continue;
      if (lane() > here) number[n] = before, column[n] = column_before;
      if (lane() == here) number[n] = x, column[n] = j;
      x = last, j = last_column;
    }
  }
};

// Bounds of |x|^2 + |y|^2 - 2 (x | y), of one row a warp, four columns a lane. Doubles are rounded: each term of the
// three sums is, and so is their sum, and that of the distance to which it is compared. An inner product of digits
// (cuda/wide/panel_digits.cuh) is besides wrong by what these leave out: for each entry less than 2^24 of their last
// digits', of which a step has 2^8.
template <class Formula, class Nearest, int columns, bool digits> struct PanelLists {
  using List = NearestOfWarp<Nearest::listed>;
  static constexpr double rounding = (4.0 * Nearest::size + 16) / (1LL << 53), left_out = 260.0 * Nearest::size;
  static constexpr int warps = columns / 4 / 32;
  const PanelJob& job;
  double *norms, *steps;  // of all columns, in shared memory
  bool good = true;

  __device__ __forceinline__ void read_columns() {
    for (int j = threadIdx.x; j < columns; j += blockDim.x) {
      const bool exists = j < job.column_count;
      norms[j] = exists ? column_item<Formula>(job, j)[0] * (1 - rounding) : infinity<double>();
      if (digits) steps[j] = exists ? job.column_steps[j] : 0;
    }
  }

  static __device__ __forceinline__ int column(int first) { return first + 4 * List::lane(); }
  __device__ __forceinline__ Few<4, double> products(int row, int first) const {
    return contractions<4, columns, digits>(job, row, column(first) < job.column_count ? column(first) : 0);
  }

  __device__ __forceinline__ void meet(List& list, int row) {
    const double norm = row_item<Formula>(job, row)[0] * (1 - rounding), step = digits ? job.row_steps[row] : 0;
    double last = list.at(Nearest::listed - 1);
    auto next = products(row, 0);
    KERNOPS_UNROLL_BY(1)
    for (int first = 0; first < job.column_count; first += 128) {
      const auto now = next;
      if (first + 128 < job.column_count) next = products(row, first + 128);
      double bounds[4];
      bool any = false;
      KERNOPS_UNROLL
      for (int e = 0; e < 4; ++e) {
        const int j = column(first) + e;
        const double product = digits ? (now.v[e] + left_out) * (step * steps[j]) : now.v[e];
        bounds[e] = norm + norms[j] - 2 * product;
        any = any || bounds[e] < last;
        good = good && (bounds[e] < infinity<double>() || j >= job.column_count);
      }
      for (unsigned lanes = __ballot_sync(~0u, any); lanes != 0; lanes &= lanes - 1)
        insert(list, last, bounds, first, __ffs(lanes) - 1);
    }
  }
  // Those of a lane that are below the last of the list.
  __device__ __forceinline__ void insert(List& list, double& last, const double (&bounds)[4], int first,
                                         int lane) const {
    KERNOPS_UNROLL
    for (int e = 0; e < 4; ++e) {
      const double bound = __shfl_sync(~0u, bounds[e], lane);
      if (!(bound < last)) continue;
      list.insert(bound, job.first_column + first + 4 * lane + e);
      last = list.at(Nearest::listed - 1);
    }
  }

  __device__ __forceinline__ void run() {
    read_columns();
    __syncthreads();
    for (int row = threadIdx.x / 32 * gridDim.x + blockIdx.x; row < job.row_count; row += warps * gridDim.x) {
      Neighbour* const kept = job.lists + row * (long long)Nearest::listed;
      List list(job.first ? nullptr : kept);
      meet(list, row);
      list.put(kept);
    }
    if (!good) *job.odd = 1;
  }
};

template <class Formula, class Nearest, int columns, bool digits> __device__ void list_nearest(const PanelJob& job) {
  __shared__ double norms[columns], steps[digits ? columns : 1];
  PanelLists<Formula, Nearest, columns, digits>{job, norms, steps}.run();
}

// One warp a row: the results, of those in its list, as far as these may be among them.
template <class Formula, class Nearest> __device__ void finish_nearest(const PanelJob& job) {
  using List = NearestOfWarp<Nearest::listed>;
  constexpr int k = Nearest::k, listed = Nearest::listed;
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (row >= job.row_count) return;
  const Neighbour* const kept = job.lists + row * (long long)listed;
  const double* const x = row_item<Formula>(job, row) + Nearest::row;
  List list(nullptr);
  for (int n = 0; n < listed && !(list.at(k - 1) < kept[n].number); ++n) {
    const double* const y = column_item<Formula>(job, kept[n].column) + Nearest::column;
    double sum = 0;
    KERNOPS_UNROLL_BY(8)
    for (int e = List::lane(); e < Nearest::size; e += 32) sum += sq(x[e] - y[e]);
    KERNOPS_UNROLL
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    list.insert(sum, kept[n].column);
  }
  if (!(list.at(k - 1) < kept[listed - 1].number)) *job.odd = 1;
  double* const out = job.out + row * job.out_row;
  KERNOPS_UNROLL
  for (int p = 0; p < List::parts; ++p) {
    const int n = 32 * p + List::lane();
    if (n >= k) break;
    if (Nearest::values) out[n * job.out_entry] = Nearest::root ? sqrt(list.number[p]) : list.number[p];
    if (Nearest::positions) out[(n + (Nearest::values ? k : 0)) * job.out_entry] = list.column[p] + 1;
  }
}

#define KERNOPS_NEAREST_KERNELS(Formula, Nearest, columns, digits)                          \
  KERNOPS_LEVELS(Formula)                                                                   \
  extern "C" __global__ void __launch_bounds__(columns / 4, Nearest::listed > 32 ? 2 : 3)   \
      kernops_pairs(const __grid_constant__ kernops::PanelJob job) {                        \
    kernops::list_nearest<Formula, Nearest, columns, digits>(job);                          \
  }                                                                                         \
  extern "C" __global__ void kernops_merge(const __grid_constant__ kernops::PanelJob job) { \
    kernops::finish_nearest<Formula, Nearest>(job);                                         \
  }                                                                                         \
  extern "C" __device__ const int kernops_partial_bytes = 0;

}  // namespace KERNOPS_ISA
}  // namespace kernops
