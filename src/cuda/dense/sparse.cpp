#include <kernops/jobs/matrix.h>

#include "cuda/copied.h"
#include "cuda/dense/dense.h"
#include "neighbours/sparse_inverse.h"

namespace kernops {
namespace cuda {
namespace {

constexpr int threads = 256;

void run(const char* name, const SparseJob& job) {
  static const std::string text =
      "#include <kernops/cuda/dense/sparse.cuh>\nKERNOPS_SPARSE(" + std::to_string(threads) + ")\n";
  if (job.n > 0) launch(function(text, name), unsigned(ceil_div(32 * job.n, threads)), 1, threads, &job);
}

// Converts the order of the points, in which R counts points from 1, to row numbers that begin with 0.
std::vector<int> rows_of(const neighbours::SparseInverse& inverse) {
  std::vector<int> rows(size_t(inverse.n));
  for (Count i = 0; i < inverse.n; ++i) rows[size_t(i)] = inverse.order[i] - 1;
  return rows;
}
std::vector<int> near_of(const neighbours::SparseInverse& inverse) {
  std::vector<int> near(size_t(inverse.n * inverse.m), -1);
  for (size_t k = 0; k < near.size(); ++k)
    if (inverse.neighbours[k] > 0) near[k] = inverse.order[inverse.neighbours[k] - 1] - 1;
  return near;
}
std::vector<long long> starts_of(const neighbours::SparseInverse& inverse) {
  return std::vector<long long>(inverse.start, inverse.start + inverse.n + 1);
}

// A copy of the sparse inverse on a device.
struct DeviceInverse : BackendCache {
  explicit DeviceInverse(const neighbours::SparseInverse& inverse, int device)
      : device(device),
        weights(inverse.weights, size_t(inverse.n * inverse.m)),
        sd(inverse.sd, size_t(inverse.n)),
        near(near_of(inverse).data(), size_t(inverse.n * inverse.m)),
        row(rows_of(inverse).data(), size_t(inverse.n)),
        start(starts_of(inverse).data(), size_t(inverse.n + 1)),
        entry(inverse.entry, size_t(inverse.n * inverse.m)) {}
  const int device;
  const Copied<double> weights, sd;
  const Copied<int> near, row;
  const Copied<long long> start;
  const Copied<int> entry;
};

}  // namespace

void DeviceVectors::sparse_inverse(const neighbours::SparseInverse& inverse, const Block& x, const Block& out,
                                   std::shared_ptr<BackendCache>& kept, const Settings&) const {
  auto copy = std::dynamic_pointer_cast<const DeviceInverse>(kept);
  if (!copy || copy->device != x.device) {
    inverse.check();
    auto fresh = std::make_shared<DeviceInverse>(inverse, x.device);
    copy = fresh, kept = fresh;
  }
  const Buffer between(size_t(std::max<Count>(x.length(), 1)) * sizeof(double));
  SparseJob job{};
  job.x = x.at, job.between = static_cast<double*>(between.address()), job.y = out.at;
  job.weights = copy->weights.data(), job.sd = copy->sd.data();
  job.near = copy->near.data(), job.row = copy->row.data();
  job.start = copy->start.data(), job.entry = copy->entry.data();
  job.n = inverse.n, job.m = inverse.m, job.columns = int(x.columns);
  run("kernops_sparse_forward", job);
  run("kernops_sparse_back", job);
}

}  // namespace cuda
}  // namespace kernops
