// The tiled map-reduce of the GPU, which NVRTC or nvcc compiles.
//
// The generated text (cuda/pairs/source.cpp) defines a struct Formula. Formula has the number type and, for each level,
// the number of entries and the operations in order. The operations of the four levels run once for the whole
// computation, for each row, for each column, and for each pair. If exponents may be expanded, the code of pairs has a
// second version, Near, for rows and columns with small norms. In this case, the norm is the first entry of each row
// and column (cuda/pairs/expansion.cpp). One thread owns R rows, and the threads of a block share tiles of columns. The
// columns may be divided into splits, which different blocks reduce. The states of the splits are merged in order, so
// every run returns the same bits.
#pragma once
#include <kernops/cuda/accumulate.cuh>
#include <kernops/cuda/merge.cuh>
#include <kernops/cuda/block_pairs.cuh>
#include <kernops/cuda/turns.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Loads a row into registers; another kernel has filled the rows.
struct FilledRows {
  template <class Formula, class T, int N>
  static __device__ __forceinline__ void load_row(const PairJob& job, long long row, Vec<T, N>& to) {
    load_to(to, static_cast<const T*>(job.rows) + row * padded<T>(Formula::row));
  }
};

// Loads the columns of a tile into shared memory; another kernel has filled the columns.
struct FilledColumns : FilledRows {
  template <class Formula, int threads>
  static __device__ void take(const PairJob& job, long long column, int count, typename Formula::T* tile) {
    using T = typename Formula::T;
    constexpr int stride = padded<T>(Formula::column);
    const T* from = static_cast<const T*>(job.columns) + column * stride;
    for (int n = threadIdx.x; n < count * stride; n += threads) tile[n] = from[n];
    if (Formula::expands) __syncthreads();  // waits for the copies, because each thread then reads a whole column
  }
};

// Computes the columns of a tile in shared memory, with one thread per column. This struct is used if there is only one
// block of rows.
struct MadeColumns : FilledRows {
  template <class Formula, int threads>
  static __device__ void take(const PairJob& job, long long column, int count, typename Formula::T* tile) {
    using T = typename Formula::T;
    if (threadIdx.x < count)
      make_item<Formula, 2>(job.sources, job.source_count, static_cast<const T*>(job.once),
                            column - job.column_begin + threadIdx.x, tile + threadIdx.x * padded<T>(Formula::column));
  }
};

// Computes each row with the thread that reduces the pairs of this row. This struct is used for few columns, where a
// row is loaded once: threads read the sources of neighbouring rows from adjacent addresses, and no other kernel fills
// rows.
struct MadeRows : FilledColumns {
  template <class Formula, class T, int N>
  static __device__ __forceinline__ void load_row(const PairJob& job, long long row, Vec<T, N>& to) {
    alignas(16) T item[padded<T>(Formula::row)];
    Formula::RowData::gather(job.row_sources, row, item);
    Formula::run_row(static_cast<const T*>(job.once), item);
    load_to(to, item);
  }
};

template <int n> struct Group { static constexpr int size = n; };

// Reduces the pairs of a thread's rows with the columns of a tile.
template <class Pairs, int unrolled, class Turns, class T, class O, class Row, int R>
__device__ __forceinline__ void meet_by(Turns& turns, const O& o, const Vec<T, Pairs::row> (&x)[R], Row (&state)[R],
                                        const T* columns, int column_stride, int first, int count) {
  const auto some = [&](int n, auto group) {
    constexpr int copies = Pairs::much_work ? 1 : group.size;
    Vec<T, Pairs::column> y[group.size];
    KERNOPS_UNROLL_BY(copies)
    for (int u = 0; u < group.size; ++u) load_to(y[u], columns + (n + u) * column_stride);
    KERNOPS_EACH(r, R) {
      typename Pairs::F f[group.size];
      typename Pairs::W w[group.size];
      KERNOPS_UNROLL_BY(copies)
      for (int u = 0; u < group.size; ++u) Pairs::pair(o, x[r], y[u], f[u], w[u], r + u * R, turns);
      state[r].add(f, w, first + n, group.size);
    }
  };
  constexpr int group = Row::group, groups = group > 1 ? 1 : unrolled;
  const int whole = count / group * group;
  KERNOPS_UNROLL_BY(groups)
  for (int n = 0; n < whole; n += group) some(n, Group<group>());
  if (group > 1)
    for (int n = whole; n < count; ++n) some(n, Group<1>());
}

