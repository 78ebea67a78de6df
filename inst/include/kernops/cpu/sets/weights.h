// Computes the weights of the neighbours in the conditional mean of each point, the conditional standard deviation sd
// of the point, and the derivatives of the weights and of log sd.
//
// Let L be the Cholesky factor of the covariance of a set, u the last row of L^-1, and L_1 the factor without its last
// row and column. A change dK of the covariance changes the weights by sd L_1'^-1 a, and log sd by half of the last
// entry of a, where a = L^-1 dK u.
#pragma once
#include <kernops/cpu/sets/changes.h>

namespace kernops {
inline namespace KERNOPS_ISA {

class SetWeights {
  using V = Pack<double>;
  static constexpr int W = V::width;

 public:
  explicit SetWeights(const SetJob& job)
      : job_(job), group_(job), changes_(job, group_), u_(std::size_t(group_.most())) {}

  // Writes the weights of the sets `begin` .. `end` - 1. A point that its neighbours determine exactly has standard
  // deviation 0.
  void write(Count begin, Count end) {
    for (Count set = begin; set < end; set += W) {
      group_.take(set, int(end - set < W ? end - set : W));
      contrast_weights(group_.triangle(), u_.data());
      const V inverse = group_.inverse_sd(), sd = select(inverse == inverse, V(1) / inverse, V(0));
      write_row(0, V(-1), sd);
      if (job_.parameters) write_changes(sd);
    }
  }

 private:
  void write_changes(V sd) {
    const SetColumns a = changes_.solve();
    const int last = group_.size() - 1;
    for (int p = 0; p < job_.parameters; ++p) {
      for (int k = 0; k < last; ++k) u_.data()[k] = a.element(k, p);
      solve_transposed(group_.triangle(), u_.data());
      write_row(1 + p, sd, V(0.5) * a.element(last, p));
    }
  }

  // Writes row n of the results of each set; the weights are u times `scale`.
  void write_row(int n, V scale, V sd) const {
    for (int lane = 0; lane < group_.count(); ++lane) {
      const Count row = group_.set(lane) * (1 + job_.parameters) + n;
      const double* from = reinterpret_cast<const double*>(u_.data() + group_.size() - 2) + lane;
      double* to = job_.weights + row * job_.m;
      for (int k = 0; k < job_.m; ++k) to[k] = k < group_.known(lane) ? scale.lane(lane) * from[-k * V::width] : 0;
      job_.sd[row] = sd.lane(lane);
    }
  }

  const SetJob& job_;
  SetGroup group_;
  SetChanges changes_;
  Buffer<V> u_;
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
