// Map-reduce on the CPU: a Job for the engine of this machine's instruction set, shared out over threads.
#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "cpu.h"
#include "op_table.h"
#include "threads.h"

namespace kernops {
namespace cpu {
namespace {

bool supported(const Engine& engine) {
#ifdef __x86_64__
  __builtin_cpu_init();
  if (engine.pack_bytes == 32) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (engine.pack_bytes == 64)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("fma");
#endif
  return engine.pack_bytes == 16;
}

// Best first.
const std::vector<const Engine*>& engines() {
  static const std::vector<const Engine*> all = [] {
    std::vector<const Engine*> found;
#ifdef __x86_64__
    for (const Engine* engine : {&engine_avx512, &engine_avx2})
      if (supported(*engine)) found.push_back(engine);
#endif
    found.push_back(&engine_baseline);
    return found;
  }();
  return all;
}

}  // namespace

const Engine& engine_for(const std::string& isa) {
  for (const Engine* engine : engines())
    if (isa.empty() || isa == engine->name) return *engine;
  throw std::invalid_argument("this machine does not have the instruction set '" + isa + "'");
}

namespace {

template <class T> Span<T> span(const std::vector<T>& items) { return {items.data(), int(items.size())}; }

// A Job with the memory it points to.
class PreparedJob : public Job {
 public:
  PreparedJob(const Plan& plan, const Data& data, const Settings& settings, Count row_begin, Count row_end,
              const Target& target)
      : Job() {
    rows = row_end - row_begin;
    const Blocks* ranges = data.pairs(plan.rows);
    const Count all_lanes = data.length(both & ~plan.rows);
    pairs_ = ranges ? clip(*ranges, row_begin, row_end, 0, all_lanes) : all_pairs(rows, all_lanes);
    blocks = pairs_.rows.data(), block_count = Count(pairs_.rows.size()), intervals = pairs_.lanes.data();
    for (const RowBlock& block : pairs_.rows) lanes = std::max(lanes, block.lanes);
    out = target.data, out_entry = target.entry, out_row = target.row;
    slots = span(plan.slots);
    for (int place = 0; place < 4; ++place) {
      steps[place] = span(plan.steps[place]);
      entries[place] = plan.entries[place];
    }
    for (int place = 0; place < 3; ++place) {
      for (const Load& load : plan.loads[place]) {
        const Column column = load.kind == Load::variable  ? data.variables[load.id]
                              : load.kind == Load::reduced ? data.reduced[load.id]
                                                           : Column();
        const Count first = place == int(Place::row) ? row_begin : 0;
        const double* from = static_cast<const double*>(column.data);
        sources_[place].push_back(
            {load, from ? from + first * column.item : nullptr, column.entry, column.item, first});
      }
      sources[place] = span(sources_[place]);
    }
    f = plan.f, w = plan.w;
    f_size = plan.f_size, w_size = plan.w_size;
    reduction = plan.reduction.row, k = plan.reduction.k, size = plan.reduction.size;
    positions = first_position(reduction_table()[reduction], size);
    scheme = settings.scheme, accumulate_double = settings.accumulate_double;
    choose_sizes(plan, settings);
  }

  void keep_partials(size_t bytes) {
    if (chunks() == 1) return;
    memory_.resize(size_t(rows) * chunks() * bytes);
    partials = memory_.data();
  }

 private:
  // What one lane touches times the tile should fit the first-level cache, the rows that share it the second.
  void choose_sizes(const Plan& plan, const Settings& settings) {
    const int bytes = settings.single ? 4 : 8, most = 4096 / bytes;
    for (tile = most; tile > 64 && tile * bytes * (plan.pair_footprint + 1) > 24 * 1024;) tile /= 2;
    const int row_bytes = 64 * (plan.entries[int(Place::row)] + 4 * (f_size + w_size)) + 16 * k * f_size;
    const Count share = rows / (4 * settings.threads) + 1;  // something for every thread
    row_block = int(std::max<Count>(1, std::min<Count>({64, 256 * 1024 / row_bytes, share})));
    const Count pieces =
        std::min<Count>(128 / std::max<Count>(rows, 1), lanes / 8192);  // few rows: split the lanes
    chunk = std::min<Count>(lanes / std::max<Count>(pieces, 1) + 1, 1 << 30);
  }

