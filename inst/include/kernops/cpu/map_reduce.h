// The tiled map-reduce of the CPU: a block of rows is combined with one tile of columns after another. If there are few
// columns, a tile of rows is combined with one column after another. src/cpu/simd/pairs.h includes this file once for
// each instruction set.
#pragma once
#include <kernops/cpu/rows_in_lanes.h>
#include <kernops/cpu/wide_sum.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// Converts positions of columns in the result of a row: accumulators count only the columns of the row's block, but
// results count all columns.
inline void finish_positions(const Job& job, const RowBlock& block, double* out) {
  for (int k = job.positions; k < job.size; ++k) {
    double& position = out[k * job.out_entry];
    if (position == 0) continue;
    const Interval& interval = *find_interval(job.intervals, block, Count(position) - 1);
    position += double(interval.begin - interval.before);
  }
}

template <class Reduction> void finish_row(const Job& job, const char* partial, const RowBlock& block, Count row) {
  double* out = job.out + row * job.out_row;
  Reduction::finish(job, partial, block.columns > 0, out);
  finish_positions(job, block, out);
}

template <class T, class Reduction> class Worker {
 public:
  explicit Worker(const Job& job)
      : job_(job),
        values_(job),
        sums_(job),
        state_bytes_((Reduction::state_bytes(job) + 63) / 64 * 64),
        states_(state_bytes_ * job.row_block),
        partial_(Reduction::partial_bytes(job)) {}

  void work(const Unit& unit, Units& units) {
    const Count columns = unit.block->columns, begin = unit.split * job_.columns_per_split,
                end = begin + job_.columns_per_split < columns ? begin + job_.columns_per_split : columns;
    const int rows = int(unit.row_end - unit.row_begin);
    start_rows(unit.row_begin, rows);
    for (Count column = begin; column < end; column += job_.tile) {
      if (!units.keep_going(&units)) return;
      const int count = int(end - column < job_.tile ? end - column : job_.tile);
      values_.load_tile(*unit.block, column, count);
      reduce_tile(rows, {count, column - begin, begin, unit.row_begin, unit.block});
    }
    finish_rows(unit, rows, {0, 0, begin, unit.row_begin, unit.block});
  }

 private:
  void start_rows(Count row, int rows) {
    values_.start_rows(row, rows);
    sums_.start_rows(row, rows);
    for (int r = 0; r < rows; ++r) {
      values_.start_row(r, row + r);
      sums_.start_row(r, values_.slots());
      Reduction::start(job_, state(r));
    }
  }

  void reduce_tile(int rows, TileColumns tile) {
    values_.contract(rows, tile);
    for (int r = 0; r < rows; ++r, ++tile.row) {
      values_.meet(r, tile.count);
      sums_.take_row(job_, r, state(r), values_.slots(), tile, values_.scratch());
    }
    sums_.finish(rows, values_.slots(), tile, states_.data(), state_bytes_);
  }

  void finish_rows(const Unit& unit, int rows, const TileColumns& columns) {
    for (int r = 0; r < rows; ++r) {
      const Count row = unit.row_begin + r;
      const bool whole = job_.splits() == 1;
      char* partial =
          whole ? partial_.data() : job_.partials + (row * job_.splits() + unit.split) * Reduction::partial_bytes(job_);
      Reduction::collapse(job_, state(r), columns, partial);
      if constexpr (Reduction::is_sum)
        if (job_.factor && unit.block->columns > 0) Reduction::scale(job_, partial, values_.slots()[job_.factor]);
      if (whole) finish_row<Reduction>(job_, partial, *unit.block, row);
    }
  }

  char* state(int r) const { return states_.data() + r * state_bytes_; }

  const Job& job_;
  Values<T> values_;
  TileSums<T, Reduction> sums_;
  const std::size_t state_bytes_;
  Buffer<char> states_, partial_;
};

template <class T, class Reduction> struct Run {
  static void work(const Job& job, Units& units) {
    if constexpr (LaneStates<T, Reduction>::exists)
      if (job.rows_in_lanes) return work<LaneWorker<T, Reduction>>(job, units);
    work<Worker<T, Reduction>>(job, units);
  }

  template <class W> static void work(const Job& job, Units& units) {
    W worker(job);
    for (Unit unit; units.next(&units, &unit);) worker.work(unit, units);
  }

  static void merge(const Job& job) {
    const std::size_t bytes = Reduction::partial_bytes(job);
    for (Count b = 0; b < job.block_count; ++b)
      for (Count row = job.blocks[b].begin; row < job.blocks[b].end; ++row) {
        char* first = job.partials + row * job.splits() * bytes;
        for (Count split = 1; split < job.splits(); ++split) Reduction::merge(job, first, first + split * bytes);
        finish_row<Reduction>(job, first, job.blocks[b], row);
      }
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
