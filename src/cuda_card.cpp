// A share of a map-reduce on one device: what is elsewhere is copied there, the places are filled, the pairs
// reduced. What does not fit into the memory at a time is taken in slabs, of rows first, then of lanes.
#include "cuda_card.h"

#include <algorithm>

namespace kernops {
namespace cuda {
namespace {

// Entry k of row n of a result that waits for its delivery, at k * entry + n * row: in the order of the
// target.
struct Order {
  bool by_row;  // entries of a row stand together
  Count entry, row;
  Order(const Target& out, int size, Count rows)
      : by_row(out.entry == 1), entry(by_row ? 1 : rows), row(by_row ? size : 1) {}
};

const Kernels& kernels_once(const TiledPlan& plan, const Settings& settings, const Shape& shape, int device) {
  static std::map<std::array<long, 10>, const Kernels*> known;
  const Kernels*& k = known[{plan.id, settings.single, int(settings.scheme), settings.accumulate_double, shape.kind,
                             shape.rows_per_thread, shape.threads, shape.some, shape.makes_lanes, device}];
  if (!k) k = &kernels(source(plan, settings, shape), shape.threads);
  return *k;
}

}  // namespace

// What a share has on its device.
struct Card::Work {
  const Task& task;
  const Watch& watch;
  const Slabs slabs;
  const Range lanes;
  const bool to_states, aside;
  const Count total_pairs;
  Places places;
  std::unique_ptr<Buffer> out, states;
  Count done_pairs = 0;

  Work(const Task& task, const Watch& watch, const Slabs& slabs, Range rows, Range lanes, bool to_states,
       bool aside, size_t state_bytes)
      : task(task),
        watch(watch),
        slabs(slabs),
        lanes(lanes),
        to_states(to_states),
        aside(aside),
        total_pairs(rows.count() * std::max<Count>(lanes.count(), 1)),
        places(task, slabs.rows, slabs.lanes) {
    if (aside) out = std::make_unique<Buffer>(size_t(slabs.rows) * task.plan.reduction.size * sizeof(double));
    if (slabs.states > 0) states = std::make_unique<Buffer>(size_t(slabs.rows) * slabs.states * state_bytes);
  }

