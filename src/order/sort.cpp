#include "order/sort.h"

#include <algorithm>

namespace kernops {
namespace {

struct Before {
  bool decreasing;
  bool operator()(const Placed& a, const Placed& b) const {
    return (decreasing ? b.x < a.x : a.x < b.x) || (a.x == b.x && a.place < b.place);
  }
};

// Calls work(sample, column, s, first) for each segment s, whose values begin at position `first`.
template <class Work> void each_segment(const SortRequest& request, bool with_places, const Work& work) {
  const Segments& segments = request.segments;
  if (segments.groups) segments.order();
  in_segments(segments, request.columns, request.settings, [&](Count column, Count begin, Count end) {
    Sample sample;
    for (Count s = begin; s < end; ++s) {
      sample.take(segments, s, request.x, column, nullptr, with_places);
      work(sample, column, s, segments.offsets()[size_t(s)]);
    }
  });
}

void sort_values(const SortRequest& request) {
  const Segments& segments = request.segments;
  each_segment(request, false, [&](Sample& sample, Count column, Count s, Count first) {
    double *x = sample.x.data(), *to = request.out.data + column * request.out.entry;
    sample.sort(request.decreasing);
    const Count gaps = sample.nas + sample.nans, numbers = request.missing_last ? 0 : gaps;
    const auto put = [&](Count k, double value) { to[segments.source(s, first + k)] = value; };
    for (Count k = 0; k < sample.count; ++k) put(numbers + k, x[k]);
    const Count missing_from = request.missing_last ? sample.count : 0;
    for (Count k = 0; k < gaps; ++k) put(missing_from + k, k < sample.nas ? missing() : not_a_number<double>());
  });
}

void order_rows(const SortRequest& request) {
  const Segments& segments = request.segments;
  each_segment(request, true, [&](Sample& sample, Count column, Count s, Count first) {
    sample.sort_placed(request.decreasing);
    double* to = request.out.data + column * request.out.entry + (first - segments.first);
    const auto put_row = [&](Count place) { *to++ = double(segments.source(s, first + place) + 1); };
    if (!request.missing_last) std::for_each(sample.gaps.begin(), sample.gaps.end(), put_row);
    for (Count k = 0; k < sample.count; ++k) put_row(sample.placed[size_t(k)].place);
    if (request.missing_last) std::for_each(sample.gaps.begin(), sample.gaps.end(), put_row);
  });
}

void rank_values(const SortRequest& request) {
  const Segments& segments = request.segments;
  each_segment(request, true, [&](Sample& sample, Count column, Count s, Count first) {
    double* to = request.out.data + column * request.out.entry;
    const auto put = [&](Count place, double rank) { to[segments.source(s, first + place)] = rank; };
    const Count gaps = Count(sample.gaps.size());
    const Count before = request.keep_missing || request.missing_last ? 0 : gaps;
    sample.sort_placed(request.decreasing);
    const Placed* x = sample.placed.data();
    for (Count begin = 0, end; begin < sample.count; begin = end) {
      for (end = begin + 1; end < sample.count && x[end].x == x[begin].x;) ++end;
      for (Count k = begin; k < end; ++k) {
        const double least = double(before + begin + 1), most = double(before + end);
        const double turn = double(k - begin);
        const double in_turn = request.ties == SortRequest::in_turn ? least + turn : most - turn;
        put(x[k].place, request.ties == SortRequest::average ? (least + most) / 2
                        : request.ties == SortRequest::min   ? least
                        : request.ties == SortRequest::max   ? most
                                                             : in_turn);
      }
    }
    const Count missing_from = request.missing_last ? sample.count : 0;
    for (Count k = 0; k < gaps; ++k)
      put(sample.gaps[size_t(k)], request.keep_missing ? missing() : double(missing_from + k + 1));
  });
}

void choose_first(const SortRequest& request) {
  const Segments& segments = request.segments;
  const Count top = request.top, step = request.columns * request.out.entry;
  for (Count n = 0; n < request.outputs() * request.columns; ++n)
    std::fill_n(request.out.data + n * request.out.entry, segments.count, missing());
  each_segment(request, true, [&](Sample& sample, Count column, Count s, Count first) {
    const Count there = std::min(top, sample.count);
    const auto begin = sample.placed.begin();
    std::partial_sort(begin, begin + there, begin + sample.count, Before{request.decreasing});
    double* to = request.out.data + column * request.out.entry + segments.row(s);
    for (Count n = 0; n < there; ++n, to += step) {
      to[0] = begin[n].x, to[top * step] = double(begin[n].place + 1);
      to[2 * top * step] = double(segments.source(s, first + begin[n].place) + 1);
    }
  });
}

}  // namespace

void sort_segments(const SortRequest& request) {
  void (*const results[])(const SortRequest&) = {sort_values, order_rows, rank_values, choose_first};
  results[request.result](request);
}

}  // namespace kernops
