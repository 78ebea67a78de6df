// Covariance matrices on a GPU, which the formula engine fills and cuSOLVER factorises in place. A matrix is padded to
// a multiple of 32 rows and columns; the padded diagonal elements are 1. For padded matrices, cuBLAS reaches 56 Tflop/s
// on an H200, compared with 51 Tflop/s for odd sizes, and with 38 Tflop/s if the distance between columns is an odd
// number of doubles.
#include <kernops/jobs/matrix.h>

#include <algorithm>
#include <cmath>

#include "cuda/dense/dense.h"
#include "cuda/dense/triangles.h"

namespace kernops {
namespace cuda {
namespace {

constexpr int threads = 256;
constexpr Count many = 1024;  // number of columns per call of cuBLAS

// Returns the number of columns that one call of the formula engine computes. This number is the size of the formula's
// last variable; the size is 1 if the formula computes a single column.
Count width_of(const Kernel& kernel) { return kernel.program.variables.back().size; }

Count whole_blocks(Count columns, Count width) { return ceil_div(columns, width) * width; }

void run(const char* name, Count grid_x, Count grid_y, const TriangleJob& job) {
  static const std::string text = "#include <kernops/cuda/dense/triangle.cuh>\nKERNOPS_TRIANGLE(" +
                                  std::to_string(threads) + ", " + std::to_string(many) + ")\n";
  launch(function(text, name), unsigned(grid_x), unsigned(std::min<Count>(grid_y, 65535)), threads, &job);
}

Count blocks_of_threads(Count items) { return ceil_div(items, threads); }

Count padded(Count n) { return whole_blocks(n, 32); }

// Returns the square matrix that is stored in k: padded if the memory of k is large enough, and otherwise without
// padding.
Triangle whole(const Block& k) {
  const Count order = k.columns > k.rows ? padded(k.rows) : k.rows;
  return {k.at, order, order};
}
Triangle part(const Block& k) { return {k.at, k.rows, whole(k).stride}; }

Panel panel(const Block& b) { return {b.at, b.rows, b.columns, b.rows}; }

TriangleJob job_for(const Block& k) {
  TriangleJob job{};
  job.at = k.at, job.n = k.rows, job.order = whole(k).n;
  return job;
}

// Returns the points in the rows of x, beginning with row `first`, as an array that the formula engine reads.
ArrayRef from_row(const Block& x, Count first) {
  return {x.at + first, x.rows, 1, MemorySpace::device_double, x.device};
}

// A unit matrix with `width` columns on the device.
struct UnitMatrix {
  explicit UnitMatrix(Count width) : width(width), memory(size_t(width * width) * sizeof(double)) {
    std::vector<double> values(size_t(width * width), 0.0);
    for (Count n = 0; n < width; ++n) values[size_t(n * (width + 1))] = 1;
    copy_in(memory.pointer(), values.data(), values.size() * sizeof(double));
  }
  ArrayRef column() const { return {memory.address(), width, 1, MemorySpace::device_double, current_device().number}; }
  const Count width;
  const Buffer memory;
};

// Evaluates a formula whose variables are the parameters theta, followed by `points`.
void run_formula(const Kernel& kernel, const ArrayRef& theta, std::vector<ArrayRef> points, Data data,
                 const Settings& settings, const Output& out) {
  points.insert(points.begin(), theta);
  data.variables = std::move(points);
  Settings here = settings;
  here.backend = backend_named("cuda"), here.devices = {out.device};
  execute(kernel, data, here, out);
  if (settings.keep_going && !settings.keep_going(0)) throw Interrupted();
}

// The pairs of the lower triangle, divided into blocks of rows. The columns of a block end at the diagonal element of
// the last row of the block.
Blocks lower_triangle(Count n) {
  constexpr Count rows = 512;
  Blocks blocks;
  for (Count i = 0; i < n; i += rows) {
    const Count number = Count(blocks.rows.size()), end = std::min(i + rows, n);
    blocks.rows.push_back({i, end, number, number + 1, end});
    blocks.columns.push_back({0, end, 0});
  }
  return blocks;
}

void clear(DevicePointer at, Count numbers) {
  if (numbers > 0) driver().check(driver().cuMemsetD32_v2(at, 0, size_t(2 * numbers)), "clearing memory of the GPU");
}

class DeviceDense : public DeviceVectors {
 public:
  std::string problem() const override {
    try {
      driver();  // called before cuSOLVER is opened; throws if there is no device
      solver_version();
      return "";
    } catch (const CudaError& error) {
      return error.what();
    }
  }

  Count columns_for(Count n) const override { return ceil_div(padded(n) * padded(n), std::max<Count>(n, 1)); }
  // larger than on the CPU (1), because exponentials on the GPU have larger errors
  double rounding() const override { return 3; }

  void covariance(const Kernel& kernel, const ArrayRef& theta, const Block& x, const Block& y, bool triangle,
                  const Block& k, const Settings& settings) const override {
    const Blocks lower = triangle ? lower_triangle(x.rows) : Blocks{};
    run_formula(kernel, theta, {from_row(x, 0), from_row(y, 0)},
                {{}, {}, x.rows, y.rows, {triangle ? &lower : nullptr}}, settings,
                {k.at, 0, triangle ? whole(k).stride : k.rows, MemorySpace::device_double, k.device});
  }

