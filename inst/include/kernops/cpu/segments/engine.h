// Selects the functions that reduce the segments of a job.
#pragma once
#include <kernops/cpu/segments/formula.h>
#include <kernops/cpu/segments/reduce.h>
#include <kernops/cpu/segments/softmax.h>

namespace kernops {
inline namespace KERNOPS_ISA {

inline SegmentEngine find_segment_engine(const SegmentJob& job) {
  if (job.slots.count > 0)
    return {sizeof(Folded),
            SegmentFold::scratch_bytes,
            SegmentFold::segments,
            SegmentFold::block,
            SegmentFold::join,
            nullptr,
            nullptr,
            nullptr,
            SegmentFold::nothing};
  if (job.softmax)
    return {sizeof(Softmax::Mass), Softmax::scratch_bytes, Softmax::segments, Softmax::block,
            Softmax::join,         Softmax::map,           nullptr,           nullptr,
            Softmax::nothing};
  using Make = SegmentEngine (*)(const SegmentJob&);
  static const Make table[] = {
#define STATISTIC(name, reduction, ...) segment_reduction<reduction>,
#include <kernops/segments.def>
  };
  return table[job.op](job);
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
