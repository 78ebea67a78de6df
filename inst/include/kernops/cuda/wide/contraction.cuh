// Distances and inner products of long vectors (contractions), which are computed for one tile of pairs at a time.
//
// The generated text has a struct for each contraction:
//   size                 the length of the vectors
//   Rows, Columns, Once  At<...>: the offsets of the vectors within the items of each level
//   entry(x, y, z, o)    one term, from one entry of each vector and from the uniform values o
//   Atom                 the kind of multiplication: Plain, Doubles, Floats, Halves, Warpgroups
//   scaled               true if put_scaled() has written the vectors
//   summed               true if a weighted sum also reads the vectors of the columns
#pragma once
#include <kernops/cuda/wide/tensor_cores.cuh>
#include <kernops/cuda/wide/term_by_term.cuh>
#include <kernops/cuda/wide/warpgroups.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Computes the contractions of a tile by tensor cores or, if a sum is not finite, computes them again term by term.
template <class L, class Terms> struct WhileFinite : ByTensorCores<Floats, L, Terms> {
  using Cores = ByTensorCores<Floats, L, Terms>;
  using Terms_ = TermByTerm<float, L, Terms>;
  static constexpr int shared = Cores::shared > Terms_::shared ? Cores::shared : Terms_::shared;
  static constexpr bool by_parts = false, in_shared = false;

  template <class O, class Send>
  __device__ __forceinline__ void run(Contracted<float, L>& sum, const TilePlace<float>& at, const O& o, float* shared,
                                      float*& now, float*& next, Send send_next) {
    Cores::run(sum, at, o, shared, now, next, [](float*) {});
    float check = 0;
    KERNOPS_EACH(r, OwnPairs<L>::rows)
      KERNOPS_EACH(n, OwnPairs<L>::columns) check += sum.v[r][n] * 0.0f;
    if (__syncthreads_or(check != 0))
      Terms_().run(sum, at, o, shared, now, next, send_next);
    else
      send_next(now);
  }
};

// Selects the struct that contracts with a given Atom.
template <class Atom, class T, class L, class Terms> struct ContractorOf {
  using type = ByTensorCores<Atom, L, Terms>;
};
template <class T, class L, class Terms> struct ContractorOf<Plain, T, L, Terms> {
  using type = TermByTerm<T, L, Terms>;
};
template <class L, class Terms> struct ContractorOf<Floats, float, L, Terms> { using type = WhileFinite<L, Terms>; };
template <class L, class Terms> struct ContractorOf<Warpgroups, float, L, Terms> {
  using type = ByWarpgroups<L, Terms>;
};
template <class T, class L, class Terms>
using Contractor = typename ContractorOf<typename Terms::Atom, T, L, Terms>::type;

// The values of all contractions for the pairs of a thread.
template <class T, class L, int count> struct PairValues {
  static constexpr int room = count > 0 ? count : 1;
  Contracted<T, L> sums[room];
  __device__ __forceinline__ Vec<T, room> of(int r, int n) const {
    Vec<T, room> all{};
    KERNOPS_EACH(i, count) all.v[i] = sums[i].v[r][n];
    return all;
  }
  // Returns the values of the groups n .. n + some - 1 of the thread's columns; a group has 2 columns.
  template <int some> __device__ __forceinline__ auto part(int n) const {
    PairValues<T, typename L::template With<some>, count> values;
    KERNOPS_EACH(i, count)
      KERNOPS_EACH(r, OwnPairs<L>::rows)
        KERNOPS_EACH(e, 2 * some) values.sums[i].v[r][e] = sums[i].v[r][2 * n + e];
    return values;
  }
  // Writes the values to shared memory. The value of contraction i for a column and a row has the position (i * columns
  // + column) * stride + row.
  __device__ __forceinline__ void put(T* values) const {
    using Tile = PairTile<T, L>;
    using Own = OwnPairs<L>;
    KERNOPS_EACH(i, count)
      KERNOPS_EACH(n, Own::columns)
        KERNOPS_EACH(r, Own::rows)
          values[(i * Tile::columns + Own::column(n)) * Tile::stride + Own::row(r)] = sums[i].v[r][n];
  }
  static __device__ __forceinline__ Vec<T, room> at(const T* values, int column, int row) {
    using Tile = PairTile<T, L>;
    Vec<T, room> all{};
    KERNOPS_EACH(i, count) all.v[i] = values[(i * Tile::columns + column) * Tile::stride + row];
    return all;
  }
};

