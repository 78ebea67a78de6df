// Sums of many numbers of a column, each times one number of the pair, as K B for a wide B. The numbers of the pairs of
// a block of rows and a tile are one matrix, those of the columns another: their product is computed as contractions
// are.
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
  static void add(const Job& job, char* state, const T* totals) {
    for (int n = 0; n < packs(job); ++n) {
      Lanes& s = reinterpret_cast<Lanes*>(state)[n];
      BlockSum::add(s, Sum(Pack<T>::load(totals + n * W)), 0);
      BlockSum::settle(s);
    }
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
  static void take_row(const Job& job, int, char* state, const Operand<T>* slots, const TileColumns& tile, T* scratch) {
    Reduction::add(job, state, slots[job.f], slots[job.w], tile, scratch);
  }
  static void finish(int, const Operand<T>*, const TileColumns&, char*, std::size_t) {}
};

template <class T, class A> class TileSums<T, WideSum<T, A>> {
  using S = Strips<T>;

 public:
  explicit TileSums(const Job& job)
      : job_(job),
        length_((job.f_size + S::columns - 1) / S::columns * S::columns),
        rows_(std::size_t(part(job.tile)) * job.row_block * S::stride),
        totals_(length_ * job.row_block),
        panel_(S::depth * S::columns) {}

  void take_row(const Job&, int r, char*, const Operand<T>* slots, const TileColumns& tile, T*) {
    const T* values = slots[job_.f].p;
    for (int first = 0; first < tile.count; first += S::depth)
      std::memcpy(packed(first) + r * S::stride, values + first, sizeof(T) * entries(first, tile));
  }

  void finish(int rows, const Operand<T>* slots, const TileColumns& tile, char* states, std::size_t state_bytes) {
    for (int first = 0; first < tile.count; first += S::depth)
      for (std::ptrdiff_t k = 0; k < length_; k += S::columns) {
        pack(slots[job_.w], first, entries(first, tile), int(k));
        S::template add_all<terms::Product>(rows, packed(first), panel_.data(), nullptr, entries(first, tile),
                                            totals_.data() + k, length_, first == 0);
      }
    for (int r = 0; r < rows; ++r) WideSum<T, A>::add(job_, states + r * state_bytes, totals_.data() + r * length_);
  }

 private:
  static int part(int columns) { return (columns + S::depth - 1) / S::depth; }
  static int entries(int first, const TileColumns& tile) {
    return tile.count - first < S::depth ? tile.count - first : S::depth;
  }
  T* packed(int first) const { return rows_.data() + std::size_t(first / S::depth) * job_.row_block * S::stride; }

  // Some numbers of each of the columns, side by side.
  void pack(const Operand<T>& from, int first, int count, int k) {
    const int numbers = job_.f_size - k < S::columns ? job_.f_size - k : S::columns;
    for (int n = 0; n < S::columns; ++n) {
      const T* values = from.p + (k + n) * from.entry + first;
      for (int j = 0; j < count; ++j) panel_.data()[j * S::columns + n] = n < numbers ? values[j] : T(0);
    }
  }

  const Job& job_;
  const std::ptrdiff_t length_;
  Buffer<T> rows_, totals_, panel_;
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
