// Sums long vectors over pairs, by panels: parts of the matrix of pairs with some thousand rows and columns
// (cuda/pairs/panels.cpp). cuBLAS computes the contractions of a panel. The kernel of this file replaces the
// contractions of each pair by the scalars of the pair (`numbers` in the code). Then cuBLAS multiplies these scalars by
// the vectors of the columns. All scalars are doubles, but products may be computed from digits (panel_digits.cuh).
// Vectors of rows require only the totals of the scalars: the sum of w (x - y) is x sum w - sum w y.
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

// Returns contraction c of a row and of `near` adjacent columns. If contractions are products of digits, the caller
// multiplies the result by the steps of both factors (the step converts digits to a number).
template <int near, int columns, bool digits>
__device__ __forceinline__ Few<near, double> contractions(const PanelJob& job, int c, int row, int column) {
  if constexpr (digits) {
    const int* product =
        job.products + c * (contraction_places * job.apart) + row * (long long)job.product_width + column;
    const auto high = few<4>(product), middle = few<4>(product + job.apart), low = few<4>(product + 2 * job.apart);
    Few<near, double> some;
    KERNOPS_EACH(e, near) some.v[e] = double((high.v[e] * 256LL + middle.v[e]) * 256 + low.v[e]);
    return some;
  } else {
    return few<near>(job.pairs + c * job.kinds_apart + row * (long long)columns + column);
  }
}

// For the m-th scalar of a pair, has_total() returns whether the kernel needs the total of this scalar over the
// columns, and kind_of() returns how many earlier scalars multiply vectors of columns.
template <class Formula, int m> KERNOPS_FN constexpr bool has_total() {
  return Formula::Rows::nth(m) >= 0 || shifts<Formula>() || Formula::width == 0;
}
template <class Formula, int m> KERNOPS_FN constexpr int kind_of() {
  if constexpr (m == 0)
    return 0;
  else
    return kind_of<Formula, m - 1>() + Formula::Columns::nth(m - 1);
}

