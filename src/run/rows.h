// Rows for several threads, in any order, or each after those that it needs.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "run/parallel_for.h"

namespace kernops {

// Fewer threads for few rows: to start one takes as long as some hundreds of them.
inline Count row_workers(Count n, const Settings& settings) {
  return std::max<Count>(1, std::min<Count>(settings.threads, n / 512));
}

// How many threads share a work. On a machine with other work, those that are waited for are not running now and then,
// for milliseconds: some of the next works are for one thread then, more and more of them.
class Sharing {
 public:
  explicit Sharing(Count wanted) : threads_(wanted > 1 && alone() > 0 ? 1 : wanted) {
    if (threads_ < wanted) --alone();
  }
  Count threads() const { return threads_; }
  // Where one waited so long for the others at the end, or long before.
  void ended(std::chrono::steady_clock::duration waited, bool before = false) const {
    if (threads_ == 1) return;
    const bool crowded = before || waited > std::chrono::milliseconds(1);
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
};

// work(row, worker) for n rows, some at a time.
template <class Work> void each_row(Count n, Count unit, const Settings& settings, const Work& work) {
  const Sharing sharing(row_workers(n, settings));
  sharing.ended(parallel_for(ceil_div(n, unit), sharing.threads(), settings, [&](Count number, Count worker) {
    for (Count row = number * unit; row < std::min(n, (number + 1) * unit); ++row) work(row, worker);
  }));
}

// Waits until another thread has done something: whether that took so long that it cannot have been running. It needs a
// core, which it does not get from threads that only yield.
template <class Until> bool wait_until(const Until& until) {
  constexpr int spins = 4000, yields = 200, naps = 10;
  int tries = 0;
  for (; !until(); ++tries) {
    if (tries < spins) continue;
    if (tries < spins + yields)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return tries > spins + yields + naps;
}

// work(row, worker, after) for n rows, each once what it needs is there: it calls after(other) for the earlier rows
// that it needs, from the latest one on, until this is false: all others have ended. Rows are begun in their order, so
// that the first one that has not ended never waits. A thread that has waited long leaves the rest to the first one.
// Nothing may stop a row: work does not throw.
template <class Work> void rows_in_order(Count n, const Settings& settings, const Work& work) {
  constexpr Count unit = 8;       // rows of one unit, and of those beside it, seldom need each other
  constexpr Count enough = 8192;  // rows for a thread: fewer wait for each other more than they share
  const Count units = ceil_div(n, unit);
  std::vector<std::atomic<bool>> ended(static_cast<size_t>(units));
  std::atomic<Count> next{0}, others{0};
  std::atomic<bool> crowded{false};
  const Sharing sharing(std::min(row_workers(n, settings), std::max<Count>(1, n / enough)));
  const auto waited = on_threads(sharing.threads(), [&](bool first) {
    const Count worker = first ? 0 : ++others;
    Count known = 0;  // the units of which it knows that they have ended
    const auto has_ended = [&](Count other) { return ended[size_t(other)].load(std::memory_order_acquire); };
    while (first || !crowded) {
      const Count number = next++;
      if (number >= units) break;
      while (known < number && has_ended(known)) ++known;
      const auto after = [&](Count row) {
        const Count other = row / unit;
        if (other < known) return false;
        if (other < number && wait_until([&] { return has_ended(other); })) crowded = true;
        return true;
      };
      for (Count row = number * unit; row < std::min(n, (number + 1) * unit); ++row) work(row, worker, after);
      ended[size_t(number)].store(true, std::memory_order_release);
    }
  });
  sharing.ended(waited, crowded);
}

}  // namespace kernops
