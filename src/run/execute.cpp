// One reduction after another, each on a backend.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "run/backend.h"
#include "formula/limits.h"
#include "formula/op_table.h"
#include "formula/regroup.h"

namespace kernops {
namespace {

void collect(Graph& graph, int reduction, Kernel& kernel) {
  check_stack(-1);
  const Plan needed = plan(graph, regroup(graph, graph.reductions[reduction], false));
  for (const auto& loads : needed.loads)
    for (const Load& load : loads)
      if (load.kind == Load::reduced &&
          std::find(kernel.order.begin(), kernel.order.end(), load.id) == kernel.order.end())
        collect(graph, load.id, kernel);
  kernel.order.push_back(reduction);
  kernel.plans.push_back(needed);
  Reduction on_gpu = graph.reductions[reduction];
  // what is stored runs down a column, as the lanes of the CPU do, and the rows of the GPU, one a thread
  if (reduction_table()[on_gpu.row].stores()) on_gpu.over = on_gpu.axes();
  kernel.gpu_plans.push_back(plan(graph, regroup(graph, on_gpu, true)));
}

// Neumaier's compensated sum.
struct Total {
  double sum = 0, error = 0;
  void add(double x) {
    const double next = sum + x;
    error += std::fabs(sum) >= std::fabs(x) ? (sum - next) + x : (x - next) + sum;
    sum = next;
  }
  double value() const { return std::isfinite(sum) ? sum + error : sum; }
};

// A sum over both axes: slabs of rows, then down the rows, always in the same order.
void reduce_both(Backend& backend, const Plan& plan, const Data& data, const Settings& settings, const Output& out) {
  const Count rows = data.length(plan.rows), slab = backend.slab();
  const int size = plan.reduction.size;
  std::vector<double> part(size_t(std::min(rows, slab)) * size);
  std::vector<Total> totals(size);
  for (Count begin = 0; begin < rows; begin += slab) {
    const Count end = std::min(rows, begin + slab);
    backend.map_reduce(plan, data, settings, begin, end, {part.data(), 1, size});
    for (Count n = 0; n < (end - begin) * size; ++n) totals[n % size].add(part[n]);
  }
  for (int k = 0; k < size; ++k) out.data[k * out.entry] = totals[k].value();
}

}  // namespace

Kernel make_kernel(const std::string& formula, const std::vector<std::string>& declarations, bool stored) {
  Kernel kernel;
  kernel.program = compile(formula, declarations);
  if (stored) store_terms(kernel.program);
  collect(kernel.program.graph, kernel.program.result, kernel);
  return kernel;
}

bool Kernel::stores() const { return reduction_table()[result().row].stores(); }

bool worth_gpu(const Kernel& kernel, Count m, Count n) {
  double work = 0;
  for (const Plan& plan : kernel.plans) work += double(m) * double(n) * (plan.pair_footprint + 1);
  return work > 1e9 && cuda::available();
}

bool on_gpu(const Kernel& kernel, const Data& data, const Settings& settings, const Output& out) {
  bool there = out.home != MemorySpace::host;
  for (const ArrayRef& column : data.variables) there = there || column.home != MemorySpace::host;
  if (settings.backend == BackendChoice::automatic) return there || worth_gpu(kernel, data.pair_count(), 1);
  if (there && settings.backend == BackendChoice::cpu)
    throw std::invalid_argument("the CPU cannot reach data of the GPU");
  return settings.backend == BackendChoice::cuda;
}

Temporary Backend::keep(Count count) {
  const auto memory = std::make_shared<std::vector<double>>(size_t(count));
  return {memory->data(), MemorySpace::host, 0, memory};
}

std::unique_ptr<Backend> backend_for(const Kernel& kernel, const Data& data, const Settings& settings,
                                     const Output& out) {
  return on_gpu(kernel, data, settings, out) ? cuda::backend(settings.devices) : cpu::backend();
}

void execute(const Kernel& kernel, Data data, const Settings& settings, const Output& out) {
  execute(*backend_for(kernel, data, settings, out), kernel, std::move(data), settings, out);
}

void execute(Backend& backend, const Kernel& kernel, Data data, const Settings& settings, const Output& out) {
  const auto& reductions = kernel.program.graph.reductions;
  data.reduced.resize(reductions.size());
  std::vector<Temporary> kept;
  for (size_t n = 0; n < kernel.order.size(); ++n) {
    const int id = kernel.order[n], size = reductions[id].size;
    const Plan& plan = backend.plans(kernel)[n];
    const bool both_axes = plan.reduction.over == both;
    const Count rows = both_axes ? 1 : data.length(plan.rows);
    Output to = out;
    if (id != kernel.program.result) {
      kept.push_back(both_axes ? backend.Backend::keep(size) : backend.keep(rows * size));
      const Temporary& room = kept.back();
      to = {room.data, 1, size, room.home, room.device};
    }
    Settings here = settings;  // float32 counts only to 2^24
    here.single = settings.single && !(plan.counts_indices && std::max(data.m, data.n) > (1 << 24));
    if (both_axes)
      reduce_both(backend, plan, data, here, to);
    else
      backend.map_reduce(plan, data, here, 0, rows, to);
    data.reduced[id] = {to.data, 1, size, to.home, to.device};
  }
}

}  // namespace kernops
