// Computations with conditioning sets on the GPU. Batches of sets are distributed to the devices. The sums of the
// batches are merged in order, so that results do not depend on the number of devices.
#include <map>
#include <tuple>

#include "cuda/sets/device_sets.h"

namespace kernops {
namespace cuda {
namespace {

// The number of threads of a block for sets with m neighbours: one thread per row of the matrix, rounded up to a power
// of 2, but at most 256.
unsigned threads_for(int m) {
  unsigned threads = 32;
  while (threads < 256 && threads < unsigned(m + 1)) threads *= 2;
  return threads;
}

// Copies of the sets, indexed by device and by whether points are centred.
struct SetsCache : BackendCache {
  template <class T> using Copies = std::map<std::pair<int, bool>, std::shared_ptr<DeviceSets<T>>>;
  std::tuple<Copies<float>, Copies<double>> copies;
};

// Returns the copy of the sets on the current device, which is taken from the cache of the request if possible. If the
// formula depends only on differences of points, points are centred before they are converted to floats.
template <class T> std::shared_ptr<const DeviceSets<T>> device_sets(const SetRequest& request) {
  const bool centred = sizeof(T) == 4 && sees_differences(plan_of(*request.covariance));
  std::shared_ptr<DeviceSets<T>> none, *sets = &none;
  if (request.kept) {
    if (!*request.kept) *request.kept = std::make_shared<SetsCache>();
    auto& all = dynamic_cast<SetsCache&>(**request.kept).copies;
    sets = &std::get<SetsCache::Copies<T>>(all)[{current_device().number, centred}];
  }
  if (!*sets || !(*sets)->serves(request)) {
    sets->reset();
    *sets = std::make_shared<DeviceSets<T>>(request, centred);
  }
  (*sets)->put_own(request);
  return *sets;
}

unsigned blocks_for(Count sets) { return unsigned(ceil_div(sets, chunk)); }

template <class T> unsigned shared_bytes(const DeviceSetJob<T>& job) {
  return unsigned(job.memory.end) * unsigned(sizeof(T));
}

// Returns the number of blocks that run at a time if some panels (4 columns of a set's matrix) are in device memory.
unsigned split_blocks() { return unsigned(current_device().multiprocessors); }

// Launches one block for every `chunk` sets. If some panels are in device memory, this memory suffices for
// split_blocks() blocks, and a launch has at most this number of blocks.
template <class T> void launch_sets(void* kernel, DeviceSetJob<T> job, Count sets) {
  const unsigned blocks = blocks_for(sets), most = job.panels ? split_blocks() : blocks;
  for (unsigned done = 0; done < blocks; done += most, job.first_block += int(most))
    launch_sharing(kernel, std::min(most, blocks - done), threads_for(job.m), shared_bytes(job), &job);
}

// Allocates device memory for panels of matrices that do not fit into shared memory. Such matrices belong to sets with
// more than 150 to 220 neighbours in float64, and with more than 220 to 320 neighbours in float32.
template <class T> Copied<T> far_panels(const DeviceSetJob<T>& job) {
  return Copied<T>(size_t(job.far_numbers) * split_blocks());
}

// Returns whether the CUDA texts support the plan of the formula. Requests with other plans go to the CPU, which also
// reports errors of invalid formulas.
bool has_text(const SetRequest& request) {
  const std::vector<Plan>& plans = request.covariance->plans[number_of(cpu_backend())];
  if (request.sets == 0 || plans.size() != 1 || !request.covariance->stores()) return false;
  for (const auto& loads : plans[0].loads)
    for (const Load& load : loads)
      if (load.kind != Load::variable && load.kind != Load::constant) return false;
  return true;
}

// Returns whether the sets of a job fit into the memory of each device; if they do not fit, the CPU computes the sets.
template <class T> bool fits(const SetRequest& request, const DeviceSetJob<T>& job) {
  const std::vector<Device> all = devices();
  return std::all_of(request.settings.devices.begin(), request.settings.devices.end(), [&](int number) {
    const Device& device = all[size_t(number)];
    const size_t panels = size_t(job.far_numbers) * size_t(device.multiprocessors) * sizeof(T);
    return int(shared_bytes(job)) <= device.shared_bytes && panels <= device.bytes / 4;
  });
}

// Calls body(job, number, sets) for each batch of a request, where `number` is the number of the batch. During the
// call, the device of the batch is the current device.
template <class T, class Body>
void each_batch(const SetRequest& request, const DeviceSetJob<T>& all, const std::string& text, const char* kernel,
                const Body& body) {
  const std::vector<int>& devices = request.settings.devices;
  const Count batches = ceil_div(request.sets, batch), used = std::min<Count>(Count(devices.size()), batches);
  std::vector<std::shared_ptr<const DeviceSets<T>>> sets(size_t(used), nullptr);
  for (size_t n = size_t(used); n-- > 0;) {
    use_device(devices[n]);
    function(text, kernel);  // loads the kernel
    sets[n] = device_sets<T>(request);
  }
  const auto work = [&](size_t device, const Watch& watch) {
    use_device(devices[device]);
    const Copied<T> theta(request.theta, size_t(request.parameters));
    for (Count number = Count(device); number < batches; number += used) {
      DeviceSetJob<T> job = sets[device]->job(request, all, number * batch);
      job.theta = theta.data();
      body(job, number, *sets[device]);
      if (watch && !watch(double(number + 1) / double(batches))) throw Interrupted();
    }
  };
  if (used == 1) return work(0, request.settings.keep_going);
  in_threads(size_t(used), request.settings.keep_going, work);
}

// Computes the sums of a batch; returns the number of its first singular set, or -1.
template <class T>
Count sum_batch(const SetRequest& request, const DeviceSets<T>& sets, DeviceSetJob<T> job, Count begin,
                const std::string& text, double* sums) {
  const size_t blocks = size_t(job.blocks), count = size_t(job.sums());
  const Copied<double> parts(blocks * count), totals(count);
  const Copied<int> bad(blocks);
  const Copied<T> panels = far_panels(job);
  job.parts = parts.data(), job.totals = totals.data(), job.bad = bad.data(), job.panels = panels.data();
  void* const kernel = function(text, "kernops_set_sums");
  sets.each_piece(request, job, begin, 0,
                  [&](const DeviceSetJob<T>& some, Count, Count of) { launch_sets(kernel, some, of); });
  launch(function(text, "kernops_set_totals"), unsigned(count), 1, set_total_threads, &job);
  std::vector<int> found(blocks);
  totals.copy_to(sums), bad.copy_to(found.data());
  const auto first = std::find_if(found.begin(), found.end(), [](int set) { return set >= 0; });
  return first == found.end() ? -1 : Count(*first);
}

template <class T> SetTotals sums_in(const SetRequest& request) {
  if (!has_text(request)) return cpu_backend().set_sums(request);
  const auto all = job_of<T>(request);
  if (!fits(request, all)) return cpu_backend().set_sums(request);
  const std::string text =
      set_sums_text(*request.covariance, request.slopes, request.settings.single, all.memory.far > 0);
  SetTotals totals;
  std::vector<std::vector<double>> parts(size_t(ceil_div(request.sets, batch)));
  std::vector<Count> bad(parts.size(), -1);
  each_batch<T>(request, all, text, "kernops_set_sums",
                [&](const DeviceSetJob<T>& job, Count number, const DeviceSets<T>& sets) {
                  std::vector<double>& sums = parts[size_t(number)];
                  sums.resize(size_t(job.sums()));
                  const Count found = sum_batch(request, sets, job, number * batch, text, sums.data());
                  if (found >= 0) bad[size_t(number)] = number * batch + found;
                });
  for (size_t number = parts.size(); number-- > 0;)
    if (bad[number] >= 0) totals.bad = bad[number];
  for (const std::vector<double>& part : parts) {
    totals.sums.resize(part.size());
    for (size_t n = 0; n < part.size(); ++n) totals.sums[n] += part[n];
  }
  return totals;
}

template <class T> void weights_in(const SetRequest& request, double* weights, double* sd) {
  if (!has_text(request)) return cpu_backend().set_weights(request, weights, sd);
  const auto all = job_of<T>(request);
  if (!fits(request, all)) return cpu_backend().set_weights(request, weights, sd);
  const std::string text =
      set_weights_text(*request.covariance, request.slopes, request.settings.single, all.memory.far > 0);
  each_batch<T>(request, all, text, "kernops_set_weights",
                [&](const DeviceSetJob<T>& batch_job, Count number, const DeviceSets<T>& sets) {
                  void* const kernel = function(text, "kernops_set_weights");
                  const Count begin = number * batch;
                  const Count rows = 1 + all.parameters, width = all.m * rows;
                  const size_t bytes = size_t(width + rows) * sizeof(double);
                  const Copied<T> panels = far_panels(all);
                  sets.each_piece(request, batch_job, begin, bytes, [&](DeviceSetJob<T> job, Count at, Count count) {
                    job.panels = panels.data();
                    const Copied<double> some_weights(size_t(count * width)), some_sd(size_t(count * rows));
                    job.weights = some_weights.data_from(at * width), job.sd = some_sd.data_from(at * rows);
                    launch_sets(kernel, job, count);
                    some_weights.copy_to(weights + (begin + at) * width), some_sd.copy_to(sd + (begin + at) * rows);
                  });
                });
}

}  // namespace

SetTotals set_sums(const SetRequest& request) {
  return request.settings.single ? sums_in<float>(request) : sums_in<double>(request);
}

void set_weights(const SetRequest& request, double* weights, double* sd) {
  if (request.settings.single) return weights_in<float>(request, weights, sd);
  weights_in<double>(request, weights, sd);
}

}  // namespace cuda
}  // namespace kernops
