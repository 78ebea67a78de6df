// The interface of the engine of each instruction set for axis reductions: plain pointers, so that code compiled
// for different instruction sets shares nothing else.
#pragma once
#include <kernops/jobs/axes.h>
#include <kernops/jobs/job.h>

namespace kernops {

// A unit is a chunk of `count` slices from number `first` on.
struct AxisEngine {
  struct Entry {
    std::size_t state_bytes;
    void (*reduce)(const SliceJob& job, Count first, Count count, Count chunk, double* buffer);
    void (*merge)(const SliceJob& job, Count result);  // merges the chunks of a result and writes it
  };
  const char* name;
  const Entry* entries[2];    // indexed by `skip`, then by row of segments.def
  std::size_t buffer_length;  // number of doubles that each thread provides
  int most_lanes, lanes_along, most_rows;
  // Softmax: `seen` is memory in which both passes store data of `count` adjacent slices.
  void (*first_pass)(const SliceJob& job, Count first, int count, Count chunk, double* seen, double* buffer);
  void (*second_pass)(const SliceJob& job, Count first, int count, Count chunk, double* seen, double* whole);
  void (*join)(double* whole, double* part, int count);  // joins `part` to `whole`
};
extern const AxisEngine axis_engine_baseline, axis_engine_avx2, axis_engine_avx512;

}  // namespace kernops
