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

// Tasks with at least this number of rows take longer than most suspensions of a thread.
constexpr Count long_task = 32768;

// Chooses the number of threads for a task of n rows. On a machine with other load, the system sometimes suspends a
// thread for milliseconds, while the other threads wait for it. After such a suspension, tasks run on a single thread
// for some multiple of the time that was lost; this multiple is larger after each further suspension. Long tasks always
// use all threads; rows_in_order() then lets the other threads rest. A wait at the end of a task counts as a suspension
// only if it is a large part of the task, because the last rows may take different times.
class Sharing {
 public:
  using Clock = std::chrono::steady_clock;
  Sharing(Count wanted, Count n) : threads_(wanted > 1 && n < long_task && rests() ? 1 : wanted) {}
  Count threads() const { return threads_; }
  Clock::duration elapsed() const { return Clock::now() - begin_; }
  // Returns whether, at present, only the first thread of a task may compute rows.
  static bool rests() { return Clock::now().time_since_epoch().count() < until(); }
  // Records that a thread waited for a suspended thread for the time `lost`.
  static void suspended(Clock::duration lost) {
    until() = (Clock::now() + lost * multiple().load()).time_since_epoch().count();
    multiple() = std::min(8, 2 * multiple().load());
  }
  // Ends the task. A long wait at its end counts as a suspension; otherwise the multiple is reduced. `waited` is the
  // time that the first thread waited for the other threads.
  void ended(Clock::duration waited) const {
    if (threads_ == 1) return;
    if (waited > std::chrono::milliseconds(1) && waited > elapsed() / 4)
      suspended(waited);
    else
      multiple() = std::max(1, multiple().load() / 2);
  }

 private:
  static std::atomic<Clock::rep>& until() {
    static std::atomic<Clock::rep> time{0};
    return time;
  }
  static std::atomic<int>& multiple() {
    static std::atomic<int> times{1};
    return times;
  }
  const Count threads_;
  const Clock::time_point begin_ = Clock::now();
};

// Calls work(row, worker) for n rows; a thread takes `unit` rows at a time.
template <class Work> void each_row(Count n, Count unit, const Settings& settings, const Work& work) {
  const Sharing sharing(row_workers(n, settings), n);
  sharing.ended(parallel_for(ceil_div(n, unit), sharing.threads(), settings, [&](Count number, Count worker) {
    for (Count row = number * unit; row < std::min(n, (number + 1) * unit); ++row) work(row, worker);
  }));
}

// Waits until until() is true, and returns how long the wait took after a phase of spinning, or 0. The wait ends in
// short sleeps, because threads that only yield do not release a core for a suspended thread.
template <class Until> Sharing::Clock::duration wait_until(const Until& until) {
  constexpr int spins = 4000, yields = 200;
  for (int tries = 0; tries < spins; ++tries)
    if (until()) return {};
  const auto begin = Sharing::Clock::now();
  for (int tries = 0; !until(); ++tries)
    if (tries < yields)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  return Sharing::Clock::now() - begin;
}

// Calls work(row, worker, after) for n rows, where a row may depend on earlier rows. Before work() uses an earlier row,
// it calls after(other), which waits until row `other` has ended. work() first waits for the latest row that it needs.
// If after() returns false, all rows before `other` have also ended, and work() need not call after() again. Threads
// take rows in order, so that the first row that has not ended never waits. A wait counts as a suspension if it takes
// much longer than the rows of a unit have taken so far. After a suspension, the other threads rest, and the first
// thread takes all rows. work() must not throw, because a row cannot be stopped.
template <class Work> void rows_in_order(Count n, const Settings& settings, const Work& work) {
  constexpr Count enough = 8192;  // minimum rows per thread: with fewer, waiting costs more than sharing saves
  // number of rows of one unit; rows of adjacent units rarely depend on each other
  const Count unit = std::max<Count>(8, std::min<Count>(32, n / 16384));
  constexpr std::chrono::microseconds rest(250);
  const Count units = ceil_div(n, unit);
  std::vector<std::atomic<bool>> ended(static_cast<size_t>(units));
  std::atomic<Count> next{0}, others{0};
  const Sharing sharing(std::min(row_workers(n, settings), std::max<Count>(1, n / enough)), n);
  const auto is_suspension = [&](Sharing::Clock::duration waited) {
    return waited > std::chrono::microseconds(500) &&
           waited > sharing.elapsed() * (4 * sharing.threads()) / next.load();
  };
  sharing.ended(on_threads(sharing.threads(), [&](bool first) {
    const Count worker = first ? 0 : ++others;
    Count known = 0;  // all units before this number have ended
    const auto has_ended = [&](Count other) { return ended[size_t(other)].load(std::memory_order_acquire); };
    for (;;) {
      while (!first && next < units && Sharing::rests()) std::this_thread::sleep_for(rest);
      const Count number = next++;
      if (number >= units) break;
      while (known < number && has_ended(known)) ++known;
      const auto after = [&](Count row) {
        const Count other = row / unit;
        if (other < known) return false;
        if (other < number) {
          const auto waited = wait_until([&] { return has_ended(other); });
          if (is_suspension(waited)) Sharing::suspended(waited);
        }
        return true;
      };
      for (Count row = number * unit; row < std::min(n, (number + 1) * unit); ++row) work(row, worker, after);
      ended[size_t(number)].store(true, std::memory_order_release);
    }
  }));
}

}  // namespace kernops
