#include "roll/roll.h"

#include <kernops/missing.h>

#include "run/parallel_for.h"
#include "segments/passes.h"

namespace kernops {
namespace {

// A unit of work: all results of the segments first .. last - 1 or, if `first` is the only segment, the results begin
// .. end - 1 of this segment.
struct Unit {
  Count first, last, begin, end;
};

// Divides the segments into units of work. Long segments are cut at positions that depend only on their lengths and on
// the windows.
std::vector<Unit> units_of(const Segments& segments, const Windows& windows) {
  const Count part = std::max<Count>(32768, 4 * longest_window(segments, windows));
  std::vector<Unit> units;
  Count values = 0;
  for (Count s = 0; s < segments.segments(); ++s) {
    const Count length = segments.length(s);
    if (length > part) {
      for (Count begin = 0; begin < length; begin += part)
        units.push_back({s, s + 1, begin, std::min(length, begin + part)});
      values = 0;
    } else if (values > 0 && values + length <= part) {
      units.back().last = s + 1, units.back().end = length, values += length;
    } else {
      units.push_back({s, s + 1, 0, length}), values = length;
    }
  }
  return units;
}

// Changes results from NaN to NA if the window contains an NA.
void mark_windows(const RollPart& part) {
  const Count count = part.end - part.begin;
  const auto is_nan = [](double x) { return x != x; };
  const Count outputs = part.request.outputs();
  const StatisticId op = StatisticId(part.request.op);
  if (part.request.probs.empty() && (op == StatisticId::first || op == StatisticId::last)) return;  // already NA
  bool any = false;
  for (Count o = 0; o < outputs && !part.request.skip_missing; ++o)
    any = any || std::any_of(part.results + o * part.stride, part.results + o * part.stride + count, is_nan);
  if (!any) return;
  const Count first = part.windows.first(part.begin);
  std::vector<Count> before{0};
  for (Count k = first; k < part.windows.end(part.end - 1); ++k)
    before.push_back(before.back() + is_missing(part.x[k]));
  for (Count k = part.begin; k < part.end; ++k) {
    if (before[size_t(part.windows.end(k) - first)] == before[size_t(part.windows.first(k) - first)]) continue;
    for (Count o = 0; o < outputs; ++o) {
      double& result = part.results[o * part.stride + k - part.begin];
      if (is_nan(result)) result = missing();
    }
  }
}

class Roll {
 public:
  explicit Roll(const RollRequest& request)
      : request_(request),
        segments_(request.segments),
        work_(request.probs.empty() ? roll_by_stacks(request.op) : roll_quantiles) {}

  void run() const {
    const std::vector<Unit> units = units_of(segments_, request_.windows);
    const Count all = Count(units.size()) * request_.columns;
    const Count threads = worthwhile_threads(segments_, request_.columns, request_.settings, all);
    parallel_for(all, threads, request_.settings, [&](Count n, Count) {
      const Unit& unit = units[size_t(n) % units.size()];
      std::vector<double> values, results;
      for (Count s = unit.first; s < unit.last; ++s) {
        const Count length = segments_.length(s);
        const bool whole = unit.last - unit.first > 1;
        roll(s, n / Count(units.size()), whole ? 0 : unit.begin, whole ? length : unit.end, values, results);
      }
    });
  }

 private:
  void roll(Count s, Count column, Count begin, Count end, std::vector<double>& values,
            std::vector<double>& results) const {
    const Count position = segments_.offsets()[size_t(s)] - segments_.first;
    const Count start = segments_.offsets()[size_t(s)], n = segments_.length(s);
    const SegmentWindows windows{request_.windows, position, n};
    const Count first = windows.first(begin), last = windows.end(end - 1);
    const bool in_place = !segments_.groups && segments_.sources.empty();
    const double* x = static_cast<const double*>(request_.x.data) + column * request_.x.column + start;
    if (!in_place || request_.x.type != SegmentValues::doubles || request_.x.row != 1) {
      values.resize(size_t(last - first));
      for (Count k = first; k < last; ++k)
        values[size_t(k - first)] = value_at(request_.x, column, segments_.source(s, start + k));
      x = values.data() - first;
    }
    const Count outputs = request_.outputs(), all = request_.out.entry * request_.columns;
    double* const out = request_.out.data + column * request_.out.entry;
    if (!in_place) results.resize(size_t(outputs * (end - begin)));
    const RollPart part{request_,
                        windows,
                        x,
                        begin,
                        end,
                        in_place ? out + start + begin : results.data(),
                        in_place ? all : end - begin};
    work_(part);
    mark_windows(part);
    for (Count k = begin; k < end; ++k)
      for (Count o = 0; o < outputs && !windows.counts(k); ++o) part.results[o * part.stride + k - begin] = missing();
    for (Count k = begin; k < end && !in_place; ++k)
      for (Count o = 0; o < outputs; ++o)
        out[o * all + segments_.source(s, start + k)] = results[size_t(o * part.stride + k - begin)];
  }

  const RollRequest& request_;
  const Segments& segments_;
  const RollWork work_;
};

// Returns whether first() and end() of the windows never decrease from one value to the next.
bool windows_advance(const Segments& segments, const Windows& windows) {
  if (!windows.before) return true;
  for (Count s = 0; s < segments.segments(); ++s) {
    const Count start = segments.offsets()[size_t(s)], n = segments.length(s);
    const SegmentWindows these{windows, start - segments.first, n};
    for (Count k = 1; k < n; ++k)
      if (these.first(k) < these.first(k - 1) || these.end(k) < these.end(k - 1)) return false;
  }
  return true;
}

}  // namespace

bool roll_segments(const RollRequest& request) {
  if (request.formula || !windows_advance(request.segments, request.windows)) return false;
  if (request.segments.segments() > 0) Roll(request).run();
  return true;
}

Count longest_window(const Segments& segments, const Windows& windows) {
  Count reach = windows.left + windows.right;
  for (Count m = 0; windows.before && m < segments.covered; ++m)
    reach = std::max(reach, Count(windows.before[m]) + Count(windows.after[m]));
  return std::min(reach + 1, segments.longest);
}

Count windows_by(const Segments& segments, const double* by, const std::vector<double>& widths, int align, int* before,
                 int* after) {
  if (segments.groups) segments.order();
  std::vector<double> times;
  for (Count s = 0; s < segments.segments(); ++s) {
    const Count start = segments.offsets()[size_t(s)], n = segments.length(s);
    times.resize(size_t(n));
    for (Count k = 0; k < n; ++k) {
      const Count row = segments.source(s, start + k);
      times[size_t(k)] = by[row];
      if (!(k == 0 ? by[row] == by[row] : by[row] >= times[size_t(k) - 1])) return row;
    }
    const auto count = [&](double limit, bool equal) {
      const auto begin = times.begin(), end = times.end();
      return Count((equal ? std::upper_bound(begin, end, limit) : std::lower_bound(begin, end, limit)) - begin);
    };
    for (Count k = 0; k < n; ++k) {
      const double t = times[size_t(k)];
      const double width = widths.size() == 1 ? widths[0] : widths[size_t(segments.source(s, start + k))];
      const double least = align == 0 ? t - width : align == 1 ? t - width / 2 : t;
      const double most = align == 0 ? t : align == 1 ? t + width / 2 : t + width;
      before[start - segments.first + k] = int(k - std::min(k, count(least, align != 2)));
      after[start - segments.first + k] = int(std::max(k, count(most, align != 2) - 1) - k);
    }
  }
  return -1;
}

}  // namespace kernops
