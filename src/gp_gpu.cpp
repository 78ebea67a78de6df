// Dense linear algebra of R/gp_exact_gpu.R: a covariance matrix is filled by the engine, factorised and used
// up on the GPU. `n` counts its rows; its columns are rounded up to whole blocks.
#include "cuda/solver.h"
#include "gpu_matrix.h"
#include "watch.h"

#include <kernops/jobs/matrix.h>

#include <algorithm>

using namespace kernops;
using cuda::Matrix;

namespace {

constexpr int threads = 256;
constexpr Count many = 512;  // columns that cuBLAS takes at a time

// Columns that the engine takes at a time: the size of the last variable of a formula, which is 1 for one of
// them.
Count width_of(const Kernel& kernel) { return kernel.program.variables.back().size; }

Count whole_blocks(Count columns, Count width) { return ceil_div(columns, width) * width; }

void run(const char* name, Count grid_x, Count grid_y, const TriangleJob& job) {
  static const std::string text = "#include <kernops/cuda/dense/triangle.cuh>\nKERNOPS_TRIANGLE(" +
                                  std::to_string(threads) + ", " + std::to_string(many) + ")\n";
  cuda::launch(cuda::function(text, name), unsigned(grid_x), unsigned(std::min<Count>(grid_y, 65535)), threads, &job);
}

Count blocks_of_threads(Count items) { return ceil_div(items, threads); }

cuda::Triangle triangle(const Matrix& k) { return {k.doubles(), k.rows, k.rows}; }

// Points from number `first` on, and blocks of vectors, as the engine reads them.
ArrayRef from_row(const Matrix& x, Count first) {
  return {x.doubles() + first, x.rows, 1, MemorySpace::device_double, x.device};
}

// The unit matrix of `width` columns.
struct UnitMatrix {
  explicit UnitMatrix(Count width) : width(width), memory(size_t(width * width) * sizeof(double)) {
    std::vector<double> values(size_t(width * width), 0.0);
    for (Count n = 0; n < width; ++n) values[size_t(n * (width + 1))] = 1;
    cuda::copy_in(memory.pointer(), values.data(), values.size() * sizeof(double));
  }
  ArrayRef column() const {
    return {memory.address(), width, 1, MemorySpace::device_double, cuda::current_device().number};
  }
  const Count width;
  const cuda::Buffer memory;
};

// A formula of the parameters theta and of points, in the order of its variables.
struct PointSums {
  PointSums(const Kernel& kernel, const Rcpp::NumericVector& theta, int device)
      : kernel(kernel), theta{theta.begin(), 1, 0} {
    settings.backend = backend_named("cuda"), settings.devices = {device}, settings.keep_going = watch(R_NilValue);
  }
  void operator()(const std::vector<ArrayRef>& points, Count m, Count n, double* out, Count entry) const {
    run(points, {{}, {}, m, n}, {out, entry, 1, MemorySpace::device_double, settings.devices[0]});
  }
  // Of a formula whose values are stored: a matrix, or of some pairs those.
  void store(const std::vector<ArrayRef>& points, Count m, Count n, const Matrix& out, const Blocks* pairs) const {
    run(points, {{}, {}, m, n, {pairs, nullptr}}, {out.doubles(), 0, out.rows, MemorySpace::device_double, out.device});
  }
  void run(std::vector<ArrayRef> points, Data data, const Output& out) const {
    points.insert(points.begin(), theta);
    data.variables = points;
    execute(kernel, data, settings, out);
    if (!settings.keep_going(0)) throw Interrupted();
  }
  const Kernel& kernel;
  const ArrayRef theta;
  Settings settings;
};

// Blocks of rows up to the diagonal.
Blocks lower_triangle(Count n) {
  constexpr Count rows = 512;
  Blocks blocks;
  for (Count i = 0; i < n; i += rows) {
    const Count number = Count(blocks.rows.size()), end = std::min(i + rows, n);
    blocks.rows.push_back({i, end, number, number + 1, end});
    blocks.lanes.push_back({0, end, 0});
  }
  return blocks;
}

}  // namespace

