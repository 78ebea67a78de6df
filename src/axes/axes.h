// Reductions over dimensions of an array: the requests of R and the answers of a backend. Independent of R.
#pragma once
#include <kernops/jobs/axes.h>

#include <string>
#include <vector>

#include "run/data.h"
#include "segments/segments.h"

namespace kernops {

// The values of `job` are in memory `from`; host values have one of its types except float. Its results are written to
// `job.out` in memory `to`, or to `job.out_floats` of a device. The backend sets all other members of the job.
struct AxisRequest {
  SliceJob job{};
  Count values = 0;
  MemorySpace from = MemorySpace::host, to = MemorySpace::host;
  bool softmax = false;                     // exp(x) divided by its sum, instead of statistic job.op
  const SegmentFormula* formula = nullptr;  // an operation of the user instead, which the CPU computes by segments
  Settings settings{};
  Count outputs() const { return softmax ? job.slice : formula ? 1 : statistics().at(size_t(job.op)).outputs; }
  Count results() const { return job.results * outputs(); }
};

namespace cuda {
// The CUDA source to compile: `op` is a row of segments.def or "softmax", `type` that of the values in C.
std::string axis_source(const std::string& op, const std::string& type, bool skip);
}  // namespace cuda

}  // namespace kernops
