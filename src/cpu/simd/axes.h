// Reductions over array dimensions for one instruction set. This file is included by cpu/simd/axes_baseline.cpp,
// cpu/simd/axes_avx2.cpp and cpu/simd/axes_avx512.cpp, which choose the instruction set.
#include <kernops/simd/isa.h>
#ifndef KERNOPS_ISA_MISSING
#include <kernops/cpu/axes/reduce.h>
#include <kernops/cpu/axes/softmax.h>

#include "cpu/simd/axes_table.h"
#include "cpu/simd/instruction_set.h"

namespace kernops {
inline namespace KERNOPS_ISA {

template <bool skip> struct AxisTable { static const AxisEngine::Entry entries[]; };
template <bool skip>
const AxisEngine::Entry AxisTable<skip>::entries[] = {
#define STATISTIC(name, R, ...) \
  {sizeof(typename SliceReducer<R, skip>::One), &SliceReducer<R, skip>::reduce, &SliceReducer<R, skip>::merge},
#include <kernops/segments.def>
};

inline Count chunk_end(const SliceJob& job, Count chunk) {
  const Count end = (chunk + 1) * job.chunk;
  return end < job.slice ? end : job.slice;
}

}  // namespace KERNOPS_ISA

const AxisEngine KERNOPS_JOIN(axis_engine_, KERNOPS_ISA) = {
    KERNOPS_TEXT(KERNOPS_ISA),
    {AxisTable<false>::entries, AxisTable<true>::entries},
    most_lanes* most_rows,
    most_lanes,
    lanes_along,
    most_rows,
    [](const SliceJob& job, Count first, int count, Count chunk, double* seen, double* buffer) {
      SliceSoftmax::first_pass(job, spot(job.kept, first), count, chunk * job.chunk, chunk_end(job, chunk),
                               Seen(seen, count), buffer);
    },
    [](const SliceJob& job, Count first, int count, Count chunk, double* seen, double* whole) {
      SliceSoftmax::second_pass(job, spot(job.kept, first), count, chunk * job.chunk, chunk_end(job, chunk),
                                Seen(seen, count), Seen(whole, count));
    },
    [](double* whole, double* part, int count) { SliceSoftmax::join(Seen(whole, count), Seen(part, count), count); },
};

}  // namespace kernops
KERNOPS_ISA_END
#endif
