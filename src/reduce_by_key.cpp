// The R interface of reduce_by_key(): finds the runs of equal adjacent keys.
#include <cstdint>

#include "cuda/segments/segments.h"
#include "gpu_matrix.h"

using namespace kernops;

// The first position of each run of equal adjacent keys, from 0; NA equals NA. Keys of class integer64 are compared bit
// by bit.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector seg_runs(SEXP keys) {
  return guard_new([&] {
    in_memory(keys);
    std::vector<double> starts;
    const R_xlen_t n = Rf_xlength(keys);
    const auto find = [&](const auto* key, const auto& same) {
      for (R_xlen_t k = 0; k < n; ++k)
        if (k == 0 || !same(key[k], key[k - 1])) starts.push_back(double(k));
    };
    const auto equal = [](auto a, auto b) { return a == b; };
    switch (TYPEOF(keys)) {
      case REALSXP:
        if (Rf_inherits(keys, "integer64"))
          find(reinterpret_cast<const std::int64_t*>(REAL(keys)), equal);
        else
          find(REAL(keys), [](double a, double b) { return a == b || (a != a && b != b && R_IsNA(a) == R_IsNA(b)); });
        break;
      case STRSXP: find(STRING_PTR_RO(keys), equal); break;  // equal strings have equal addresses
      default: find(INTEGER(keys), equal);
    }
    return numbers_of(starts);
  });
}

namespace {

// Runs of equal keys in a gpu_matrix. The object keeps the matrix alive, because later calls read the keys again.
struct RunsOfMatrix : cuda::KeyRuns {
  RunsOfMatrix(SEXP keys, const cuda::Matrix& matrix)
      : KeyRuns(matrix.memory.address(), matrix.single(), matrix.rows), from(keys) {}
  Rcpp::RObject from;
};

}  // namespace

// Creates the plan of the runs of equal keys on the GPU. The runs are found when they are first requested.
// [[Rcpp::export(rng = false)]]
Rcpp::List seg_from_keys(SEXP keys) {
  return guard_new([&] {
    auto runs = std::make_unique<RunsOfMatrix>(keys, gpu_matrix(keys));
    const Rcpp::NumericVector values = numbers_of(std::vector<double>{double(runs->values)});
    const Rcpp::List about = named_list({{"values", values}});
    const Rcpp::Shield<SEXP> pointer(external_pointer<Segments>(std::move(runs)));
    return named_list({{"pointer", pointer}, {"about", about}});
  });
}

namespace {

cuda::KeyRuns& runs_of(SEXP segments) {
  auto& runs = dynamic_cast<cuda::KeyRuns&>(*Rcpp::XPtr<Segments>(segments));
  read_memory_limit();
  runs.find();
  return runs;
}

}  // namespace

// The number of runs of equal keys.
// [[Rcpp::export(rng = false)]]
double seg_count_runs(SEXP segments) {
  return guard_new([&] { return double(runs_of(segments).count); });
}

// The first key and the length of each run, on the GPU.
// [[Rcpp::export(rng = false)]]
Rcpp::List seg_describe_runs(SEXP segments) {
  return guard_new([&] {
    const cuda::KeyRuns& runs = runs_of(segments);
    auto firsts = std::make_unique<cuda::Matrix>(runs.count, 1, runs.single, runs.device),
         lengths = std::make_unique<cuda::Matrix>(runs.count, 1, false, runs.device);
    runs.describe(firsts->memory.address(), lengths->doubles());
    const Rcpp::Shield<SEXP> keys(wrap_gpu_matrix(std::move(firsts))), counts(wrap_gpu_matrix(std::move(lengths)));
    return named_list({{"keys", keys}, {"lengths", counts}});
  });
}
