// seg_grad() seen from R: on the GPU, and the products that its CPU part needs.
#include "cuda/segments/segments.h"
#include "seg_reduce_gpu.h"
#include "segment_values.h"

using namespace kernops;

// For each value the product of the others of its segment: those before it times those after it, so that nothing is
// divided by a value. Segments stand one after another.
// [[Rcpp::export]]
Rcpp::NumericVector seg_other_products(Rcpp::NumericVector x, Rcpp::NumericVector lengths) {
  return guard([&] {
    Rcpp::NumericVector others = new_numbers(double(x.size()));
    R_xlen_t first = 0;
    for (const double length : lengths) {
      const R_xlen_t end = first + R_xlen_t(length);
      double before = 1, after = 1;
      for (R_xlen_t n = first; n < end; before *= x[n++]) others[n] = before;
      for (R_xlen_t n = end; n-- > first; after *= x[n]) others[n] *= after;
      first = end;
    }
    return others;
  });
}

// `eta` has a number for each value (softmax) or segment, and each column. The gradient of each value, in the order of
// the segments where these are not `in_place`; as a gpu_matrix. NULL where a product is too large or small for it.
// [[Rcpp::export]]
SEXP seg_gradient_gpu(Rcpp::XPtr<kernops::Segments> segments, SEXP x, SEXP eta, double columns, std::string op,
                      bool in_place, double tile) {
  return guard([&]() -> SEXP {
    const cuda::Matrix &values = gpu_matrix(x), &incoming = gpu_matrix(eta);
    const bool by_value = op == "softmax";
    cuda::SegmentWork work{request_of(*segments, x, columns, values.device, tile)};
    if (by_value) work.weights = read_values(eta, segments->values, work.columns);
    auto out = like(&values, in_place ? segments->values : segments->covered, work.columns);
    work.out = target_of(*out);
    if (!cuda::seg_gradient(work, op, by_value ? nullptr : incoming.doubles(), in_place)) return R_NilValue;
    return hand_over(std::move(out), true);
  });
}
