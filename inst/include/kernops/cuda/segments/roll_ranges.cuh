// The range of the values of each window, limited to the segment of the window.
#pragma once
#include <kernops/cuda/segments/scan_values.cuh>
#include <kernops/jobs/device_rolls.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// Each warp calls give(n, row, from, to, counts) for some neighbouring values. Value n belongs to segment `row`, and
// the window of value n consists of the values `from` .. `to` - 1. `counts` is false if the window has no result,
// because it extends beyond the segment and the job requires complete windows.
template <class Give> __device__ __forceinline__ void each_window(const RollRun& job, Give give) {
  const SegmentPlan& plan = job.run.plan;
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, last = job.first + job.count;
  const int begins = job.first / 32 * 32 + warp * roll_warp_values;
  if (begins >= last) return;
  int row = rows_before(plan, begins / segment_tile * segment_tile, begins);
  for (int some = begins; some < begins + roll_warp_values && some < last; some += 32) {
    const unsigned ends = plan.ends[some / 32];
    const int n = some + lane_id(), mine = row + __popc(ends & ((1u << lane_id()) - 1));
    row += __popc(ends);
    if (n < job.first || n >= last) continue;
    const long long begin = job.run.offsets[mine] - job.run.first, end = job.run.offsets[mine + 1] - job.run.first;
    const long long lo = n - (job.before ? job.before[n] : job.left), hi = n + (job.after ? job.after[n] : job.right);
    const bool clipped = lo < begin || hi >= end;
    if (job.clipped_only && !clipped) continue;
    give(n, mine, int(lo < begin ? begin : lo), int(hi < end ? hi + 1 : end), job.partial || !clipped);
  }
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
