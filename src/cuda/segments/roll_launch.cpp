// Launches the kernels of moving windows. If all windows have the same length, a block moves along the values in steps
// of many results. Other windows are computed one by one.
#include <kernops/segment_reductions.h>

#include "cuda/segments/roll.h"

namespace kernops {
namespace cuda {
namespace {

// The reduction that a GPU uses for windows. Unlike on the CPU, sums have no compensation.
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
// The launch configuration for windows that all have the same length (roll.cuh). For long windows, a block has more
// threads, because the ring buffer of a block takes so much memory that few blocks run at a time.
struct Steps {
  int threads, step, chunks, rest, places, group_bits, results_bytes, states_bytes;
  unsigned shared_bytes;
};
Steps steps_of(const SegmentRequest& work, Count width, int each, size_t result_bytes) {
  const auto aligned = [](Count bytes) { return ceil_div(bytes, 16) * 16; };
  const Count threads = width > 2048 ? most_roll_threads : most_roll_threads / 2, step = threads * each;
  const Count chunks = width / each - 1, places = ceil_div(threads + chunks, 32) * 32;
  int group_bits = 0;
  while (group_bits < 5 && Count(2) << group_bits <= chunks) ++group_bits;
  const Count results = aligned(step * Count(result_bytes));
  const Count states = chunks > 0 ? aligned((threads + places) * state_numbers(work) * Count(sizeof(double))) : 0;
  const Count ring = aligned((width + step + 2 * each) * Count(value_bytes(work)));
  return {int(threads),      int(step),   int(chunks),
          int(width % each), int(places), group_bits,
          int(results),      int(states), unsigned(results + states + ring)};
}

// Launches the kernels of one output for some columns.
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
    steps(width, steps_of(work_, width, each_, bytes_));
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
    return int(steps.shared_bytes) <= current_device().shared_bytes;
  }

  void steps(Count width, const Steps& steps) const {
    RollRun job = job_;
    job.width = int(width), job.step = steps.step, job.chunks = steps.chunks, job.rest = steps.rest;
    job.places = steps.places, job.group_bits = steps.group_bits, job.results_bytes = steps.results_bytes,
    job.states_bytes = steps.states_bytes;
    void* kernel = function(text_, "kernops_roll_steps");
    const Count all = ceil_div(job.run.plan.count - width + 1, steps.step);
    const Count resident = resident_blocks(kernel, int(steps.threads), steps.shared_bytes);
    // a block computes at least this number of steps, because each block first fills its ring buffer
    const Count least = std::max<Count>(8, ceil_div(Count(32) * width, steps.step));
    Count blocks = all / least;
    if (blocks < 8 * resident) blocks = resident;
    job.steps = int(ceil_div(all, std::min(blocks, all)));
    launch(kernel, unsigned(ceil_div(all, job.steps)), unsigned(job.columns), unsigned(steps.threads), &job, false,
           steps.shared_bytes);
  }

  // Computes the windows around positions first .. first + count - 1. The windows contain only the values at positions
  // base .. base + values - 1.
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

int roll_values(const SegmentRequest& work, Count width) {
  const bool sums = work.op == int(StatisticId::mean) && !work.skip_missing && !work.formula;
  const int numbers = sums ? 1 : state_numbers(work);
  return chunk_values(numbers == 1 ? 15 : numbers == 2 ? 7 : numbers == 3 ? 5 : 3, width);
}

void roll_columns(const RollRequest& request, const SegmentRequest& work, const RollKernels& kernels,
                  const RollRun& job) {
  Roll(request, work, kernels, job).run();
}

}  // namespace cuda
}  // namespace kernops
