// Sums over pairs of long vectors, by panels of some thousand rows and columns (cuda/pairs/panels.cpp): products of
// matrices make the contractions of a panel; what is here makes the numbers of its pairs of them, in place; and these
// times the vectors of the columns are products of matrices, too. All numbers are doubles, but products may be those of
// their digits.
//
// Where these vectors are those of an expanded exponent, the sum of w (x - y) is x sum w - sum w y.
#pragma once
#include <kernops/state.h>
#include <kernops/cuda/accumulate.cuh>
#include <kernops/cuda/fill.cuh>
#include <kernops/cuda/turns.cuh>
#include <kernops/cuda/wide/pair_tile.cuh>
#include <kernops/cuda/wide/panel_digits.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class Formula> __device__ __forceinline__ const double* row_item(const PanelJob& job, int row) {
  return static_cast<const double*>(job.rows) + row * (long long)padded<double>(Formula::row);
}
template <class Formula> __device__ __forceinline__ const double* column_item(const PanelJob& job, int column) {
  return static_cast<const double*>(job.columns) + column * (long long)padded<double>(Formula::column);
}

// The contractions of a row with columns next to each other; of digits, times the steps of both.
template <int near, int columns, bool digits>
__device__ __forceinline__ Few<near, double> contractions(const PanelJob& job, int row, int column) {
  if constexpr (digits) {
    const int* product = job.products + row * (long long)job.product_width + column;
    const auto high = few<4>(product), middle = few<4>(product + job.apart), low = few<4>(product + 2 * job.apart);
    Few<near, double> some;
    KERNOPS_UNROLL
    for (int e = 0; e < near; ++e) some.v[e] = double((high.v[e] * 256LL + middle.v[e]) * 256 + low.v[e]);
    return some;
  } else {
    return few<near>(job.pairs + row * (long long)columns + column);
  }
}

// Where nothing but the numbers of the pairs is added up.
struct NoVectors {
  static constexpr int of_row = 0, of_column = 0, size = 1;
};