// The scalars of all pairs of `rows` rows with the columns of a panel. A thread processes 4 columns. If contractions
// are products of digits, the 4 columns are adjacent; if not, a thread has 2 adjacent columns in each half of the
// panel.
template <class Formula, int rows, int columns, bool digits> struct PanelNumbers {
  using Near = typename Formula::Near;
  using Columns = typename Formula::Columns;
  static constexpr int numbers = Columns::count, contracted = Near::contracted;
  static constexpr int own = 4, threads = columns / own, near = digits ? 4 : 2;
  const PanelJob& job;
  int first;  // the first row
  double w[numbers][rows][own];
  double steps[contracted][own];  // the steps of the thread's columns, for each contraction
  double kept[rows];              // the factor that adapts earlier sums to the new shift

  explicit __device__ __forceinline__ PanelNumbers(const PanelJob& job) : job(job) {}
  static __device__ __forceinline__ int column(int n) { return near * (threadIdx.x + n / near * threads) + n % near; }
  template <int m> __device__ __forceinline__ double* pairs(int row) const {
    return job.pairs + kind_of<Formula, m>() * job.kinds_apart + row * (long long)columns;
  }
  __device__ __forceinline__ bool exists(int r) const { return first + r < job.row_count; }
  // True if memory is allocated for the digits of the pairs with the thread's column n.
  __device__ __forceinline__ bool has(int n) const { return column(n) < job.product_width; }

  // Computes the scalars of some rows. Returns true if the norms of these rows are small enough for the expansion
  // (near), and all scalars are finite.
  template <class O, class Y> __device__ __forceinline__ bool make(const O& o, const Y (&y)[own]) {
    bool good = true;
    KERNOPS_EACH(r, rows) {
      const int row = exists(r) ? first + r : first;
      const auto x = load<Formula::kept_row>(row_item<Formula>(job, row));
      if (Formula::expands) good = good && is_near(x.v[0]);
      double step[contracted];
      KERNOPS_EACH(c, contracted) step[c] = digits ? job.row_steps[c][row] : 1;
      KERNOPS_EVERY(n, near, own) {
        Few<near, double> some[contracted];
        KERNOPS_EACH(c, contracted)
          some[c] = contractions<near, columns, digits>(job, c, row, !digits || has(n) ? column(n) : 0);
        KERNOPS_EACH(e, near) {
          Vec<double, contracted> all;
          KERNOPS_EACH(c, contracted) all.v[c] = digits ? some[c].v[e] * (step[c] * steps[c][n + e]) : some[c].v[e];
          typename Near::F f;
          typename Near::W weight;
          AnyTurns turns;
          Near::pair(o, x, y[n + e], all, f, weight, turns);
          KERNOPS_EACH(m, numbers) w[m][r][n + e] = f[m] * weight[0];
        }
      }
    }
    put_where_none(0);
    double check = 0;
    for_all([&](double& number) { check += number * 0; });
    return good && check == 0;
  }
  template <class F> __device__ __forceinline__ void for_all(F f) {
    KERNOPS_EACH(m, numbers)
      KERNOPS_EACH(r, rows)
        KERNOPS_EACH(n, own) f(w[m][r][n]);
  }
  // Sets the scalars of rows and columns that do not exist to `number`. A test of each pair during the computation
  // would add latency.
  __device__ __forceinline__ void put_where_none(double number) {
    if (job.column_count == columns && exists(rows - 1)) return;
    KERNOPS_EACH(r, rows)
      KERNOPS_EACH(n, own)
        KERNOPS_EACH(m, numbers)
          if (!exists(r) || column(n) >= job.column_count) w[m][r][n] = number;
  }

  template <int m> __device__ __forceinline__ void put() const {
    KERNOPS_EACH(r, rows)
      KERNOPS_EVERY(n, near, own)
        if (exists(r))
          *reinterpret_cast<Few<2, double>*>(pairs<m>(first + r) + column(n)) =
              Few<2, double>{{w[m][r][n], w[m][r][n + 1]}};
  }

  // For each row, joins f(scalar m) over all columns. Every thread receives the joined values.
  template <int m, class F, class Join>
  __device__ __forceinline__ void join_rows(double (&v)[rows], double* shared, F f, Join join) const {
    KERNOPS_EACH(r, rows)
      KERNOPS_EACH(n, own) v[r] = join(f(w[m][r][n]), v[r]);
    join_block<threads / 32>(v, shared, join);
  }

  // Stores the digits of scalar m for each row.
  template <int m> __device__ __forceinline__ void put_digits() const {
    __shared__ double shared[threads / 32 * rows];
    double largest[rows] = {};
    join_rows<m>(
        largest, shared, [](double x) { return abs(x); }, Larger());
    const Digits to = job.numbers[kind_of<Formula, m>()];
    KERNOPS_EACH(r, rows) {
      if (!exists(r)) return;
      const Step step(largest[r], sum_places);
      if (threadIdx.x == 0) to.steps[first + r] = step.size;
      signed char* const digits_of_row = to.at + (first + r) * (long long)sum_places * to.length;
      KERNOPS_EVERY(n, 4, own)
        if (has(n)) put_four(w[m][r] + n, step.inverse, digits_of_row + column(n), to.length);
    }
  }

  // Subtracts a shift from the exponents, and replaces the exponents by their exponentials. The shift is chosen such
  // that no exponent of this or an earlier panel exceeds the shift by more than `most_excess`.
  __device__ __forceinline__ void exponentiate() {
    __shared__ double shared[threads / 32 * rows];
    double most[rows], before[rows];
    bool exceeds = Formula::Powers::gives_top;
    put_where_none(-infinity<double>());
    KERNOPS_EACH(r, rows) {
      most[r] = before[r] = job.first || !exists(r) ? -infinity<double>() : job.shifts[first + r];
      KERNOPS_EACH(n, own) most[r] = larger(w[0][r][n], most[r]);
      exceeds = exceeds || most[r] > before[r] + most_excess;
    }
    if (__syncthreads_or(exceeds)) {
      join_block<threads / 32>(most, shared, Larger());
    } else {
      KERNOPS_EACH(r, rows) most[r] = before[r];
    }
    KERNOPS_EACH(r, rows) {
      KERNOPS_EACH(n, own) w[0][r][n] = Formula::Powers::of(w[0][r][n] - most[r]);
      if (!exists(r)) break;
      if (threadIdx.x == 0) job.shifts[first + r] = most[r];
      if (job.first || most[r] == before[r]) continue;
      kept[r] = Formula::Powers::of(before[r] - most[r]);
      double* const sums = job.sums + (first + r) * (long long)job.width;
      for (int k = threadIdx.x; k < job.width; k += threads) sums[k] *= kept[r];
    }
  }

  // Adds scalar m of all columns to the total of each row.
  template <int m> __device__ __forceinline__ void add_up() const {
    __shared__ double shared[threads / 32 * rows];
    double sum[rows] = {};
    join_rows<m>(
        sum, shared, [](double x) { return x; }, Plus());
    KERNOPS_EACH(r, rows) {
      if (threadIdx.x != r || !exists(r)) continue;
      double& total = job.totals[(first + r) * numbers + m];
      total = (job.first ? 0 : kept[r] * total) + sum[r];
    }
  }

  // Processes scalar m and all later scalars of the pairs: adds a scalar to the totals of the rows, or stores its
  // digits, or both.
  template <int m> __device__ __forceinline__ void hand_over() const {
    if constexpr (m < numbers) {
      if constexpr (has_total<Formula, m>()) add_up<m>();
      if constexpr (Columns::nth(m) && digits) put_digits<m>();
      if constexpr (Columns::nth(m) && !digits) put<m>();
      hand_over<m + 1>();
    }
  }

  // Processes all rows of the block; a thread processes the same columns for all rows.
  __device__ __forceinline__ void run() {
    const auto o = load<Formula::kept_once>(static_cast<const double*>(job.once));
    Vec<double, Formula::kept_column> y[own];
    bool good = true;
    KERNOPS_EACH(n, own) {
      const int c = column(n) < job.column_count ? column(n) : 0;
      y[n] = load<Formula::kept_column>(column_item<Formula>(job, c));
      if (Formula::expands) good = good && is_near(y[n].v[0]);
      KERNOPS_EACH(k, contracted) steps[k][n] = digits ? job.column_steps[k][c] : 1;
    }
    KERNOPS_UNROLL_BY(1)
    for (first = blockIdx.x * rows; first < job.row_count; first += gridDim.x * rows) {
      if (!make(o, y)) good = false;
      KERNOPS_EACH(r, rows) kept[r] = 1;
      if constexpr (shifts<Formula>()) exponentiate();
      hand_over<0>();
      __syncthreads();  // waits until all threads have read shared memory
    }
    if (!good) *job.odd = 1;
  }
};

