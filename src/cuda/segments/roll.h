// Moving windows on the GPU: the kernels for one output, and their launches.
#pragma once
#include <kernops/jobs/device_rolls.h>

#include "cuda/segments/segments.h"
#include "roll/roll.h"

namespace kernops {
namespace cuda {

inline size_t value_bytes(const SegmentRequest& work) { return work.x.type == SegmentValues::doubles ? 8 : 4; }

// Returns the number of results that a thread computes at a time, an odd number that is at most `width`. The states of
// these results are kept in registers.
inline int chunk_values(int most, Count width) {
  for (const int each : {15, 7, 5, 3})
    if (each <= most && each <= width) return each;
  return 1;
}
int roll_values(const SegmentRequest& work, Count width);

struct RollKernels {
  std::string text;
  int each;  // results per thread
  size_t result_bytes;
};
// Launches the kernels for all columns of the job.
void roll_columns(const RollRequest& request, const SegmentRequest& work, const RollKernels& kernels,
                  const RollRun& job);

// The CUDA text for quantiles of moving windows (cuda/segments/roll_quantiles.cpp).
std::string roll_quantiles_text(const SegmentRequest& work);
void roll_quantile_columns(const RollRequest& request, const SegmentRequest& work, Count first, RollRun roll);

}  // namespace cuda
}  // namespace kernops
