// The arguments of scans of segments on the CPU, which compute a running result for each value: plain pointers, as in
// jobs/segments.h.
#pragma once
#include <kernops/jobs/segments.h>

namespace kernops {

struct ScanJob : SegmentJob {
  // exclusive: the result of a value excludes the value; reverse: the scan begins with the last value
  bool exclusive, reverse;
  Count segments;  // number of segments with values
  double nothing;  // result of a formula if no value has been added
};

// The scan functions of one instruction set. A carry is the state of all blocks of a segment before a block (for a
// reversed scan, of all blocks after the block). Carries, `states` and `scratch` are aligned to 64 bytes.
struct ScanEngine {
  std::size_t state_bytes;  // bytes of the state of a block or a carry
  std::size_t (*scratch_bytes)(Count values, Count segments);
  // Scans the segments `first` .. `last` - 1, which are not longer than a block.
  void (*segments)(const ScanJob&, Count column, Count first, Count last, char* scratch);
  void (*start)(char* carry);
  void (*block)(const ScanJob&, Count column, Count segment, Count number, char* state, char* scratch);
  void (*advance)(const ScanJob&, char* carry, const char* state);  // joins the state of a block to the carry
  void (*map)(const ScanJob&, Count column, Count segment, Count number, const char* carry, char* scratch);
  // Scans the groups `first` .. `last` - 1, whose values are in any order. The pointer is null if values must be sorted
  // by group before the scan. `states` has space for the state of each group.
  void (*groups)(const ScanJob&, Count column, Count rows, Count first, Count last, char* states, char* scratch);
  std::size_t group_bytes;
};

struct ScanEngines {
  const char* name;
  ScanEngine (*find)(const ScanJob&);
};
extern const ScanEngines scan_engines_baseline, scan_engines_avx2, scan_engines_avx512;

}  // namespace kernops
