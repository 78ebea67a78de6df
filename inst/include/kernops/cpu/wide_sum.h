// Weighted sums over the columns: the sum of a scalar of the pair times a vector. The vector belongs to the column, as
// in K B for a wide matrix B. In gradients, the vector is the difference between a vector of the row and a vector of
// the column, or has the squares of this difference. The scalars of the pairs of a block of rows and a tile form a
// matrix (`numbers`), and the vectors of the columns form a second matrix. The product of the two matrices is computed
// like contractions.
#pragma once
#include <kernops/cpu/contraction.h>
#include <kernops/cpu/entrywise.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// The lanes of a state are entries of the result. (In other accumulators, the lanes are columns.)
template <class T, class A> struct WideSum : Entrywise<T, BlockSum, A> {
  using Base = Entrywise<T, BlockSum, A>;
  using typename Base::Lanes;
  using typename Base::Partial;
  using typename Base::Sum;
  static constexpr int W = Pack<T>::width;

  static int packs(const Job& job) { return (job.f_size + W - 1) / W; }
  static std::size_t state_bytes(const Job& job) { return packs(job) * sizeof(Lanes); }
  static void start(const Job& job, char* state) {
    for (int n = 0; n < packs(job); ++n) BlockSum::start(reinterpret_cast<Lanes*>(state)[n]);
  }
  // Adds the totals of a tile to the state, for `count` entries from entry `first` on. This function has the same
  // effect as BlockSum::add() and settle().
  static void add(char* state, const T* totals, int first, int count) {
    Lanes* to = reinterpret_cast<Lanes*>(state) + first / W;
    for (int k = 0; k < count; k += W, ++to) add_compensated(*to, Sum(Pack<T>::load(totals + k)));
  }
  static void collapse(const Job& job, const char* state, const TileColumns&, char* partial) {
    for (int k = 0; k < job.f_size; ++k)
      for (int n = 0; n < BlockSum::values; ++n)
        reinterpret_cast<Partial*>(partial)[k].v[n] = reinterpret_cast<const Lanes*>(state)[k / W].v[n].lane(k % W);
  }
};

// Processes a tile after its pairs have been computed. This general version is for reductions that process a tile row
// by row, in take_row().
template <class T, class Reduction> struct TileSums {
  explicit TileSums(const Job&) {}
  static void start_rows(Count, int) {}
  static void start_row(int, const Operand<T>*) {}
  static void take_row(const Job& job, int, char* state, const Operand<T>* slots, const TileColumns& tile, T* scratch) {
    Reduction::add(job, state, slots[job.f], slots[job.w], tile, scratch);
  }
  static void finish(int, const Operand<T>*, const TileColumns&, char*, std::size_t) {}
};

