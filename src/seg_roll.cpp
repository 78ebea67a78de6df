// seg_roll() seen from R.
#include "roll/roll.h"
#include "segment_values.h"
#include "settings.h"

using namespace kernops;

namespace {

// `list` has left and right, or before and after for each position of the segments, and partial.
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

}  // namespace

// Windows by the ordered numbers `by`, as a list of before and after; align is 0 (right), 1 (centre) or 2 (left).
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

// [[Rcpp::export(rng = false)]]
bool seg_windows_advance(Rcpp::XPtr<kernops::Segments> segments, Rcpp::List windows) {
  return guard([&] { return windows_advance(*segments, read_windows(windows)); });
}

// `how` has op (a name), probs, type and na.rm. Results are like those of seg_run() for a scan.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector seg_roll_run(Rcpp::XPtr<kernops::Segments> segments, SEXP x, Rcpp::List windows, Rcpp::List how,
                                 Rcpp::List settings) {
  return guard_new([&] {
    RollRequest request{*segments};
    request.columns = columns_of(x), request.x = read_values(x, segments->values, request.columns);
    request.windows = read_windows(windows);
    request.op = std::max(0, statistic_row(Rcpp::as<std::string>(how["op"])));
    request.probs = Rcpp::as<std::vector<double>>(how["probs"]), request.type = how["type"];
    request.skip_missing = how["na.rm"], request.settings = read_settings(settings);
    const double size = double(segments->values) * double(request.columns) * double(request.outputs());
    const Rcpp::NumericVector result = new_numbers(size);
    request.out = const_cast<double*>(result.begin());
    if (segments->covered < segments->values) std::fill(request.out, request.out + result.size(), NA_REAL);
    roll_segments(request);
    return result;
  });
}
