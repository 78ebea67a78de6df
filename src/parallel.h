// Shares a loop out to threads, a stretch at a time. The first thread is the caller's, and alone looks at its
// wish to stop.
#pragma once
#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "backend.h"

namespace kernops {

// body(begin, end, thread) for [0, count), at most `grain` at a time.
template <class F> void parallel(Count count, Count grain, const Settings& settings, F body) {
  std::atomic<Count> next{0};
  std::atomic<bool> stopped{false};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&](int thread) {
    try {
      while (!stopped) {
        const Count begin = grain * next++;
        if (begin >= count) return;
        body(begin, std::min(begin + grain, count), thread);
        if (thread == 0 && settings.keep_going && !settings.keep_going(double(begin) / double(count)))
          stopped = true;
      }
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      failure = std::current_exception();
      stopped = true;
    }
  };
  std::vector<std::thread> others;
  const Count threads = std::min<Count>(settings.threads, (count + grain - 1) / grain);
  for (Count n = 1; n < threads; ++n) others.emplace_back(work, int(n));
  work(0);
  for (std::thread& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
  if (stopped) throw Interrupted();
}

}  // namespace kernops
