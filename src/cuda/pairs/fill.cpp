// Copies the inputs of a part to the device, and fills the levels that the kernels read: the values that are computed
// once per row, per column, or per call.
#include "cuda/pairs/device_worker.h"

#include <algorithm>

namespace kernops {
namespace cuda {

namespace {

DeviceSource::Kind kind_of(MemorySpace space) {
  switch (space) {
    case MemorySpace::device_float: return DeviceSource::floats;
    case MemorySpace::device_bfloat16: return DeviceSource::bfloat16;
    case MemorySpace::device_float16: return DeviceSource::float16;
    default: return DeviceSource::doubles;
  }
}

}  // namespace

bool DeviceWorker::is_here(const ArrayRef& array) const {
  return array.space != MemorySpace::host && array.device == number_;
}

// Returns a range of items of an array, copied to this device if necessary. Each array is copied once, even if several
// reductions read it.
ArrayRef DeviceWorker::here(const ArrayRef& array, int size, Range items) {
  const size_t bytes = size_t(bytes_of_number(array));
  const auto address = reinterpret_cast<DevicePointer>(array.data);
  if (is_here(array)) {
    ArrayRef some = array;
    some.data = reinterpret_cast<const void*>(address + size_t(items.begin * array.item) * bytes);
    return some;
  }
  const Count count = items.count();
  const bool by_item = array.entry == 1;
  auto& copy = copies_[{Count(address), items.begin, items.end}];
  if (!copy) {
    copy = std::make_unique<Buffer>(size_t(count) * size_t(size) * bytes);
    const Count runs = by_item || count == array.entry ? 1 : size;  // number of contiguous pieces
    const size_t run_bytes = size_t(count * size / runs) * bytes;
    for (Count run = 0; run < runs; ++run) {
      const DevicePointer to = copy->pointer() + size_t(run) * run_bytes;
      const DevicePointer from = address + size_t(items.begin * array.item + run * array.entry) * bytes;
      if (array.space == MemorySpace::host)
        copy_in(to, reinterpret_cast<const void*>(from), run_bytes);
      else
        copy_across(to, number_, from, array.device, run_bytes);
    }
  }
  return {copy->address(), by_item ? 1 : count, by_item ? array.item : 1, array.space, number_};
}

void DeviceWorker::keep_shared(const Data& data) {
  const auto serves_all = [&](Count address) {
    return std::any_of(data.variables.begin(), data.variables.end(), [=](const ArrayRef& array) {
      return array.batch == 0 && Count(reinterpret_cast<DevicePointer>(array.data)) == address;
    });
  };
  for (auto copy = copies_.begin(); copy != copies_.end();)
    copy = serves_all(copy->first[0]) ? std::next(copy) : copies_.erase(copy);
}

void DeviceWorker::fetch(const Task& task, Range rows, Range columns, bool to_states) {
  use_device(number_);
  const Batch batch = choose_batch(task, rows.count(), columns.count(), to_states);
  if (batch.rows >= rows.count() && batch.columns >= columns.count()) fetch_all(task, rows, columns);
}

void DeviceWorker::fetch_all(const Task& task, Range rows, Range columns) {
  use_device(number_);
  const auto take = [&](Level level, Range items) {
    for (const Load& load : task.plan.loads[int(level)]) {
      const ArrayRef* from = task.data.array(load);
      if (from && from->space != MemorySpace::host) here(*from, task.plan.slots[load.slot].size, items);
    }
  };
  if (rows.count() == 0) return;
  take(Level::uniform, {0, 1});
  take(Level::row, rows);
  take(Level::column, columns);
}

// Returns the sources of a level's entries for a range of items: arrays, constants, indices of items, or kernel
// arguments. Small parameters on the host become kernel arguments.
std::vector<DeviceSource> DeviceWorker::sources(const Task& task, Level level, Range items, double* arguments) {
  std::vector<DeviceSource> all;
  if (items.count() == 0) return all;
  int count = 0;  // number of doubles that are passed as arguments
  for (const Load& load : task.plan.loads[int(level)]) {
    const Slot& slot = task.plan.slots[load.slot];
    DeviceSource s{DeviceSource::constant, nullptr, 0, 0, items.begin, load.value, slot.offset, slot.size};
    if (load.kind == Load::index) s.kind = DeviceSource::index;
    if (const ArrayRef* from = task.data.array(load)) {
      if (level == Level::uniform && from->space == MemorySpace::host && count + slot.size <= FillJob::most_given) {
        s.kind = DeviceSource::given, s.first = count;
        const double* values = static_cast<const double*>(from->data);
        for (int k = 0; k < slot.size; ++k) arguments[count++] = values[k * from->entry];
      } else {
        const ArrayRef local = here(*from, slot.size, items);
        s.kind = kind_of(local.space);
        s.data = local.data, s.entry = local.entry, s.item = local.item;
      }
    }
    all.push_back(s);
  }
  return all;
}

void DeviceWorker::fill(const Task& task, const Levels& levels, Range rows, Range columns) {
  if (!task.is_filled(Level::row)) rows.end = rows.begin;
  if (!task.is_filled(Level::column)) columns.end = columns.begin;
  FillJob job{};
  std::vector<DeviceSource> all;
  const auto take = [&](Level level, Range items, const Buffer& out) {
    const std::vector<DeviceSource> some = sources(task, level, items, job.given);
    job.levels[int(level)] = {int(all.size()), int(all.size() + some.size()), out.address(), items.count()};
    all.insert(all.end(), some.begin(), some.end());
  };
  take(Level::uniform, {0, 1}, levels.once);
  take(Level::row, rows, levels.x);
  take(Level::column, columns, levels.y);

  std::unique_ptr<Buffer> table;
  if (all.size() <= FillJob::most_sources) {
    std::copy(all.begin(), all.end(), job.sources);
  } else {
    table = std::make_unique<Buffer>(all.size() * sizeof(DeviceSource));
    copy_in(table->pointer(), all.data(), all.size() * sizeof(DeviceSource));
    job.table = static_cast<const DeviceSource*>(table->address());
  }
  constexpr unsigned threads = 128;
  const Count most = Count(16) * current_device().multiprocessors;
  const auto blocks = [&](Range items) { return unsigned(std::min(ceil_div(items.count(), threads), most)); };
  if (task.plan.entries[int(Level::uniform)] > FillJob::most_own) launch(kernels_->once, 1, 1, threads, &job);
  job.row_blocks = blocks(rows);
  launch(kernels_->fill, std::max(1u, job.row_blocks + blocks(columns)), 1, threads, &job, starts_early(rows, columns));
}

}  // namespace cuda
}  // namespace kernops
