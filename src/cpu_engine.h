// The engine of one instruction set: included by cpu_baseline.cpp, cpu_avx2.cpp and cpu_avx512.cpp, which say
// which.
#include <kernops/isa.h>
#ifndef KERNOPS_ISA_MISSING
#include <kernops/map_reduce.h>
#include <kernops/seg_engine.h>

#include "engine_name.h"

namespace kernops {

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
