// Computations with conditioning sets for one instruction set. This file is included by cpu/simd/sets_baseline.cpp,
// cpu/simd/sets_avx2.cpp and cpu/simd/sets_avx512.cpp, which choose the instruction set.
#include <kernops/simd/isa.h>
#ifndef KERNOPS_ISA_MISSING
#include <kernops/cpu/sets/adjoint.h>
#include <kernops/cpu/sets/products.h>
#include <kernops/cpu/sets/sums.h>
#include <kernops/cpu/sets/weights.h>

#include "cpu/simd/instruction_set.h"
#include "cpu/simd/sets_table.h"

namespace kernops {
inline namespace KERNOPS_ISA {
extern template StepFunction<double> step_function<double>(int);  // defined in cpu/simd/pairs.h
}

const SetEngine KERNOPS_JOIN(set_engine_, KERNOPS_ISA) = {
    KERNOPS_TEXT(KERNOPS_ISA),
    [](const SetJob& job, Count begin, Count end, double* sums, Count* bad) {
      return SetSums(job).sum(begin, end, sums, bad);
    },
    [](const SetJob& job, Count begin, Count end) { SetWeights(job).write(begin, end); },
    [](const SetJob& job, Count begin, Count end, double* sums) { SetAdjoint(job).sum(begin, end, sums); },
    [](const ColumnJob& job) { ColumnProducts(job).sum(); },
};

}  // namespace kernops
KERNOPS_ISA_END
#endif
