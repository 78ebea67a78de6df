// spmv() seen from R: a row of the product is a sum of entries, each with an entry of v as its weight.
#include "border.h"
#include "segments/segments.h"
#include "watch.h"

using namespace kernops;

// Sums of products alone. `column` is that of each entry, from 1; v has so many columns.
// [[Rcpp::export]]
Rcpp::NumericVector spmv_run(Rcpp::XPtr<kernops::Segments> rows, SEXP entries, Rcpp::IntegerVector column, SEXP v,
                             double columns, int threads, std::string isa) {
  return guard([&] {
    SegmentRequest request{*rows};
    request.x.data = REAL(in_memory(entries));
    request.weights.data = REAL(in_memory(v)), request.columns = Count(columns);
    request.weight_of = column.begin();
    request.weights.column = columns > 0 ? Count(double(Rf_xlength(v)) / columns) : 0;
    request.settings.threads = threads, request.settings.isa = isa, request.settings.keep_going = watch(R_NilValue);
    Rcpp::NumericVector out = new_numbers(double(rows->count) * columns);
    request.out = {out.begin(), rows->count, 1};
    cpu::seg_reduce(request);
    return out;
  });
}
