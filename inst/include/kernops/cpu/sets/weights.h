// The conditional means and standard deviations of points given their neighbours, as weights.
#pragma once
#include <kernops/cpu/sets/group.h>

namespace kernops {
inline namespace KERNOPS_ISA {

class SetWeights {
  using V = Pack<double>;
  static constexpr int W = V::width;

 public:
  explicit SetWeights(const SetJob& job) : job_(job), group_(job), u_(std::size_t(group_.most())) {}

  // Those of sets begin .. end. A point that its neighbours determine has the standard deviation 0.
  void write(Count begin, Count end) {
    for (Count set = begin; set < end; set += W) {
      group_.take(set, int(end - set < W ? end - set : W));
      contrast_weights(group_.triangle(), u_.data());
      const V inverse = group_.inverse_sd(), sd = select(inverse == inverse, V(1) / inverse, V(0));
      for (int lane = 0; lane < group_.count(); ++lane) write_set(lane, sd.lane(lane));
    }
  }

 private:
  void write_set(int lane, double sd) const {
    const Count set = group_.set(lane);
    double* to = job_.weights + set * job_.m;
    for (int k = 0; k < job_.m; ++k) to[k] = k < group_.known(lane) ? -u_.data()[group_.size() - 2 - k].lane(lane) : 0;
    job_.sd[set] = sd;
  }

  const SetJob& job_;
  SetGroup group_;
  Buffer<V> u_;
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
