#include <kernops/jobs/matrix.h>

#include <algorithm>
#include <stdexcept>

#include "cuda/dense/dense.h"
#include "cuda/dense/triangles.h"

namespace kernops {
namespace cuda {
namespace {

constexpr int threads = 256, most_parts = 512;
constexpr int inner_tile = 4, most_inner_parts = 256;

unsigned blocks_for(Count n, Count most) { return unsigned(std::max<Count>(1, std::min(n, most))); }

void run(const char* name, unsigned grid_x, Count columns, VectorJob& job) {
  static const std::string text = "#include <kernops/cuda/dense/solve.cuh>\nKERNOPS_SOLVE(" + std::to_string(threads) +
                                  ", " + std::to_string(inner_tile) + ")\n";
  launch(function(text, name), grid_x, blocks_for(columns, 65535), threads, &job);
}

VectorJob job_for(const Block& x, const Block& y) {
  VectorJob job{};
  job.x = x.at, job.y = y.at;
  job.rows = x.rows, job.columns = int(x.columns);
  return job;
}

// Returns true if cuBLAS is installed and a product of this size is large enough to justify opening the library.
bool worth_blas(Count rows, Count columns) { return rows * columns >= 4096 && has_solver(); }

// A copy of a matrix on the host, for factorisations on the CPU if cuSOLVER is not installed.
struct OnHost {
  explicit OnHost(const Block& x) : there(x), numbers(size_t(x.length())) {
    copy_out(numbers.data(), address(x.at), numbers.size() * sizeof(double));
  }
  void give_back() const { copy_in(address(there.at), numbers.data(), numbers.size() * sizeof(double)); }
  Block block() { return {numbers.data(), there.rows, there.columns}; }
  const Block there;
  std::vector<double> numbers;
};

}  // namespace

void DeviceVectors::axpby(const Numbers& a, const Block& x, const Numbers& b, const Block& y) const {
  VectorJob job = job_for(x, y);
  Numbers factors = a;
  factors.insert(factors.end(), b.begin(), b.end());
  const Buffer there(factors.size() * sizeof(double));
  copy_in(there.pointer(), factors.data(), factors.size() * sizeof(double));
  job.a = static_cast<const double*>(there.address()), job.b = job.a + job.columns;
  if (job.rows > 0) run("kernops_axpby", unsigned(ceil_div(job.rows, threads)), job.columns, job);
}

void DeviceVectors::add_rows(const Block& d, const Block& x, const Block& y) const {
  VectorJob job = job_for(x, y);
  job.a = d.at;
  if (job.rows > 0) run("kernops_add_rows", unsigned(ceil_div(job.rows, threads)), job.columns, job);
}

void DeviceVectors::dots(const Block& x, const Block& y, double* to) const {
  VectorJob job = job_for(x, y);
  job.parts = int(blocks_for(ceil_div(job.rows, 8 * threads), most_parts));
  const Buffer memory(size_t(job.columns) * (job.parts + 1) * sizeof(double));
  job.sums = static_cast<double*>(memory.address()), job.partials = job.sums + job.columns;
  run("kernops_dot_parts", unsigned(job.parts), job.columns, job);
  run("kernops_dot_sums", blocks_for(job.columns, 65535), 1, job);
  copy_out(to, memory.pointer(), size_t(job.columns) * sizeof(double));
}

void DeviceVectors::put(const Block& x, const int* columns, const Block& y) const {
  const size_t bytes = size_t(x.rows) * sizeof(double);
  for (Count n = 0; n < y.columns && bytes > 0; ++n)
    driver().check(
        driver().cuMemcpyDtoD_v2(address(x.at + Count(columns[n] - 1) * x.rows), address(y.at + n * y.rows), bytes),
        "copying on the GPU");
}

void DeviceVectors::inner(const Block& x, const Block& y, double* to, const Settings&) const {
  const Count count = x.columns * y.columns;
  if (count == 0) return;
  if (worth_blas(x.columns, y.columns)) {
    const Buffer there(size_t(count) * sizeof(double));
    product(true, x.columns, y.columns, x.rows, x.at, y.at, 0, static_cast<double*>(there.address()));
    return copy_out(to, there.pointer(), size_t(count) * sizeof(double));
  }
  VectorJob job{};
  job.x = x.at, job.y = y.at;
  job.rows = x.rows, job.inner = int(x.columns), job.columns = int(y.columns);
  job.parts = int(blocks_for(ceil_div(job.rows, 8 * threads), most_inner_parts));
  const Buffer memory(size_t(count) * (job.parts + 1) * sizeof(double));
  job.sums = static_cast<double*>(memory.address()), job.partials = job.sums + count;
  const Count tiles = ceil_div(job.inner, inner_tile) * ceil_div(job.columns, inner_tile);
  run("kernops_inner_parts", unsigned(job.parts), tiles, job);
  job.columns = int(count);
  run("kernops_dot_sums", blocks_for(count, 65535), 1, job);
  copy_out(to, memory.pointer(), size_t(count) * sizeof(double));
}

void DeviceVectors::combine(const Block& x, const double* C, Count terms, const Block& out, const Settings&) const {
  if (out.length() == 0) return;
  const size_t bytes = size_t(terms * out.columns) * sizeof(double);
  const Buffer there(bytes);
  copy_in(there.pointer(), C, bytes);
  const double* const weights = static_cast<const double*>(there.address());
  if (worth_blas(terms, out.columns)) return product(false, x.rows, out.columns, terms, x.at, weights, 0, out.at);
  VectorJob job{};
  job.x = x.at, job.y = out.at, job.a = weights;
  job.rows = x.rows, job.inner = int(terms), job.columns = int(out.columns);
  run("kernops_combine", unsigned(ceil_div(job.rows, threads)), ceil_div(job.columns, inner_tile), job);
}

bool DeviceVectors::whiten(const Block& x, const Block& core, double more, const Settings& settings) const {
  if (!has_solver()) {
    OnHost columns(x), inner(core);
    const bool found = cpu_backend().dense().whiten(columns.block(), inner.block(), more, settings);
    columns.give_back();
    return found;
  }
  const Numbers added(size_t(core.rows), more);
  const Buffer there(added.size() * sizeof(double));
  copy_in(there.pointer(), added.data(), added.size() * sizeof(double));
  if (factor(core, {static_cast<double*>(there.address()), core.rows, 1, core.space, core.device}, settings) != 0)
    return false;
  solve_right({core.at, core.rows, core.rows}, x.at, x.rows);
  return true;
}

void DeviceVectors::orthogonal(const Block& q, int passes, double* R, const Settings& settings) const {
  if (!has_solver()) {
    OnHost columns(q);
    cpu_backend().dense().orthogonal(columns.block(), passes, R, settings);
    return columns.give_back();
  }
  const Count k = q.columns;
  const size_t bytes = size_t(k * k) * sizeof(double);
  Numbers unit(size_t(k * k), 0.0);
  for (Count n = 0; n < k; ++n) unit[size_t(n * (k + 1))] = 1;
  const Buffer below(bytes), inside(bytes);
  double* const b = static_cast<double*>(below.address());
  const Triangle l{static_cast<double*>(inside.address()), k, k};
  copy_in(below.pointer(), unit.data(), bytes);
  for (int pass = 0; pass < passes; ++pass) {
    product(true, k, k, q.rows, q.at, q.at, 0, l.at);
    product(true, k, k, k, b, b, 1, l.at);
    if (cuda::factor(l) != 0) throw std::invalid_argument("the columns of the preconditioner are not finite");
    solve_right(l, q.at, q.rows);
    solve_right(l, b, k);
  }
  copy_in(inside.pointer(), unit.data(), bytes);  // b becomes the inverse of R
  cuda::solve({b, k, k, true}, false, l.at, k);
  copy_out(R, inside.pointer(), bytes);
}

}  // namespace cuda
}  // namespace kernops
