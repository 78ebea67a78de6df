// Runs a part of a map-reduce on one device: copies the data to the device, fills the levels (values of rows, of
// columns, and of no item) and reduces the pairs. To limit the memory, a part is processed in batches of rows and,
// within a batch of rows, in batches of columns.
#include "cuda/pairs/device_worker.h"

#include <algorithm>

#include "formula/op_table.h"

namespace kernops {
namespace cuda {

// The kernels of a plan, indexed by settings, recipe and device.
struct KernelCache {
  using Key = std::tuple<bool, SumScheme, bool, decltype(std::declval<Recipe>().fields()), int>;
  std::map<Key, const Kernels*> kernels;
};

namespace {

// Returns the kernels of a plan. The first call writes the CUDA texts of the kernels, and loads or compiles the texts.
const Kernels& kernels_once(const TiledPlan& plan, const Settings& settings, const Recipe& recipe, int device) {
  if (!plan.cached_kernels) plan.cached_kernels = std::make_shared<KernelCache>();
  const Kernels*& k =
      plan.cached_kernels
          ->kernels[{settings.single, settings.scheme, settings.accumulate_double, recipe.fields(), device}];
  if (!k) k = &kernels(source(plan, settings, recipe), recipe.threads);
  return *k;
}

}  // namespace

// The device memory of a part of a map-reduce, and the progress of its reduction.
struct DeviceWorker::Work {
  const Task& task;
  const Watch& watch;
  const Batch batch;
  const Range columns;
  const bool to_states;
  const Count total_pairs;
  Levels levels;
  const Buffer out;
  std::unique_ptr<Buffer> states;
  Count done_pairs = 0;

  Work(const Task& task, const Watch& watch, const Batch& batch, Range rows, Range columns, bool to_states,
       size_t out_bytes, size_t state_bytes)
      : task(task),
        watch(watch),
        batch(batch),
        columns(columns),
        to_states(to_states),
        total_pairs(rows.count() * std::max<Count>(columns.count(), 1)),
        levels(task, batch.rows, batch.columns),
        out(out_bytes) {
    if (batch.states > 0) states = std::make_unique<Buffer>(size_t(batch.rows) * batch.states * state_bytes);
  }

