// Runs a computation for each batch.
#include <algorithm>
#include <atomic>

#include "run/backend.h"
#include "run/pairs.h"
#include "run/threads.h"

namespace kernops {
namespace {

// The minimum number of pairs for a second thread. With fewer pairs, starting the thread takes longer than the time
// that the thread saves.
constexpr double few_pairs = 1e6;

Data nth(Data data, Count batch) {
  for (ArrayRef& array : data.variables)
    if (array.batch) array.data = static_cast<const double*>(array.data) + batch * array.batch;
  return data;
}

Output nth(Output out, Count batch) {
  out.data += batch * out.batch;
  return out;
}

}  // namespace

void execute_batches(const Kernel& kernel, const Data& data, Count batches, const Settings& settings,
                     const Output& out) {
  const Backend& backend = backend_for(kernel, data.memory(out.space), double(data.pair_count()), settings);
  const std::vector<Plan>& plans = kernel.plans[number_of(backend)];
  const bool side_by_side = double(data.pair_count()) < few_pairs && &backend == &cpu_backend();
  std::atomic<Count> next{0};
  std::atomic<bool> stopped{false};
  on_threads(side_by_side ? std::min<Count>(settings.threads, batches) : 1, [&](bool first) {
    Settings here = settings;
    if (side_by_side) here.threads = 1;
    here.keep_going = [&](double fraction) {
      if (!first || !settings.keep_going) return !stopped;
      return !stopped && settings.keep_going((double(next - 1) + fraction) / double(batches));
    };
    try {
      const std::unique_ptr<Pairs> pairs = backend.pairs(settings);
      for (Count batch; !stopped && (batch = next++) < batches;) {
        execute(*pairs, plans, kernel, nth(data, batch), here, nth(out, batch));
        pairs->next_batch(data);
      }
    } catch (...) {
      stopped = true;
      throw;
    }
  });
}

}  // namespace kernops
