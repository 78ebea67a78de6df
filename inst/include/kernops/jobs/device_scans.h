// The arguments of the kernels of scans (cuda/segments/scan.cuh).
#pragma once
#include <kernops/jobs/device_segments.h>

namespace kernops {

// Result of value n of the plan and column c at run.out[c * run.out_column + n]; run.carries has room for a part of
// each tile and column.
struct ScanRun {
  SegmentRun run;
  double nothing;  // the result of no values
};

constexpr int scan_spine_threads = 512, most_scan_part_bytes = most_state_bytes + 16;

}  // namespace kernops
