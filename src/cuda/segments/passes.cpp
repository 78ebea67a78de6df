// Reductions of segments on the GPU that take several passes: the passes from which segments/recipes.cpp combines
// reductions, and the functions of the backend.
#include <kernops/missing.h>

#include "segments/passes.h"

#include <algorithm>
#include <cmath>

#include "cuda/segments/segments.h"
#include "roll/roll.h"

namespace kernops {
namespace cuda {
namespace {

int here() { return current_device().number; }
bool on_device(const Output& out) { return out.space != MemorySpace::host; }

std::vector<double> fetched(const void* from, Count count) {
  std::vector<double> numbers(static_cast<size_t>(count));
  copy_out(numbers.data(), address(from), numbers.size() * sizeof(double));
  return numbers;
}

// A copy of values on the host, as doubles.
struct Values {
  Values(const SegmentValues& from, Count rows, Count columns) : values(from) {
    if (!from.on_device) return;
    const Count count = rows * columns;
    if (from.type == SegmentValues::floats) {
      std::vector<float> floats(static_cast<size_t>(count));
      copy_out(floats.data(), address(from.data), floats.size() * sizeof(float));
      numbers.assign(floats.begin(), floats.end());
    } else {
      numbers = fetched(from.data, count);
    }
    values = {SegmentValues::doubles, false, numbers.data(), 1, rows};
  }
  std::vector<double> numbers;
  SegmentValues values;
};

void put(const std::vector<double>& from, const Output& to) {
  if (to.space == MemorySpace::host) {
    std::copy(from.begin(), from.end(), to.data);
  } else if (to.space == MemorySpace::device_float) {
    const std::vector<float> floats(from.begin(), from.end());
    copy_in(address(to.data), floats.data(), floats.size() * sizeof(float));
  } else {
    copy_in(address(to.data), from.data(), from.size() * sizeof(double));
  }
}

class DevicePasses : public SegmentPasses {
 public:
  Temporary numbers(Count count) const override {
    const auto memory = std::make_shared<Buffer>(size_t(count) * sizeof(double));
    return {static_cast<double*>(memory->address()), MemorySpace::device_double, here(), memory};
  }

  void reduce(const SegmentRequest& request) const override { seg_reduce(request); }
  void map(const SegmentRequest& request, SegmentMap what, bool in_place, double elsewhere) const override {
    seg_map(request, what, in_place, elsewhere);
  }

  void step(ResultStep step, const SegmentRequest& request, double* out, const double* a, const double* b,
            double value) const override {
    static const char* kernels[] = {"kernops_mean", "kernops_variance", "kernops_root", "kernops_fill_where_none"};
    ResultsJob job{};
    job.out = out, job.a = a, job.b = b, job.value = value;
    on_results(kernels[int(step)], request, job);
  }

  // Returns whether all products of segments are normal floating-point numbers, which have full precision.
  bool all_normal(const Temporary& numbers, Count count) const override {
    const std::vector<double> all = fetched(numbers.data, count);
    return std::all_of(all.begin(), all.end(), [](double x) { return std::isnormal(x); });
  }

  void copy(const Temporary& from, Count count, const Output& to) const override {
    const size_t bytes = size_t(count) * sizeof(double);
    if (!on_device(to))
      copy_out(to.data, address(from.data), bytes);
    else if (from.space == MemorySpace::host)
      copy_in(address(to.data), from.data, bytes);
    else
      copy_across(address(to.data), here(), address(from.data), here(), bytes);
  }