// The numbers of the pairs of some rows with all columns of a panel. A thread has 2 or 4 columns next to each other,
// then those as many times the threads further.
template <class Formula, int columns, bool digits> struct PanelNumbers {
  using Near = typename Formula::Near;
  using Terms = typename Formula::VectorSum;
  static constexpr bool vectors = !SameType<Terms, NoVectors>::value,
                        totals = Terms::of_row != 0 || shifts<Formula>() || !vectors;
  static constexpr int own = 4, threads = columns / own, rows = digits ? 1 : 4, near = digits ? 4 : 2;
  const PanelJob& job;
  int first;  // of the rows
  double w[rows][own];
  double steps[own];  // of the columns' digits
  double kept[rows];  // what multiplies the sums so far

  explicit __device__ __forceinline__ PanelNumbers(const PanelJob& job) : job(job) {}
  static __device__ __forceinline__ int column(int n) { return near * (threadIdx.x + n / near * threads) + n % near; }
  __device__ __forceinline__ double* pairs(int row) const { return job.pairs + row * (long long)columns; }
  __device__ __forceinline__ bool exists(int r) const { return first + r < job.row_count; }
  // Whether digits have room for these columns.
  __device__ __forceinline__ bool has(int n) const { return column(n) < job.numbers.length; }

  // Of some rows. Returns whether all are as they should be.
  template <class O, class Y> __device__ __forceinline__ bool make(const O& o, const Y (&y)[own]) {
    bool good = true;
    KERNOPS_UNROLL
    for (int r = 0; r < rows; ++r) {
      const int row = exists(r) ? first + r : first;
      const auto x = load<Formula::kept_row>(row_item<Formula>(job, row));
      const double step = digits ? job.row_steps[row] : 1;
      if (Formula::expands) good = good && is_near(x.v[0]);
      KERNOPS_UNROLL
      for (int n = 0; n < own; n += near) {
        const auto some = contractions<near, columns, digits>(job, row, !digits || has(n) ? column(n) : 0);
        KERNOPS_UNROLL
        for (int e = 0; e < near; ++e) {
          const double contraction = digits ? some.v[e] * (step * steps[n + e]) : some.v[e];
          typename Near::F f;
          typename Near::W weight;
          AnyTurns turns;
          Near::pair(o, x, y[n + e], Vec<double, 1>{contraction}, f, weight, turns);
          w[r][n + e] = f[0] * weight[0];
        }
      }
    }
    put_where_none(0);
    double check = 0;
    KERNOPS_UNROLL
    for (int r = 0; r < rows; ++r) KERNOPS_UNROLL
    for (int n = 0; n < own; ++n) check += w[r][n] * 0;
    return good && check == 0;
  }
  // Where there are no such pairs. Not asked for each of them, which would be waited for.
  __device__ __forceinline__ void put_where_none(double number) {
    if (job.column_count == columns && exists(rows - 1)) return;
    KERNOPS_UNROLL
    for (int r = 0; r < rows; ++r) KERNOPS_UNROLL
    for (int n = 0; n < own; ++n)
      if (!exists(r) || column(n) >= job.column_count) w[r][n] = number;
  }

  __device__ __forceinline__ void put() const {
    KERNOPS_UNROLL
    for (int r = 0; r < rows; ++r) KERNOPS_UNROLL
    for (int n = 0; n < own; n += near)
      if (exists(r))
        *reinterpret_cast<Few<2, double>*>(pairs(first + r) + column(n)) = Few<2, double>{{w[r][n], w[r][n + 1]}};
  }

  // What is there for each row, joined with f of its numbers, of all threads.
  template <class F, class Join>
  __device__ __forceinline__ void join_rows(double (&v)[rows], double* shared, F f, Join join) const {
    KERNOPS_UNROLL
    for (int r = 0; r < rows; ++r) KERNOPS_UNROLL
    for (int n = 0; n < own; ++n) v[r] = join(f(w[r][n]), v[r]);
    join_block<threads / 32>(v, shared, join);
  }

  // The digits of the numbers of each row.
  __device__ __forceinline__ void put_digits() const {
    __shared__ double shared[threads / 32 * rows];
    double largest[rows] = {};
    join_rows(
        largest, shared, [](double x) { return abs(x); }, Larger());
    const int length = job.numbers.length;
    KERNOPS_UNROLL
    for (int r = 0; r < rows; ++r) {
      if (!exists(r)) return;
      const Step step(largest[r], 4);
      if (threadIdx.x == 0) job.numbers.steps[first + r] = step.size;
      KERNOPS_UNROLL
      for (int n = 0; n < own; n += 4)
        if (has(n)) put_four(w[r] + n, step.inverse, job.numbers.at + (first + r) * 4LL * length + column(n), length);
    }
  }

  // Numbers that were exponents become exponentials, as seen from one that none so far exceeds by much.
  __device__ __forceinline__ void exponentiate() {
    __shared__ double shared[threads / 32 * rows];
    double most[rows], before[rows];
    bool exceeds = Formula::Powers::gives_top;
    put_where_none(-infinity<double>());
    KERNOPS_UNROLL
    for (int r = 0; r < rows; ++r) {
      most[r] = before[r] = job.first || !exists(r) ? -infinity<double>() : job.shifts[first + r];
      KERNOPS_UNROLL
      for (int n = 0; n < own; ++n) most[r] = larger(w[r][n], most[r]);
      exceeds = exceeds || most[r] > before[r] + most_excess;
    }
    if (__syncthreads_or(exceeds)) {
      join_block<threads / 32>(most, shared, Larger());
    } else {
      KERNOPS_UNROLL
      for (int r = 0; r < rows; ++r) most[r] = before[r];
    }
    KERNOPS_UNROLL
    for (int r = 0; r < rows; ++r) {
      KERNOPS_UNROLL
      for (int n = 0; n < own; ++n) w[r][n] = Formula::Powers::of(w[r][n] - most[r]);
      if (!exists(r)) break;
      if (threadIdx.x == 0) job.shifts[first + r] = most[r];
      if (job.first || most[r] == before[r]) continue;
      kept[r] = Formula::Powers::of(before[r] - most[r]);
      double* const sums = job.sums + (first + r) * (long long)job.width;
      for (int k = threadIdx.x; k < job.width; k += threads) sums[k] *= kept[r];
    }
  }

  // Adds the numbers of each row to its total.
  __device__ __forceinline__ void add_up() const {
    __shared__ double shared[threads / 32 * rows];
    double sum[rows] = {};
    join_rows(
        sum, shared, [](double x) { return x; }, Plus());
    KERNOPS_UNROLL
    for (int r = 0; r < rows; ++r)
      if (threadIdx.x == r && exists(r))
        job.totals[first + r] = (job.first ? 0 : kept[r] * job.totals[first + r]) + sum[r];
  }

  // The columns are those of the thread for all rows that the block takes.
  __device__ __forceinline__ void run() {
    const auto o = load<Formula::kept_once>(static_cast<const double*>(job.once));
    Vec<double, Formula::kept_column> y[own];
    bool good = true;
    KERNOPS_UNROLL
    for (int n = 0; n < own; ++n) {
      const int c = column(n) < job.column_count ? column(n) : 0;
      y[n] = load<Formula::kept_column>(column_item<Formula>(job, c));
      if (Formula::expands) good = good && is_near(y[n].v[0]);
      if (digits) steps[n] = job.column_steps[c];
    }
    KERNOPS_UNROLL_BY(1)
    for (first = blockIdx.x * rows; first < job.row_count; first += gridDim.x * rows) {
      if (!make(o, y)) good = false;
      KERNOPS_UNROLL
      for (int r = 0; r < rows; ++r) kept[r] = 1;
      if constexpr (shifts<Formula>()) exponentiate();
      if constexpr (totals) add_up();
      if constexpr (vectors && digits) put_digits();
      if constexpr (vectors && !digits) put();
      __syncthreads();  // what they have shared is free again
    }
    if (!good) *job.odd = 1;
  }
};