  bool streams() const { return slabs.lanes < lanes.count(); }
  // After a launch. Where more is to come, waits for it, so that the caller may stop.
  void finished(Count pairs) {
    done_pairs += pairs;
    if (done_pairs >= total_pairs) return;
    synchronize();
    if (watch && !watch(double(done_pairs) / double(total_pairs))) throw Interrupted();
  }
};

void Card::prepare(const Task& task) {
  use_device(number_);
  kernels_ = &kernels_once(task.plan, task.settings, task.shape, number_);
}

void Card::reduce(const Task& task, Range rows, Range lanes, const Watch& watch) {
  run(task, rows, lanes, false, watch);
}

std::unique_ptr<Buffer> Card::reduce_to_states(const Task& task, Range rows, Range lanes,
                                               const Watch& watch) {
  return run(task, rows, lanes, true, watch);
}

std::unique_ptr<Buffer> Card::run(const Task& task, Range rows, Range lanes, bool to_states,
                                  const Watch& watch) {
  use_device(number_);
  const Slabs slabs = choose_slabs(task, rows.count(), lanes.count(), to_states);
  const bool aside = !to_states && !writes_directly(task.out);
  Work work(task, watch, slabs, rows, lanes, to_states, aside, state_bytes());
  const bool whole = slabs.rows >= rows.count() && !work.streams();
  for (Range some{rows.begin, 0}; some.begin < rows.end; some.begin = some.end) {
    some.end = std::min(some.begin + slabs.rows, rows.end);
    const Range first{lanes.begin, std::min(lanes.begin + slabs.lanes, lanes.end)};
    const bool has_lanes = some.begin > rows.begin && !work.streams();
    fill(task, work.places, some, has_lanes ? Range{lanes.begin, lanes.begin} : first);
    reduce_pairs(work, some, first);
    for (Range these{first.end, 0}; these.begin < lanes.end; these.begin = these.end) {
      these.end = std::min(these.begin + slabs.lanes, lanes.end);
      if (!whole) copies_.clear();
      fill(task, work.places, {some.begin, some.begin}, these);
      reduce_pairs(work, some, these);
    }
    if (aside) deliver(task, some, *work.out);
    if (!whole) copies_.clear();
  }
  return std::move(work.states);
}

// Results go where the target is, in its order, or aside until they are delivered.
PairJob Card::job_for(const Task& task, Range rows, const Buffer* aside) const {
  PairJob job{};
  job.row_end = rows.count();
  job.any_lanes = task.any_lanes;
  job.partial_rows = rows.count();
  if (aside) {
    const Order order(task.out, task.plan.reduction.size, rows.count());
    job.out = static_cast<double*>(aside->address()), job.out_entry = order.entry, job.out_row = order.row;
  } else {
    job.out = task.out.data + (rows.begin - task.first_row) * task.out.row;
    job.out_entry = task.out.entry, job.out_row = task.out.row;
  }
  return job;
}

// A launch takes rows for some tenths of a second, so that the caller may interrupt.
void Card::reduce_pairs(Work& work, Range rows, Range lanes) {
  const Task& task = work.task;
  const Slabs& slabs = work.slabs;
  const bool first = lanes.begin == work.lanes.begin, last = lanes.end == work.lanes.end;
  PairJob job = job_for(task, rows, work.out.get());
  if (!last || work.to_states) job.out = nullptr;
  const Count lane_bytes = task.item_bytes(Place::lane);
  job.once = work.places.once.address(), job.rows = work.places.x.address();
  job.lanes = reinterpret_cast<const void*>(work.places.y.pointer() - size_t(lanes.begin * lane_bytes));
  job.lane_begin = lanes.begin, job.lane_end = lanes.end;
  if (task.shape.makes_lanes) {
    const std::vector<DeviceSource> from = sources(task, Place::lane, lanes, nullptr);
    job.source_count = int(from.size());
    std::copy(from.begin(), from.end(), job.sources);
  }
  job.chunk = slabs.chunk;
  const Count most_lanes = task.most_lanes(lanes.count());
  job.chunks = int(std::max<Count>(1, ceil_div(most_lanes, slabs.chunk)));

  const Count most =
      std::max(2 * filled(), task.pairs_of_launch() / std::max<Count>(most_lanes, 1) / task.rows_of_block());
  const Grid grid(task, rows, lanes, most);

  PairJob merging = job;
  bool merges = false;
  if (work.states) {
    merging.partials = job.partials = work.states->address();
    if (!first) {  // the states of the lanes before stand first
      job.partials = static_cast<char*>(job.partials) + size_t(rows.count()) * state_bytes();
      ++merging.chunks;
    }
    merges = merging.chunks > 1 || merging.out;
    const bool at_once = merges && first && job.chunks <= merged_by_one && task.shape.kind != Shape::spread &&
                         std::min(most, grid.blocks()) <= Device::most_arrivals;
    if (at_once) job.arrivals = current_device().arrivals, merges = false;
  }
  for (Count block = 0; block < grid.blocks(); block += most) {
    const Count end = std::min(block + most, grid.blocks());
    grid.choose(job, block, end);
    merging.row_begin = job.row_begin, merging.row_end = job.row_end;
    launch(kernels_->pairs, unsigned(end - block), unsigned(job.chunks), unsigned(task.shape.threads), &job);
    if (merges) merge_states(task, merging);
    work.finished((job.row_end - job.row_begin) * std::max<Count>(lanes.count(), 1));
  }
}

Count Card::filled() const { return Count(kernels_->resident) * current_device().multiprocessors; }

void Card::merge_states(const Task& task, const PairJob& job) {
  const Count rows = job.row_end - job.row_begin;
  const bool together = job.chunks > merged_by_one && task.shape.kind != Shape::spread;
  launch(kernels_->merge, unsigned(together ? rows : ceil_div(rows, 64)), 1, 64, &job);
}

void Card::merge(const Task& task, Range rows, const Buffer& states, int count) {
  use_device(number_);
  const bool direct = writes_directly(task.out);
  const Buffer aside(direct ? 0 : size_t(rows.count()) * task.plan.reduction.size * sizeof(double));
  PairJob job = job_for(task, rows, direct ? nullptr : &aside);
  job.partials = states.address(), job.chunks = count;
  merge_states(task, job);
  if (!direct) deliver(task, rows, aside);
}

bool Card::writes_directly(const Target& out) const {
  return out.home != Home::host && out.device == number_;
}

void Card::deliver(const Task& task, Range rows, const Buffer& from) {
  const Target& out = task.out;
  const int size = task.plan.reduction.size;
  const Count count = rows.count();
  const Order order(out, size, count);
  const Count runs = order.by_row || count == out.entry ? 1 : size;
  const size_t run_bytes = size_t(count * size / runs) * sizeof(double);
  double* first = out.data + (rows.begin - task.first_row) * out.row;
  for (Count run = 0; run < runs; ++run) {
    double* to = first + run * out.entry;
    const DevicePointer there = from.pointer() + size_t(run) * run_bytes;
    if (out.home == Home::host)
      copy_out(to, there, run_bytes);
    else
      copy_across(reinterpret_cast<DevicePointer>(to), out.device, there, number_, run_bytes);
  }
}

}  // namespace cuda
}  // namespace kernops