  // Computes the gradient of products on the CPU; used if some products are not normal floating-point numbers.
  void other_products(const SegmentGradient& request) const override {
    SegmentGradient there = request;
    const Count rows = request.in_place ? request.segments.values : request.segments.covered;
    const Values x(request.x, request.segments.values, request.columns),
        incoming(request.incoming, request.segments.count, request.columns);
    std::vector<double> out(size_t(rows * request.columns));
    there.x = x.values, there.incoming = incoming.values, there.out = {out.data(), rows, 1};
    there.weights = {};
    request.segments.come_to_host();
    cpu_backend().segment_gradient(there);
    put(out, request.out);
  }
};

const DevicePasses passes;

// Runs a request. If the results are for the host, first all results are computed on the device, and then they are
// copied.
template <class Request, class Run> void made_whole(const Request& request, Count rows, Run run) {
  if (on_device(request.out)) return run(request);
  const Count count = rows * request.columns * request.outputs();
  const Temporary results = passes.numbers(count);
  Request aside = request;
  aside.out = {results.data, rows, 1, results.space, results.device};
  run(aside);
  passes.copy(results, count, request.out);
}

// Runs a request like made_whole() if values or weights are on a device, or if further passes read the results. In
// other cases, calls run(request), which copies the results to the host itself.
template <class Request, class Run> void made_there(const Request& request, Count rows, Run run) {
  const bool there = request.x.on_device || request.weights.on_device || fills_empty(request);
  there ? made_whole(request, rows, run) : run(request);
}

// Scans on the CPU; values on a device are copied to the host first.
void scan_on_host(const SegmentRequest& request) {
  SegmentRequest there = request;
  const Values x(request.x, request.segments.values, request.columns);
  std::vector<double> out(size_t(request.rows() * request.columns * request.outputs()), missing());
  there.x = x.values, there.out = {out.data(), request.rows(), 1};
  cpu_backend().segments(there);
  put(out, request.out);
}

void scan(const SegmentRequest& request) {
  request.segments.find();
  if (!fits_one_batch(request)) return scan_on_host(request);
  made_whole(request, request.rows(), seg_scan);
  if (on_device(request.out) || request.skip_missing || request.x.type == SegmentValues::floats) return;
  const double* out = request.out.data;
  const Count count = request.rows() * request.columns * request.outputs();
  // only the CPU distinguishes NA from NaN
  if (std::any_of(out, out + count, [](double x) { return x != x; })) scan_on_host(request);
}

// Sorts on the CPU; values on a device are copied to the host first.
template <class Request> void order_on_host(const Request& request, Count rows, void (*run)(const Request&)) {
  Request there = request;
  const Values x(request.x, request.segments.values, request.columns);
  std::vector<double> out(size_t(rows * request.columns * request.outputs()), missing());
  there.x = x.values, there.out = {out.data(), rows, 1};
  request.segments.come_to_host();
  run(there);
  put(out, request.out);
}

// If the segments are runs of equal keys on the device, finds the segments and, if possible, reduces the values in the
// same pass. Returns whether the values have been reduced.
bool reduced_by_key(const SegmentRequest& request) {
  auto* runs = dynamic_cast<KeyRuns*>(&request.segments);
  if (!runs || runs->known()) return false;
  if (!request.softmax && runs->can_reduce(request)) {
    runs->find_and_reduce(request);
    fill_empty(passes, request);
    mark_missing(request);
    return true;
  }
  runs->find();
  return false;
}

}  // namespace

void segments(const SegmentRequest& request) {
  use_device(request.settings.devices.front());
  if (request.scan != SegmentScan::none) return scan(request);
  if (reduced_by_key(request)) return;
  made_there(request, request.rows(), [](const SegmentRequest& work) {
    if (work.softmax) return softmax_segments(passes, work);
    reduce_segments(passes, work);
    on_device(work.out) ? mark_missing(work) : mark_missing_on_host(work);
  });
}

void sort(const SortRequest& request) {
  use_device(request.settings.devices.front());
  request.segments.find();
  const Count rows = request.result_rows();
  if (!fits_one_batch(values_of(request))) return order_on_host(request, rows, sort_segments);
  made_whole(request, rows, seg_sort);
}

void order_statistics(const OrderRequest& request) {
  use_device(request.settings.devices.front());
  request.segments.find();
  const Count rows = request.result_rows();
  if (!fits_one_batch(values_of(request))) {
    OrderRequest there = request;
    const Values incoming(request.incoming, request.is_gradient() ? request.incoming_count() : 0, 1);
    there.incoming = incoming.values;
    return order_on_host(there, rows, reduce_in_order);
  }
  made_whole(request, rows, seg_order_statistics);
}

bool roll(const RollRequest& request) {
  use_device(request.settings.devices.front());
  request.segments.find();
  if (!rolls_there(request)) return false;
  made_whole(request, request.segments.values, seg_roll);
  return true;
}

void segment_gradient(const SegmentGradient& request) {
  use_device(request.settings.devices.front());
  const Count rows = request.in_place ? request.segments.values : request.segments.covered;
  made_there(request, rows, [](const SegmentGradient& work) { gradient_of_segments(passes, work); });
}

}  // namespace cuda
}  // namespace kernops
