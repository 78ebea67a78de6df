// The contract of backends: one function for each operation. This file alone assigns operations to backends.
//
// A backend is a folder of src/ and a line of run/backends.def. Requests contain arrays of the host, or of memory for
// which the backend's holds() is true; results are written where the request specifies.
#pragma once
#include "run/data.h"

namespace kernops {

struct AxisRequest;
struct SegmentRequest;
struct SegmentGradient;
struct OrderRequest;
struct SortRequest;
struct RollRequest;
struct Kernel;
struct SetRequest;
struct SetTotals;
namespace neighbours {
struct Request;
}
class Dense;
class Pairs;

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  // True if the backend owns arrays of this memory space. All backends read host memory.
  virtual bool holds(MemorySpace space) const = 0;
  // Returns whether a computation of `work` operations is worth offloading to this backend when the user chose no
  // backend: the backend must be available, and computing must take longer than copying and launching.
  virtual bool pays_off(double work) const = 0;

  // Returns whether the working set of a pair of this plan fits the fast memory of the backend.
  virtual bool fits(const Plan&, const Settings&) const { return true; }

  // The plan by which the backend computes a reduction; adds the nodes that it needs to `graph`. Plans are stored with
  // their Kernel.
  virtual Plan plan(Graph& graph, const Reduction& reduction) const = 0;
  virtual std::unique_ptr<Pairs> pairs(const Settings& settings) const = 0;  // run/pairs.h
  virtual void segments(const SegmentRequest& request) const = 0;            // segments/segments.h
  virtual void segment_gradient(const SegmentGradient& request) const = 0;
  virtual void sort(const SortRequest& request) const = 0;               // order/sort.h
  virtual void order_statistics(const OrderRequest& request) const = 0;  // order/order_statistics.h
  // Windows that move along segments (roll/roll.h). Returns false without any effect if the backend does not support
  // the request.
  virtual bool roll(const RollRequest& request) const = 0;
  virtual void axes(const AxisRequest& request) const = 0;  // axes/axes.h
  // Sums over small sets of points, for Vecchia approximations.
  virtual SetTotals set_sums(const SetRequest& request) const = 0;  // sets/sets.h
  // The weights and standard deviations of SetJob, with their derivatives if slopes are requested.
  virtual void set_weights(const SetRequest& request, double* weights, double* sd) const = 0;
  // The nearest points of a tree.
  virtual void nearest(const neighbours::Request& request, int* to) const = 0;  // neighbours/neighbours.h
  virtual const Dense& dense() const = 0;                                       // dense/algebra.h
};

const std::vector<const Backend*>& backends();          // of run/backends.def
const Backend& cpu_backend();                           // the last backend, which supports everything
const Backend* backend_named(const std::string& name);  // null for "auto"
size_t number_of(const Backend& backend);               // index among backends()

// The backend that computes with arrays of these memory spaces: the requested backend, or the one that holds one of the
// arrays, or the first for which the transfer is worthwhile. Throws std::invalid_argument if the requested backend
// cannot read one of the arrays.
const Backend& choose_backend(const Backend* wanted, std::initializer_list<MemorySpace> spaces, double work);

namespace cpu {
std::vector<std::string> instruction_sets();  // instruction sets of this machine, the best one first
}
namespace cuda {
bool available();
}

}  // namespace kernops
