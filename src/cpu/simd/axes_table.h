// The functions of an engine for reductions over array dimensions. The interface consists of plain pointers, so that
// code compiled for different instruction sets shares nothing else.
#pragma once
#include <kernops/jobs/axes.h>
#include <kernops/jobs/job.h>

namespace kernops {

// A unit of work is chunk number `chunk` of each of `count` adjacent slices, of which slice `first` is the first.
struct AxisEngine {
  struct Entry {
    std::size_t state_bytes;
    void (*reduce)(const SliceJob& job, Count first, Count count, Count chunk, double* buffer);
    void (*merge)(const SliceJob& job, Count result);  // merges the chunks of a result and writes the result
  };
  const char* name;
  const Entry* entries[2];    // indexed by `skip`, then by the row of segments.def
  std::size_t buffer_length;  // length in doubles of the buffer of each thread
  int most_lanes, lanes_along, most_rows;
  // A softmax takes two passes. `seen` has the results of the first pass for `count` adjacent slices.
  void (*first_pass)(const SliceJob& job, Count first, int count, Count chunk, double* seen, double* buffer);
  void (*second_pass)(const SliceJob& job, Count first, int count, Count chunk, double* seen, double* whole);
  void (*join)(double* whole, double* part, int count);  // merges `part` into `whole`
};
extern const AxisEngine axis_engine_baseline, axis_engine_avx2, axis_engine_avx512;

}  // namespace kernops
