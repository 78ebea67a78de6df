// The functions of an engine for conditioning sets. The interface consists of plain pointers, so that code compiled for
// different instruction sets shares nothing else.
#pragma once
#include <kernops/jobs/sets.h>

namespace kernops {

struct SetEngine {
  const char* name;
  bool (*sum)(const SetJob& job, Count begin, Count end, double* sums, Count* bad);
  void (*weigh)(const SetJob& job, Count begin, Count end);
  void (*adjoin)(const SetJob& job, Count begin, Count end, double* sums);
  void (*multiply)(const ColumnJob& job);
};
extern const SetEngine set_engine_baseline, set_engine_avx2, set_engine_avx512;

}  // namespace kernops
