// Sums of vectors of a column, each times one number of the pair, as K B for a wide B, or of their differences to those
// of the row, as in gradients. The numbers of the pairs of a block of rows and a tile are one matrix, those of the
// columns another: their product is computed as contractions are.
#pragma once
#include <kernops/cpu/contraction.h>
#include <kernops/cpu/entrywise.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// The lanes of a state are entries of the result, not columns.
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
  // Totals of a tile, of entries from number `first` on: what BlockSum::add() and settle() come to.
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

// What is done for a tile once its pairs are computed; most reductions take them in row by row.
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
        totals_(panel_rows()),
        panel_(S::depth * S::columns) {}

  // The vectors of rows that are read where they stand.
  void start_rows(Count row, int count) {
    if (!reads_rows() || !sum_.row.direct) return;
    const Source& from = sum_.row.source;
    for (int r = 0; r < count; ++r)
      fill(vectors_, r, [&](int k) { return T(from.data[k * from.entry + (row + r) * from.item]); });
  }

  // Those that were computed of row number r of the block, and what multiplies its sum.
  void start_row(int r, const Operand<T>* slots) {
    const Operand<T>&vector = slots[sum_.row.slot], &factor = slots[sum_.factor];
    if (reads_rows() && !sum_.row.direct) fill(vectors_, r, [&](int k) { return vector.p[k * vector.entry]; });
    if (scales()) fill(factors_, r, [&](int k) { return (sum_.negative ? -1 : 1) * factor.p[k * factor.entry]; });
  }

  void take_row(const Job&, int r, char*, const Operand<T>* slots, const TileColumns& tile, T*) {
    const T* values = slots[job_.f].p;
    for (int first = 0; first < tile.count; first += S::depth)
      std::memcpy(packed(first) + r * S::stride, values + first, sizeof(T) * entries(first, tile));
  }

  // Some entries at a time, for which all rows and columns of the tile are near.
  void finish(int rows, const Operand<T>* slots, const TileColumns& tile, char* states, std::size_t state_bytes) {
    for (int k = 0; k < sum_.size; k += S::columns) {
      const int wanted = sum_.size - k < S::columns ? sum_.size - k : S::columns;
      if (sum_.term == VectorSum::column_alone) total<terms::Product>(rows, slots, tile, k, wanted);
      if (sum_.term == VectorSum::difference) total<terms::TimesDifference>(rows, slots, tile, k, wanted);
      if (sum_.term == VectorSum::square) total<terms::TimesSquare>(rows, slots, tile, k, wanted);
      for (int r = 0; r < rows; ++r) {
        T* totals = totals_.data() + r * S::columns;
        if (scales()) multiply(totals, of_panel(factors_, k) + r * S::columns, wanted);
        WideSum<T, A>::add(states + r * state_bytes, totals, k, wanted);
      }
    }
  }

 private:
  bool reads_rows() const { return sum_.term != VectorSum::column_alone; }
  bool scales() const { return sum_.factor != 0 || sum_.negative; }
  static int part(int columns) { return (columns + S::depth - 1) / S::depth; }
  static int entries(int first, const TileColumns& tile) {
    return tile.count - first < S::depth ? tile.count - first : S::depth;
  }
  T* packed(int first) const { return numbers_.data() + std::size_t(first / S::depth) * job_.row_block * S::stride; }

  // Numbers of rows stand as those of results do: panel by panel.
  std::size_t panel_rows() const { return std::size_t(job_.row_block) * S::columns; }
  T* of_panel(const Buffer<T>& rows, int k) const { return rows.data() + k / S::columns * panel_rows(); }

  template <class F> void fill(const Buffer<T>& rows, int r, const F& value) {
    for (int k = 0; k < panels_ * S::columns; ++k)
      of_panel(rows, k)[r * S::columns + k % S::columns] = k < sum_.size ? value(k) : T(0);
  }

  static void multiply(T* totals, const T* factors, int count) {
    for (int k = 0; k < count; k += W) (Pack<T>::load(totals + k) * Pack<T>::load(factors + k)).store(totals + k);
  }

  template <class Term> void total(int rows, const Operand<T>* slots, const TileColumns& tile, int k, int wanted) {
    const T* vectors = reads_rows() ? of_panel(vectors_, k) : nullptr;
    for (int first = 0; first < tile.count; first += S::depth) {
      pack(slots, tile, first, k, wanted);
      S::template add_all<Term>(rows, packed(first), panel_.data(), vectors, entries(first, tile), totals_.data(),
                                S::columns, first == 0, wanted);
    }
  }

  // Some numbers of each of the columns, side by side.
  void pack(const Operand<T>* slots, const TileColumns& tile, int first, int k, int wanted) {
    const Source& from = sum_.column.source;
    const Operand<T>& slot = slots[sum_.column.slot];
    const int count = entries(first, tile);
    for (int n = 0; n < (wanted + 2 * W - 1) / (2 * W) * (2 * W); ++n) {
      T* to = panel_.data() + n;
      const auto put = [&](const auto* values, Count item, int length, int at) {
        for (int j = 0; j < length; ++j) to[(at + j) * S::columns] = T(values[j * item]);
      };
      if (n >= wanted)
        for (int j = 0; j < count; ++j) to[j * S::columns] = T(0);
      else if (sum_.column.direct)
        for_runs(job_, *tile.block, tile.base + tile.first + first, count, [&](Count begin, int length, int at) {
          put(from.data + (k + n) * from.entry + begin * from.item, from.item, length, at);
        });
      else
        put(slot.p + (k + n) * slot.entry + first, 1, count, 0);
    }
  }

  const Job& job_;
  const VectorSum& sum_;
  const int panels_;  // of the entries
  Buffer<T> numbers_, vectors_, factors_, totals_, panel_;
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
