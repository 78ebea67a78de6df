// Distributes rows to threads, in any order or such that dependent rows are computed in order.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "run/parallel_for.h"

namespace kernops {

// The number of threads for n rows. If there are few rows, fewer threads are used, because starting a thread takes as
// long as computing some hundreds of rows.
inline Count row_workers(Count n, const Settings& settings) {
  return std::max<Count>(1, std::min<Count>(settings.threads, n / 512));
}

// Chooses the number of threads for a task. On a machine with other load, the system sometimes suspends a thread for
// milliseconds, while the other threads wait for it. After such a suspension, some of the next tasks run on a single
// thread; after each further suspension, the number of these tasks is larger. A wait at the end of a task counts as a
// suspension only if it is a large part of the task, because the last rows may take different times.
class Sharing {
 public:
  explicit Sharing(Count wanted) : threads_(wanted > 1 && alone() > 0 ? 1 : wanted) {
    if (threads_ < wanted) --alone();
  }
  Count threads() const { return threads_; }
  // `waited` is the time that the first thread waited at the end of the task. `suspended` is true if a thread was
  // suspended earlier in the task.
  void ended(std::chrono::steady_clock::duration waited, bool suspended = false) const {
    if (threads_ == 1) return;
    const auto work = std::chrono::steady_clock::now() - begin_;
    const bool crowded = suspended || (waited > std::chrono::milliseconds(1) && waited > work / 4);
    if (crowded) alone() = penalty().load();
    penalty() = crowded ? std::min(2048, 2 * penalty()) : std::max(16, penalty() / 2);
  }

 private:
  static std::atomic<int>& alone() {
    static std::atomic<int> works{0};
    return works;
  }
  static std::atomic<int>& penalty() {
    static std::atomic<int> works{16};
    return works;
  }
  const Count threads_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Calls work(row, worker) for n rows; a thread takes `unit` rows at a time.
template <class Work> void each_row(Count n, Count unit, const Settings& settings, const Work& work) {
  const Sharing sharing(row_workers(n, settings));
  sharing.ended(parallel_for(ceil_div(n, unit), sharing.threads(), settings, [&](Count number, Count worker) {
    for (Count row = number * unit; row < std::min(n, (number + 1) * unit); ++row) work(row, worker);
  }));
}

// Waits until until() is true. All threads increase `progress`. Returns true if `progress` did not change for so long
// that a thread must have been suspended. The wait ends in short sleeps, because threads that only yield do not release
// a core for the suspended thread.
template <class Until> bool wait_until(const std::atomic<Count>& progress, const Until& until) {
  constexpr int spins = 4000, yields = 200, naps = 10;
  Count before = progress;
  bool suspended = false;
  for (int tries = 0; !until(); ++tries) {
    if (tries < spins) continue;
    if (const Count now = progress; now != before) before = now, tries = spins;
    if (tries < spins + yields)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    suspended = suspended || tries > spins + yields + naps;
  }
  return suspended;
}

// Calls work(row, worker, after) for n rows, where a row may depend on earlier rows. Before work() uses an earlier row,
// it calls after(other), which waits until row `other` has ended. work() first waits for the latest row that it needs.
// If after() returns false, all rows before `other` have also ended, and work() need not call after() again. Threads
// take rows in order, so that the first row that has not ended never waits. A thread that has waited long leaves the
// remaining rows to the first thread. work() must not throw, because a row cannot be stopped.
template <class Work> void rows_in_order(Count n, const Settings& settings, const Work& work) {
  constexpr Count unit = 8;       // rows of one unit; rows of adjacent units rarely depend on each other
  constexpr Count enough = 8192;  // minimum rows per thread: with fewer, waiting costs more than sharing saves
  const Count units = ceil_div(n, unit);
  std::vector<std::atomic<bool>> ended(static_cast<size_t>(units));
  std::atomic<Count> next{0}, others{0}, progress{0};
  std::atomic<bool> crowded{false};
  const Sharing sharing(std::min(row_workers(n, settings), std::max<Count>(1, n / enough)));
  const auto waited = on_threads(sharing.threads(), [&](bool first) {
    const Count worker = first ? 0 : ++others;
    Count known = 0;  // all units before this number have ended
    const auto has_ended = [&](Count other) { return ended[size_t(other)].load(std::memory_order_acquire); };
    while (first || !crowded) {
      const Count number = next++;
      if (number >= units) break;
      while (known < number && has_ended(known)) ++known;
      const auto after = [&](Count row) {
        const Count other = row / unit;
        if (other < known) return false;
        if (other < number && wait_until(progress, [&] { return has_ended(other); })) crowded = true;
        return true;
      };
      for (Count row = number * unit; row < std::min(n, (number + 1) * unit); ++row) work(row, worker, after);
      ended[size_t(number)].store(true, std::memory_order_release);
      ++progress;
    }
  });
  sharing.ended(waited, crowded);
}

}  // namespace kernops
