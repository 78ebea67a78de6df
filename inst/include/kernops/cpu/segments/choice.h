// The first or last value of groups in any order; a pass ends when all groups have one.
#pragma once
#include <kernops/cpu/segments/states.h>
#include <kernops/cpu/segments/values.h>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class R> struct ScatteredChoice {
  static constexpr bool forward = std::is_same<R, First>::value;

  // The memory of a split: the values of all groups, then whether they have one. Number -1 is for values of no group,
  // which are not read.
  struct States {
    States(const SegmentJob& job, char* memory)
        : values(reinterpret_cast<double*>(memory) + 1),
          met(memory + (job.groups.span + 1) * Count(sizeof(double)) + 1) {}
    double* values;
    char* met;
  };

  static void choose(const SegmentJob& job, Count column, Count first, Count last, char* memory, char*) {
    const States states(job, memory);
    for (Count n = -1; n < job.groups.span; ++n) states.met[n] = n < 0;
    if (job.integers)
      take(job, states, first, last, static_cast<const std::int32_t*>(job.x) + column * job.x_column);
    else
      take(job, states, first, last, static_cast<const double*>(job.x) + column * job.x_column);
  }
  template <class T> static void take(const SegmentJob& job, States states, Count first, Count last, const T* x) {
    const GroupCodes groups = job.groups;
    const Count step = job.x_row;
    const bool skip = job.skip_missing;
    for (Count k = 0, left = job.count; k < last - first && left > 0; ++k) {
      const Count row = forward ? first + k : last - 1 - k, group = groups.number(row);
      if (states.met[group]) continue;
      const double value = as_double(x[row * step]);
      if (skip && value != value) continue;
      states.values[group] = value, states.met[group] = 1, --left;
    }
  }

  static void join(const SegmentJob& job, Count column, char* memory, Count splits, std::size_t split_bytes) {
    const States states(job, memory);
    for (Count n = 0; n < job.groups.span; ++n) {
      const Count row = job.groups.row(n);
      if (row < 0) continue;
      double& result = job.result(0, column, row);
      result = not_a_number<double>();
      for (Count k = 0; k < splits; ++k) {
        const Count skip = (forward ? k : splits - 1 - k) * Count(split_bytes);
        if (!states.met[n + skip]) continue;
        result = states.values[n + skip / Count(sizeof(double))];
        break;
      }
    }
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
