// The arguments of the kernels of scans (cuda/segments/scan.cuh).
#pragma once
#include <kernops/portable.h>
#include <kernops/jobs/device_segments.h>

namespace kernops {

// The result of value n of the plan and column c is written to run.out[c * run.out_column + n] or, if run.order is set,
// to row order[n] of the column. run.carries has space for the published parts of all columns (look_back.cuh).
struct ScanRun {
  SegmentRun run;
  int tiles, columns;
  double nothing;  // result if no value has been added
};

constexpr int scan_group = 32;  // number of tiles of a group, and of groups of a section (look_back.cuh)
constexpr int most_part_bytes = 2 * most_state_bytes;

// Returns the number of parts that a column publishes: one for each tile, group and section.
KERNOPS_FN long long scan_parts(int tiles) {
  const long long groups = (tiles + scan_group - 1) / scan_group, sections = (groups + scan_group - 1) / scan_group;
  return tiles + groups + sections;
}

}  // namespace kernops
