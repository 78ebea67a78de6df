// Map-reduce on the CPU: runs a Job on several threads, by the engine for the instruction set of this machine.
#include <algorithm>
#include <atomic>

#include "cpu/cpu.h"
#include "cpu/job.h"
#include "run/threads.h"

namespace kernops {
namespace cpu {
namespace {

// Distributes units of work to threads, the largest first. After an interrupt, or if a thread throws, all threads stop.
class Schedule {
 public:
  Schedule(const Job& job, const Settings& settings) : job_(job), settings_(settings) {
    for (const RowBlock* block = job.blocks; block < job.blocks + job.block_count; ++block) {
      pairs_ += double(block->end - block->begin) * double(block->columns);
      for (Count row = block->begin; row < block->end; row += job.row_block)
        for (Count split = 0; split < job.splits(); ++split)
          units_.push_back({row, std::min(row + job.row_block, block->end), split, block});
    }
    const auto size = [](const Unit& unit) { return (unit.row_end - unit.row_begin) * unit.block->columns; };
    std::stable_sort(units_.begin(), units_.end(), [&](const Unit& a, const Unit& b) { return size(a) > size(b); });
  }

  void run(const Engine& engine) {
    const Count threads = pairs_ * work() < 1e6 ? 1 : std::min<Count>(settings_.threads, Count(units_.size()));
    on_threads(threads, [&](bool first) { work(engine, first); });
    if (stopped_) throw Interrupted();
  }

 private:
  // The number of values that are computed for a pair.
  double work() const {
    double sum = job_.entries[int(Level::pair)] + 1 + job_.sum.size;
    for (int n = 0; n < job_.contractions.count; ++n) sum += job_.contractions.items[n].size;
    return sum;
  }

  // Passes units of work to one thread. Only the first thread may call functions of the caller, such as keep_going().
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
    if (ask && settings_.keep_going && !settings_.keep_going(double(next_) / double(units_.size()))) stopped_ = true;
    return !stopped_;
  }

  const Job& job_;
  const Settings& settings_;
  std::vector<Unit> units_;
  double pairs_ = 0;
  std::atomic<size_t> next_{0};
  std::atomic<bool> stopped_{false};
};

class CpuPairs final : public Pairs {
 public:
  Count batch_of_rows() const override { return 4096; }

  void reduce(const Plan& plan, const Data& data, const Settings& settings, Count row_begin, Count row_end,
              const Output& out) override {
    const Engine& engine = engine_for(settings.isa);
    PreparedJob job(plan, data, settings, row_begin, row_end, out);
    if (job.rows == 0) return;
    if (job.merges()) job.keep_partials(engine.partial_bytes(job, settings.single));
    Schedule(job, settings).run(engine);
    if (job.merges()) engine.merge(job, settings.single);
  }
};

}  // namespace

std::unique_ptr<Pairs> pairs() { return std::make_unique<CpuPairs>(); }

}  // namespace cpu
}  // namespace kernops