  Count factor(const Block& k, const Block& added, const Settings&) const override {
    TriangleJob job = job_for(k);
    job.left = added.at;
    run("kernops_finish_triangle", blocks_of_threads(job.order), 1, job);
    const Count bad = cuda::factor(whole(k));
    if (bad > 0) return bad;
    const Numbers pivots = diagonal(k);
    return std::all_of(pivots.begin(), pivots.end(), [](double x) { return std::isfinite(x); }) ? 0 : 1;
  }

  Numbers diagonal(const Block& l) const override { return columns_of(l).first; }

  void solve(const Block& l, bool transposed, const Block& b, const Settings&) const override {
    cuda::solve(part(l), transposed, b.at, b.columns);
  }

  void times(const Block& l, const Block& b, const Block& out) const override {
    multiply(part(l), false, panel(b), panel(out));
  }

  Numbers diagonal_of_inverse(const Block& l, const Settings&) const override {
    const Buffer copy(size_t(l.length()) * sizeof(double));
    copy_across(copy.pointer(), l.device, address(l.at), l.device, size_t(l.length()) * sizeof(double));
    const Block inverse{static_cast<double*>(copy.address()), l.rows, l.columns, l.space, l.device};
    cuda::invert(whole(inverse));
    return columns_of(inverse).second;
  }

  void invert(const Block& l, const Settings&) const override { cuda::invert(whole(l)); }
  Numbers inverse_diagonal(const Block& m) const override { return columns_of(m).second; }

  void inverse_times(const Block& m, const Block& b, const Block& out) const override {
    const Buffer between(size_t(b.length()) * sizeof(double));
    const Panel product{static_cast<double*>(between.address()), b.rows, b.columns, b.rows};
    multiply(part(m), false, panel(b), product);
    multiply(part(m), true, product, panel(out));
  }

  // Sums the derivatives of k(x_i, x_j) with the weights W = M' M - left right', where the lower triangular matrix M is
  // the inverse of a factor. cuBLAS computes many columns of M' M at a time. The formula engine processes `width`
  // columns of W at a time. For each x_i, the formula `weighted` returns the gradient of sum_j (w_i | e_j) k(x_i, x_j),
  // where w_i has the weights of row i in these columns, e_j is the unit vector that selects W_ij from w_i, and (a | b)
  // is an inner product.
  // long: one pass over blocks, which reuses its buffers
  Numbers weighted_derivatives(const Kernel&, const Kernel& weighted, const ArrayRef& theta, const Block& x,
                               const Block& m, const Block& left, const Block& right,
                               const Settings& settings) const override {
    const Count width = width_of(weighted);
    const UnitMatrix unit(width);
    const Count n = m.rows, size = weighted.program.variables[0].size, per_block = size * (many / width);
    const size_t block_bytes = size_t(padded(n) * many) * sizeof(double);
    const Buffer columns(block_bytes), block(block_bytes), parts(size_t(n * per_block) * sizeof(double));
    const Count rounds = ceil_div(n, many);
    const Buffer sums(size_t(rounds * per_block) * sizeof(double));
    TriangleJob job = job_for(m);
    job.rank = int(left.columns), job.left = left.at, job.right = right.at;
    double* const weights = static_cast<double*>(block.address());
    double* const derivatives = static_cast<double*>(parts.address());
    for (Count round = 0; round < rounds; ++round) {
      const Count first = round * many, rows = job.order - first, points = n - first;
      const Count count = std::min(many, whole_blocks(points, width));
      job.first = first, job.columns = int(count);
      job.block = static_cast<double*>(columns.address());
      run("kernops_take_columns", blocks_of_threads(rows), count, job);
      multiply({m.at + first * (job.order + 1), rows, job.order}, true, {job.block, rows, count, rows},
               {weights, rows, count, rows});
      job.block = weights;
      run("kernops_weigh_columns", blocks_of_threads(rows), count, job);
      clear(parts.pointer(), n * per_block);
      for (Count j = 0; j < std::min(many, points); j += width) {
        const ArrayRef w{weights + j * (rows + 1), rows, 1, MemorySpace::device_double, m.device};
        run_formula(weighted, theta, {from_row(x, first + j), from_row(x, first + j), w, unit.column()},
                    {{}, {}, points - j, std::min(width, points - j)}, settings,
                    {derivatives + j / width * size * n + first + j, n, 1, MemorySpace::device_double, m.device});
      }
      job.block = derivatives, job.columns = int(per_block);
      job.out = static_cast<double*>(sums.address()) + round * per_block;
      run("kernops_column_sums", per_block, 1, job);
    }
    Numbers all(size_t(rounds * per_block)), total(size_t(size), 0.0);
    copy_out(all.data(), sums.pointer(), all.size() * sizeof(double));
    for (size_t k = 0; k < all.size(); ++k) total[k % size_t(size)] += all[k];
    return total;
  }

 private:
  // Returns the diagonal of a triangular matrix, and the sums of squares of its columns.
  static std::pair<Numbers, Numbers> columns_of(const Block& l) {
    const size_t bytes = size_t(l.rows) * sizeof(double);
    const Buffer sums(2 * bytes);
    TriangleJob job = job_for(l);
    job.out = static_cast<double*>(sums.address());
    run("kernops_column_squares", std::min<Count>(l.rows, 65535), 1, job);
    Numbers diagonal(size_t(l.rows)), squares(size_t(l.rows));
    copy_out(diagonal.data(), sums.pointer(), bytes);
    copy_out(squares.data(), sums.pointer() + bytes, bytes);
    return {diagonal, squares};
  }
};

}  // namespace

const Dense& dense() {
  static const DeviceDense algebra;
  return algebra;
}

}  // namespace cuda
}  // namespace kernops
