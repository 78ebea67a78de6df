#include "segments/recurrence.h"

namespace kernops {

void recur_in_segments(const Segments& segments, const double* x, const double* factor, bool reverse, double* out) {
  if (segments.groups) {
    std::vector<double> last(size_t(segments.count), 0);
    for (Count k = 0; k < segments.values; ++k) {
      const Count n = reverse ? segments.values - 1 - k : k;
      if (const Count row = segments.groups[n]; row >= 0)
        out[n] = last[size_t(row)] = x[n] + factor[n] * last[size_t(row)];
    }
    return;
  }
  const std::vector<Count>& offsets = segments.offsets();
  for (Count s = 0; s < segments.segments(); ++s) {
    const Count first = offsets[size_t(s)], length = offsets[size_t(s) + 1] - first;
    double last = 0;
    for (Count k = 0; k < length; ++k) {
      const Count n = first + (reverse ? length - 1 - k : k);
      out[n] = last = x[n] + factor[n] * last;
    }
  }
}

}  // namespace kernops
