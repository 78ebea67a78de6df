// The first or last value of groups in any order: a pass finds its row, and ends when all groups have one.
#pragma once
#include <kernops/cpu/segments/states.h>
#include <kernops/cpu/segments/values.h>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class R> struct ScatteredChoice {
  static constexpr bool forward = std::is_same<R, First>::value;
  static constexpr std::uint32_t nowhere = UINT32_MAX;

  static double value(const SegmentJob& job, Count column, Count row) {
    const Count place = column * job.x_column + row * job.x_row;
    return job.integers ? as_double(static_cast<const std::int32_t*>(job.x)[place])
                        : static_cast<const double*>(job.x)[place];
  }

  static void choose(const SegmentJob& job, Count column, Count first, Count last, char* memory, char*) {
    std::uint32_t* const rows = reinterpret_cast<std::uint32_t*>(memory) + 1;
    for (Count n = 0; n < job.groups.span; ++n) rows[n] = nowhere;
    rows[-1] = 0;  // values of no group are not looked at
    const GroupCodes groups = job.groups;
    Count left = job.count;
    for (Count k = 0; k < last - first && left > 0; ++k) {
      const Count row = forward ? first + k : last - 1 - k;
      std::uint32_t& place = rows[groups.number(row)];
      if (place != nowhere) continue;
      if (job.skip_missing) {
        const double x = value(job, column, row);
        if (x != x) continue;
      }
      place = std::uint32_t(row), --left;
    }
  }

  static void join(const SegmentJob& job, Count column, char* memory, Count splits, std::size_t split_bytes) {
    for (Count n = 0; n < job.groups.span; ++n) {
      const Count row = job.groups.row(n);
      if (row < 0) continue;
      const auto place = [&](Count k) {
        const Count split = forward ? k : splits - 1 - k;
        return reinterpret_cast<const std::uint32_t*>(memory + split * Count(split_bytes))[n + 1];
      };
      Count k = 0;
      while (k + 1 < splits && place(k) == nowhere) ++k;
      job.result(0, column, row) = place(k) == nowhere ? not_a_number<double>() : value(job, column, place(k));
    }
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
