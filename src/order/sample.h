// Copies the values of a segment to contiguous memory.
#pragma once
#include <kernops/missing.h>
#include <kernops/state.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "run/parallel_for.h"
#include "segments/segments.h"

namespace kernops {

// A value and its position in the segment; equal values are ordered by their positions.
struct Placed {
  double x;
  Count place;
};

// Order statistics k and k + 1; for the largest k, both members are order statistic k.
struct Pair {
  double lower, upper;
};

// The values of a segment: the numbers, and the counts and positions of NA and NaN. Memory is reused for the next
// segment.
class Sample {
 public:
  // Loads segment s of a column. `weights` is null or has one number per row; values of weight 0 are skipped. Positions
  // of the values are stored if there are weights or if `with_places` is true.
  void take(const Segments& segments, Count s, const SegmentValues& from, Count column, const double* weights,
            bool with_places);

  Count count = 0;             // number of numbers, without NA and NaN
  std::vector<double> x;       // the first `count` entries are the numbers, in the order of the segment
  std::vector<Placed> placed;  // the numbers with their positions
  std::vector<Count> gaps;     // positions of NA and NaN
  Count length = 0;            // number of values of the segment, including missing ones
  Count nas = 0, nans = 0;
  Count first_na = -1, first_nan = -1;  // positions in the segment
  bool weighed = false;
  double na_weight = 0, nan_weight = 0;
  double weight(Count place) const { return weighed ? weights_[size_t(place)] : 1; }

  // Returns order statistics k (counted from 0) and k + 1 of the numbers; may change the order of the numbers.
  Pair select(Count k);
  // Sorts the numbers; if positions are stored, these are moved along with the numbers.
  void sort(bool decreasing = false);
  void sort_placed(bool decreasing = false);
  double gap() const { return nas > 0 ? missing() : not_a_number<double>(); }

 private:
  void take_places(const Segments& segments, Count s, const SegmentValues& from, Count column, const double* weights);
  void note_gap(Count place, double value, double weight);
  std::vector<double> weights_;  // weights in the order of the segment
  std::vector<double> memory_;
  std::vector<Placed> placed_memory_;
};

// Calls work(column, first, last) for sequences of segments first .. last - 1 of each column; all sequences have about
// the same number of values.
template <class Work>
void in_segments(const Segments& segments, Count columns, const Settings& settings, const Work& work) {
  constexpr Count tile = 32768;
  const std::vector<Count>& offsets = segments.offsets();
  const Count units = ceil_div(segments.covered, tile), all = units * columns;
  const auto first_from = [&](Count unit) {
    return std::lower_bound(offsets.begin(), offsets.end() - 1, segments.first + unit * tile) - offsets.begin();
  };
  parallel_for(all, worthwhile_threads(segments, columns, settings, all), settings, [&](Count unit, Count) {
    const Count first = first_from(unit % units), last = first_from(unit % units + 1);
    if (first < last) work(unit / units, first, last);
  });
}

}  // namespace kernops
