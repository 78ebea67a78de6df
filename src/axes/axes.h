// Reductions over dimensions of an array: what R asks for, and the two backends that answer. Free of R.
#pragma once
#include <kernops/jobs/axes.h>

#include <string>
#include <vector>

#include "run/backend.h"

namespace kernops {

// The rows of segments.def.
enum class StatisticId : int {
#define SEGMENT_OP(name, ...) name,
#include <kernops/segments.def>
};

struct Statistic {
  std::string name, structure;
  int outputs;
  size_t state_bytes;  // for a value at a time
};
const std::vector<Statistic>& statistics();  // the rows of segments.def

namespace cpu {
void axis_reduce(SliceJob job, const Settings& settings);
void axis_softmax(SliceJob job, const Settings& settings);
}  // namespace cpu

namespace cuda {

// The values, outputs and chunks of the job are on the GPU.
void axis_reduce(SliceJob job);
void axis_softmax(SliceJob job);

// What is compiled for a GPU: `op` is a row of segments.def or "softmax", `type` that of the values in C.
std::string axis_source(const std::string& op, const std::string& type, bool skip);

}  // namespace cuda

}  // namespace kernops
