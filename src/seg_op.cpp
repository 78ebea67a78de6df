// seg_op() seen from R, and the operations that have names.
#include "border.h"
#include "segments/segments.h"
#include "watch.h"

using namespace kernops;

// [[Rcpp::export]]
SEXP seg_compile(std::string formula) {
  return guard([&]() -> SEXP {
    const Granted granted = granted_by_r();
    try {
      return external_pointer(std::make_unique<SegmentFormula>(segment_formula(formula)));
    } catch (FormulaError& error) {
      if (error.text.empty()) error.text = formula;
      throw;
    }
  });
}

// [[Rcpp::export]]
Rcpp::DataFrame seg_ops_table() {
  Rcpp::CharacterVector name, meaning, kind;
  const char* kinds[] = {"number", "same", "position", "truth"};
  for (const SegmentOp& op : segment_ops())
    name.push_back(op.name), meaning.push_back(op.meaning), kind.push_back(kinds[op.kind]);
  return Rcpp::DataFrame::create(Rcpp::_["name"] = name, Rcpp::_["meaning"] = meaning, Rcpp::_["kind"] = kind,
                                 Rcpp::_["stringsAsFactors"] = false);
}
