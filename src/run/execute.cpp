// Runs the reductions of a kernel one after another on a backend.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "formula/limits.h"
#include "formula/op_table.h"
#include "run/backend.h"
#include "run/pairs.h"

namespace kernops {
namespace {

void collect(Graph& graph, int reduction, Kernel& kernel) {
  check_stack(-1);
  std::vector<Plan> plans;
  for (const Backend* backend : backends()) plans.push_back(backend->plan(graph, graph.reductions[reduction]));
  for (const auto& loads : plans[number_of(cpu_backend())].loads)
    for (const Load& load : loads)
      if (load.kind == Load::reduced &&
          std::find(kernel.order.begin(), kernel.order.end(), load.id) == kernel.order.end())
        collect(graph, load.id, kernel);
  kernel.order.push_back(reduction);
  for (size_t n = 0; n < plans.size(); ++n) kernel.plans[n].push_back(std::move(plans[n]));
}

// A sum with Neumaier's compensation.
struct Total {
  double sum = 0, error = 0;
  void add(double x) {
    const double next = sum + x;
    error += std::fabs(sum) >= std::fabs(x) ? (sum - next) + x : (x - next) + sum;
    sum = next;
  }
  double value() const { return std::isfinite(sum) ? sum + error : sum; }
};

// Sums over both axes: reduces the rows in batches, and then sums the results of the rows, always in the same order.
void reduce_both(Pairs& pairs, const Plan& plan, const Data& data, const Settings& settings, const Output& out) {
  const Count rows = data.length(plan.rows), batch = pairs.batch_of_rows();
  const int size = plan.reduction.size;
  std::vector<double> part(size_t(std::min(rows, batch)) * size);
  std::vector<Total> totals(size);
  for (Count begin = 0; begin < rows; begin += batch) {
    const Count end = std::min(rows, begin + batch);
    pairs.reduce(plan, data, settings, begin, end, {part.data(), 1, size});
    for (Count n = 0; n < (end - begin) * size; ++n) totals[n % size].add(part[n]);
  }
  for (int k = 0; k < size; ++k) out.data[k * out.entry] = totals[k].value();
}

}  // namespace

Kernel make_kernel(const std::string& formula, const std::vector<std::string>& declarations, bool stored) {
  Kernel kernel;
  kernel.program = compile(formula, declarations);
  if (stored) store_terms(kernel.program);
  kernel.plans.resize(backends().size());
  collect(kernel.program.graph, kernel.program.result, kernel);
  return kernel;
}

bool Kernel::stores() const { return reduction_table()[result().row].stores(); }

double Kernel::work(double pairs) const {
  double operations = 0;
  for (const Plan& plan : plans[number_of(cpu_backend())]) operations += pairs * (plan.pair_footprint + 1);
  return operations;
}

Temporary Pairs::keep(Count count) {
  const auto memory = std::make_shared<std::vector<double>>(size_t(count));
  return {memory->data(), MemorySpace::host, 0, memory};
}

const Backend& backend_for(const Kernel& kernel, MemorySpace there, double pairs, const Settings& settings) {
  const Backend& chosen = choose_backend(settings.backend, {there}, kernel.work(pairs));
  const auto fits = [&](const Plan& plan) { return chosen.fits(plan, settings); };
  const auto& plans = kernel.plans[number_of(chosen)];
  if (std::all_of(plans.begin(), plans.end(), fits)) return chosen;
  if (!settings.backend && there == MemorySpace::host) return cpu_backend();
  throw std::invalid_argument("the values of a pair are too long for the threads of the backend \"" + chosen.name() +
                              "\": the backend \"" + cpu_backend().name() + "\" has no such limit");
}

void execute(Pairs& pairs, const std::vector<Plan>& plans, const Kernel& kernel, Data data, const Settings& settings,
             const Output& out) {
  const auto& reductions = kernel.program.graph.reductions;
  data.reduced.resize(reductions.size());
  derive(pairs, plans, data);
  std::vector<Temporary> kept;
  for (size_t n = 0; n < kernel.order.size(); ++n) {
    const int id = kernel.order[n], size = reductions[id].size;
    const Plan& plan = plans[n];
    const bool both_axes = plan.reduction.over == both;
    const Count rows = both_axes ? 1 : data.length(plan.rows);
    Output to = out;
    if (id != kernel.program.result) {
      kept.push_back(both_axes ? pairs.Pairs::keep(size) : pairs.keep(rows * size));
      const Temporary& room = kept.back();
      to = {room.data, 1, size, room.space, room.device};
    }
    // in float32, indices and counts are exact only up to 2^24, so that larger ones are computed in float64
    Settings here = settings;
    here.single = settings.single && !(plan.counts_indices && std::max(data.m, data.n) > (1 << 24));
    if (both_axes)
      reduce_both(pairs, plan, data, here, to);
    else
      pairs.reduce(plan, data, here, 0, rows, to);
    data.reduced[id] = {to.data, 1, size, to.space, to.device};
  }
}

void execute(const Kernel& kernel, Data data, const Settings& settings, const Output& out) {
  const Backend& backend = backend_for(kernel, data.memory(out.space), double(data.pair_count()), settings);
  execute(*backend.pairs(settings), kernel.plans[number_of(backend)], kernel, std::move(data), settings, out);
}

}  // namespace kernops
