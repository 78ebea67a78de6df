// The kernels of moving windows: windows of one length in steps, others each by itself.
#include <kernops/segment_reductions.h>

#include "cuda/segments/roll.h"

namespace kernops {
namespace cuda {
namespace {

// Numbers of the state of an operation; plain sums need no compensation.
template <class R> struct OnDevice { using type = R; };
template <> struct OnDevice<BlockSum> { using type = DirectSum; };
template <> struct OnDevice<Mean> { using type = MeanOf<DirectSum>; };
int state_numbers(const SegmentRequest& work) {
  static const int numbers[] = {
#define STATISTIC(name, reduction, ...) OnDevice<reduction>::type::values + OnDevice<reduction>::type::indices,
#include <kernops/segments.def>
  };
  return work.formula ? 1 + work.skip_missing : numbers[work.op];
}
// Windows of one length, as roll.cuh takes them.
struct Steps {
  int width, step, threads, middles, results_bytes;
  unsigned shared_bytes;
};
Steps steps_of(const SegmentRequest& work, Count width, int each, size_t result_bytes) {
  const Count most = std::min<Count>(2560, Count(most_roll_threads) * each);
  const Count parts = ceil_div(width, most), step = width > most / 2 ? width / parts : most / width * width;
  const Count longest = step + (step <= width ? width - parts * step : 0);
  const Count results = ceil_div(step * Count(result_bytes), 8) * 8;
  const Count ring = width + step + each;
  return {int(width),
          int(step),
          int(ceil_div(ceil_div(longest, each), 32) * 32),
          step <= width ? int(parts - 1) : 0,
          int(results),
          unsigned(results + ceil_div(ring * Count(value_bytes(work)), 8) * 8)};
}

// The kernels of one result, for some columns.
class Roll {
 public:
  Roll(const RollRequest& request, const SegmentRequest& work, const RollKernels& kernels, const RollRun& job)
      : request_(request),
        work_(work),
        text_(kernels.text),
        each_(kernels.each),
        bytes_(kernels.result_bytes),
        job_(job) {}

  void run() const {
    const Count n = job_.run.plan.count, width = job_.left + job_.right + 1;
    if (!in_steps(width)) return windows(0, n, 0, n, false);
    steps(steps_of(work_, width, each_, bytes_));
    if (work_.segments.segments() > 1) return windows(0, n, 0, n, true);
    windows(0, job_.left, 0, width - 1, true);
    windows(n - job_.right, job_.right, n - width + 1, width - 1, true);
  }

 private:
  bool in_steps(Count width) const {
    const Count segments = work_.segments.segments(), n = job_.run.plan.count;
    const bool position = work_.op == int(StatisticId::argmin) || work_.op == int(StatisticId::argmax);
    if (request_.windows.before || width > n || (segments > 1 && position && !work_.formula)) return false;
    if (request_.windows.partial && segments > 1 && 8 * width * segments > n) return false;
    const Steps steps = steps_of(work_, width, each_, bytes_);
    return steps.middles < most_roll_middles && int(steps.shared_bytes) <= current_device().shared_bytes / 2;
  }

  void steps(const Steps& steps) const {
    RollRun job = job_;
    job.width = steps.width, job.step = steps.step, job.middles = steps.middles;
    job.results_bytes = steps.results_bytes;
    void* kernel = function(text_, "kernops_roll_steps");
    const Count all = ceil_div(job.run.plan.count - steps.width + 1, steps.step);
    const Count resident = resident_blocks(kernel, int(steps.threads), steps.shared_bytes);
    const Count least = std::max<Count>(8, ceil_div(Count(32) * steps.width, steps.step));  // the ring is filled anew
    Count blocks = all / least;
    if (blocks < 8 * resident) blocks = resident;
    job.steps = int(ceil_div(all, std::min(blocks, all)));
    launch(kernel, unsigned(ceil_div(all, job.steps)), unsigned(job.columns), unsigned(steps.threads), &job, false,
           steps.shared_bytes);
  }

  // Windows of values first .. first + count - 1, which contain `values` values from `base` on.
  void windows(Count first, Count count, Count base, Count values, bool clipped_only) const {
    if (count == 0) return;
    RollRun job = job_;
    job.first = int(first), job.count = int(count), job.base = int(base), job.values = int(values);
    job.clipped_only = clipped_only;
    const bool reads = request_.windows.partial || !clipped_only;
    const Count longest = std::min(longest_window(work_.segments, request_.windows), values);
    while (reads && (Count(roll_leaf) << job.levels) <= longest) ++job.levels;
    for (int level = 0; level < job.levels; ++level) job.nodes_column += (values / roll_leaf) >> level;
    const Buffer nodes(size_t(job.nodes_column * job.columns) * size_t(state_numbers(work_)) * sizeof(double));
    job.nodes = nodes.address();
    const unsigned columns = unsigned(job.columns);
    for (job.level = 0; job.level < job.levels; ++job.level) {
      const Count some = (values / roll_leaf) >> job.level;
      const char* name = job.level == 0 ? "kernops_roll_leaves" : "kernops_roll_pairs";
      if (some > 0) launch(function(text_, name), blocks(some, 256), columns, 256, &job);
    }
    launch(function(text_, "kernops_roll_windows"), blocks(count + 31, 8 * roll_warp_values), columns, 256, &job);
  }

  const RollRequest& request_;
  const SegmentRequest& work_;
  const std::string& text_;
  const int each_;
  const size_t bytes_;
  const RollRun job_;
};

}  // namespace

int roll_values(const SegmentRequest& work) {
  const bool sums = work.op == int(StatisticId::mean) && !work.skip_missing && !work.formula;
  const int numbers = sums ? 1 : state_numbers(work);
  return numbers == 1 ? 15 : numbers == 2 ? 7 : numbers == 3 ? 5 : 3;
}

void roll_columns(const RollRequest& request, const SegmentRequest& work, const RollKernels& kernels,
                  const RollRun& job) {
  Roll(request, work, kernels, job).run();
}

}  // namespace cuda
}  // namespace kernops
