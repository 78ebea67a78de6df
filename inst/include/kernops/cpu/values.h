// The values of rows, columns and pairs on the CPU.
#pragma once
#include <kernops/cpu/contractions.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// The values of a block of rows, of a tile of columns, and of their pairs, for any reduction. The functions of this
// class are not inline, because inline functions would be compiled again for each reduction.
template <class T> class Values {
  static constexpr int W = Pack<T>::width;

 public:
  explicit Values(const Job& job);
  void start_rows(Count row, int rows);  // rows of a block
  void start_row(int r, Count row);      // row r of the block
  void load_tile(const RowBlock& block, Count first, int count);
  void contract(int rows, TileColumns tile) { contractions_.run(rows, tile, slots_.data()); }
  void meet(int r, int count);  // combines row r with the tile
  Operand<T>* slots() { return slots_.data(); }
  T* scratch() { return scratch_.data(); }

 private:
  void place_slots(Level level, T* base, std::ptrdiff_t entry, std::ptrdiff_t lanes);
  void run_steps(Level level, int lanes);
  void load_packs(Level level, Count n);
  void load_columns(Count column, int count, int at);
  void point_to_row(int r);
  T* kept_row(int r) const { return rows_.data() + std::size_t(r) * job_.kept * W; }
  int source_size(const Source& source) const { return job_.slots.items[source.load.slot].size; }

  const Job& job_;
  Buffer<Operand<T>> slots_;
  Buffer<T> once_, rows_, columns_, pairs_, scratch_;
  Contractions<T> contractions_;
};

template <class T> void fill_pack(T* to, double value) { Pack<T>(T(value)).store(to); }

inline double value_at(const Source& from, int k, Count n) {
  if (from.load.kind == Load::constant) return from.load.value;
  if (from.load.kind == Load::index) return double(from.first + n + 1);
  return from.data[k * from.entry + n * from.item];
}

template <class T>
Values<T>::Values(const Job& job)
    : job_(job),
      slots_(job.slots.count),
      once_(std::size_t(job.entries[0]) * W),
      rows_((std::size_t(job.kept) * (job.row_block - 1) + job.entries[1]) * W),
      columns_(std::size_t(job.entries[2]) * job.tile),
      pairs_(std::size_t(job.entries[3]) * job.tile),
      scratch_(job.tile),
      contractions_(job) {
  place_slots(Level::uniform, once_.data(), W, 0);
  place_slots(Level::row, kept_row(job.row_block - 1), W, 0);
  place_slots(Level::column, columns_.data(), job.tile, ~std::ptrdiff_t(0));
  place_slots(Level::pair, pairs_.data(), job.tile, ~std::ptrdiff_t(0));
  fill_pack(slots_.data()[0].p, 1);
  load_packs(Level::uniform, 0);
  run_steps(Level::uniform, W);
  contractions_.take_weights(slots_.data());
}

template <class T> void Values<T>::place_slots(Level level, T* base, std::ptrdiff_t entry, std::ptrdiff_t lanes) {
  kernops::place_slots(job_.slots, level, base, entry, lanes, slots_.data());
}

template <class T> void Values<T>::run_steps(Level level, int lanes) {
  kernops::run_steps(job_.steps[int(level)], slots_.data(), lanes);
}

// Loads the values of item n; each value becomes a pack of equal numbers.
template <class T> void Values<T>::load_packs(Level level, Count n) {
  const Span<Source>& sources = job_.sources[int(level)];
  for (int s = 0; s < sources.count; ++s) {
    const Source& from = sources.items[s];
    T* to = slots_.data()[from.load.slot].p;
    for (int k = 0; k < source_size(from); ++k) fill_pack(to + k * W, value_at(from, k, n));
  }
}

// Sets the operands to the values of row r. Values that pairs do not read are stored for only one row at a time, after
// the other values.
template <class T> void Values<T>::point_to_row(int r) {
  kernops::place_slots(job_.slots, Level::row, kept_row(r), W, 0, slots_.data(), job_.kept);
}

template <class T> void Values<T>::start_rows(Count row, int rows) { contractions_.take_rows(row, rows); }

template <class T> void Values<T>::start_row(int r, Count row) {
  point_to_row(r);
  load_packs(Level::row, row);
  run_steps(Level::row, W);
  contractions_.take_row(r, slots_.data());
}

// Loads a tile. Padding columns repeat the last column; reductions do not read the values of padding columns.
template <class T> void Values<T>::load_tile(const RowBlock& block, Count first, int count) {
  const int padded = (count + W - 1) / W * W;
  for_runs(job_, block, first, count, [&](Count column, int length, int at) { load_columns(column, length, at); });
  const Span<Source>& sources = job_.sources[int(Level::column)];
  for (int s = 0; s < sources.count; ++s)
    for (int k = 0; k < source_size(sources.items[s]); ++k) {
      T* to = slots_.data()[sources.items[s].load.slot].p + k * job_.tile;
      for (int n = count; n < padded; ++n) to[n] = to[count - 1];
    }
  run_steps(Level::column, padded);
}

// Loads contiguous columns into the tile, beginning with column `at` of the tile.
template <class T> void Values<T>::load_columns(Count column, int count, int at) {
  const Span<Source>& sources = job_.sources[int(Level::column)];
  for (int s = 0; s < sources.count; ++s) {
    const Source& from = sources.items[s];
    for (int k = 0; k < source_size(from); ++k) {
      T* to = slots_.data()[from.load.slot].p + k * job_.tile + at;
      if (from.data)
        convert(from.data + k * from.entry + column * from.item, from.item, count, to);
      else
        for (int n = 0; n < count; ++n) to[n] = T(value_at(from, k, column + n));
    }
  }
}

template <class T> void Values<T>::meet(int r, int count) {
  point_to_row(r);
  contractions_.point_to_row(r, slots_.data());
  run_steps(Level::pair, (count + W - 1) / W * W);
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