// One thread an entry of a row: the results, of its sums.
template <class Formula> __device__ void finish_panels(const PanelJob& job) {
  using Terms = typename Formula::VectorSum;
  using Powers = typename Formula::Powers;
  constexpr int size = Terms::size;
  const long long n = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  const int row = int(n / size), k = int(n % size);
  if (row >= job.row_count) return;
  const double* once = static_cast<const double*>(job.once);
  const double* x = row_item<Formula>(job, row);
  double sum = SameType<Terms, NoVectors>::value ? job.totals[row] : job.sums[row * (long long)job.width + k];
  if constexpr (Terms::of_row != 0) {
    sum *= Terms::of_column / sqrt(abs(2 * once[Terms::factor]));  // as put_scaled() has scaled them
    const double seen = x[Terms::Rows::nth(0) + k] - (Terms::centre >= 0 ? once[Terms::centre + k] : 0);
    sum += Terms::of_row * job.totals[row] * seen;
  }
  if constexpr (Formula::factor >= 0) sum *= x[Formula::factor];
  double* out = job.out + row * job.out_row + k * job.out_entry;
  if constexpr (shifts<Formula>()) {
    sum = Powers::result(sum, job.totals[row], job.shifts[row]);
    if (Powers::gives_top) {
      if (k == 0) *out = Powers::top(job.shifts[row], job.totals[row]);
      out += job.out_entry;
    }
  }
  *out = sum;
}

#define KERNOPS_PANEL_KERNELS(Formula, columns, digits)              \
  extern "C" __global__ void __launch_bounds__(columns / 4, 2)       \
      kernops_pairs(const __grid_constant__ kernops::PanelJob job) { \
    kernops::PanelNumbers<Formula, columns, digits>(job).run();      \
  }                                                                  \
  extern "C" __device__ const int kernops_partial_bytes = 0;         \
  extern "C" __device__ const int kernops_shared_bytes = 0;
#define KERNOPS_PANEL_MERGE(Formula)                                                        \
  extern "C" __global__ void kernops_merge(const __grid_constant__ kernops::PanelJob job) { \
    kernops::finish_panels<Formula>(job);                                                   \
  }

}  // namespace KERNOPS_ISA
}  // namespace kernops
