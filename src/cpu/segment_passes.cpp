// Single passes over segments on the host; segments/recipes.cpp composes reductions from these passes.
#include <kernops/missing.h>
#include <kernops/segment_terms.h>

#include <algorithm>
#include <cmath>

#include "cpu/segments.h"

namespace kernops {
namespace cpu {
namespace {

using Numbers = std::vector<double>;

// Reads `given`, the numbers that a request provides for each segment, for the segment whose result is in row `row`.
// Returns number k, or 0 if the request does not provide it.
struct Given {
  const SegmentRequest& request;
  Count column, row;
  double operator()(int k) const {
    return request.given[size_t(k)] ? request.given[size_t(k)][column * request.segments.count + row] : 0;
  }
};

// Calls f(row of the result, row of x, position in the segment, position among all values) for all values; positions
// are counted from 0. The values of groups are visited in the order of x.
template <class F> void each_value(const Segments& segments, F f) {
  if (!segments.groups)
    return each_position(segments, [&](Count s, Count m, Count n) {
      f(segments.row(s), n, m - segments.offsets()[size_t(s)], m - segments.first);
    });
  std::vector<Count> met(size_t(segments.count), 0);
  for (Count n = 0; n < segments.values; ++n)
    if (const Count row = segments.groups[n]; row >= 0) f(row, n, met[size_t(row)]++, n);
}

bool in_several(const Segments& segments) { return !segments.sources.empty(); }

// Computes the term of each value of a column. The terms are in the order of x or, if a value may be in several
// segments, in the order of the segments.
template <class Term> void fill_terms(const SegmentRequest& request, Count column, double* to) {
  const bool laid_out = in_several(request.segments);
  each_value(request.segments, [&](Count row, Count n, Count, Count m) {
    const double x = value_at(request.x, column, n);
    const double w = request.weights.data ? value_at(request.weights, column, n) : 0;
    to[laid_out ? m : n] = Term::of(Given{request, column, row}, x, w);
  });
}

using FillTerms = void (*)(const SegmentRequest&, Count, double*);
FillTerms filler_of(SegmentTerm term) {
  static const FillTerms all[] = {
#define TERM(name, ...) fill_terms<name>,
#include <kernops/segment_terms.def>
  };
  return all[int(term)];
}

// A value with its segment, for the functions of SegmentMap.
struct InSegment {
  const SegmentRequest& request;
  Count column, row, n, place, count;
  double x() const { return value_at(request.x, column, n); }
  double incoming() const { return value_at(request.weights, column, n); }
  double given(int k) const { return Given{request, column, row}(k); }
  double length() const { return double(count); }
  double position() const { return double(place + 1); }
  double softmax() const { return softmax_of(Given{request, column, row}, x()); }
};

std::vector<Count> lengths_of(const Segments& segments) {
  std::vector<Count> lengths(size_t(segments.count), 0);
  const std::vector<Count>& offsets = segments.offsets();
  for (Count s = 0; s < segments.segments(); ++s)
    lengths[size_t(segments.row(s))] = offsets[size_t(s) + 1] - offsets[size_t(s)];
  return lengths;
}

template <class Map> void map_values(const SegmentRequest& request, bool in_place) {
  const std::vector<Count> lengths = lengths_of(request.segments);
  for (Count column = 0; column < request.columns; ++column) {
    double* const out = request.out.data + column * request.out.entry;
    each_value(request.segments, [&](Count row, Count n, Count place, Count m) {
      out[in_place ? n : m] = Map::of(InSegment{request, column, row, n, place, lengths[size_t(row)]});
    });
  }
}

using MapValues = void (*)(const SegmentRequest&, bool);
MapValues mapper_of(SegmentMap map) {
  static const MapValues all[] = {
#define MAP(name) map_values<name>,
#include <kernops/segment_terms.def>
  };
  return all[int(map)];
}

class HostPasses : public SegmentPasses {
 public:
  Temporary numbers(Count count) const override {
    const auto memory = std::make_shared<Numbers>(size_t(count));
    return {memory->data(), MemorySpace::host, 0, memory};
  }

  void reduce(const SegmentRequest& request) const override {
    const bool of_engine =
        request.weight_of || request.term == SegmentTerm::Itself ||
        (request.term == SegmentTerm::Times && request.op == int(StatisticId::sum) && plain(request));
    of_engine ? run_engine(request) : reduce_terms(request);
  }

  bool reduce_mean(const SegmentRequest& request) const override {
    if (!request.segments.groups) return false;
    SegmentRequest weighted = request;
    weighted.by_masses = true;
    return run_engine(weighted), true;
  }

  void map(const SegmentRequest& request, SegmentMap what, bool in_place, double elsewhere) const override {
    const Count rows = in_place ? request.segments.values : request.segments.covered;
    for (Count c = 0; c < request.columns; ++c) std::fill_n(request.out.data + c * request.out.entry, rows, elsewhere);
    mapper_of(what)(request, in_place);
  }

