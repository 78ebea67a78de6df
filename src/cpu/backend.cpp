// The CPU as a backend, which reads host memory only, and supports all operations.
#include "cpu/cpu.h"
#include "formula/regroup.h"
#include "neighbours/neighbours.h"
#include "order/order_statistics.h"
#include "order/sort.h"
#include "roll/roll.h"

namespace kernops {
namespace cpu {
namespace {

class CpuBackend : public Backend {
 public:
  std::string name() const override { return "cpu"; }
  bool holds(MemorySpace space) const override { return space == MemorySpace::host; }
  bool pays_off(double) const override { return true; }

  Plan plan(Graph& graph, const Reduction& reduction) const override {
    const Reduction grouped = regroup(graph, reduction, false);
    return kernops::plan(graph, grouped, summands_of(graph, grouped));
  }
  std::unique_ptr<Pairs> pairs(const Settings&) const override { return cpu::pairs(); }
  void segments(const SegmentRequest& request) const override { cpu::segments(request); }
  void segment_gradient(const SegmentGradient& request) const override { cpu::segment_gradient(request); }
  void sort(const SortRequest& request) const override { sort_segments(request); }
  bool roll(const RollRequest& request) const override { return roll_segments(request); }
  void order_statistics(const OrderRequest& request) const override { reduce_in_order(request); }
  void axes(const AxisRequest& request) const override { cpu::axes(request); }
  SetTotals set_sums(const SetRequest& request) const override { return cpu::set_sums(request); }
  void set_weights(const SetRequest& request, double* weights, double* sd) const override {
    cpu::set_weights(request, weights, sd);
  }
  void nearest(const neighbours::Request& request, int* to) const override { neighbours::find_nearest(request, to); }
  const Dense& dense() const override { return cpu::dense(); }
};

}  // namespace

const Backend& backend() {
  static const CpuBackend cpu;
  return cpu;
}

}  // namespace cpu
}  // namespace kernops