// k(x, y) is written into out, whose columns are whole blocks, with zeros in the last ones; of `lower`, where y is x,
// only blocks on and below the diagonal. `kernel` stores the covariance.
// [[Rcpp::export(rng = false)]]
SEXP gpu_covariance(Rcpp::XPtr<kernops::Kernel> kernel, Rcpp::NumericVector theta, SEXP x, SEXP y, bool lower,
                    SEXP out) {
  return guard([&]() -> SEXP {
    const Matrix &rows = gpu_matrix(x), &columns = gpu_matrix(y), &k = gpu_matrix(out);
    if (k.rows != rows.rows || k.columns < columns.rows)
      throw InputError("dim", "a covariance matrix must have the size of its points");
    const PointSums values(*kernel, theta, k.device);
    const Blocks triangle = lower_triangle(rows.rows);
    values.store({from_row(rows, 0), from_row(columns, 0)}, rows.rows, columns.rows, k, lower ? &triangle : nullptr);
    const cuda::DevicePointer beyond = k.memory.pointer() + size_t(k.rows * columns.rows) * sizeof(double);
    const size_t numbers = size_t(k.rows * (k.columns - columns.rows));
    if (numbers > 0)
      cuda::driver().check(cuda::driver().cuMemsetD32_v2(beyond, 0, 2 * numbers), "clearing memory of the GPU");
    return out;
  });
}

// `noise` is added to the diagonal of a covariance matrix, which becomes its factor: 0, or the row of the
// first pivot that is not positive.
// [[Rcpp::export(rng = false)]]
double gpu_factorise(SEXP k, SEXP noise) {
  return guard([&] {
    const Matrix& matrix = gpu_matrix(k);
    TriangleJob job{};
    job.at = matrix.doubles(), job.left = gpu_matrix(noise).doubles(), job.n = matrix.rows;
    run("kernops_finish_triangle", blocks_of_threads(job.n), 1, job);
    return double(cuda::factor(triangle(matrix)));
  });
}

// A factor becomes its inverse, and is returned.
// [[Rcpp::export(rng = false)]]
SEXP gpu_factor_invert(SEXP factor) {
  return guard([&]() -> SEXP {
    cuda::invert(triangle(gpu_matrix(factor)));
    return factor;
  });
}

// b becomes L^-1 b, or L^-T b, and is returned.
// [[Rcpp::export(rng = false)]]
SEXP gpu_factor_solve(SEXP factor, bool transposed, SEXP b) {
  return guard([&]() -> SEXP {
    const Matrix &l = gpu_matrix(factor), &vectors = gpu_matrix(b);
    if (vectors.rows != l.rows || vectors.single) throw InputError("dim", "vectors must fit the factor");
    cuda::solve(triangle(l), transposed, vectors.doubles(), vectors.columns);
    return b;
  });
}

// L b, or L' b.
// [[Rcpp::export(rng = false)]]
SEXP gpu_factor_times(SEXP factor, bool transposed, SEXP b) {
  return guard([&]() -> SEXP {
    const Matrix &l = gpu_matrix(factor), &vectors = gpu_matrix(b);
    if (vectors.rows != l.rows || vectors.single) throw InputError("dim", "vectors must fit the factor");
    auto out = std::make_unique<Matrix>(l.rows, vectors.columns, false, l.device);
    cuda::multiply(triangle(l), transposed, vectors.doubles(), vectors.columns, out->doubles());
    return wrap_gpu_matrix(std::move(out));
  });
}

// The diagonal of a triangle, and the sums of squares of its columns.
// [[Rcpp::export(rng = false)]]
Rcpp::List gpu_factor_columns(SEXP factor) {
  return guard([&] {
    const Matrix& l = gpu_matrix(factor);
    const size_t bytes = size_t(l.rows) * sizeof(double);
    const cuda::Buffer sums(2 * bytes);
    TriangleJob job{};
    job.at = l.doubles(), job.out = static_cast<double*>(sums.address()), job.n = l.rows;
    run("kernops_column_squares", std::min<Count>(l.rows, 65535), 1, job);
    Rcpp::NumericVector diagonal = new_numbers(double(l.rows)), squares = new_numbers(double(l.rows));
    cuda::copy_out(diagonal.begin(), sums.pointer(), bytes);
    cuda::copy_out(squares.begin(), sums.pointer() + bytes, bytes);
    return named_list({{"diagonal", diagonal}, {"squares", squares}});
  });
}

