// Chooses the number of rows and of columns of a batch on a device. Also chooses the number of splits: parts of the
// batch's columns that different blocks reduce.
#include "cuda/pairs/device_worker.h"

#include <algorithm>
#include <limits>

namespace kernops {
namespace cuda {
namespace {

constexpr Count most_partial_bytes = Count(1) << 30, many_rows = 1 << 18, many_columns = 1 << 16;

// Returns the number of columns of a split. The number of splits is between about three quarters of `most_splits` and
// `most_splits`. Among these numbers, the function chooses the number for which the blocks of all splits need the least
// total time.
Count balanced_split(Count columns, Count most_splits, Count blocks, const Recipe& recipe, Count at_a_time) {
  const Count group = recipe.mainloop == Mainloop::narrow ? 8 : recipe.columns;
  Count chosen = 1, least = std::numeric_limits<Count>::max();
  for (Count splits = most_splits; splits > std::max(most_splits * 3 / 4, most_splits - 64); --splits) {
    const Count split = std::max<Count>(1, ceil_div(ceil_div(columns, splits), group)) * group;
    const Count time = ceil_div(blocks * ceil_div(columns, split), at_a_time) * split;
    if (time < least) least = time, chosen = split;
  }
  return chosen;
}

// Halves a count, and rounds it up to a multiple of `unit`.
void halve(Count& count, Count unit) { count = ceil_div(ceil_div(count, 2), unit) * unit; }

}  // namespace

// Returns the bytes that one item of a level (one row or column) takes on the device. The result includes the bytes of
// the item's source if the source is stored elsewhere and must be copied.
Count DeviceWorker::bytes_of(const Task& task, Level level) const {
  Count bytes = task.is_filled(level) ? task.item_bytes(level) : 0;
  for (const Load& load : task.plan.loads[int(level)]) {
    const ArrayRef* from = task.data.array(load);
    if (from && !is_here(*from)) bytes += Count(task.plan.slots[load.slot].size) * bytes_of_number(*from);
  }
  return bytes;
}

// Returns the maximum number of columns of a launch, such that a launch ends soon enough for user interrupts.
Count DeviceWorker::columns_of_launch(const Task& task, Count rows, Count columns) const {
  const Count rows_at_a_time = std::max<Count>(1, std::min(rows, 2 * filled() * task.rows_of_block()));
  const Count longest = std::max(task.pairs_of_launch() / rows_at_a_time, many_columns);
  const Count parts = std::max<Count>(1, ceil_div(columns, longest));
  return std::min(columns, ceil_div(ceil_div(columns, parts), task.recipe.columns) * task.recipe.columns);
}

// Splits the columns if the rows alone do not fill the device several times.
void DeviceWorker::split_columns(const Task& task, Count rows, Count columns, bool to_states, Batch& batch) const {
  // bytes of the states of one split
  const Count split_bytes = std::min(rows, filled() * task.rows_of_block()) * kernels_->partial_bytes;
  // Each split must fill its initially empty lists of the k extreme columns; therefore reductions with lists use few
  // splits. A single block of rows also uses few splits, because the states of many splits would take more memory than
  // the data.
  const bool lists = task.plan.reduction.k > 0, large = kernels_->partial_bytes > 32;
  const Count most_columns = task.most_columns(batch.columns), blocks = task.full_blocks(rows);
  const Count waves = lists ? 1 : blocks == 1 ? 2 : large ? 4 : 8;
  // Blocks that sum long vectors are slow, and few of them run at a time. With few splits, most of the device would be
  // idle while the last blocks run.
  const bool sums_vectors = task.recipe.sums_vectors();
  Count wanted = waves * filled() / blocks;
  if (sums_vectors) wanted = std::max(wanted, std::min<Count>(6, 3 * waves * filled() / blocks));
  wanted = std::min<Count>(wanted, most_columns / (2 * task.recipe.columns));
  if (blocks * merged_by_one >= 2 * filled()) wanted = std::min<Count>(wanted, merged_by_one);
  const Count most_splits = std::max<Count>(1, std::min<Count>(wanted, most_partial_bytes / split_bytes));
  batch.columns_per_split = balanced_split(most_columns, most_splits, blocks, task.recipe,
                                           sums_vectors ? filled() : current_device().multiprocessors);
  const int splits = int(std::max<Count>(1, ceil_div(most_columns, batch.columns_per_split)));
  const bool streams = batch.columns < columns;
  const bool merges = to_states || streams || splits > 1 || task.recipe.sums_vectors();
  // if columns are divided into batches, one more state, which belongs to the earlier batches
  batch.states = merges && !task.plan.stores ? splits + streams : 0;
}

// Halves the rows of the batch as long as they fill the device, and then halves the columns, until the batch fits into
// memory.
DeviceWorker::Batch DeviceWorker::choose_batch(const Task& task, Count rows, Count columns, bool to_states) {
  const Count per_block = task.rows_of_block();
  const Count result_bytes = to_states ? 0 : Count(bytes_aside(task, 1));
  const Count row_bytes = bytes_of(task, Level::row) + result_bytes, column_bytes = bytes_of(task, Level::column);
  Batch batch{rows, columns_of_launch(task, rows, columns), 0, 0};
  for (;;) {
    split_columns(task, rows, columns, to_states, batch);
    const Count partials = batch.rows * batch.states * kernels_->partial_bytes;
    const size_t needed = size_t(partials + batch.rows * row_bytes + batch.columns * column_bytes);
    const bool fits = needed <= memory_for(needed), fewer_rows = !to_states && batch.rows > per_block;
    if (fits && partials <= most_partial_bytes) return batch;
    if (fewer_rows && (batch.rows > many_rows || fits))
      halve(batch.rows, per_block);
    else if (!fits && batch.columns > many_columns)
      halve(batch.columns, task.recipe.columns);
    else if (fewer_rows)
      halve(batch.rows, per_block);
    else
      return batch;  // no smaller batch is possible, so this batch must fit
  }
}

// Returns the number of bytes that a batch may use. The driver is asked for the free memory only if `needed`, the size
// of the batch, is large.
size_t DeviceWorker::memory_for(size_t needed) {
  constexpr size_t little = size_t(256) << 20;
  if (needed <= little && memory_limit() == 0) return needed;
  const auto room = [] { return memory_left() / 8 * 7; };  // an allocated block may be slightly larger than requested
  if (needed > room()) copies_.clear();
  return room();
}

}  // namespace cuda
}  // namespace kernops
