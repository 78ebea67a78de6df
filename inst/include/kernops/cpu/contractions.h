// Computes the contractions of a job (sums over the entries of a row's and a column's vector). The vectors of the rows
// are packed (copied in the order in which they are read) when a block of rows begins. The vectors of the columns of a
// tile are packed panel by panel.
//
// The terms of a weighted square are w (x - y)^2 = (r (x - c) - r (y - c))^2, where r is the square root of the weight
// w, and c is the vector of the first row. When vectors are packed, c is subtracted, and the difference is multiplied
// by r. A pair then takes the same time as without weights. If a weight is negative, this form does not exist, and
// every pair multiplies its terms by the weights.
#pragma once
#include <kernops/cpu/contraction.h>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class T> class Contractions {
  using S = Strips<T>;
  static constexpr int W = Pack<T>::width;

 public:
  explicit Contractions(const Job& job)
      : job_(job),
        rows_(packed_rows(true)),
        others_(packed_rows(reads_others(true))),
        results_(std::size_t(job.contractions.count) * job.row_block * job.tile),
        panel_(job.contractions.count ? S::depth * S::columns : 0),
        other_panel_(reads_others(false) ? S::depth * S::columns : 0),
        scales_(2 * std::size_t(parts_before(job.contractions.count)) * S::depth),
        scaled_(job.contractions.count) {}

  // Computes the roots r and the vector c. The caller must have computed the weights, and must not have packed any
  // vector.
  void take_weights(const Operand<T>* slots) {
    for (int n = 0; n < job_.contractions.count; ++n) {
      const Contraction& c = contraction(n);
      const T* weights = slots[c.weights].p;
      const Source* from = source_of_row(c);
      bool able = c.term == Contraction::weighted_square;
      for (int k = 0; able && k < c.size; ++k) able = weights[k * W] >= 0 && weights[k * W] < infinity<T>();
      scaled_.data()[n] = able;
      for (int k = 0; k < c.size; ++k) {
        const T first = from ? T(from->data[k * from->entry - from->first * from->item]) : T(0);
        roots(n)[k] = able ? T(__builtin_sqrt(double(weights[k * W]))) : T(1);
        centre(n)[k] = able && first - first == 0 ? first : T(0);
      }
    }
  }

  // Packs the row vectors that are read directly from the data.
  void take_rows(Count row, int count) {
    for_vectors([&](int n, const LongVector& vector, const Buffer<T>& to, int sign) {
      if (!vector.direct) return;
      const Source& from = vector.source;
      for_parts(n, to, [&](T* rows, int first, int entries) {
        for (int k = 0; k < entries; ++k) {
          const double* values = from.data + (first + k) * from.entry + row * from.item;
          for (int r = 0; r < count; ++r)
            rows[r * S::stride + k] = sign * scaled(n, first + k, T(values[r * from.item]));
        }
      });
    });
  }

  // Packs the row vectors that are computed, for row r of the block.
  void take_row(int r, const Operand<T>* slots) {
    for_vectors([&](int n, const LongVector& vector, const Buffer<T>& to, int sign) {
      if (vector.direct) return;
      for_parts(n, to, [&](T* rows, int first, int entries) {
        const T* values = slots[vector.slot].p;
        for (int k = 0; k < entries; ++k)
          rows[r * S::stride + k] = sign * scaled(n, first + k, values[(first + k) * W]);
      });
    });
  }

  void run(int rows, const TileColumns& tile, const Operand<T>* slots) {
    for (int n = 0; n < job_.contractions.count; ++n) {
      const Contraction& c = contraction(n);
      if (c.term == Contraction::product) run<terms::Product>(n, rows, tile, slots);
      const bool weighted = c.term == Contraction::weighted_square && !scaled_.data()[n];
      if (c.term == Contraction::square || scaled_.data()[n]) run<terms::Square>(n, rows, tile, slots);
      if (weighted) run<terms::WeightedSquare>(n, rows, tile, slots);
      if (c.term == Contraction::along_row) run<terms::DifferenceAlong<Third::of_row>>(n, rows, tile, slots);
      if (c.term == Contraction::along_column) run<terms::DifferenceAlong<Third::of_column>>(n, rows, tile, slots);
    }
  }

  void point_to_row(int r, Operand<T>* slots) const {
    for (int n = 0; n < job_.contractions.count; ++n)
      slots[contraction(n).out] = {result(n) + std::size_t(r) * job_.tile, 0, ~std::ptrdiff_t(0)};
  }

 private:
  const Contraction& contraction(int n) const { return job_.contractions.items[n]; }
  static int parts(const Contraction& c) { return (c.size + S::depth - 1) / S::depth; }
  std::size_t parts_before(int n) const {
    std::size_t sum = 0;
    for (int before = 0; before < n; ++before) sum += parts(contraction(before));
    return sum;
  }
  bool reads_others(bool of_rows) const {
    bool reads = false;
    for (int n = 0; n < job_.contractions.count; ++n) reads = reads || contraction(n).reads_other(of_rows);
    return reads;
  }
  std::size_t packed_rows(bool any) const {
    return any ? parts_before(job_.contractions.count) * job_.row_block * S::stride : 0;
  }

  // Calls body(number of the contraction, vector of the row, packed copy of the vector, sign of the vector) for the
  // vectors of the row in all contractions.
  template <class F> void for_vectors(const F& body) const {
    for (int n = 0; n < job_.contractions.count; ++n) {
      const Contraction& c = contraction(n);
      body(n, c.row, rows_, 1);
      if (c.reads_other(true)) body(n, c.other, others_, c.opposite ? -1 : 1);
    }
  }
  // Returns the source of the vector of the row, or null if this vector is computed.
  const Source* source_of_row(const Contraction& c) const {
    if (c.row.direct) return &c.row.source;
    const Span<Source>& all = job_.sources[int(Level::row)];
    for (int s = 0; s < all.count; ++s)
      if (all.items[s].load.slot == c.row.slot && all.items[s].data) return &all.items[s];
    return nullptr;
  }
  T* roots(int n) const { return scales_.data() + 2 * parts_before(n) * S::depth; }
  T* centre(int n) const { return roots(n) + parts(contraction(n)) * S::depth; }
  template <class V> V scaled(int n, int k, V entry) const { return (entry - V(centre(n)[k])) * V(roots(n)[k]); }
  T* result(int n) const { return results_.data() + std::size_t(n) * job_.row_block * job_.tile; }

  // Calls body(packed rows, first entry, count) for parts of the entries; all parts have about the same length.
  template <class F> void for_parts(int n, const Buffer<T>& packed, const F& body) const {
    const int size = contraction(n).size, count = parts(contraction(n)), length = (size + count - 1) / count;
    T* rows = packed.data() + parts_before(n) * job_.row_block * S::stride;
    for (int first = 0; first < size; first += length, rows += std::size_t(job_.row_block) * S::stride)
      body(rows, first, size - first < length ? size - first : length);
  }

  template <class Term> void run(int n, int rows, const TileColumns& tile, const Operand<T>* slots) {
    const Contraction& c = contraction(n);
    for_parts(n, rows_, [&](const T* packed, int first, int entries) {
      const T* third = Term::third == Third::of_row      ? others_.data() + (packed - rows_.data())
                       : Term::third == Third::of_column ? other_panel_.data()
                                                         : slots[c.weights].p + first * W;
      for (int column = 0; column < tile.count; column += S::columns) {
        const int count = tile.count - column < S::columns ? tile.count - column : S::columns;
        pack(c.column, slots, tile, first, entries, column, count, panel_);
        if (scaled_.data()[n])
          for (int k = 0; k < entries; ++k)
            for (T* at = panel_.data() + k * S::columns; at < panel_.data() + (k + 1) * S::columns; at += W)
              scaled(n, first + k, Pack<T>::load(at)).store(at);
        if (Term::third == Third::of_column) {
          pack(c.other, slots, tile, first, entries, column, count, other_panel_);
          if (c.opposite) S::negate(other_panel_.data(), entries);
        }
        S::template add_all<Term>(rows, packed, panel_.data(), third, entries, result(n) + column, job_.tile,
                                  first == 0, count);
      }
    });
  }

  void pack(const LongVector& vector, const Operand<T>* slots, const TileColumns& tile, int first, int entries,
            int column, int count, const Buffer<T>& to) {
    if (vector.direct)
      pack(vector.source, first, entries, *tile.block, tile.base + tile.first + column, count, to.data());
    else
      pack(slots[vector.slot], first, entries, column, count, to.data());
  }

  // Packs some entries of the vectors of columns. Columns after the last column repeat the last column, as in a tile.
  void pack(const Source& from, int first, int entries, const RowBlock& block, Count column, int count, T* panel) {
    for_runs(job_, block, column, count, [&](Count begin, int length, int at) {
      constexpr int ahead = 4;  // number of entries to prefetch ahead
      for (int k = 0; k < entries; ++k) {
        const double* values = from.data + (first + k) * from.entry + begin * from.item;
        if (k + ahead < entries) prefetch(values + ahead * from.entry, from.item, length);
        convert(values, from.item, length, panel + k * S::columns + at);
      }
    });
    for (T* of_entry = panel; of_entry < panel + entries * S::columns; of_entry += S::columns)
      for (int n = count; n < S::columns; ++n) of_entry[n] = of_entry[count - 1];
  }

  void pack(const Operand<T>& from, int first, int entries, int column, int count, T* to) {
    for (int k = first; k < first + entries; ++k)
      for (int n = 0; n < S::columns; n += W, to += W)
        (n < count ? LaneView<T>(from, column + n)[k] : Pack<T>(0)).store(to);
  }

  const Job& job_;
  Buffer<T> rows_, others_, results_, panel_, other_panel_, scales_;  // scales_: roots and centre for each contraction
  Buffer<bool> scaled_;                                               // true if a contraction uses roots of its weights
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
