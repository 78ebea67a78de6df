// Rows for several threads, in any order, or each after those that it needs.
#pragma once
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "run/parallel_for.h"

namespace kernops {

// Fewer threads for few rows: to start one takes as long as some hundreds of them.
inline Count row_workers(Count n, const Settings& settings) {
  return std::max<Count>(1, std::min<Count>(settings.threads, n / 512));
}

// work(row, worker) for n rows, some at a time.
template <class Work> void each_row(Count n, Count unit, const Settings& settings, const Work& work) {
  parallel_for(ceil_div(n, unit), row_workers(n, settings), settings, [&](Count number, Count worker) {
    for (Count row = number * unit; row < std::min(n, (number + 1) * unit); ++row) work(row, worker);
  });
}

// work(row, worker, after) for n rows, each once what it needs is there: it calls after(other) for the earlier rows
// that it needs, from the latest one on, until this is false: all others have ended. Rows are begun in their order, so
// that the first one that has not ended never waits. Nothing may stop a row: work does not throw.
template <class Work> void rows_in_order(Count n, const Settings& settings, const Work& work) {
  constexpr Count unit = 8;  // rows of one unit, and of those beside it, seldom need each other
  Settings own;
  own.threads = int(row_workers(n, settings));
  std::vector<std::atomic<bool>> ended(static_cast<size_t>(ceil_div(n, unit)));
  struct alignas(64) Worker {
    Count known = 0;  // the units of which it knows that they have ended
  };
  std::vector<Worker> workers(static_cast<size_t>(own.threads));
  parallel_for(ceil_div(n, unit), own.threads, own, [&](Count number, Count worker) {
    const auto has_ended = [&](Count other) { return ended[size_t(other)].load(std::memory_order_acquire); };
    Count& known = workers[size_t(worker)].known;
    while (known < number && has_ended(known)) ++known;
    const auto after = [&](Count row) {
      const Count other = row / unit;
      if (other < known) return false;
      while (other < number && !has_ended(other)) std::this_thread::yield();
      return true;
    };
    for (Count row = number * unit; row < std::min(n, (number + 1) * unit); ++row) work(row, worker, after);
    ended[size_t(number)].store(true, std::memory_order_release);
  });
}

}  // namespace kernops
