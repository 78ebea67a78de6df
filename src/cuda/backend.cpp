// The backend of CUDA devices.
#include "cuda/cuda.h"
#include "cuda/pairs/choose.h"
#include "formula/op_table.h"
#include "formula/regroup.h"
#include "sets/sets.h"

namespace kernops {
namespace cuda {
namespace {

class CudaBackend : public Backend {
 public:
  std::string name() const override { return "cuda"; }
  bool holds(MemorySpace space) const override { return space != MemorySpace::host; }
  bool pays_off(double work) const override { return work > 1e9 && available(); }
  bool fits(const Plan& plan, const Settings& settings) const override { return cuda::fits(plan, settings); }

  // If a reduction stores the values of all pairs, the plan makes the values of a column contiguous. Adjacent threads
  // have adjacent rows, and thus write to adjacent addresses.
  Plan plan(Graph& graph, const Reduction& reduction) const override {
    Reduction here = reduction;
    if (reduction_table()[here.row].stores()) here.over = here.axes();
    return kernops::plan(graph, regroup(graph, here, true));
  }
  std::unique_ptr<Pairs> pairs(const Settings& settings) const override { return cuda::pairs(settings.devices); }
  void segments(const SegmentRequest& request) const override { cuda::segments(request); }
  void segment_gradient(const SegmentGradient& request) const override { cuda::segment_gradient(request); }
  void sort(const SortRequest& request) const override { cuda::sort(request); }
  bool roll(const RollRequest& request) const override { return cuda::roll(request); }
  void order_statistics(const OrderRequest& request) const override { cuda::order_statistics(request); }
  void axes(const AxisRequest& request) const override { cuda::axes(request); }
  SetTotals set_sums(const SetRequest& request) const override { return cuda::set_sums(request); }
  void set_weights(const SetRequest& request, double* weights, double* sd) const override {
    cuda::set_weights(request, weights, sd);
  }
  void nearest(const neighbours::Request& request, int* to) const override { cuda::nearest(request, to); }
  bool series(const SeriesRequest& request) const override { return cuda::series(request); }
  const Dense& dense() const override { return cuda::dense(); }
};

}  // namespace

const Backend& backend() {
  static const CudaBackend cuda;
  return cuda;
}

bool available() {
  try {
    driver();
    return true;
  } catch (const CudaError&) {
    return false;
  }
}

}  // namespace cuda
}  // namespace kernops
