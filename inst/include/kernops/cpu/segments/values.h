// The values of segments as contiguous doubles. If the values of the user are contiguous doubles, they are read in
// place, and otherwise copied to `scratch`.
#pragma once
#include <kernops/cpu/map_reduce.h>
#include <kernops/jobs/segments.h>

namespace kernops {
inline namespace KERNOPS_ISA {

KERNOPS_INLINE double as_double(double x) { return x; }
KERNOPS_INLINE double as_double(std::int32_t x) { return x == INT32_MIN ? not_a_number<double>() : double(x); }

// Copies `count` values; value n is in row at(n) of x.
template <class At> void fetch(const SegmentJob& job, Count column, Count count, At at, double* to) {
  const auto copy = [&](const auto* x) {
    x += column * job.x_column;
    if (job.x_row == 1)
      for (Count n = 0; n < count; ++n) to[n] = as_double(x[at(n)]);
    else
      for (Count n = 0; n < count; ++n) to[n] = as_double(x[at(n) * job.x_row]);
  };
  if (job.integers)
    copy(static_cast<const std::int32_t*>(job.x));
  else
    copy(static_cast<const double*>(job.x));
  if (!job.weights) return;
  const double* weights = job.weights + column * job.weights_column;
  if (job.weight_of)
    for (Count n = 0; n < count; ++n) to[n] *= weights[job.weight_of[at(n)] - 1];
  else
    for (Count n = 0; n < count; ++n) to[n] *= weights[at(n) * job.weights_row];
}

// Returns the rows `first` .. `first` + count - 1 of x.
inline const double* rows_at(const SegmentJob& job, Count column, Count first, Count count, double* scratch) {
  if (!job.integers && job.x_row == 1 && !job.weights)
    return static_cast<const double*>(job.x) + column * job.x_column + first;
  fetch(
      job, column, count, [=](Count n) { return first + n; }, scratch);
  return scratch;
}

// Returns the values `first` .. `first` + count - 1 of a segment.
inline const double* values_of(const SegmentJob& job, Count column, Count segment, Count first, Count count,
                               double* scratch) {
  const Count from = (job.sources ? job.sources[segment] : job.offsets[segment]) + first;
  if (!job.order) return rows_at(job, column, from, count, scratch);
  fetch(
      job, column, count, [=](Count n) { return Count(job.order[from + n]); }, scratch);
  return scratch;
}

// Returns the values of the segments `first` .. `last` - 1.
inline const double* values_at(const SegmentJob& job, Count column, Count first, Count last, double* scratch) {
  const Count begin = job.offsets[first];
  if (!job.sources) return values_of(job, column, first, 0, job.offsets[last] - begin, scratch);
  for (Count s = first; s < last; ++s) {
    const Count length = job.offsets[s + 1] - job.offsets[s];
    double* to = scratch + (job.offsets[s] - begin);
    const double* from = values_of(job, column, s, 0, length, to);
    if (from != to) std::memcpy(to, from, length * sizeof(double));
  }
  return scratch;
}

inline Count block_length(const SegmentJob& job, Count segment, Count number) {
  const Count rest = job.offsets[segment + 1] - job.offsets[segment] - number * segment_block;
  return rest < segment_block ? rest : segment_block;
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
