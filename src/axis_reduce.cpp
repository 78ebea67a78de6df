// axis_reduce() and softmax() seen from R.
#include <chrono>

#include "axis.h"
#include "border.h"

using namespace kernops;

namespace {

void check_interrupt(void*) { R_CheckUserInterrupt(); }

// Asked often, looks at R ten times a second; R_ToplevelExec keeps R's jump from passing through C++.
bool no_interrupt(double) {
  using Clock = std::chrono::steady_clock;
  static Clock::time_point last;
  if (Clock::now() - last < std::chrono::milliseconds(100)) return true;
  last = Clock::now();
  return R_ToplevelExec(check_interrupt, nullptr) != FALSE;
}

// `runs` has columns size, stride, number and whether it is reduced.
SliceJob slice_job(const Rcpp::NumericMatrix& runs) {
  SliceJob job{};
  job.results = job.slice = 1;
  for (int n = 0; n < runs.nrow(); ++n) {
    Runs& side = runs(n, 3) ? job.reduced : job.kept;
    if (side.count == Runs::most) throw InputError("dim", "an array of so many dimensions cannot be reduced");
    side.run[side.count++] = {Count(runs(n, 0)), Count(runs(n, 1)), Count(runs(n, 2))};
    (runs(n, 3) ? job.slice : job.results) *= Count(runs(n, 0));
  }
  return job;
}

int row_of(const std::string& op) {
  for (size_t row = 0; row < statistics().size(); ++row)
    if (statistics()[row].name == op) return int(row);
  return -1;
}

}  // namespace

// [[Rcpp::export]]
Rcpp::DataFrame axis_statistics() {
  Rcpp::CharacterVector name, kind;
  for (const Statistic& row : statistics()) name.push_back(row.name), kind.push_back(row.kind);
  return Rcpp::DataFrame::create(Rcpp::_["name"] = name, Rcpp::_["kind"] = kind, Rcpp::_["stringsAsFactors"] = false);
}

// x holds doubles, integers or logicals. Results are doubles, those of one slice side by side.
// [[Rcpp::export]]
Rcpp::NumericVector axis_run(SEXP x, Rcpp::NumericMatrix runs, std::string op, bool skip, double alpha, int threads,
                             std::string isa) {
  return guard([&] {
    SliceJob job = slice_job(runs);
    if (TYPEOF(x) == REALSXP) job.doubles = REAL(x);
    else job.integers = TYPEOF(x) == INTSXP ? INTEGER(x) : LOGICAL(x);
    job.skip = skip, job.alpha = alpha, job.op = row_of(op);
    Settings settings;
    settings.threads = threads, settings.isa = isa, settings.keep_going = no_interrupt;
    const bool softmax = op == "softmax";
    const Count outputs = softmax ? job.slice : statistics().at(job.op).outputs;
    Rcpp::NumericVector out = Rcpp::no_init(R_xlen_t(job.results * outputs));
    job.out = out.begin();
    softmax ? cpu::axis_softmax(job, settings) : cpu::axis_reduce(job, settings);
    return out;
  });
}

// [[Rcpp::export]]
SEXP axis_run_cuda(SEXP x, Rcpp::NumericMatrix runs, std::string op, bool skip, double alpha, bool stay, double rows) {
  return R_NilValue;
}
