// Requests of reductions over dimensions of an array, which R passes to a backend. This file does not depend on R.
#pragma once
#include <kernops/jobs/axes.h>

#include <string>
#include <vector>

#include "run/data.h"
#include "segments/segments.h"

namespace kernops {

// A request. The values of `job` are in memory space `from`; on the host, they are doubles or integers, and not floats.
// The results are written in memory space `to`: to `job.out`, or on a device optionally to `job.out_floats`. The
// backend sets all other members of `job`.
struct AxisRequest {
  SliceJob job{};
  Count values = 0;
  MemorySpace from = MemorySpace::host, to = MemorySpace::host;
  bool softmax = false;                     // true: the operation is softmax, and job.op is ignored
  const SegmentFormula* formula = nullptr;  // a user's operation replaces job.op; the CPU runs it by segments
  Settings settings{};
  Count outputs() const { return softmax ? job.slice : formula ? 1 : statistics().at(size_t(job.op)).outputs; }
  Count results() const { return job.results * outputs(); }
};

namespace cuda {
// Returns the CUDA source of a reduction. `op` is the name of a row of segments.def or "softmax", and `type` is the C
// type of the values. If `skip` is true, the reduction skips NaN.
std::string axis_source(const std::string& op, const std::string& type, bool skip);
}  // namespace cuda

}  // namespace kernops
