// The map-reduce engine for one instruction set. This file is included by cpu/simd/pairs_baseline.cpp,
// cpu/simd/pairs_avx2.cpp and cpu/simd/pairs_avx512.cpp, which choose the instruction set.
#include <kernops/simd/isa.h>
#ifndef KERNOPS_ISA_MISSING
#include <kernops/cpu/map_reduce.h>
#include <kernops/cpu/segments/engine.h>

#include "cpu/simd/instruction_set.h"

namespace kernops {
inline namespace KERNOPS_ISA {

struct Entry {
  std::size_t (*partial_bytes)(const Job&);
  void (*work)(const Job&, Units&);
  void (*merge)(const Job&);
  bool is_sum;
};

template <class T, class Reduction> constexpr Entry entry(bool is_sum = false) {
  return {Reduction::partial_bytes, Run<T, Reduction>::work, Run<T, Reduction>::merge, is_sum};
}

template <class T, class A> Entry find_entry(const Job& job) {
  using All = Engines<T, A>;
  static const Entry table[] = {
#define REDUCTION(name, arguments, size, engine, ...) \
  entry<T, typename All::engine>(std::is_same<typename All::engine, typename All::Sum>::value),
#include <kernops/reductions.def>
  };
  const Entry& choice = table[job.reduction];
  if (job.sum.size > 0) return entry<T, WideSum<T, A>>();
  if (choice.is_sum && job.scheme == SumScheme::direct) return entry<T, typename All::DirectSum>();
  if (choice.is_sum && job.scheme == SumScheme::kahan) return entry<T, typename All::KahanSum>();
  return choice;
}

template StepFunction<double> step_function<double>(int);  // cpu/simd/sets.h calls this instance

inline Entry find_entry(const Job& job, bool single) {
  if (!single) return find_entry<double, double>(job);
  return job.accumulate_double ? find_entry<float, double>(job) : find_entry<float, float>(job);
}

}  // namespace KERNOPS_ISA

const Engine KERNOPS_JOIN(engine_, KERNOPS_ISA) = {
    KERNOPS_TEXT(KERNOPS_ISA),
    KERNOPS_PACK_BYTES,
    [](const Job& job, bool single) { return find_entry(job, single).partial_bytes(job); },
    [](const Job& job, bool single, Units& units) { find_entry(job, single).work(job, units); },
    [](const Job& job, bool single) { find_entry(job, single).merge(job); },
    [](const SegmentJob& job) { return find_segment_engine(job); },
};

}  // namespace kernops
KERNOPS_ISA_END
#endif
