// The thread blocks of a grid. The rows are divided evenly between blocks. If a reduction is restricted to ranges
// (given intervals of columns for each cluster of rows), all rows of a block belong to the same cluster.
#include "cuda/pairs/device_worker.h"

namespace kernops {
namespace cuda {
namespace {

constexpr Count no_limit = Count(1) << 62;

template <class T> std::unique_ptr<Buffer> uploaded(const std::vector<T>& items) {
  auto there = std::make_unique<Buffer>(items.size() * sizeof(T));
  copy_in(there->pointer(), items.data(), items.size() * sizeof(T));
  return there;
}

}  // namespace

Count Task::most_columns(Count columns) const {
  if (!ranges()) return columns;
  Count most = 0;
  for (const RowBlock& block : ranges()->rows) most = std::max(most, block.columns);
  return std::min(most, columns);
}

Count Task::full_blocks(Count rows) const {
  if (!ranges()) return ceil_div(rows, rows_of_block());
  double met = 0;  // sum of the numbers of columns of all blocks
  for (const RowBlock& block : ranges()->rows)
    met += double(ceil_div(block.end - block.begin, rows_of_block())) * double(block.columns);
  const double part = double(rows) / double(ranges()->rows.back().end);
  return std::max<Count>(1, Count(part * met / double(std::max<Count>(1, most_columns(no_limit)))));
}

Extent extent_of(Count rows, Count columns, const Blocks* ranges) {
  if (!ranges) return {rows, columns};
  double pairs = 1, shared = 0;
  for (const RowBlock& block : ranges->rows) {
    const double count = double(block.end - block.begin), some = count * double(block.columns);
    pairs += some, shared += some * count;
  }
  return {rows, columns, true, shared / pairs};
}

Grid::Grid(const Task& task, Range rows, Range columns, Count most)
    : per_block_(task.rows_of_block()), rows_(rows.count()) {
  if (!task.ranges()) return;
  Blocks all = cut(clip(*task.ranges(), rows.begin, rows.end, columns.begin, columns.end), per_block_);
  for (const RowBlock& block : all.rows) begins_.push_back(block.begin);
  const auto larger = [](const RowBlock& a, const RowBlock& b) { return a.columns > b.columns; };
  const Count count = Count(all.rows.size());
  for (Count n = 0; n < count; n += most)  // the largest blocks start first, so that multiprocessors finish together
    std::stable_sort(all.rows.begin() + n, all.rows.begin() + std::min(n + most, count), larger);
  blocks_ = uploaded(all.rows), intervals_ = uploaded(all.columns);
}

void Grid::choose(PairJob& job, Count first, Count end) const {
  job.row_begin = begin_of(first), job.row_end = begin_of(end);
  if (!blocks_) return;
  job.blocks = static_cast<const RowBlock*>(blocks_->address()) + first;
  job.intervals = static_cast<const Interval*>(intervals_->address());
}

}  // namespace cuda
}  // namespace kernops
