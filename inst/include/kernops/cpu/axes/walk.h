// Presents the values of slices to the SIMD loops as tiles of rows x lanes. If the lanes of a tile are adjacent doubles
// in memory, the tile is read in place; if not, the values are copied to a buffer.
#pragma once
#include <kernops/jobs/axes.h>
#include <kernops/jobs/job.h>
#include <kernops/missing.h>
#include <kernops/simd/math.h>
#include <kernops/segment_reductions.h>

namespace kernops {
inline namespace KERNOPS_ISA {

inline Spot spot(const Runs& runs, Count index) {
  Spot at{0, 0};
  for (int n = 0; n < runs.count && index > 0; ++n) {
    const Count step = index % runs.run[n].size;
    at.offset += step * runs.run[n].stride;
    at.number += step * runs.run[n].number;
    index /= runs.run[n].size;
  }
  return at;
}

// Calls body(spot, count) for pieces of the range [begin, end); within a piece, only the position in the first run of
// dimensions changes.
template <class F> void each_stretch(const Runs& runs, Count begin, Count end, F body) {
  const Count size = runs.count ? runs.run[0].size : 1;
  while (begin < end) {
    const Count left = size - begin % size, count = left < end - begin ? left : end - begin;
    body(spot(runs, begin), count);
    begin += count;
  }
}

// A window of values, rows x lanes: lane l of row r is at offset + r * row + l * lane.
struct Window {
  Count offset, row, lane;
  int rows, lanes;
};

// The maximum numbers of lanes and rows in a buffer.
constexpr int most_lanes = 256, most_rows = 64;

struct Tile {
  double* at;
  Count row;
};

inline double value_at(const SliceJob& job, Count offset) {
  if (job.doubles) return job.doubles[offset];
  const int value = job.integers[offset];
  return value == -2147483647 - 1 ? missing() : value;
}

template <class F> inline void each_value(const Window& window, F body) {
  for (int r = 0; r < window.rows; ++r)
    for (int l = 0; l < window.lanes; ++l) body(window.offset + r * window.row + l * window.lane, r * window.lanes + l);
}

inline Tile load(const SliceJob& job, const Window& window, double* buffer) {
  if (job.doubles && window.lane == 1) return {const_cast<double*>(job.doubles) + window.offset, window.row};
  if (job.doubles)
    each_value(window, [&](Count from, int to) { buffer[to] = job.doubles[from]; });
  else
    each_value(window, [&](Count from, int to) { buffer[to] = value_at(job, from); });
  return {buffer, window.lanes};
}

// Stores the first `count` lanes of a pack.
template <class T> KERNOPS_INLINE void store_some(Pack<T> x, T* to, int count) {
  if (count >= Pack<T>::width) return x.store(to);
  T lanes[Pack<T>::width];
  x.store(lanes);
  std::memcpy(to, lanes, sizeof(T) * count);
}

// The number of lanes of a window that lies along a slice. Several packs hide the latency of additions.
constexpr int lanes_along = 4 * Pack<double>::width;

// Calls body(window, first position of the window) for the positions [begin, end) of one slice, or of `count` adjacent
// slices.
template <class F> void each_window(const SliceJob& job, Spot base, Count begin, Count end, int count, F body) {
  const Run one{1, 1, 1}, run = job.reduced.count ? job.reduced.run[0] : one;
  each_stretch(job.reduced, begin, end, [&](Spot start, Count length) {
    for (Count done = 0; done < length;) {
      Window window{base.offset + start.offset + done * run.stride, 0, 0, 0, 0};
      const Count position = start.number + done * run.number, left = length - done;
      if (job.along) {
        const Count full = left / lanes_along;
        window.rows = full == 0 ? 1 : full < most_rows ? int(full) : most_rows;
        window.lanes = full == 0 ? int(left) : lanes_along;
        window.row = lanes_along * run.stride, window.lane = run.stride;
        done += Count(window.rows) * window.lanes;
      } else {
        window.rows = left < most_rows ? int(left) : most_rows;
        window.lanes = count;
        window.row = run.stride, window.lane = (job.kept.count ? job.kept.run[0] : one).stride;
        done += window.rows;
      }
      body(window, position);
    }
  });
}

// Returns whether a slice contains NA.
inline bool has_missing(const SliceJob& job, Count base) {
  bool found = false;
  each_stretch(job.reduced, 0, job.slice, [&](Spot start, Count count) {
    const Count stride = job.reduced.count ? job.reduced.run[0].stride : 1;
    for (Count n = 0; n < count && !found; ++n) found = is_missing(value_at(job, base + start.offset + n * stride));
  });
  return found;
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