// sum_ij W_ij dk(x_i, x_j) / dtheta with W = M' M - left right', where M, the inverse of a factor, is lower
// triangular. `kernel` gives, for each x_i, the gradient of sum_j (w_i | e_j) k(x_i, y_j). Columns of W are
// made many at a time, those of M' M by cuBLAS, and weigh the sums of the engine.
// long: one pass over blocks, with the buffers that it uses again
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector gpu_weighted_slopes(Rcpp::XPtr<kernops::Kernel> kernel, Rcpp::NumericVector theta, SEXP x,
                                        SEXP inverse, SEXP left, SEXP right) {
  return guard([&] {
    const Matrix &points = gpu_matrix(x), &m = gpu_matrix(inverse);
    const PointSums slopes(*kernel, theta, m.device);
    const Count width = width_of(*kernel);
    const UnitMatrix unit(width);
    const Count n = m.rows, size = theta.size(), per_block = size * (many / width);
    const cuda::Buffer columns(size_t(n * many) * sizeof(double)), block(size_t(n * many) * sizeof(double)),
        parts(size_t(n * per_block) * sizeof(double));
    const Count rounds = (n + many - 1) / many;
    const cuda::Buffer sums(size_t(rounds * per_block) * sizeof(double));
    TriangleJob job{};
    job.n = n, job.rank = int(gpu_matrix(left).columns);
    job.left = gpu_matrix(left).doubles(), job.right = gpu_matrix(right).doubles();
    double* const weights = static_cast<double*>(block.address());
    double* const part = static_cast<double*>(parts.address());
    for (Count round = 0; round < rounds; ++round) {
      const Count first = round * many, rows = n - first;
      const Count some = std::min(many, whole_blocks(rows, width));
      job.first = first, job.columns = int(some);
      job.at = m.doubles(), job.block = static_cast<double*>(columns.address());
      run("kernops_take_columns", blocks_of_threads(rows), some, job);
      cuda::multiply({m.doubles() + first * (n + 1), rows, n}, true, job.block, some, weights);
      job.block = weights;
      run("kernops_weigh_columns", blocks_of_threads(rows), some, job);
      cuda::driver().check(cuda::driver().cuMemsetD32_v2(parts.pointer(), 0, size_t(2 * n * per_block)),
                           "clearing memory of the GPU");
      for (Count j = 0; j < std::min(many, rows); j += width) {
        const ArrayRef w{weights + j * rows + j, rows, 1, MemorySpace::device_double, m.device};
        slopes({from_row(points, first + j), from_row(points, first + j), w, unit.column()}, rows - j,
               std::min(width, rows - j), part + j / width * size * n + first + j, n);
      }
      job.block = part, job.columns = int(per_block);
      job.out = static_cast<double*>(sums.address()) + round * per_block;
      run("kernops_column_sums", per_block, 1, job);
    }
    std::vector<double> found(size_t(rounds * per_block));
    cuda::copy_out(found.data(), sums.pointer(), found.size() * sizeof(double));
    Rcpp::NumericVector total = zeros(double(size));
    for (size_t k = 0; k < found.size(); ++k) total[R_xlen_t(k) % size] += found[k];
    return total;
  });
}

// An empty string where matrices can be factorised on the GPU, else why not.
// [[Rcpp::export(rng = false)]]
std::string gpu_solver_problem() {
  try {
    cuda::driver();  // without one there is no need to open cuSOLVER
    cuda::solver_version();
    return "";
  } catch (const cuda::CudaError& error) {
    return error.what();
  }
}

// The version of cuSOLVER; empty where there is none.
// [[Rcpp::export]]
std::string cuda_solver() { return cuda::has_solver() ? cuda::solver_version() : ""; }
