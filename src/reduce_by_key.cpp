// reduce_by_key() seen from R: where runs of equal keys begin.
#include "cuda_segments.h"
#include "gpu_matrix.h"

using namespace kernops;

// Where runs of equal adjacent keys begin, from 0; NA is equal to NA.
// [[Rcpp::export]]
Rcpp::NumericVector seg_runs(SEXP keys) {
  std::vector<double> starts;
  const R_xlen_t n = Rf_xlength(keys);
  const auto find = [&](const auto* key, const auto& same) {
    for (R_xlen_t k = 0; k < n; ++k)
      if (k == 0 || !same(key[k], key[k - 1])) starts.push_back(double(k));
  };
  const auto equal = [](auto a, auto b) { return a == b; };
  switch (TYPEOF(keys)) {
    case REALSXP:
      find(REAL(keys),
           [](double a, double b) { return a == b || (a != a && b != b && R_IsNA(a) == R_IsNA(b)); });
      break;
    case STRSXP: find(STRING_PTR_RO(keys), equal); break;  // R keeps each string once
    default: find(INTEGER(keys), equal);
  }
  return Rcpp::wrap(starts);
}

// The same for keys on the GPU, with the end and the key of each run.
// [[Rcpp::export]]
Rcpp::List seg_runs_gpu(SEXP keys) {
  return guard([&] {
    const cuda::Matrix& matrix = gpu_matrix(keys);
    const cuda::KeyRuns runs = cuda::key_runs(matrix.memory.address(), matrix.single, matrix.rows);
    return Rcpp::List::create(Rcpp::_["offsets"] = std::vector<double>(runs.offsets.begin(), runs.offsets.end()),
                              Rcpp::_["keys"] = runs.keys);
  });
}
