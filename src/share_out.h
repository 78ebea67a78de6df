// Work in equal units, shared out over threads.
#pragma once
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "backend.h"

namespace kernops {

// work(unit, thread) for each unit; the first thread asks whether to go on. Throws what a unit threw, or
// Interrupted.
template <class Work> void share_out(Count units, Count threads, const Settings& settings, const Work& work) {
  std::atomic<Count> next{0};
  std::atomic<bool> stopped{false};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&](Count thread) {
    try {
      for (Count unit = next++; unit < units && !stopped; unit = next++) {
        work(unit, thread);
        if (thread == 0 && settings.keep_going && !settings.keep_going(double(unit) / double(units)))
          stopped = true;
      }
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      failure = std::current_exception();
      stopped = true;
    }
  };
  std::vector<std::thread> others;
  for (Count n = 1; n < threads; ++n) others.emplace_back(run, n);
  run(0);
  for (std::thread& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
  if (stopped) throw Interrupted();
}

}  // namespace kernops
