// The pairs that are reduced, in the form that all backends read. Each block of rows is combined with the columns of
// its intervals. The columns of a block are numbered as if the intervals were contiguous. If all pairs are reduced,
// there is one block with one interval.
#pragma once
#include <kernops/portable.h>

#ifndef __CUDACC_RTC__
#include <cstdint>
#endif

namespace kernops {

#ifdef __CUDACC_RTC__
using Count = long long;
#else
using Count = std::int64_t;
#endif

struct Interval {
  Count begin, end;
  Count before;  // number of columns of the block before this interval
};
struct RowBlock {
  Count begin, end;
  Count first, last;  // the block has intervals first .. last - 1
  Count columns;
};

inline namespace KERNOPS_ISA {

// Returns the interval that contains column `number` of a block. The block must have columns.
KERNOPS_FN const Interval* find_interval(const Interval* intervals, const RowBlock& block, Count number) {
  Count low = block.first, high = block.last;
  while (high - low > 1) {
    const Count middle = (low + high) / 2;
    (intervals[middle].before <= number ? low : high) = middle;
  }
  return intervals + low;
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
