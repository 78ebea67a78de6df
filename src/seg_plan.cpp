// The R interface of seg_plan() for offsets and lengths, and of queries of a plan.
#include "seg_plan.h"

#include <numeric>

#include "whole_numbers.h"

namespace kernops {

namespace {

Rcpp::List description(const Segments& segments) {
  Count least = segments.empties.empty() && segments.count > 0 ? segments.longest : 0;
  for (Count s = 0; s < segments.segments(); ++s)
    if (segments.empties.empty()) least = std::min(least, segments.length(s));
  return allocate(0, [&]() -> SEXP {
    return Rcpp::List::create(Rcpp::_["values"] = double(segments.values), Rcpp::_["segments"] = double(segments.count),
                              Rcpp::_["empty"] = double(segments.empties.size()), Rcpp::_["shortest"] = double(least),
                              Rcpp::_["longest"] = double(segments.longest), Rcpp::_["sorted"] = !segments.groups,
                              Rcpp::_["covered"] = double(segments.covered));
  });
}

}  // namespace

Rcpp::List held(std::unique_ptr<Segments> segments, const Rcpp::List& about) {
  const double bytes = segments->bytes();
  const Rcpp::Shield<SEXP> pointer(external_pointer(std::move(segments), bytes));
  return named_list({{"pointer", pointer}, {"about", about}});
}

Rcpp::List described(std::unique_ptr<Segments> segments) {
  const Rcpp::List about = description(*segments);
  return held(std::move(segments), about);
}

}  // namespace kernops

using namespace kernops;

namespace {

void check_sources(const std::vector<Count>& sources, const std::vector<Count>& lengths, Count values) {
  if (sources.size() != lengths.size())
    throw InputError("input", "`sources` must have one element for each of the " + std::to_string(lengths.size()) +
                                  " segments, not " + std::to_string(sources.size()) + ".");
  for (size_t s = 0; s < sources.size(); ++s)
    if (sources[s] + lengths[s] > values)
      throw InputError("input", "`sources` must stay within the " + std::to_string(values) + " values: segment " +
                                    std::to_string(s + 1) + " begins at " + std::to_string(sources[s]) +
                                    " (from 0) and has " + std::to_string(lengths[s]) + " values.");
}

Rcpp::List from_lengths(const std::vector<Count>& lengths, Count first, SEXP sources, Count values) {
  auto segments = std::make_unique<Segments>();
  segments->values = values;
  std::vector<Count> begins;
  if (!Rf_isNull(sources)) {
    begins = whole_numbers(sources, "sources");
    check_sources(begins, lengths, values);
  }
  segments->set_lengths(lengths, first, begins);
  return described(std::move(segments));
}

}  // namespace

// `values` is the number of rows of x; if it is negative, the other arguments determine it. `offsets` has the first
// position of each segment and optionally the end of the last segment. The last offset is an end if it equals the
// number of values or, with `sources`, if there is one more offset than sources.
// [[Rcpp::export(rng = false)]]
Rcpp::List seg_from_offsets(SEXP offsets, SEXP sources, double values) {
  return guard_new([&] {
    std::vector<Count> starts = whole_numbers(offsets, "offsets");
    const bool indirect = !Rf_isNull(sources);
    if (values < 0 && (indirect || starts.empty()))
      throw InputError("input", "`n`, the number of values, must also be given.");
    const Count n = values < 0 ? starts.back() : Count(values);
    for (size_t s = 1; s < starts.size(); ++s)
      if (starts[s] < starts[s - 1])
        refuse("offsets", "must not decrease", s,
               std::to_string(starts[s]) + ", after " + std::to_string(starts[s - 1]));
    for (size_t s = 0; s < starts.size() && !indirect; ++s)
      if (starts[s] > n)
        refuse("offsets", "must not go beyond the " + std::to_string(n) + " values", s, std::to_string(starts[s]));
    const bool ends =
        indirect ? starts.size() == size_t(Rf_xlength(sources)) + 1 : !starts.empty() && starts.back() == n;
    if (!ends) starts.push_back(n);
    if (starts.size() > 1 && starts.back() < starts[starts.size() - 2])
      refuse("offsets", "must not go beyond the " + std::to_string(n) + " values", starts.size() - 2,
             std::to_string(starts[starts.size() - 2]));
    std::vector<Count> lengths(starts.size() - 1);
    for (size_t s = 0; s < lengths.size(); ++s) lengths[s] = starts[s + 1] - starts[s];
    return from_lengths(lengths, indirect ? 0 : starts[0], sources, n);
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::List seg_from_lengths(SEXP lengths, SEXP sources, double values) {
  return guard_new([&] {
    const std::vector<Count> all = whole_numbers(lengths, "lengths");
    const double sum = std::accumulate(all.begin(), all.end(), 0.0);  // a double, because the sum may exceed a Count
    const bool indirect = !Rf_isNull(sources);
    if (indirect && values < 0) throw InputError("input", "`n`, the number of values, must also be given.");
    const Count n = values < 0 ? Count(std::min(sum, 9e15)) : Count(values);
    if (!indirect && sum != double(n)) {
      Count before = 0, s = 0;
      while (s < Count(all.size()) && before + all[s] <= n) before += all[s++];
      throw InputError("input",
                       "`lengths` must add up to the " + std::to_string(n) + " values, not to " + in_words(sum) +
                           (s < Count(all.size()) ? "; element " + std::to_string(s + 1) + " exceeds them." : "."));
    }
    return from_lengths(all, 0, sources, n);
  });
}

// Counts the values of each group, unless the counts are known, and returns the description of the segments.
// [[Rcpp::export(rng = false)]]
Rcpp::List seg_count_groups(Rcpp::XPtr<kernops::Segments> segments) {
  return guard_new([&] {
    segments->find();
    return description(*segments);
  });
}

// Frees the segments of an unused plan immediately; R would free these segments at the next garbage collection.
// [[Rcpp::export(rng = false)]]
void seg_free(SEXP pointer) {
  guard([&] { free_object<Segments>(pointer); });
}

// The rows of x, from 1, in the order of the segments, and the number of values in each segment.
// [[Rcpp::export(rng = false)]]
Rcpp::List seg_values(Rcpp::XPtr<kernops::Segments> segments) {
  return guard_new([&] {
    const Segments& from = *segments;
    const std::vector<Count>& offsets = from.offsets();
    Rcpp::NumericVector row = zeros(double(from.covered)), lengths = zeros(double(from.count));
    for (Count s = 0; s < from.segments(); ++s) {
      const Count first = offsets[s], length = offsets[s + 1] - first;
      lengths[from.row(s)] = double(length);
      for (Count k = 0; k < length; ++k)
        row[first - from.first + k] = 1 + double(from.groups            ? Count(from.order()[first + k])
                                                 : from.sources.empty() ? first + k
                                                                        : from.sources[s] + k);
    }
    return named_list({{"row", row}, {"lengths", lengths}});
  });
}
