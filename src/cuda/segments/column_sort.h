// Sorts one column of the values of segments.
#pragma once
#include <kernops/jobs/device_sorts.h>

#include "cuda/segments/segments.h"

namespace kernops {
namespace cuda {

// The kind of sort. If `placed` is true, keys are stored with their positions. If `by_segment` is true, a result needs
// the whole sorted segment at once.
struct Sorting {
  std::string text;
  size_t key_bytes;
  bool placed, by_segment;
  size_t item_bytes() const { return placed ? 2 * key_bytes : key_bytes; }
};

void sort_column(const Segments& segments, const SortRun& job, const SortPieces& pieces, const Sorting& sorting);

}  // namespace cuda
}  // namespace kernops
