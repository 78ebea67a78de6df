// Scans of segments for one instruction set. This file is included by cpu/simd/scans_baseline.cpp,
// cpu/simd/scans_avx2.cpp and cpu/simd/scans_avx512.cpp, which choose the instruction set.
#include <kernops/simd/isa.h>
#ifndef KERNOPS_ISA_MISSING
#include <kernops/cpu/segments/scan_formula.h>

#include "cpu/simd/instruction_set.h"

namespace kernops {
inline namespace KERNOPS_ISA {
extern template StepFunction<double> step_function<double>(int);  // defined in cpu/simd/pairs.h
}

const ScanEngines KERNOPS_JOIN(scan_engines_, KERNOPS_ISA) = {KERNOPS_TEXT(KERNOPS_ISA),
                                                              [](const ScanJob& job) { return find_scan_engine(job); }};

}  // namespace kernops
KERNOPS_ISA_END
#endif
