// seg_grad() on the GPU, seen from R.
#include "cuda_segments.h"
#include "seg_reduce_gpu.h"
#include "segment_values.h"

using namespace kernops;

// `eta` has a number for each value (softmax) or segment, and each column. The gradient of each value, in the order of
// the segments where these are not `in_place`; as a gpu_matrix.
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
    cuda::seg_gradient(work, op, by_value ? nullptr : incoming.doubles(), in_place);
    return hand_over(std::move(out), true);
  });
}