// Computes the results from the sums and totals; one thread per entry of a row.
template <class Formula> __device__ void finish_panels(const PanelJob& job) {
  using Powers = typename Formula::Powers;
  using Rows = typename Formula::Rows;
  constexpr int size = Formula::width > 0 ? Formula::width : 1;
  const long long n = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  const int row = int(n / size), k = int(n % size);
  if (row >= job.row_count) return;
  const double* x = row_item<Formula>(job, row);
  const double* totals = job.totals + row * Rows::count;
  const double* once = static_cast<const double*>(job.once);
  double sum = Formula::width == 0 ? totals[0] : 0;
  if (kind_of<Formula, Rows::count>()) sum = job.sums[row * (long long)job.width + k];
  if (Formula::scale >= 0) sum *= once[Formula::scale];
  KERNOPS_EACH(m, Rows::count) {
    const int factor = Formula::Factors::nth(m), vector = Formula::Rows::nth(m);
    if (vector >= 0) sum += totals[m] * (factor >= 0 ? once[factor] : 1) * x[vector + k];
  }
  if constexpr (Formula::entry_factors >= 0) sum *= once[Formula::entry_factors + k];
  if constexpr (Formula::factor >= 0) sum *= x[Formula::factor];
  double* out = job.out + row * job.out_row + k * job.out_entry;
  if constexpr (shifts<Formula>()) {
    sum = Powers::result(sum, totals[0], job.shifts[row]);
    if (Powers::gives_top) {
      if (k == 0) *out = Powers::top(job.shifts[row], totals[0]);
      out += job.out_entry;
    }
  }
  *out = sum;
}

#define KERNOPS_PANEL_KERNELS(Formula, rows, columns, digits)         \
  extern "C" __global__ void __launch_bounds__(columns / 4, 2)        \
      kernops_pairs(const __grid_constant__ kernops::PanelJob job) {  \
    kernops::PanelNumbers<Formula, rows, columns, digits>(job).run(); \
  }                                                                   \
  extern "C" __device__ const int kernops_partial_bytes = 0;          \
  extern "C" __device__ const int kernops_shared_bytes = 0;
#define KERNOPS_PANEL_MERGE(Formula) \
  KERNOPS_KERNEL(kernops_merge, const __grid_constant__ kernops::PanelJob, kernops::finish_panels<Formula>)

}  // namespace KERNOPS_ISA
}  // namespace kernops
