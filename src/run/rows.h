// Rows for several threads, in any order, or each after those that it needs.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "run/data.h"
#include "run/threads.h"

namespace kernops {

// Fewer threads for few rows: to start one takes as long as some hundreds of them.
inline Count row_workers(Count n, const Settings& settings) {
  return std::max<Count>(1, std::min<Count>(settings.threads, n / 512));
}

// Whether threads that wait for each other may share a work. On a machine with other work, those that are waited for
// are not running now and then, for milliseconds: some of the next works are for one thread then, more and more of
// them.
class Sharing {
 public:
  static bool may_begin() {
    if (alone() == 0) return true;
    --alone();
    return false;
  }
  static void ended(bool waited_long) {
    if (waited_long) alone() = penalty().load();
    penalty() = waited_long ? std::min(2048, 2 * penalty()) : std::max(16, penalty() / 2);
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
};

// body(first, crowded) on some threads, or on this one alone. `crowded` may be set by those that have waited long; to
// wait for the others at the end is to wait, too.
template <class Body> void on_few_threads(Count threads, const Body& body) {
  using Clock = std::chrono::steady_clock;
  if (threads > 1 && !Sharing::may_begin()) threads = 1;
  std::atomic<bool> crowded{false};
  Clock::time_point done;
  on_threads(threads, [&](bool first) {
    body(first, crowded);
    if (first) done = Clock::now();
  });
  if (threads > 1) Sharing::ended(crowded || Clock::now() - done > std::chrono::milliseconds(1));
}

// work(row, worker) for n rows, some at a time.
template <class Work> void each_row(Count n, Count unit, const Settings& settings, const Work& work) {
  std::atomic<Count> next{0}, others{0};
  on_few_threads(row_workers(n, settings), [&](bool first, const std::atomic<bool>&) {
    const Count worker = first ? 0 : ++others;
    for (Count begin = next.fetch_add(unit); begin < n; begin = next.fetch_add(unit))
      for (Count row = begin; row < std::min(n, begin + unit); ++row) work(row, worker);
  });
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
  const Count threads = std::min(row_workers(n, settings), std::max<Count>(1, n / enough));
  on_few_threads(threads, [&](bool first, std::atomic<bool>& crowded) {
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
}

}  // namespace kernops
