// Softmax of slices (the values along the reduced dimensions) with one exponential per value. A window is a block of
// values that fits a buffer. The first pass stores exp(x - m) for the values x of each window, where m is the largest
// value up to the end of the window, and stores m. The second pass scales each window by exp(m - M) / sum, where M is
// the largest value of the slice. If m increases, the first pass rescales the sum, as in Milakov and Gimelshein (2018).
#pragma once
#include <kernops/cpu/axes/walk.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// The state between the two passes for a chunk (a part of the positions) of each of `lanes` adjacent slices: the
// largest value of the chunk, the sum of exp(x - largest) and, for each window, the largest value up to the end of the
// window.
struct Seen {
  double *top, *sum, *tops;
  Seen(double* memory, int lanes) : top(memory), sum(memory + lanes), tops(memory + 2 * lanes) {}
};

struct SliceSoftmax {
  using V = Pack<double>;
  static constexpr int W = V::width;
  // the initial maximum, which is finite, so that a value of -Inf has the weight 0
  static constexpr double lowest = -1.7976931348623157e308;

  static void first_pass(const SliceJob& job, Spot base, int count, Count begin, Count end, Seen seen, double* buffer) {
    for (int n = 0; n < count; ++n) seen.top[n] = lowest, seen.sum[n] = 0;
    double* tops = seen.tops;
    each_window(job, base, begin, end, count, [&](const Window& window, Count) {
      const Tile x = load(job, window, buffer), out = window.lane == 1 ? Tile{job.out + window.offset, window.row} : x;
      if (job.along) {
        along(job, x, out, window, seen);
      } else {
        for (int lane = 0; lane < count; lane += W) across(job, x, out, window.rows, lane, count - lane, seen);
      }
      if (out.at == buffer) store(job, window, buffer);
      for (int n = 0; n < count; ++n) *tops++ = seen.top[n];
    });
  }

  static KERNOPS_INLINE void weigh(const SliceJob& job, V x, V top, double* to, int count, V& sum) {
    const V e = exp(x - top);
    sum += job.skip ? select(x == x, e, V(0)) : e;
    store_some(select(x == x, e, x), to, count);
  }

  // Loads a pack of values; lanes after the last value receive -Inf, which has the weight 0.
  static KERNOPS_INLINE V value(const double* from, int left) {
    if (left >= W) return V::load(from);
    return select(IntPack<double>::iota() < IntPack<double>(left), load_some(from, left), V(-infinity<double>()));
  }

  static void along(const SliceJob& job, const Tile& x, const Tile& out, const Window& window, Seen seen) {
    const auto each_pack = [&](auto body) {
      for (int r = 0; r < window.rows; ++r)
        for (int lane = 0; lane < window.lanes; lane += W) body(r, lane, window.lanes - lane);
    };
    V high = seen.top[0], sum = 0;
    each_pack([&](int r, int lane, int left) { high = larger(value(x.at + r * x.row + lane, left), high); });
    double top = high.lane(0), total = 0;
    for (int lane = 1; lane < W; ++lane) top = top < high.lane(lane) ? high.lane(lane) : top;
    each_pack([&](int r, int lane, int left) {
      weigh(job, value(x.at + r * x.row + lane, left), V(top), out.at + r * out.row + lane, left, sum);
    });
    for (int lane = 0; lane < W; ++lane) total += sum.lane(lane);
    seen.sum[0] = seen.sum[0] * exp(V(seen.top[0] - top)).lane(0) + total;
    seen.top[0] = top;
  }

  static void across(const SliceJob& job, const Tile& x, const Tile& out, int rows, int lane, int left, Seen seen) {
    const V before = value(seen.top + lane, left);
    V top = before;
    for (int r = 0; r < rows; ++r) top = larger(value(x.at + r * x.row + lane, left), top);
    V sum = load_some(seen.sum + lane, left) * exp(before - top);
    for (int r = 0; r < rows; ++r)
      weigh(job, value(x.at + r * x.row + lane, left), top, out.at + r * out.row + lane, left, sum);
    store_some(sum, seen.sum + lane, left);
    store_some(top, seen.top + lane, left);
  }

  static void store(const SliceJob& job, const Window& window, const double* buffer) {
    each_value(window, [&](Count to, int from) { job.out[to] = buffer[from]; });
  }

  // Writes the softmax of a chunk; `whole` is the joined state of all chunks.
  static void second_pass(const SliceJob& job, Spot base, int count, Count begin, Count end, Seen seen, Seen whole) {
    const Count step = job.kept.count ? job.kept.run[0].stride : 1;
    double share[most_lanes], factor[most_lanes];
    for (int n = 0; n < count; ++n) {
      share[n] = job.alpha / whole.sum[n];
      if (share[n] != share[n] && !job.skip && has_missing(job, base.offset + n * step)) share[n] = missing();
    }
    const double* tops = seen.tops;
    each_window(job, base, begin, end, count, [&](const Window& window, Count) {
      for (int n = 0; n < count; n += W) {
        const V part = load_some(share + n, count - n);
        const V less = exp(load_some(tops + n, count - n) - load_some(whole.top + n, count - n));
        store_some(select(part == part, less * part, part), factor + n, count - n);
      }
      tops += count;
      scale(job, window, factor);
    });
  }

  static void scale(const SliceJob& job, const Window& window, const double* factor) {
    const V same = factor[0];
    for (int r = 0; r < window.rows; ++r) {
      double* out = job.out + window.offset + r * window.row;
      if (window.lane != 1) {
        for (int l = 0; l < window.lanes; ++l)
          out[l * window.lane] = scaled(job, out[l * window.lane], factor[job.along ? 0 : l]);
        continue;
      }
      for (int l = 0; l < window.lanes; l += W) {
        const int left = window.lanes - l;
        const V f = job.along ? same : load_some(factor + l, left), x = load_some(out + l, left);
        store_some(select(f == f, x * f, job.skip ? select(x == x, f, x) : f), out + l, left);
      }
    }
  }
  static double scaled(const SliceJob& job, double x, double factor) {
    return factor == factor ? x * factor : job.skip && x != x ? x : factor;
  }

  static void join(Seen whole, Seen part, int count) {
    for (int n = 0; n < count; ++n) {
      State<OnlineLogSumExp, double, Count> a{{whole.top[n], whole.sum[n]}, {0}};
      OnlineLogSumExp::join(a, part.top[n], part.sum[n]);
      whole.top[n] = a.v[0], whole.sum[n] = a.v[1];
    }
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
