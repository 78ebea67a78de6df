// Reductions of segments on the CPU.
#pragma once
#include <kernops/jobs/segments.h>

#include "cpu/cpu.h"
#include "segments/passes.h"

namespace kernops {
namespace cpu {

SegmentJob segment_job(const SegmentRequest& request);  // makes a job with all members except the order of groups
void run_engine(const SegmentRequest& request);         // runs a reduction or a softmax
void scan_segments(const SegmentRequest& request);

// Calls f(s, m, n) for each value: the value at position m is in segment s and in row n of x.
template <class F> void each_position(const Segments& segments, F f) {
  const std::vector<Count>& offsets = segments.offsets();
  for (Count s = 0; s < segments.segments(); ++s)
    for (Count m = offsets[size_t(s)]; m < offsets[size_t(s) + 1]; ++m) f(s, m, segments.source(s, m));
}

// The single passes from which reductions with several passes are composed. All arrays are on the host.
const SegmentPasses& segment_passes();

}  // namespace cpu
}  // namespace kernops