template <class T, class A> class TileSums<T, WideSum<T, A>> {
  using S = Strips<T>;
  static constexpr int W = Pack<T>::width;

 public:
  explicit TileSums(const Job& job)
      : job_(job),
        sum_(job.sum),
        panels_((sum_.size + S::columns - 1) / S::columns),
        numbers_(std::size_t(part(job.tile)) * job.row_block * S::stride),
        vectors_(reads_rows() ? panels_ * panel_rows() : 0),
        factors_(scales() ? panels_ * panel_rows() : 0),
        others_(sum_.reads_other(true) ? panels_ * panel_rows() : 0),
        other_numbers_(sum_.reads_other(true)    ? std::size_t(job.row_block)
                       : sum_.reads_other(false) ? std::size_t(part(job.tile)) * job.row_block * S::stride
                                                 : 0),
        totals_(panel_rows()),
        panel_(S::depth * S::columns) {}

  // Packs the row vectors that are read directly from the data.
  void start_rows(Count row, int count) {
    for_vectors([&](const LongVector& vector, const Buffer<T>& to, int sign) {
      if (!vector.direct) return;
      const Source& from = vector.source;
      for (int r = 0; r < count; ++r)
        fill(to, r, [&](int k) { return sign * T(from.data[k * from.entry + (row + r) * from.item]); });
    });
  }

  // Packs the row vectors that are computed, and the factor of the sum, for row r of the block.
  void start_row(int r, const Operand<T>* slots) {
    for_vectors([&](const LongVector& vector, const Buffer<T>& to, int sign) {
      const Operand<T>& from = slots[vector.slot];
      if (!vector.direct) fill(to, r, [&](int k) { return sign * from.p[k * from.entry]; });
    });
    const Operand<T>& factor = slots[sum_.factor];
    if (scales()) fill(factors_, r, [&](int k) { return (sum_.negative ? -1 : 1) * factor.p[k * factor.entry]; });
  }

  void take_row(const Job&, int r, char*, const Operand<T>* slots, const TileColumns& tile, T*) {
    pack_row(slots[job_.f].p, r, tile, numbers_);
    if (sum_.reads_other(true)) other_numbers_.data()[r] = total(slots[sum_.number].p, tile.count);
    if (sum_.reads_other(false)) pack_row(slots[sum_.number].p, r, tile, other_numbers_);
  }

  // Adds the sums of a tile to the states. A few entries are processed at a time, so that the data of all rows and
  // columns of the tile stay in the cache.
  void finish(int rows, const Operand<T>* slots, const TileColumns& tile, char* states, std::size_t state_bytes) {
    for (int k = 0; k < sum_.size; k += S::columns) {
      const int wanted = sum_.size - k < S::columns ? sum_.size - k : S::columns;
      const Panel main{numbers_, sum_.column, true};
      if (sum_.term == VectorSum::column_alone) total<terms::Product>(rows, slots, tile, k, wanted, main);
      if (sum_.term == VectorSum::difference) total<terms::TimesDifference>(rows, slots, tile, k, wanted, main);
      if (sum_.term == VectorSum::square) total<terms::TimesSquare>(rows, slots, tile, k, wanted, main);
      if (sum_.reads_other(false))
        total<terms::Product>(rows, slots, tile, k, wanted, {other_numbers_, sum_.other, false});
      for (int r = 0; r < rows; ++r) {
        T* totals = totals_.data() + r * S::columns;
        if (sum_.reads_other(true))
          add_multiple(totals, other_numbers_.data()[r], of_panel(others_, k) + r * S::columns, wanted);
        if (scales()) multiply(totals, of_panel(factors_, k) + r * S::columns, wanted);
        WideSum<T, A>::add(states + r * state_bytes, totals, k, wanted);
      }
    }
  }

 private:
  bool reads_rows() const { return sum_.term != VectorSum::column_alone; }
  // Calls body(vector, address of the panels of the vector, sign of the vector) for each vector of the row.
  template <class F> void for_vectors(const F& body) const {
    if (reads_rows()) body(sum_.row, vectors_, 1);
    if (sum_.reads_other(true)) body(sum_.other, others_, sum_.opposite ? -1 : 1);
  }
  bool scales() const { return sum_.factor != 0 || sum_.negative; }
  static int part(int columns) { return (columns + S::depth - 1) / S::depth; }
  static int entries(int first, const TileColumns& tile) {
    return tile.count - first < S::depth ? tile.count - first : S::depth;
  }
  T* packed(const Buffer<T>& numbers, int first) const {
    return numbers.data() + std::size_t(first / S::depth) * job_.row_block * S::stride;
  }
  void pack_row(const T* values, int r, const TileColumns& tile, const Buffer<T>& to) const {
    for (int first = 0; first < tile.count; first += S::depth)
      std::memcpy(packed(to, first) + r * S::stride, values + first, sizeof(T) * entries(first, tile));
  }

  // The number of entries of a panel of row vectors. Row vectors have the same layout as results: one panel (some
  // entries of all rows) after another.
  std::size_t panel_rows() const { return std::size_t(job_.row_block) * S::columns; }
  T* of_panel(const Buffer<T>& rows, int k) const { return rows.data() + k / S::columns * panel_rows(); }

  template <class F> void fill(const Buffer<T>& rows, int r, const F& value) const {
    for (int k = 0; k < panels_ * S::columns; ++k)
      of_panel(rows, k)[r * S::columns + k % S::columns] = k < sum_.size ? value(k) : T(0);
  }

  static void multiply(T* totals, const T* factors, int count) {
    for (int k = 0; k < count; k += W) (Pack<T>::load(totals + k) * Pack<T>::load(factors + k)).store(totals + k);
  }

  static void add_multiple(T* totals, T number, const T* vector, int count) {
    for (int k = 0; k < count; k += W)
      fma(Pack<T>(number), Pack<T>::load(vector + k), Pack<T>::load(totals + k)).store(totals + k);
  }
  static T total(const T* values, int count) {
    Pack<T> sum(0);
    int n = 0;
    for (; n + W <= count; n += W) sum = sum + Pack<T>::load(values + n);
    T rest = 0;
    for (; n < count; ++n) rest += values[n];
    for (int lane = 0; lane < W; ++lane) rest += sum.lane(lane);
    return rest;
  }

  // A product of a tile: the scalars of the pairs, the vectors of the columns that these scalars multiply, and whether
  // the product is the first product of the tile.
  struct Panel {
    const Buffer<T>& numbers;
    const LongVector& vector;
    bool first;
  };
  template <class Term>
  void total(int rows, const Operand<T>* slots, const TileColumns& tile, int k, int wanted, const Panel& of) {
    const T* vectors = reads_rows() ? of_panel(vectors_, k) : nullptr;
    for (int first = 0; first < tile.count; first += S::depth) {
      pack(of.vector, slots, tile, first, k, wanted);
      if (!of.first && sum_.opposite) S::negate(panel_.data(), entries(first, tile));
      S::template add_all<Term>(rows, packed(of.numbers, first), panel_.data(), vectors, entries(first, tile),
                                totals_.data(), S::columns, of.first && first == 0, wanted);
    }
  }

  // Packs `wanted` entries of the vector of each column, from entry k on; the packed entries of a column are
  // contiguous.
  void pack(const LongVector& vector, const Operand<T>* slots, const TileColumns& tile, int first, int k, int wanted) {
    const Source& from = vector.source;
    const Operand<T>& slot = slots[vector.slot];
    const int count = entries(first, tile);
    constexpr int ahead = 2;  // number of entries to prefetch ahead
    for (int n = 0; n < (wanted + 2 * W - 1) / (2 * W) * (2 * W); ++n) {
      T* to = panel_.data() + n;
      const auto put = [&](const auto* values, Count item, int length, int at) {
        for (int j = 0; j < length; ++j) to[(at + j) * S::columns] = T(values[j * item]);
      };
      if (n >= wanted)
        for (int j = 0; j < count; ++j) to[j * S::columns] = T(0);
      else if (vector.direct)
        for_runs(job_, *tile.block, tile.base + tile.first + first, count, [&](Count begin, int length, int at) {
          const double* values = from.data + (k + n) * from.entry + begin * from.item;
          if (n + ahead < wanted) prefetch(values + ahead * from.entry, from.item, length);
          put(values, from.item, length, at);
        });
      else
        put(slot.p + (k + n) * slot.entry + first, 1, count, 0);
    }
  }

  const Job& job_;
  const VectorSum& sum_;
  const int panels_;  // number of panels into which the entries are divided
  Buffer<T> numbers_, vectors_, factors_, others_, other_numbers_, totals_, panel_;
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
