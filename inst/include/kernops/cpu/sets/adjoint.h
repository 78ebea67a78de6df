// The gradient of a function of the weights and conditional standard deviations of all sets (a set is a point and its
// neighbours). The adjoints are the derivatives of the function with respect to the weights and the log standard
// deviations.
//
// A change dK of the covariance of a set changes the weights by sd L_1'^-1 a and log sd by half of the last entry of a,
// where a = L^-1 dK u (weights.h). With h = L_1^-1 b for the adjoint b of the weights, the function changes by sd h' a,
// plus the adjoint of log sd times half of the last entry of a.
#pragma once
#include <kernops/cpu/sets/changes.h>

namespace kernops {
inline namespace KERNOPS_ISA {

class SetAdjoint {
  using V = Pack<double>;
  static constexpr int W = V::width;

 public:
  explicit SetAdjoint(const SetJob& job)
      : job_(job),
        group_(job),
        changes_(job, group_),
        u_(std::size_t(group_.most())),
        sums_(std::size_t(job.parameters)),
        solved_(std::size_t(SetColumns::rows(1)) * (group_.most() / SetBlock::size)) {}

  // Computes the sums over the sets `begin` .. `end` - 1, which are the derivatives with respect to the parameters. For
  // each set, `weights` receives K_1^-1 b, where K_1 is the covariance of the neighbours.
  void sum(Count begin, Count end, double* to) {
    for (int p = 0; p < job_.parameters; ++p) sums_.data()[p] = 0;
    for (Count set = begin; set < end; set += W) {
      group_.take(set, int(end - set < W ? end - set : W));
      take_adjoint();
      add_slopes();
      solve_transposed(group_.triangle(), u_.data());
      write();
    }
    for (int p = 0; p < job_.parameters; ++p) {
      to[p] = 0;
      for (int lane = 0; lane < W; ++lane) to[p] += sums_.data()[p].lane(lane);
    }
  }

 private:
  int last() const { return group_.size() - 1; }

  // Computes h = L_1^-1 b.
  void take_adjoint() {
    const SetColumns b{solved_.data(), group_.size() / SetBlock::size};
    b.clear(1);
    for (int lane = 0; lane < group_.count(); ++lane) {
      const double* from = job_.weights_adjoint + group_.set(lane) * job_.m;
      for (int k = 0; k < group_.known(lane); ++k)
        reinterpret_cast<double*>(&b.element(last() - 1 - k, 0))[lane] = from[k];
    }
    b.solve(group_.triangle(), 1);
    for (int k = 0; k < last(); ++k) u_.data()[k] = b.element(k, 0);
  }

  void add_slopes() {
    const SetColumns a = changes_.solve();
    double log_sd[W] = {};
    for (int lane = 0; lane < group_.count(); ++lane) log_sd[lane] = job_.log_sd_adjoint[group_.set(lane)];
    const V half = V(0.5) * V::load(log_sd), sd = V(1) / group_.inverse_sd();
    for (int p = 0; p < job_.parameters; ++p) {
      V sum = 0;
      for (int k = 0; k < last(); ++k) sum = fma(u_.data()[k], a.element(k, p), sum);
      sum = fma(sd, sum, half * a.element(last(), p));
      sums_.data()[p] += select(group_.active(), sum, V(0));
    }
  }

  void write() const {
    for (int lane = 0; lane < group_.count(); ++lane) {
      const double* from = reinterpret_cast<const double*>(u_.data() + last() - 1) + lane;
      double* to = job_.weights + group_.set(lane) * job_.m;
      for (int k = 0; k < job_.m; ++k) to[k] = k < group_.known(lane) ? from[-k * W] : 0;
    }
  }

  const SetJob& job_;
  SetGroup group_;
  SetChanges changes_;
  Buffer<V> u_, sums_;
  Buffer<SetBlock> solved_;
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
