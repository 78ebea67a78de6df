// Computations with conditioning sets on the CPU. Threads process chunks of sets. The sums of chunks are merged in
// order, so that results do not depend on the number of threads.
#include "sets/sets.h"

#include <algorithm>
#include <stdexcept>
#include <mutex>

#include "cpu/cpu.h"
#include "cpu/simd/sets_table.h"
#include "run/parallel_for.h"

namespace kernops {
namespace cpu {
namespace {

constexpr Count chunk = 512;

const SetEngine& set_engine(const std::string& isa) {
  [[maybe_unused]] const Engine& engine = engine_for(isa);
#ifdef __x86_64__
  if (&engine == &engine_avx512) return set_engine_avx512;
  if (&engine == &engine_avx2) return set_engine_avx2;
#endif
  return set_engine_baseline;
}

template <class T> Span<T> span(const std::vector<T>& items) { return {items.data(), int(items.size())}; }

// A SetJob that owns the memory to which it points.
class PreparedSets : public SetJob {
 public:
  explicit PreparedSets(const SetRequest& request) : SetJob() {
    covariance = formula(*request.covariance, request, uniform_[0], false);
    if (request.slopes) slopes = formula(*request.slopes, request, uniform_[1], true);
    parameters = request.slopes ? request.parameters : 0, nugget = request.nugget;
    diagonal = request.diagonal, d = request.d, columns = request.columns;
    neighbours = request.neighbours, m = request.m, stride = request.stride, first = request.first, sets = request.sets;
    factors = request.factors, rank = request.rank;
    copy_records(request);
  }

 private:
  static PairFormula formula(const Kernel& kernel, const SetRequest& request, std::vector<Source>& uniform,
                             bool summands) {
    const std::vector<Plan>& plans = kernel.plans[number_of(cpu_backend())];
    if (plans.size() != 1 || !kernel.stores()) throw std::invalid_argument("sets of points need the terms of one sum");
    const Plan& plan = plans[0];
    for (const Load& load : plan.loads[0]) uniform.push_back({load, request.theta, 1, 0, 0});
    PairFormula made{span(plan.slots), span(uniform), {span(plan.loads[1]), span(plan.loads[2])}, {}, {}, plan.f, {}};
    for (const Span<Load>& side : made.points)
      for (int n = 0; n < side.count; ++n)
        if (side.items[n].kind != Load::variable)
          throw std::invalid_argument("a covariance of sets of points does not depend on their numbers");
    for (int level = 0; level < 4; ++level)
      made.steps[level] = span(plan.steps[level]), made.entries[level] = plan.entries[level];
    if (summands) made.summands = span(plan.summands), made.steps[int(Level::pair)].count -= plan.joins;
    return made;
  }

  // Stores all numbers of a point next to each other, because the neighbours of a set are scattered in memory.
  void copy_records(const SetRequest& request) {
    const Count own = request.own ? request.sets : 0;
    records_.resize(size_t(request.n + own) * record());
    double* to = records_.data();
    for (Count i = 0; i < request.n; ++i) {
      for (int k = 0; k < d; ++k) *to++ = request.points[k * request.n + i];
      const double slope = request.noise_slope ? request.noise_slope[i] : 0;
      *to++ = (request.noise ? request.noise[i] : 0) + request.slopes_of_noise * slope;
      *to++ = slope;
      for (int c = 0; c < columns; ++c) *to++ = request.values[c * request.n + i];
    }
    for (Count i = 0; i < own; ++i, to += record())
      for (int k = 0; k < d; ++k) to[k] = request.own[k * own + i];
    records = records_.data();
  }

  std::vector<Source> uniform_[2];
  std::vector<double> records_;
};

// Calls work(begin, end, number) for each chunk of the sets.
template <class Work> void each_chunk(const SetJob& job, const Settings& settings, const Work& work) {
  const Count chunks = ceil_div(job.sets, chunk);
  parallel_for(chunks, std::min<Count>(settings.threads, chunks), settings,
               [&](Count number, Count) { work(number * chunk, std::min(job.sets, (number + 1) * chunk), number); });
}

}  // namespace

SetTotals set_sums(const SetRequest& request) {
  const PreparedSets job(request);
  const SetEngine& engine = set_engine(request.settings.isa);
  const size_t size = size_t(job.sums());
  std::vector<double> parts(size_t(ceil_div(job.sets, chunk)) * size);
  SetTotals totals{std::vector<double>(size), -1};
  std::mutex mutex;
  each_chunk(job, request.settings, [&](Count begin, Count end, Count number) {
    Count bad;
    if (engine.sum(job, begin, end, parts.data() + size_t(number) * size, &bad)) return;
    const std::lock_guard<std::mutex> lock(mutex);
    totals.bad = totals.bad < 0 ? bad : std::min(bad, totals.bad);
  });
  for (size_t n = 0; n < parts.size(); ++n) totals.sums[n % size] += parts[n];
  return totals;
}

void set_weights(const SetRequest& request, double* weights, double* sd) {
  PreparedSets job(request);
  job.weights = weights, job.sd = sd;
  const SetEngine& engine = set_engine(request.settings.isa);
  each_chunk(job, request.settings, [&](Count begin, Count end, Count) { engine.weigh(job, begin, end); });
}

void multiply_columns(const ColumnJob& job, const Settings& settings) { set_engine(settings.isa).multiply(job); }

std::vector<double> set_adjoint(const SetRequest& request, const double* weights, const double* log_sd,
                                double* solved) {
  PreparedSets job(request);
  job.weights_adjoint = weights, job.log_sd_adjoint = log_sd, job.weights = solved;
  const SetEngine& engine = set_engine(request.settings.isa);
  const size_t size = size_t(job.parameters);
  std::vector<double> parts(size_t(ceil_div(job.sets, chunk)) * size), sums(size);
  each_chunk(job, request.settings, [&](Count begin, Count end, Count number) {
    engine.adjoin(job, begin, end, parts.data() + size_t(number) * size);
  });
  for (size_t n = 0; n < parts.size(); ++n) sums[n % size] += parts[n];
  return sums;
}

}  // namespace cpu
}  // namespace kernops
