#include "order/sample.h"

#include "order/radix.h"
#include "segments/passes.h"

namespace kernops {
namespace {

// Calls take(k, x) for each value x of a segment in turn, where k is the position of x in the segment, from 0.
template <class Take>
void each_value(const Segments& segments, Count s, const SegmentValues& from, Count column, Take take) {
  const Count first = segments.offsets()[size_t(s)], length = segments.length(s), begin_all = segments.first;
  const auto read = [&](auto row) {
    if (from.type == SegmentValues::doubles) {
      const double* x = static_cast<const double*>(from.data) + column * from.column;
      for (Count k = 0; k < length; ++k) take(k, x[row(k) * from.row]);
    } else {
      for (Count k = 0; k < length; ++k) take(k, value_at(from, column, row(k)));
    }
  };
  if (from.by_segment) {
    read([=](Count k) { return first - begin_all + k; });
  } else if (segments.groups) {
    // the rows of later values are prefetched, because they are scattered in memory
    constexpr Count ahead = 32;
    const std::uint32_t* order = segments.order().data() + first;
    const Count last = segments.covered - 1 - first;
    const char* const data = static_cast<const char*>(from.data);
    const Count bytes = (from.type == SegmentValues::doubles ? Count(sizeof(double)) : Count(sizeof(int)));
    read([=](Count k) {
      __builtin_prefetch(data + (column * from.column + Count(order[std::min(k + ahead, last)]) * from.row) * bytes);
      return Count(order[k]);
    });
  } else {
    const Count begin = segments.source(s, first);
    read([=](Count k) { return begin + k; });
  }
}

}  // namespace

void Sample::take(const Segments& segments, Count s, const SegmentValues& from, Count column, const double* weights,
                  bool with_places) {
  length = segments.length(s);
  nas = nans = 0, first_na = first_nan = -1, na_weight = nan_weight = 0;
  gaps.clear();
  weighed = weights != nullptr;
  if (Count(x.size()) < length) x.resize(size_t(length));
  if (weighed || with_places) return take_places(segments, s, from, column, weights);
  Count kept = 0;
  each_value(segments, s, from, column, [&](Count k, double value) {
    x[size_t(kept)] = value;
    kept += value == value;
    if (value != value) note_gap(k, value, 1);
  });
  count = kept;
}

void Sample::take_places(const Segments& segments, Count s, const SegmentValues& from, Count column,
                         const double* weights) {
  if (Count(placed.size()) < length) placed.resize(size_t(length));
  weights_.assign(weighed ? size_t(length) : 0, 0);
  if (weighed)
    each_value(segments, s, {SegmentValues::doubles, false, weights, 1, 0}, 0,
               [&](Count k, double weight) { weights_[size_t(k)] = weight; });
  count = 0;
  each_value(segments, s, from, column, [&](Count k, double value) {
    const double w = weight(k);
    if (w == 0) return;
    if (value != value) return note_gap(k, value, w);
    x[size_t(count)] = value, placed[size_t(count++)] = {value, k};
  });
}

void Sample::sort(bool decreasing) { sort_numbers(x.data(), count, decreasing, memory_); }
void Sample::sort_placed(bool decreasing) { sort_numbers(placed.data(), count, decreasing, placed_memory_); }

void Sample::note_gap(Count place, double value, double weight) {
  const bool na = is_missing(value);
  Count& first = na ? first_na : first_nan;
  if (first < 0) first = place;
  ++(na ? nas : nans);
  (na ? na_weight : nan_weight) += weight;
  gaps.push_back(place);
}

}  // namespace kernops
