// Distributes units of work to threads: a thread that has finished a unit takes the next one.
#pragma once
#include <algorithm>
#include <atomic>

#include "run/data.h"
#include "run/threads.h"

namespace kernops {

// Calls work(unit, thread) for each unit; the first thread checks for interrupts. Rethrows an exception that work()
// throws, and throws Interrupted after an interrupt. Returns how long the first thread waited at the end for the other
// threads.
template <class Work>
std::chrono::steady_clock::duration parallel_for(Count units, Count threads, const Settings& settings,
                                                 const Work& work) {
  std::atomic<Count> next{0}, others{0};
  std::atomic<bool> stopped{false};
  const auto waited = on_threads(threads, [&](bool first) {
    const Count thread = first ? 0 : ++others;
    try {
      for (Count unit = next++; unit < units && !stopped; unit = next++) {
        work(unit, thread);
        if (first && settings.keep_going && !settings.keep_going(double(unit) / double(units))) stopped = true;
      }
    } catch (...) {
      stopped = true;
      throw;
    }
  });
  if (stopped) throw Interrupted();
  return waited;
}

// Calls work(first, last) for successive ranges that cover the numbers 0 .. n - 1.
template <class Work> void in_parts(Count n, const Settings& settings, const Work& work, Count part = 1 << 15) {
  const Count units = ceil_div(n, part);
  parallel_for(units, std::min<Count>(settings.threads, units), settings,
               [&](Count unit, Count) { work(unit * part, std::min(n, (unit + 1) * part)); });
}

}  // namespace kernops
