// How much of a share is on a device at a time, and how many chunks its columns make.
#include "cuda/pairs/device_worker.h"

#include <algorithm>
#include <limits>

namespace kernops {
namespace cuda {
namespace {

constexpr Count most_partial_bytes = Count(1) << 30, many_rows = 1 << 18, many_columns = 1 << 16;

// Columns of a chunk, where there are to be about so many chunks: such that the multiprocessors have as many of them
// each, as nearly as possible.
Count balanced_chunk(Count columns, Count most_chunks, Count blocks, const Shape& shape) {
  const Count group = shape.kind == Shape::narrow ? 8 : shape.columns,
              multiprocessors = current_device().multiprocessors;
  Count chosen = 1, least = std::numeric_limits<Count>::max();
  for (Count chunks = most_chunks; chunks > std::max(most_chunks * 3 / 4, most_chunks - 64); --chunks) {
    const Count chunk = std::max<Count>(1, ceil_div(ceil_div(columns, chunks), group)) * group;
    const Count time = ceil_div(blocks * ceil_div(columns, chunk), multiprocessors) * chunk;
    if (time < least) least = time, chosen = chunk;
  }
  return chosen;
}

// In whole units.
void halve(Count& count, Count unit) { count = ceil_div(ceil_div(count, 2), unit) * unit; }

}  // namespace

// An item of a place, and what it is copied from where that is elsewhere.
Count DeviceWorker::bytes_of(const Task& task, Level level) const {
  Count bytes = level == Level::column && task.shape.makes_columns ? 0 : task.item_bytes(level);
  for (const Load& load : task.plan.loads[int(level)]) {
    const ArrayRef* from = task.data.array(load);
    if (from && !is_here(*from)) bytes += Count(task.plan.slots[load.slot].size) * bytes_of_number(*from);
  }
  return bytes;
}

// No more columns than a launch takes: all blocks that run at a time end before the caller loses patience.
Count DeviceWorker::columns_of_launch(const Task& task, Count rows, Count columns) const {
  const Count rows_at_a_time = std::max<Count>(1, std::min(rows, 2 * filled() * task.rows_of_block()));
  const Count longest = std::max(task.pairs_of_launch() / rows_at_a_time, many_columns);
  const Count parts = std::max<Count>(1, ceil_div(columns, longest));
  return std::min(columns, ceil_div(ceil_div(columns, parts), task.shape.columns) * task.shape.columns);
}

// Columns are split where rows alone do not fill the card several times.
void DeviceWorker::split_columns(const Task& task, Count rows, Count columns, bool to_states, Slabs& slabs) const {
  const Count kept = std::min(rows, filled() * task.rows_of_block()) * kernels_->partial_bytes;  // bytes of a piece
  // A list is filled anew in each chunk; where rows are few, states are soon more than data.
  const bool lists = task.plan.reduction.k > 0, large = kernels_->partial_bytes > 32;
  const Count most_columns = task.most_columns(slabs.columns), blocks = task.full_blocks(rows);
  const Count waves = lists ? 1 : blocks == 1 ? 2 : large ? 4 : 8;
  Count wanted = std::min<Count>(waves * filled() / blocks, most_columns / (2 * task.shape.columns));
  if (blocks * merged_by_one >= 2 * filled()) wanted = std::min<Count>(wanted, merged_by_one);
  const Count pieces = std::max<Count>(1, std::min<Count>(wanted, most_partial_bytes / kept));
  slabs.chunk = balanced_chunk(most_columns, pieces, blocks, task.shape);
  const int chunks = int(std::max<Count>(1, ceil_div(most_columns, slabs.chunk)));
  const bool streams = slabs.columns < columns;
  const bool merges = to_states || streams || chunks > 1 || task.shape.kind == Shape::spread;
  slabs.states = merges && !task.plan.stores ? chunks + streams : 0;  // those of the slabs before stand first
}

// Rows are halved while they fill the card, then columns, until what is there at a time fits.
DeviceWorker::Slabs DeviceWorker::choose_slabs(const Task& task, Count rows, Count columns, bool to_states) {
  const Count per_block = task.rows_of_block();
  const bool aside = !to_states && !writes_directly(task.out);
  const Count result_bytes = aside ? task.plan.reduction.size * Count(sizeof(double)) : 0;
  const Count row_bytes = bytes_of(task, Level::row) + result_bytes, column_bytes = bytes_of(task, Level::column);
  Slabs slabs{rows, columns_of_launch(task, rows, columns), 0, 0};
  for (;;) {
    split_columns(task, rows, columns, to_states, slabs);
    const Count partials = slabs.rows * slabs.states * kernels_->partial_bytes;
    const size_t needed = size_t(partials + slabs.rows * row_bytes + slabs.columns * column_bytes);
    const bool fits = needed <= memory_for(needed), fewer_rows = !to_states && slabs.rows > per_block;
    if (fits && partials <= most_partial_bytes) return slabs;
    if (fewer_rows && (slabs.rows > many_rows || fits))
      halve(slabs.rows, per_block);
    else if (!fits && slabs.columns > many_columns)
      halve(slabs.columns, task.shape.columns);
    else if (fewer_rows)
      halve(slabs.rows, per_block);
    else
      return slabs;  // at least this must fit
  }
}

// Whether it is there is asked only where much is needed.
size_t DeviceWorker::memory_for(size_t needed) {
  constexpr size_t little = size_t(256) << 20;
  if (needed <= little && memory_limit() == 0) return needed;
  const auto room = [] { return memory_left() / 8 * 7; };  // blocks may be a little larger than asked for
  if (needed > room()) copies_.clear();
  return room();
}

}  // namespace cuda
}  // namespace kernops
