// Moving quantiles of short windows that all have the same length. An array has the sorted numbers of a window. To move
// the window, one pass without branches removes a number and inserts another. Two distant windows are moved together,
// in the two lanes of a SIMD vector.
#include <kernops/quantile_positions.h>
#include <kernops/state.h>

#include <algorithm>

#include "roll/roll.h"

namespace kernops {
namespace {

constexpr Count most = 32, few = 64;  // limits of this method: maximum window length, minimum number of results
using Lanes = double __attribute__((vector_size(16)));
const double infinite = infinity<double>();

class Window {
 public:
  explicit Window(Count width) : width_(width) { std::fill(numbers_, numbers_ + width + 1, Lanes{infinite, infinite}); }

  void replace(const Lanes& gone, const Lanes& x) {
    Lanes before = {-infinite, -infinite}, own = numbers_[0];  // before: number k - 1 without `gone`
    for (Count k = 0; k < width_; ++k) {
      const Lanes next = numbers_[k + 1], here = own < gone ? own : next, above = before > x ? before : x;
      numbers_[k] = above < here ? above : here;
      before = here, own = next;
    }
  }
  void insert(const Lanes& x) { replace(Lanes{infinite, infinite}, x); }
  double at(Count k, int lane) const { return numbers_[k][lane]; }

 private:
  const Count width_;
  Lanes numbers_[most + 1];  // sorted numbers, followed by infinity
};

// Computes the results of a part of a segment. The windows of this part are not cut at an end of the segment and have
// no missing values, and the number of these windows is even.
void roll_narrow(const RollPart& part) {
  const RollRequest& request = part.request;
  const Count left = request.windows.left, width = left + request.windows.right + 1;
  const Count half = (part.end - part.begin) / 2;
  const double* const x = part.x + part.begin - left;
  const auto both = [&](Count k) { return Lanes{x[k], x[k + half]}; };
  std::vector<QuantilePosition> positions;
  for (const double p : request.probs) positions.push_back(quantile_position(request.type, double(width), p));
  Window window(width);
  for (Count k = 0; k < width; ++k) window.insert(both(k));
  for (Count k = 0; k < half; ++k) {
    if (k > 0) window.replace(both(k - 1), both(k + width - 1));
    for (size_t o = 0; o < positions.size(); ++o) {
      const QuantilePosition& at = positions[o];
      double* const results = part.results + Count(o) * part.stride + k;
      for (int lane = 0; lane < 2; ++lane)
        results[lane * half] = between(window.at(at.lower, lane), window.at(at.upper, lane), at.share);
    }
  }
}

}  // namespace

void roll_quantiles(const RollPart& part) {
  const Windows& windows = part.request.windows;
  const auto results_of = [&](Count begin, Count end) {
    return RollPart{part.request, part.windows, part.x, begin, end, part.results + begin - part.begin, part.stride};
  };
  const Count begin = std::max(part.begin, windows.left);
  const Count count = (std::min(part.end, part.windows.n - windows.right) - begin) / 2 * 2, end = begin + count;
  const bool narrow = !windows.before && windows.left + windows.right < most && count >= few;
  const auto is_nan = [](double x) { return x != x; };
  if (!narrow || std::any_of(part.x + begin - windows.left, part.x + end + windows.right, is_nan))
    return roll_ranks(part);
  if (begin > part.begin) roll_ranks(results_of(part.begin, begin));
  roll_narrow(results_of(begin, end));
  if (end < part.end) roll_ranks(results_of(end, part.end));
}

}  // namespace kernops