// All contractions of a tile, one after another.
template <class T, class L, class Contractions> struct AllContractions;
template <class T, class L> struct AllContractions<T, L, List<>> {
  static constexpr int shared = 1, stage = 0, for_rows = 0, count = 0;
  static constexpr bool by_parts = false, in_shared = false;
  __device__ __forceinline__ void begin(const TilePlace<T>&, T*) {}
  __device__ __forceinline__ void send_first(const TilePlace<T>&, T*) const {}
  template <class O, class Send>
  __device__ __forceinline__ void run(Contracted<T, L>*, const TilePlace<T>&, const O&, T*, T*& now, T*&,
                                      Send send_next) {
    send_next(now);
  }
};
template <class T, class L, class First, class... Rest> struct AllContractions<T, L, List<First, Rest...>> {
  using Others = AllContractions<T, L, List<Rest...>>;
  using Contract = Contractor<T, L, First>;
  static constexpr int count = 1 + Others::count, stage = Contract::stage, for_rows = Contract::for_rows,
                       shared = Contract::shared > Others::shared ? Contract::shared : Others::shared;
  static constexpr bool by_parts = count == 1 && Contract::by_parts, in_shared = count == 1 && Contract::in_shared;
  Contract first;
  Others others;

  // Loads the rows if there is a single contraction. If there are several contractions, run() loads the rows of each
  // contraction just before their use, because registers can hold the rows of only one contraction.
  __device__ __forceinline__ void begin(const TilePlace<T>& at, T* rows) {
    if (count == 1) first.begin(at, rows);
  }
  __device__ __forceinline__ void send_first(const TilePlace<T>& at, T* to) const { first.send_first(at, to); }
  // Before the call, the first stage (some chunks of the columns) of the first contraction must be in `now`, and
  // visible to all threads.
  template <class O, class Send>
  __device__ __forceinline__ void run(Contracted<T, L>* sums, const TilePlace<T>& at, const O& o, T* shared, T*& now,
                                      T*& next, Send send_next) {
    if constexpr (count == 1) {
      first.run(sums[0], at, o, shared, now, next, send_next);
    } else {
      first.begin(at, nullptr);
      first.run(sums[0], at, o, shared, now, next, [](T*) {});
      __syncthreads();
      now = shared, next = shared + Others::stage;
      others.send_first(at, now);
      others.begin(at, nullptr);
      wait_for_sent<L::warpgroups != 0>();
      __syncthreads();
      others.run(sums + 1, at, o, shared, now, next, [](T*) {});
      __syncthreads();
      now = shared, next = shared + stage;
      send_next(now);
    }
  }
};

// A contraction whose values for a tile are stored in shared memory.
template <class T, class L> struct InShared {
  const T* values;
  template <int some> __device__ __forceinline__ auto part(int n) const {
    PairValues<T, typename L::template With<some>, 1> part;
    KERNOPS_EACH(r, OwnPairs<L>::rows)
      KERNOPS_EACH(e, 2 * some)
        part.sums[0].v[r][e] = values[OwnPairs<L>::column(2 * n + e) * PairTile<T, L>::stride + OwnPairs<L>::row(r)];
    return part;
  }
  __device__ __forceinline__ void put(T*) const {}
  static __device__ __forceinline__ Vec<T, 1> at(const T* values, int column, int row) {
    return PairValues<T, L, 1>::at(values, column, row);
  }
};

// A contraction whose values for a tile are not stored; each call of part() computes the values that it returns.
template <class T, class L, class Contract> struct PartByPart {
  const Contract& contract;
  const T* columns;
  template <int some> __device__ __forceinline__ auto part(int n) const {
    PairValues<T, typename L::template With<some>, 1> values;
    contract.template multiply<Contract::at_once, some>(columns, 0, n, values.sums[0].v, true);
    return values;
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