  void step(ResultStep step, const SegmentRequest& request, double* out, const double* a, const double* b,
            double value) const override {
    for (Count n = 0; n < request.segments.count * request.columns; ++n)
      apply(step, out[n], a ? a[n] : 0, b ? b[n] : 0, value);
  }

  bool all_normal(const Temporary& numbers, Count count) const override {
    return std::all_of(numbers.data, numbers.data + count, [](double x) { return std::isnormal(x); });
  }

  void copy(const Temporary& from, Count count, const Output& to) const override {
    std::copy(from.data, from.data + count, to.data);
  }

  // Computes, for each value, the product of all other values of its segment as the product of the earlier values times
  // the product of the later values, without a division.
  void other_products(const SegmentGradient& request) const override {
    const Segments& segments = request.segments;
    for (Count column = 0; column < request.columns; ++column) {
      double* const out = request.out.data + column * request.out.entry;
      std::fill_n(out, request.in_place ? segments.values : segments.covered, 0.0);
      const auto place = [&](Count s, Count m) {
        return request.in_place ? segments.source(s, m) : m - segments.first;
      };
      const auto x = [&](Count s, Count m) { return value_at(request.x, column, segments.source(s, m)); };
      for (Count s = 0; s < segments.segments(); ++s) {
        const Count first = segments.offsets()[size_t(s)], end = segments.offsets()[size_t(s) + 1];
        const double incoming = value_at(request.incoming, column, segments.row(s));
        double before = 1, after = incoming;
        for (Count m = first; m < end; before *= x(s, m++)) out[place(s, m)] = before;
        for (Count m = end; m-- > first; after *= x(s, m)) out[place(s, m)] *= after;
      }
    }
  }

 private:
  // Applies `step` to one number of the result; a and b are the numbers of two other arrays at the same position. If
  // the mean a is infinite, a - a makes the variance NaN; the sum of squares alone may be a number, because it may skip
  // NaN.
  static void apply(ResultStep step, double& out, double a, double b, double value) {
    switch (step) {
      case ResultStep::mean: out = a / b; break;
      case ResultStep::variance: {
        const double squares = out + (a - a);
        out = b > 1 ? squares / (b - 1) : b <= 1 ? missing() : b;
        break;
      }
      case ResultStep::root: out = out == out ? std::sqrt(out) : out; break;
      case ResultStep::fill_where_none: out = a == 0 ? value : out;
    }
  }

  // Returns true if no weight is 0 or missing. In this case, each term is the product of a value and its weight.
  static bool plain(const SegmentRequest& request) {
    for (Count n = 0; n < request.segments.values; ++n) {
      const double w = value_at(request.weights, 0, n);
      if (w == 0 || w != w) return false;
    }
    return request.weights.column == 0;
  }

  void reduce_terms(SegmentRequest request) const {
    request.segments.find();
    const FillTerms fill = filler_of(request.term);
    const bool laid_out = in_several(request.segments);
    Segments side_by_side;
    const Count rows = laid_out ? request.segments.covered : request.segments.values;
    if (laid_out) side_by_side.set_lengths(lengths_of(request.segments), 0, {}), side_by_side.values = rows;
    Numbers terms(size_t(rows * request.columns));
    for (Count column = 0; column < request.columns; ++column) fill(request, column, terms.data() + column * rows);
    SegmentRequest plain = laid_out ? with_segments(request, side_by_side) : request;
    plain.x = {SegmentValues::doubles, false, terms.data(), 1, rows};
    plain.weights = {}, plain.term = SegmentTerm::Itself, plain.given.clear();
    run_engine(plain);
  }

  static SegmentRequest with_segments(const SegmentRequest& request, Segments& segments) {
    SegmentRequest other{segments};
    other.op = request.op, other.empty = request.empty, other.skip_missing = request.skip_missing;
    other.columns = request.columns, other.out = request.out, other.settings = request.settings;
    return other;
  }
};

}  // namespace

const SegmentPasses& segment_passes() {
  static const HostPasses passes;
  return passes;
}

// Reduces segments on the CPU. Returns true if it is certain that no result became NaN because of a NaN among the
// values.
bool reduce_on_host(SegmentRequest request) {
  bool no_nan = false;
  request.no_nan = &no_nan;
  reduce_segments(segment_passes(), request);
  return no_nan;
}

void segments(const SegmentRequest& request) {
  request.segments.come_to_host();
  if (request.by_value()) request.segments.find();
  if (request.scan != SegmentScan::none)
    scan_segments(request);
  else if (request.softmax)
    run_engine(request);
  else if (reduce_on_host(request))
    return;
  mark_missing_on_host(request);
}

void segment_gradient(const SegmentGradient& request) {
  request.segments.come_to_host();
  gradient_of_segments(segment_passes(), request);
}

}  // namespace cpu
}  // namespace kernops
