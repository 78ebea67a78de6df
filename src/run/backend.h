// The interface of backends, which has one function for each operation. Only choose_backend() and, for formulas,
// backend_for() of run/pairs.h choose a backend.
//
// A backend is a folder of src/ and a line of run/backends.def. The arrays of a request are in host memory, or in
// memory for which holds() of the backend returns true. Results are written to the output that the request specifies.
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
struct SeriesRequest;

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  // True if the backend owns arrays in this memory space. All backends can read host memory.
  virtual bool holds(MemorySpace space) const = 0;
  // Returns whether a computation of `work` operations is worth offloading to this backend when the user chose no
  // backend: the backend must be available, and must save more time than copying and launching take.
  virtual bool pays_off(double work) const = 0;

  // Returns whether the values that a plan computes for a pair fit the fast memory of the backend.
  virtual bool fits(const Plan&, const Settings&) const { return true; }

  // Returns the plan by which the backend computes a reduction, and adds the nodes that the plan needs to `graph`.
  // Plans are stored in the Kernel.
  virtual Plan plan(Graph& graph, const Reduction& reduction) const = 0;
  virtual std::unique_ptr<Pairs> pairs(const Settings& settings) const = 0;  // run/pairs.h
  virtual void segments(const SegmentRequest& request) const = 0;            // segments/segments.h
  virtual void segment_gradient(const SegmentGradient& request) const = 0;
  virtual void sort(const SortRequest& request) const = 0;               // order/sort.h
  virtual void order_statistics(const OrderRequest& request) const = 0;  // order/order_statistics.h
  // Reduces windows that move along segments (roll/roll.h). Returns false, without any effect, if the backend does not
  // support the request.
  virtual bool roll(const RollRequest& request) const = 0;
  virtual void axes(const AxisRequest& request) const = 0;  // axes/axes.h
  // Computes sums over conditioning sets, for Vecchia approximations.
  virtual SetTotals set_sums(const SetRequest& request) const = 0;  // sets/sets.h
  // Computes the weights and standard deviations of SetJob and, if slopes are requested, their derivatives.
  virtual void set_weights(const SetRequest& request, double* weights, double* sd) const = 0;
  // Finds the nearest points of each query in a k-d tree.
  virtual void nearest(const neighbours::Request& request, int* to) const = 0;  // neighbours/neighbours.h
  // Computes sums of a kernel by its Fourier series (fourier/series.h). Returns false, without any effect, if the
  // backend does not support the request.
  virtual bool series(const SeriesRequest&) const { return false; }
  virtual const Dense& dense() const = 0;  // dense/algebra.h
};

const std::vector<const Backend*>& backends();          // in the order of run/backends.def
const Backend& cpu_backend();                           // the last backend, which supports every request
const Backend* backend_named(const std::string& name);  // returns null for "auto"
size_t number_of(const Backend& backend);               // index in backends()

// Chooses the backend that computes with arrays in these memory spaces. A backend that the user requests is chosen.
// Without a request, the function chooses the backend that holds one of the arrays or, if all arrays are on the host,
// the first backend for which the transfer is worthwhile. Throws std::invalid_argument if the requested backend cannot
// read one of the arrays.
const Backend& choose_backend(const Backend* wanted, std::initializer_list<MemorySpace> spaces, double work);

namespace cpu {
std::vector<std::string> instruction_sets();  // the instruction sets that this machine supports, the best one first
}
namespace cuda {
bool available();
}

}  // namespace kernops
