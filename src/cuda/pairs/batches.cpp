// How much of a share is on a device at a time, and how many chunks its lanes make.
#include "cuda/pairs/device_worker.h"

#include <algorithm>
#include <limits>

namespace kernops {
namespace cuda {
namespace {

constexpr Count most_partial_bytes = Count(1) << 30, many_rows = 1 << 18, many_lanes = 1 << 16;

// Lanes of a chunk, where there are to be about so many chunks: such that the multiprocessors have as many of them
// each, as nearly as possible.
Count balanced_chunk(Count lanes, Count most_chunks, Count blocks, const Shape& shape) {
  const Count group = shape.kind == Shape::narrow ? 8 : shape.lanes, multiprocessors = current_device().multiprocessors;
  Count chosen = 1, least = std::numeric_limits<Count>::max();
  for (Count chunks = most_chunks; chunks > std::max(most_chunks * 3 / 4, most_chunks - 64); --chunks) {
    const Count chunk = std::max<Count>(1, ceil_div(ceil_div(lanes, chunks), group)) * group;
    const Count time = ceil_div(blocks * ceil_div(lanes, chunk), multiprocessors) * chunk;
    if (time < least) least = time, chosen = chunk;
  }
  return chosen;
}

// In whole units.
void halve(Count& count, Count unit) { count = ceil_div(ceil_div(count, 2), unit) * unit; }

}  // namespace

// An item of a place, and what it is copied from where that is elsewhere.
Count DeviceWorker::bytes_of(const Task& task, Level level) const {
  Count bytes = level == Level::column && task.shape.makes_lanes ? 0 : task.item_bytes(level);
  for (const Load& load : task.plan.loads[int(level)]) {
    const ArrayRef* from = task.data.array(load);
    if (from && !is_here(*from)) bytes += Count(task.plan.slots[load.slot].size) * bytes_of_number(*from);
  }
  return bytes;
}

// No more lanes than a launch takes: all blocks that run at a time end before the caller loses patience.
Count DeviceWorker::lanes_of_launch(const Task& task, Count rows, Count lanes) const {
  const Count rows_at_a_time = std::max<Count>(1, std::min(rows, 2 * filled() * task.rows_of_block()));
  const Count longest = std::max(task.pairs_of_launch() / rows_at_a_time, many_lanes);
  const Count parts = std::max<Count>(1, ceil_div(lanes, longest));
  return std::min(lanes, ceil_div(ceil_div(lanes, parts), task.shape.lanes) * task.shape.lanes);
}

// Lanes are split where rows alone do not fill the card several times.
void DeviceWorker::split_lanes(const Task& task, Count rows, Count lanes, bool to_states, Slabs& slabs) const {
  const Count kept = std::min(rows, filled() * task.rows_of_block()) * kernels_->partial_bytes;  // bytes of a piece
  // A list is filled anew in each chunk; where rows are few, states are soon more than data.
  const bool lists = task.plan.reduction.k > 0, large = kernels_->partial_bytes > 32;
  const Count most_lanes = task.most_lanes(slabs.lanes), blocks = task.full_blocks(rows);
  const Count waves = lists ? 1 : blocks == 1 ? 2 : large ? 4 : 8;
  Count wanted = std::min<Count>(waves * filled() / blocks, most_lanes / (2 * task.shape.lanes));
  if (blocks * merged_by_one >= 2 * filled()) wanted = std::min<Count>(wanted, merged_by_one);
  const Count pieces = std::max<Count>(1, std::min<Count>(wanted, most_partial_bytes / kept));
  slabs.chunk = balanced_chunk(most_lanes, pieces, blocks, task.shape);
  const int chunks = int(std::max<Count>(1, ceil_div(most_lanes, slabs.chunk)));
  const bool streams = slabs.lanes < lanes;
  const bool merges = to_states || streams || chunks > 1 || task.shape.kind == Shape::spread;
  slabs.states = merges && !task.plan.stores ? chunks + streams : 0;  // those of the slabs before stand first
}

// Rows are halved while they fill the card, then lanes, until what is there at a time fits.
DeviceWorker::Slabs DeviceWorker::choose_slabs(const Task& task, Count rows, Count lanes, bool to_states) {
  const Count per_block = task.rows_of_block();
  const bool aside = !to_states && !writes_directly(task.out);
  const Count result_bytes = aside ? task.plan.reduction.size * Count(sizeof(double)) : 0;
  const Count row_bytes = bytes_of(task, Level::row) + result_bytes, lane_bytes = bytes_of(task, Level::column);
  Slabs slabs{rows, lanes_of_launch(task, rows, lanes), 0, 0};
  for (;;) {
    split_lanes(task, rows, lanes, to_states, slabs);
    const Count partials = slabs.rows * slabs.states * kernels_->partial_bytes;
    const size_t needed = size_t(partials + slabs.rows * row_bytes + slabs.lanes * lane_bytes);
    const bool fits = needed <= memory_for(needed), fewer_rows = !to_states && slabs.rows > per_block;
    if (fits && partials <= most_partial_bytes) return slabs;
    if (fewer_rows && (slabs.rows > many_rows || fits))
      halve(slabs.rows, per_block);
    else if (!fits && slabs.lanes > many_lanes)
      halve(slabs.lanes, task.shape.lanes);
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