  bool streams() const { return batch.columns < columns.count(); }
  // Counts the pairs of a launch. If other launches follow, waits for the device, so that the user can interrupt.
  void finished(Count pairs) {
    done_pairs += pairs;
    if (done_pairs >= total_pairs) return;
    synchronize();
    if (watch && !watch(double(done_pairs) / double(total_pairs))) throw Interrupted();
  }
};

void DeviceWorker::prepare(const Task& task) {
  use_device(number_);
  kernels_ = &kernels_once(task.plan, task.settings, task.recipe, number_);
}

std::unique_ptr<Buffer> DeviceWorker::reduce(const Task& task, Range rows, Range columns, const Watch& watch,
                                             bool to_states) {
  use_device(number_);
  const Batch batch = choose_batch(task, rows.count(), columns.count(), to_states);
  const size_t out_bytes = to_states ? 0 : bytes_aside(task, batch.rows);
  Work work(task, watch, batch, rows, columns, to_states, out_bytes, state_bytes());
  const bool whole = batch.rows >= rows.count() && !work.streams();
  for (Range part{rows.begin, 0}; part.begin < rows.end; part.begin = part.end) {
    part.end = std::min(part.begin + batch.rows, rows.end);
    const Range first{columns.begin, std::min(columns.begin + batch.columns, columns.end)};
    const bool has_columns = part.begin > rows.begin && !work.streams();
    fill(task, work.levels, part, has_columns ? Range{columns.begin, columns.begin} : first);
    reduce_pairs(work, part, first);
    for (Range further{first.end, 0}; further.begin < columns.end; further.begin = further.end) {
      further.end = std::min(further.begin + batch.columns, columns.end);
      if (!whole) copies_.clear();
      fill(task, work.levels, {part.begin, part.begin}, further);
      reduce_pairs(work, part, further);
    }
    if (!to_states) deliver(task, part, work.out);
    if (!whole) copies_.clear();
  }
  return to_states ? std::move(work.states) : nullptr;
}

// Launches the reduction of the pairs. The time of a launch is limited to some tenths of a second, so that the user can
// interrupt.
void DeviceWorker::reduce_pairs(Work& work, Range rows, Range columns) {
  const Task& task = work.task;
  const Count most_columns = task.most_columns(columns.count());
  PairJob job = job_for(task, rows, work.out);
  if (!task.plan.stores && (columns.end != work.columns.end || work.to_states)) job.out = nullptr;
  job.columns_per_split = work.batch.columns_per_split;
  job.splits = int(std::max<Count>(1, ceil_div(most_columns, job.columns_per_split)));
  read_levels(work, rows, columns, job);

  const Count most =
      std::max(2 * filled(), task.pairs_of_launch() / std::max<Count>(most_columns, 1) / task.rows_of_block());
  const Grid grid(task, rows, columns, most);

  PairJob merging = keep_states(work, rows, columns, job);
  const bool merges = work.states && (merging.splits > 1 || merging.out);
  const bool first = columns.begin == work.columns.begin;
  // among the blocks that reduce the same rows, the block that finishes last merges the states; if the states of a row
  // are large or many, a separate launch is faster
  const Count bytes = job.splits * kernels_->partial_bytes;
  const bool by_last_block = merges && first && job.splits <= merged_by_one && bytes <= 700 &&
                             !task.recipe.sums_vectors() && std::min(most, grid.blocks()) <= Device::most_arrivals;
  if (by_last_block) job.arrivals = current_device().arrivals;
  for (Count block = 0; block < grid.blocks(); block += most) {
    const Count end = std::min(block + most, grid.blocks());
    grid.choose(job, block, end);
    merging.row_begin = job.row_begin, merging.row_end = job.row_end;
    launch(kernels_->pairs, unsigned(end - block), unsigned(job.splits), unsigned(task.recipe.threads), &job,
           starts_early(rows, columns), unsigned(kernels_->shared_bytes));
    if (merges && !by_last_block) merge_states(task, merging);
    work.finished((job.row_end - job.row_begin) * std::max<Count>(columns.count(), 1));
  }
}

// Sets the addresses of the levels in the arguments of a kernel. The kernel addresses a column by its number among all
// columns, and not by its number within the batch.
void DeviceWorker::read_levels(const Work& work, Range rows, Range columns, PairJob& job) {
  const Task& task = work.task;
  const size_t before = size_t(columns.begin * task.item_bytes(Level::column));
  job.once = work.levels.once.address(), job.rows = work.levels.x.address();
  job.columns = reinterpret_cast<const void*>(work.levels.y.pointer() - before);
  job.column_begin = columns.begin, job.column_end = columns.end;
  const auto take = [&](Level level, Range items, DeviceSource* to) {
    if (task.is_filled(level)) return 0;
    const std::vector<DeviceSource> from = sources(task, level, items, nullptr);
    std::copy(from.begin(), from.end(), to);
    return int(from.size());
  };
  take(Level::row, rows, job.row_sources);
  job.source_count = take(Level::column, columns, job.sources);
}

// Sets the address of a job's states. The states of earlier batches of columns precede the states that this job writes.
// Returns the job that merges the earlier states and the new states.
PairJob DeviceWorker::keep_states(const Work& work, Range rows, Range columns, PairJob& job) const {
  if (work.states) job.partials = work.states->address();
  PairJob merging = job;
  if (work.states && columns.begin > work.columns.begin) {
    job.partials = static_cast<char*>(job.partials) + size_t(rows.count()) * state_bytes();
    ++merging.splits;
  }
  return merging;
}

// Returns true if few rows and columns are filled. In this case, the kernel for the pairs may begin before the filling
// has ended. If the filling takes long, multiprocessors that finish filling early would receive more pairs than other
// multiprocessors.
bool DeviceWorker::starts_early(Range rows, Range columns) {
  constexpr Count most = 256;  // items per multiprocessor
  return rows.count() + columns.count() <= most * current_device().multiprocessors;
}

Count DeviceWorker::filled() const { return Count(kernels_->resident) * current_device().multiprocessors; }

void DeviceWorker::merge_states(const Task& task, const PairJob& job) {
  const Count rows = job.row_end - job.row_begin;
  if (task.recipe.sums_vectors()) {
    // true if one block must merge all entries of a row's sums, because these entries share a shift
    const bool all = !job.out && reduction_table()[task.plan.reduction.row].exponentiates();
    const Count blocks = ceil_div(rows, merged_rows) * (all ? 1 : ceil_div(task.plan.vector_sum.size, merged_entries));
    return launch(kernels_->merge, unsigned(blocks), 1, merged_rows * merged_entries, &job);
  }
  const bool together = job.splits > merged_by_one;
  launch(kernels_->merge, unsigned(together ? rows : ceil_div(rows, 64)), 1, 64, &job);
}

void DeviceWorker::merge(const Task& task, Range rows, const Buffer& states, int count) {
  use_device(number_);
  const Buffer aside(bytes_aside(task, rows.count()));
  PairJob job = job_for(task, rows, aside);
  job.partials = states.address(), job.splits = count;
  merge_states(task, job);
  deliver(task, rows, aside);
}

bool DeviceWorker::reduce_in_bulk(const Task& task, Range rows, Range columns, const Watch& watch) {
  const bool lists = task.recipe.mainloop == Mainloop::lists;
  const Count row_count = rows.count(), column_count = columns.count();
  const size_t out_bytes = bytes_aside(task, row_count);
  const Count scratch =
      lists ? bytes_of_lists(task, row_count, column_count) : bytes_of_panels(task, row_count, column_count);
  const Count items = row_count * bytes_of(task, Level::row) + column_count * bytes_of(task, Level::column);
  const size_t needed = size_t(items + scratch) + out_bytes;
  if (needed > memory_for(needed)) return false;
  const Part part{task, Levels(task, row_count, column_count), rows, columns, watch};
  const Buffer aside(out_bytes);
  fill(task, part.levels, rows, columns);
  const PairJob out = job_for(task, rows, aside);
  if (!(lists ? reduce_by_lists(part, out) : reduce_by_panels(part, out))) return false;
  deliver(task, rows, aside);
  return true;
}

}  // namespace cuda
}  // namespace kernops