  Blocks pairs_;
  std::vector<Source> sources_[3];
  std::vector<char> memory_;
};

// Hands out units, the largest first, and stops everybody once the caller wants to stop or a thread has
// failed.
class Schedule {
 public:
  Schedule(const Job& job, const Settings& settings) : job_(job), settings_(settings) {
    for (const RowBlock* block = job.blocks; block < job.blocks + job.block_count; ++block) {
      pairs_ += double(block->end - block->begin) * double(block->lanes);
      for (Count row = block->begin; row < block->end; row += job.row_block)
        for (Count chunk = 0; chunk < job.chunks(); ++chunk)
          units_.push_back({row, std::min(row + job.row_block, block->end), chunk, block});
    }
    const auto size = [](const Unit& unit) { return (unit.row_end - unit.row_begin) * unit.block->lanes; };
    std::stable_sort(units_.begin(), units_.end(),
                     [&](const Unit& a, const Unit& b) { return size(a) > size(b); });
  }

  void run(const Engine& engine) {
    const Count threads =
        pairs_ * (job_.entries[3] + 1) < 1e6 ? 1 : std::min<Count>(settings_.threads, Count(units_.size()));
    on_threads(threads, [&](bool first) { work(engine, first); });
    if (stopped_) throw Interrupted();
  }

 private:
  // One thread's view; the first thread alone may talk to the caller.
  struct View : Units {
    Schedule* schedule;
    bool first;
    int tiles;
  };

  void work(const Engine& engine, bool first) {
    View view;
    view.next = [](Units* units, Unit* unit) { return static_cast<View*>(units)->schedule->next(unit); };
    view.keep_going = [](Units* units) {
      View* view = static_cast<View*>(units);
      return view->schedule->keep_going(view->first && ++view->tiles % 8 == 0);
    };
    view.schedule = this, view.first = first, view.tiles = 0;
    try {
      engine.work(job_, settings_.single, view);
    } catch (...) {
      stopped_ = true;
      throw;
    }
  }

  bool next(Unit* unit) {
    const size_t n = next_++;
    if (n >= units_.size() || stopped_) return false;
    *unit = units_[n];
    return true;
  }

  bool keep_going(bool ask) {
    if (ask && settings_.keep_going && !settings_.keep_going(double(next_) / double(units_.size())))
      stopped_ = true;
    return !stopped_;
  }

  const Job& job_;
  const Settings& settings_;
  std::vector<Unit> units_;
  double pairs_ = 0;
  std::atomic<size_t> next_{0};
  std::atomic<bool> stopped_{false};
};

}  // namespace

std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
  for (const Engine* engine : engines()) names.push_back(engine->name);
  return names;
}

namespace {

class CpuBackend final : public Backend {
 public:
  const std::vector<Plan>& plans(const Kernel& kernel) const override { return kernel.plans; }
  Count slab() const override { return 4096; }

  void map_reduce(const Plan& plan, const Data& data, const Settings& settings, Count row_begin,
                  Count row_end, const Target& out) override {
    const Engine& engine = engine_for(settings.isa);
    PreparedJob job(plan, data, settings, row_begin, row_end, out);
    if (job.rows == 0) return;
    job.keep_partials(engine.partial_bytes(job, settings.single));
    Schedule(job, settings).run(engine);
    if (job.chunks() > 1) engine.merge(job, settings.single);
  }
};

}  // namespace

std::unique_ptr<Backend> backend() { return std::make_unique<CpuBackend>(); }

}  // namespace cpu
}  // namespace kernops
