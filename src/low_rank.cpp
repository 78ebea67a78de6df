// The pivoted Cholesky decomposition for R/solve_low_rank.R, on the GPU.
#include <kernops/jobs/matrix.h>

#include <algorithm>
#include <memory>

#include "kernel_call.h"
#include "watch.h"

using namespace kernops;
using cuda::Matrix;

namespace {

constexpr int threads = 256;
constexpr Count most_parts = 1024;

void run(const char* name, Count grid, const PivotJob& job) {
  static const std::string text =
      "#include <kernops/cuda/dense/pivoted.cuh>\nKERNOPS_PIVOTED(" + std::to_string(threads) + ")\n";
  cuda::launch(cuda::function(text, name), unsigned(grid), 1, threads, &job);
}

}  // namespace

// The first `rank` columns of the pivoted Cholesky decomposition of an n x n matrix K, the rows of the pivots, from 1,
// and the trace of the remainder of K before each column and after the last one. `kernel` computes K times a vector.
// `input` has, for each variable of the summed axis, an n x size gpu_matrix of doubles; the vector that K multiplies is
// n ones. For a column of the decomposition, the summed axis has a single point: the pivot's row of these matrices.
// long: one loop over pivots, which reuses its buffers
// [[Rcpp::export(rng = false)]]
Rcpp::List gpu_pivoted_cholesky(Rcpp::XPtr<kernops::Kernel> kernel, Rcpp::List input, SEXP diagonal, int rank) {
  return guard([&] {
    const Call call(*kernel, input, R_NilValue, false);
    const Matrix& start = gpu_matrix(diagonal);
    const Program& program = kernel->program;
    const unsigned summed = both & ~program.graph.reductions[program.result].axes();
    const Count n = start.rows;
    auto columns = std::make_unique<Matrix>(n, rank, false, start.device);
    const Matrix remainder(start, start.device);
    PivotJob job{};
    job.n = n, job.columns = columns->doubles(), job.left = remainder.doubles();
    job.parts = int(std::min(ceil_div(n, threads), most_parts));
    const cuda::Buffer partials(size_t(job.parts) * sizeof(Pivot)), pivots(size_t(rank + 1) * sizeof(Pivot));
    job.partials = static_cast<Pivot*>(partials.address()), job.pivots = static_cast<Pivot*>(pivots.address());

    Data data = call.data;
    (summed == axis_i ? data.m : data.n) = 1;
    std::vector<std::unique_ptr<cuda::Buffer>> points;
    for (size_t v = 0; v < program.variables.size(); ++v) {
      const Variable& variable = program.variables[v];
      if (variable.axes != summed) continue;
      if (job.points == PivotJob::most_points || rank > PivotJob::most_columns)
        throw InputError("input", "too many variables or columns for a decomposition on the GPU");
      points.push_back(std::make_unique<cuda::Buffer>(size_t(variable.size) * sizeof(double)));
      job.from[job.points] = static_cast<const double*>(data.variables[v].data);
      job.to[job.points] = static_cast<double*>(points.back()->address());
      job.sizes[job.points++] = variable.size;
      data.variables[v] = {points.back()->address(), 1, variable.size, MemorySpace::device_double, start.device};
    }
    Settings settings;
    settings.backend = backend_named("cuda"), settings.devices = {start.device},
    settings.keep_going = watch(R_NilValue);
    for (;; ++job.step) {
      run("kernops_take_out_column", job.parts, job);
      run("kernops_choose_pivot", 1, job);
      if (job.step == rank) break;
      execute(*kernel, data, settings, {job.columns + job.step * n, n, 1, MemorySpace::device_double, start.device});
      if (!settings.keep_going(0)) throw Interrupted();
    }
    std::vector<Pivot> host_pivots(size_t(rank + 1));
    cuda::copy_out(host_pivots.data(), pivots.pointer(), host_pivots.size() * sizeof(Pivot));
    Rcpp::NumericVector totals = new_numbers(rank + 1), rows = new_numbers(rank);
    for (int k = 0; k <= rank; ++k) totals[k] = host_pivots[size_t(k)].total;
    for (int k = 0; k < rank; ++k) rows[k] = double(host_pivots[size_t(k)].row + 1);
    const Rcpp::Shield<SEXP> made(wrap_gpu_matrix(std::move(columns)));
    return named_list({{"columns", made}, {"left", totals}, {"pivots", rows}});
  });
}
