// The R interface of keops_ops() and keops_reductions().
#include "border.h"
#include "formula/op_table.h"

using namespace kernops;

// [[Rcpp::export(rng = false)]]
Rcpp::DataFrame ops_table() {
  Rcpp::CharacterVector name, group, arguments, size, meaning, gradient;
  for (const OpRow& row : op_table()) {
    name.push_back(row.name), group.push_back(row.group), arguments.push_back(row.arguments);
    size.push_back(row.composite ? "of " + row.formula : row.size);
    meaning.push_back(row.meaning);
    gradient.push_back(row.composite || row.leaf ? "" : row.gradient);
  }
  return Rcpp::DataFrame::create(Rcpp::_["name"] = name, Rcpp::_["group"] = group, Rcpp::_["arguments"] = arguments,
                                 Rcpp::_["size"] = size, Rcpp::_["meaning"] = meaning, Rcpp::_["gradient"] = gradient,
                                 Rcpp::_["stringsAsFactors"] = false);
}

// [[Rcpp::export(rng = false)]]
Rcpp::DataFrame reductions_table() {
  Rcpp::CharacterVector name, arguments, size, meaning, gradient;
  for (const ReductionRow& row : reduction_table()) {
    if (row.stores()) continue;
    name.push_back(row.name), arguments.push_back(row.arguments), size.push_back(row.size);
    meaning.push_back(row.meaning), gradient.push_back(row.gradient);
  }
  return Rcpp::DataFrame::create(Rcpp::_["name"] = name, Rcpp::_["arguments"] = arguments, Rcpp::_["size"] = size,
                                 Rcpp::_["meaning"] = meaning, Rcpp::_["gradient"] = gradient,
                                 Rcpp::_["stringsAsFactors"] = false);
}
