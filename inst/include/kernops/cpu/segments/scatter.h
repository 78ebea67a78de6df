// Groups in any order: value by value into the states of all rows.
#pragma once
#include <kernops/cpu/segments/states.h>
#include <kernops/cpu/segments/values.h>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class R> struct ScatteredReduction {
  struct One {
    double v[R::values];
  };

  static void add_rows(const SegmentJob& job, Count column, Count first, Count last, char* memory, char* scratch) {
    One* states = reinterpret_cast<One*>(memory) + 1;  // row -1 takes what belongs to none
    for (Count n = -1; n < job.count; ++n) R::start(states[n]);
    const Count window = scatter_window(job.count), tile = window < 2048 ? window : 2048;
    for (Count row = first; row < last; row += tile) {
      const Count count = last - row < tile ? last - row : tile;
      const double* x = rows_at(job, column, row, count, reinterpret_cast<double*>(scratch));
      const int* groups = job.groups + row;
      if (job.skip_missing) {
        for (Count n = 0; n < count; ++n) R::add(states[x[n] == x[n] ? groups[n] : -1], x[n], 0);
      } else {
        for (Count n = 0; n < count; ++n) R::add(states[groups[n]], x[n], 0);
      }
      if (job.scatter == Scatter::tiles && (row - first + tile) % window == 0)
        for (Count g = 0; g < job.count; ++g) R::settle(states[g]);
    }
  }

  static void join(const SegmentJob& job, Count column, char* memory, Count splits) {
    One* states = reinterpret_cast<One*>(memory) + 1;
    for (Count n = 0; n < job.count; ++n) {
      One s = states[n];
      for (Count split = 1; split < splits; ++split) R::merge(s, states[n + split * (job.count + 1)]);
      R::settle(s);
      give<R>(job, column, n, s);
    }
  }
};

// How an engine does so, where it can.
template <class Reduction> void add_scatter(const SegmentJob& job, SegmentEngine& engine) {
  using A = Accumulate<Reduction>;
  const auto scatter = [&](auto reduction) {
    using R = decltype(reduction);
    engine.state_bytes = sizeof(typename ScatteredReduction<R>::One);
    engine.scatter = ScatteredReduction<R>::add_rows;
    engine.join_scattered = ScatteredReduction<R>::join;
  };
  if constexpr (A::scatters) {
    if (job.groups && job.scatter == Scatter::plain) scatter(typename A::template Scattered<Scatter::plain>());
    if (job.groups && job.scatter == Scatter::tiles) scatter(typename A::template Scattered<Scatter::tiles>());
    if (job.groups && job.scatter == Scatter::careful) scatter(typename A::template Scattered<Scatter::careful>());
  }
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
