// Work in equal units; the next free thread processes the next unit.
#pragma once
#include <algorithm>
#include <atomic>

#include "run/data.h"
#include "run/threads.h"

namespace kernops {

// Calls work(unit, thread) for each unit; the first thread checks for interrupts. Rethrows the exception of a unit, or
// throws Interrupted. Returns how long the first thread waited for the other threads at the end.
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

// Calls work(first, last) for each part of the numbers from 0 to n.
template <class Work> void in_parts(Count n, const Settings& settings, const Work& work, Count part = 1 << 15) {
  const Count units = ceil_div(n, part);
  parallel_for(units, std::min<Count>(settings.threads, units), settings,
               [&](Count unit, Count) { work(unit * part, std::min(n, (unit + 1) * part)); });
}

}  // namespace kernops
