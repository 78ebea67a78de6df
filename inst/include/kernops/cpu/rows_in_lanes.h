// The loop nest for few columns: each lane of a pack has one row of the result, and a tile of rows is combined with one
// column after another. The job describes the transposed matrix, so that `Values` can load rows and columns without
// change. Therefore `rows` of the job are the few columns of the formula, and `columns` of the job are the rows of the
// result.
//
//   columns of the formula: loaded once; each number becomes a pack of equal numbers
//   for each tile of rows:  load the rows, start their states
//     for each column:      compute the pairs; each lane adds its value
//     for each row:         convert the lane's state to a Partial, write the result
#pragma once
#include <kernops/cpu/lane_states.h>
#include <kernops/cpu/values.h>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class T, class Reduction> class LaneWorker {
 public:
  explicit LaneWorker(const Job& job) : job_(job), values_(job), states_(job), partial_(Reduction::partial_bytes(job)) {
    values_.start_rows(0, int(job.rows));
    for (int j = 0; j < job.rows; ++j) values_.start_row(j, j);
  }

  void work(const Unit& unit, Units& units) {
    const Count begin = unit.split * job_.columns_per_split;
    const Count end = begin + job_.columns_per_split < job_.columns ? begin + job_.columns_per_split : job_.columns;
    for (Count row = begin; row < end; row += job_.tile) {
      if (!units.keep_going(&units)) return;
      reduce_tile(*unit.block, row, int(end - row < job_.tile ? end - row : job_.tile));
    }
  }

 private:
  void reduce_tile(const RowBlock& block, Count first, int count) {
    constexpr int W = Pack<T>::width, settling = 64;
    const int columns = int(job_.rows), padded = (count + W - 1) / W * W;
    states_.start();
    values_.load_tile(block, first, count);
    values_.contract(columns, {count, first, 0, 0, &block});
    for (int j = 0; j < columns; ++j) {
      values_.meet(j, count);
      states_.add(values_.slots()[job_.f], values_.slots()[job_.w], j, padded, values_.scratch());
      if (j % settling == settling - 1) states_.settle();
    }
    states_.settle();
    for (int lane = 0; lane < count; ++lane) finish(lane, first + lane);
  }

  void finish(int lane, Count row) {
    states_.collapse(lane, partial_.data());
    if constexpr (Reduction::is_sum)
      if (job_.factor) Reduction::scale(job_, partial_.data(), values_.slots()[job_.factor]);
    Reduction::finish(job_, partial_.data(), true, job_.out + row * job_.out_row);
  }

  const Job& job_;
  Values<T> values_;
  LaneStates<T, Reduction> states_;
  Buffer<char> partial_;
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
