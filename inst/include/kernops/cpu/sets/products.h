// Computes products of whitened columns, and sums these products over all sets. Many columns are whitened by the
// weights of one covariance.
#pragma once
#include <kernops/cpu/buffer.h>
#include <kernops/jobs/sets.h>
#include <kernops/simd/pack.h>

namespace kernops {
inline namespace KERNOPS_ISA {

class ColumnProducts {
  using V = Pack<double>;
  static constexpr int W = V::width, packs = column_block / W;

 public:
  explicit ColumnProducts(const ColumnJob& job) : job_(job), sums_(std::size_t(1 + job.trend) * packs) {}

  void sum() {
    for (int n = 0; n < (1 + job_.trend) * packs; ++n) sums_.data()[n] = 0;
    for (Count set = 0; set < job_.sets; ++set) add(set);
    for (int n = 0; n < (1 + job_.trend) * packs; ++n) sums_.data()[n].store(job_.sums + n * W);
  }

 private:
  void add(Count set) {
    V z[packs];
    const double* y = job_.columns + set * column_block;
    for (int k = 0; k < packs; ++k) z[k] = V::load(y + k * W);
    const int* neighbours = job_.neighbours + set * job_.stride;
    const double* weights = job_.weights + set * job_.m;
    for (int a = 0; a < job_.m && neighbours[a] > 0; ++a) {
      const V weight(-weights[a]);
      const double* other = job_.columns + Count(neighbours[a] - 1) * column_block;
      for (int k = 0; k < packs; ++k) z[k] = fma(weight, V::load(other + k * W), z[k]);
    }
    const V inverse(1 / job_.sd[set]);
    V* sums = sums_.data();
    for (int k = 0; k < packs; ++k, ++sums) z[k] *= inverse, *sums = fma(z[k], z[k], *sums);
    const double* x = job_.whitened + set * job_.trend;
    for (int c = 0; c < job_.trend; ++c)
      for (int k = 0; k < packs; ++k, ++sums) *sums = fma(V(x[c]), z[k], *sums);
  }

  const ColumnJob& job_;
  Buffer<V> sums_;
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
