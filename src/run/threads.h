// Runs a computation on several threads.
#pragma once
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace kernops {

// Runs work(first) on `count` threads, or on as many as the system grants. `first` is true on the calling thread, and
// false on the other threads. After all threads have ended, rethrows an exception of one of them. Returns how long the
// calling thread waited for the other threads.
template <class Work> std::chrono::steady_clock::duration on_threads(std::ptrdiff_t count, Work work) {
  std::exception_ptr failure;
  std::mutex mutex;
  const auto guarded = [&](bool first) {
    try {
      work(first);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  try {
    for (std::ptrdiff_t n = 1; n < count; ++n) others.emplace_back(guarded, false);
  } catch (const std::exception&) {
  }
  guarded(true);
  const auto done = std::chrono::steady_clock::now();
  for (std::thread& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
  return std::chrono::steady_clock::now() - done;
}

}  // namespace kernops