// Reduces the pairs of a thread's rows with the columns of a tile. If a sine or cosine has a large argument, the tile
// is computed again.
template <class Pairs, int unrolled, class T, class O, class Row, int R>
__device__ __forceinline__ void meet(const O& o, const Vec<T, Pairs::row> (&x)[R], Row (&state)[R], const T* columns,
                                     int column_stride, int first, int count) {
  AnyTurns any;
  if constexpr (Pairs::turns) {
    Row before[R];
    KERNOPS_EACH(r, R) before[r] = state[r];
    FewTurns few;
    meet_by<Pairs, unrolled>(few, o, x, state, columns, column_stride, first, count);
    if (few.enough()) return;
    KERNOPS_EACH(r, R) state[r] = before[r];
    meet_by<Pairs, 1>(any, o, x, state, columns, column_stride, first, count);
  } else {
    meet_by<Pairs, unrolled>(any, o, x, state, columns, column_stride, first, count);
  }
}

// long: one kernel; its loops share registers
template <class Formula, class Row, int R, int unrolled, int threads, class BlockPairs, class Operands>
__device__ void map_reduce(const PairJob& job) {
  using T = typename Formula::T;
  using Near = typename Formula::Near;
  constexpr int column_stride = padded<T>(Formula::column), tile = threads;
  alignas(16) __shared__ T columns[tile * column_stride];

  const auto once_values = load<Formula::kept_once>(static_cast<const T*>(job.once));
  BlockPairs block(job, threads * R);
  const long long first = block.first + threadIdx.x;
  const auto load_row = [&](int r, auto& to) {
    const long long row = first + r * threads;
    Operands::template load_row<Formula>(job, row < block.row_end ? row : block.first, to);
  };
  Vec<T, Near::row> x[R];
  Row state[R];
  bool rows_near = true;
  KERNOPS_EACH(r, R) {
    load_row(r, x[r]);
    rows_near = rows_near && is_near(x[r].v[0]);
    start_row(state[r], job, first + r * threads, first + r * threads < block.row_end);
  }

  do {
    for (long long column = block.begin; column < block.end; column += tile) {
      const int count = block.end - column < tile ? int(block.end - column) : tile;
      T* own = columns + threadIdx.x * column_stride;
      bool near = rows_near;
      __syncthreads();
      Operands::template take<Formula, threads>(job, column, count, columns);
      if constexpr (Formula::expands)
        if (threadIdx.x < count) near = near && is_near_column<Near>(own);
      if (__syncthreads_and(near || !Formula::expands)) {
        if constexpr (Formula::weighted) {
          if (threadIdx.x < count) weight_column<Near>(own);
          __syncthreads();
        }
        meet<Near, unrolled>(once_values, x, state, columns, column_stride, int(column), count);
      } else if constexpr (Formula::expands) {
        Vec<T, Formula::row> exact[R];
        KERNOPS_EACH(r, R) load_row(r, exact[r]);
        meet<Formula, unrolled>(once_values, exact, state, columns, column_stride, int(column), count);
      }
      KERNOPS_EACH(r, R) state[r].settle();
    }
  } while (block.next());

  KERNOPS_EACH(r, R) {
    const long long row = first + r * threads;
    block.complete(state[r]);
    if (row < block.row_end) hand_over<Formula>(job, row, state[r], block.any());
  }
  const long long block_end = block.first + threads * R;
  merge_if_last<Row>(job, block.first, block_end < block.row_end ? block_end : block.row_end);
}

// A kernel with the policies that the generated text names: the main loop, the consumer of the values of the pairs, and
// the pairs that are reduced (all pairs, or pairs with columns in given intervals).
template <class Formula, class Mainloop, class Consumer, class BlockPairs> struct PairKernel;
template <int rows, int unrolled, int threads, class Operands> struct Narrow {};
template <class Row> struct States {};

template <class Formula, int R, int unrolled, int threads_, class Operands, class Row, class BlockPairs>
struct PairKernel<Formula, Narrow<R, unrolled, threads_, Operands>, States<Row>, BlockPairs> {
  static constexpr int threads = threads_, blocks = Row::resident / threads, partial_bytes = sizeof(Row),
                       shared_bytes = 0;
  static __device__ __forceinline__ void run(const PairJob& job) {
    map_reduce<Formula, Row, R, unrolled, threads, BlockPairs, Operands>(job);
  }
};

// The entry point of a kernel, and the constants that the host reads. `Job` is the type of the kernel's argument:
// PairJob, or const __grid_constant__ PairJob. The generated text of the levels contains the kernel that merges splits.
#define KERNOPS_PAIR_KERNEL(Kernel, Job)                                                                 \
  extern "C" __global__ void __launch_bounds__(Kernel::threads, Kernel::blocks) kernops_pairs(Job job) { \
    kernops::wait_for_kernel_before();                                                                   \
    Kernel::run(job);                                                                                    \
  }                                                                                                      \
  extern "C" __device__ const int kernops_partial_bytes = Kernel::partial_bytes;                         \
  extern "C" __device__ const int kernops_shared_bytes = Kernel::shared_bytes;
#define KERNOPS_MERGE(Row) KERNOPS_KERNEL(kernops_merge, kernops::PairJob, kernops::merge_splits<Row>)

}  // namespace KERNOPS_ISA
}  // namespace kernops
