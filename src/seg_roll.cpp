// The R interface of seg_roll().
#include <cmath>

#include "result.h"
#include "roll/roll.h"
#include "segment_values.h"
#include "settings.h"

using namespace kernops;

namespace {

// `list` has the numbers left and right, or the vectors before and after with one element per position of the segments.
// `list` also has the element partial.
Windows read_windows(const Rcpp::List& list) {
  Windows windows;
  windows.partial = list["partial"];
  if (list.containsElementNamed("before")) {
    windows.before = INTEGER(list["before"]), windows.after = INTEGER(list["after"]);
  } else {
    windows.left = Count(Rcpp::as<double>(list["left"])), windows.right = Count(Rcpp::as<double>(list["right"]));
  }
  return windows;
}

// Returns whether all widths are positive whole numbers within the range of R's integers.
template <class T> bool are_widths(const T* widths, Count n) {
  int wrong = 0;
  for (Count k = 0; k < n; ++k) {
    const double width = double(widths[k]);
    wrong |= int(!(width >= 1 && width < 2147483648.0)) | int(width != std::floor(width));
  }
  return !wrong;
}

// Sets the window of each position, segment by segment, from the width of its row. `align` has the meaning that it has
// in seg_windows_by().
template <class T> void set_windows(const Segments& segments, const T* widths, int align, int* before, int* after) {
  const auto set = [&](Count k, Count row) {
    const int around = int(widths[row]) - 1, left = align == 0 ? around : align == 1 ? around / 2 : 0;
    before[k] = left, after[k] = around - left;
  };
  const bool in_place = !segments.groups && segments.sources.empty();
  for (Count k = 0; in_place && k < segments.covered; ++k) set(k, segments.first + k);
  for (Count s = 0; !in_place && s < segments.segments(); ++s)
    for (Count m = segments.offsets()[size_t(s)]; m < segments.offsets()[size_t(s) + 1]; ++m)
      set(m - segments.first, segments.source(s, m));
}

}  // namespace

// Converts one width per row to a list with the vectors before and after; returns NULL if a width is not a positive
// whole number.
// [[Rcpp::export(rng = false)]]
SEXP seg_windows_by_row(Rcpp::XPtr<kernops::Segments> segments, SEXP widths, int align) {
  return guard_new([&]() -> SEXP {
    in_memory(widths);
    const bool whole = TYPEOF(widths) == INTSXP;
    const Count n = Rf_xlength(widths);
    if (whole ? !are_widths(INTEGER(widths), n) : !are_widths(REAL(widths), n)) return R_NilValue;
    segments->find();
    const double covered = double(segments->covered);
    Rcpp::IntegerVector before = new_integers(covered), after = new_integers(covered);
    whole ? set_windows(*segments, INTEGER(widths), align, before.begin(), after.begin())
          : set_windows(*segments, REAL(widths), align, before.begin(), after.begin());
    return named_list({{"before", before}, {"after", after}});
  });
}

// Computes windows of the ordered numbers `by`, such as times, as a list with the vectors before and after. `align` is
// 0 (right), 1 (centre) or 2 (left).
// [[Rcpp::export(rng = false)]]
Rcpp::List seg_windows_by(Rcpp::XPtr<kernops::Segments> segments, Rcpp::NumericVector by, Rcpp::NumericVector widths,
                          int align) {
  return guard_new([&] {
    const double covered = double(segments->covered);
    Rcpp::IntegerVector before = new_integers(covered), after = new_integers(covered);
    const Count wrong =
        windows_by(*segments, by.begin(), Rcpp::as<std::vector<double>>(widths), align, before.begin(), after.begin());
    if (wrong >= 0)
      throw InputError("input", "`by` must neither decrease nor be missing within a segment; see row " +
                                    std::to_string(wrong + 1) + ".");
    return named_list({{"before", before}, {"after", after}});
  });
}

// `how` has the elements op (a list with a name, a formula and the result of an empty window, made by
// segment_operation() of R), probs, type and na.rm. Results have the layout of a scan by seg_run(). Returns NULL if the
// backend does not support the operation.
// [[Rcpp::export(rng = false)]]
SEXP seg_roll_run(Rcpp::XPtr<kernops::Segments> segments, SEXP x, Rcpp::List windows, Rcpp::List how,
                  Rcpp::List settings) {
  return guard_new([&]() -> SEXP {
    Settings wanted = read_settings(settings);
    if (is_gpu_matrix(x)) wanted.devices = {gpu_matrix(x).device};
    RollRequest request{segments->on(wanted.devices[0])};
    request.columns = columns_of(x), request.x = read_values(x, segments->values, request.columns);
    request.windows = read_windows(windows), request.skip_missing = how["na.rm"];
    SegmentRequest operation{request.segments};
    read_operation(how, operation);
    request.op = operation.op, request.formula = operation.formula, request.empty = operation.empty;
    request.probs = Rcpp::as<std::vector<double>>(how["probs"]), request.type = how["type"];
    const bool stay = wanted.stay, single = stay && request.x.type == SegmentValues::floats;
    request.settings = std::move(wanted);
    const Backend& chosen = choose_backend(request.settings.backend, {space_of(request.x)}, 0);
    check_stays(stay, chosen);
    Result result(stay, request.settings.devices[0], segments->values, request.columns * request.outputs(), single,
                  settings["into"]);
    request.out = result.output();
    if (!stay && segments->covered < segments->values) result.fill(NA_REAL);
    return chosen.roll(request) ? result.give(stay) : R_NilValue;
  });
}
