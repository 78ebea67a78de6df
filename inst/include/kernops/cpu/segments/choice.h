// The first or last value of each group, for groups whose values come in any order. A pass over the values ends when
// all groups have a value.
#pragma once
#include <kernops/cpu/segments/states.h>
#include <kernops/cpu/segments/values.h>
#include <kernops/missing.h>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class R> struct ScatteredChoice {
  static constexpr bool forward = std::is_same<R, First>::value;

  // The memory of a split (a part of the rows): the chosen value of each group, and then a flag for each group, which
  // is set when the group has a value. Values outside all groups have group -1. The flag of this group is always set,
  // so that its values are skipped.
  struct States {
    States(const SegmentJob& job, ScatterMemory memory)
        : values(reinterpret_cast<double*>(memory.near) + 1),
          met(memory.near + (job.groups.span + 1) * Count(sizeof(double)) + 1) {}
    double* values;
    char* met;
  };

  // Returns true if a code is neither NA nor the code of a group.
  static bool add_rows(const SegmentJob& job, Count column, Count first, Count last, ScatterMemory memory, char*) {
    GroupCodes groups = job.groups;
    groups.code += first;
    const bool strays = groups.has_strays(last - first);
    const States states(job, memory);
    for (Count n = -1; n < job.groups.span; ++n) states.met[n] = n < 0;
    if (job.integers)
      take(job, states, first, last, static_cast<const std::int32_t*>(job.x) + column * job.x_column);
    else
      take(job, states, first, last, static_cast<const double*>(job.x) + column * job.x_column);
    return strays;
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

  // Joins the splits. For other statistics, join() returns true if a result is NaN, because the caller must replace NaN
  // by NA if a value of the group is NA. Here, join() always returns false: a result is a copy of a value, so NA and
  // NaN stay distinct.
  static bool join(const SegmentJob& job, Count column, ScatterMemory memory, Count splits) {
    for (Count n = 0; n < job.groups.span; ++n) {
      const Count row = job.groups.row(n);
      if (row < 0) continue;
      double& result = job.result(0, column, row);
      result = missing();
      for (Count k = 0; k < splits; ++k) {
        const States states(job, memory.split(forward ? k : splits - 1 - k));
        if (!states.met[n]) continue;
        result = states.values[n];
        break;
      }
    }
    return false;
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
