// The R interface of seg_op() and of the table of named operations.
#include "border.h"
#include "segments/segments.h"
#include "watch.h"

using namespace kernops;

// [[Rcpp::export(rng = false)]]
SEXP seg_compile(std::string formula) {
  return guard_new([&]() -> SEXP {
    return external_pointer(
        std::make_unique<SegmentFormula>(compile_formula(formula, [&] { return segment_formula(formula); })));
  });
}

// The rows of segments.def, as a data frame.
// [[Rcpp::export(rng = false)]]
Rcpp::DataFrame seg_ops_table() {
  Rcpp::CharacterVector name, meaning, kind;
  Rcpp::IntegerVector least;
  Rcpp::LogicalVector weights, gradient;
  const char* kinds[] = {"number", "same", "position", "truth"};
  for (const Statistic& row : statistics()) {
    name.push_back(row.name), meaning.push_back(row.meaning), kind.push_back(kinds[row.kind]);
    least.push_back(row.least), weights.push_back(row.weights != SegmentTerm::none);
    gradient.push_back(row.gradient != SegmentMap::none);
  }
  return Rcpp::DataFrame::create(Rcpp::_["name"] = name, Rcpp::_["meaning"] = meaning, Rcpp::_["kind"] = kind,
                                 Rcpp::_["least"] = least, Rcpp::_["weights"] = weights, Rcpp::_["gradient"] = gradient,
                                 Rcpp::_["stringsAsFactors"] = false);
}
