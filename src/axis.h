// Reductions over dimensions of an array: what R asks for, and the two backends that answer. Free of R.
#pragma once
#include <kernops/axis_job.h>

#include <string>
#include <vector>

#include "backend.h"

namespace kernops {

struct Statistic {
  std::string name, structure;
  int outputs;
  size_t state_bytes;  // for a value at a time
};
const std::vector<Statistic>& statistics();  // the rows of segments.def

// What one instruction set offers. A unit is a chunk of `count` slices from number `first` on.
struct AxisEngine {
  struct Entry {
    size_t state_bytes;
    void (*reduce)(const SliceJob& job, Count first, Count count, Count chunk, double* buffer);
    void (*merge)(const SliceJob& job, Count result);
  };
  const char* name;
  const Entry* entries[2];  // by `skip`, then by row of segments.def
  size_t buffer_length;     // doubles that each thread lends
  int most_lanes, lanes_along, most_rows;
  // Softmax: `seen` is memory for what the passes remember, for `count` slices side by side.
  void (*first_pass)(const SliceJob& job, Count first, int count, Count chunk, double* seen, double* buffer);
  void (*second_pass)(const SliceJob& job, Count first, int count, Count chunk, double* seen, double* whole);
  void (*join)(double* whole, double* part, int count);  // `part` into `whole`
};
extern const AxisEngine axis_engine_baseline, axis_engine_avx2, axis_engine_avx512;

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
