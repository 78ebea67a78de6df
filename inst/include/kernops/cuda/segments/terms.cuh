// Values of segments that do not stand side by side, or meet others: in any order, with weights, with the entries
// of a vector that a sparse matrix picks.
#pragma once
#include <kernops/missing.h>
#include <kernops/cuda/segments/values.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

enum class Where { in_order, ordered, shifted };

// How many segments end before the warp's values, which begin at `first`.
__device__ __forceinline__ int rows_before(const SegmentPlan& plan, int tile, int first) {
  int before = 0;
  for (int n = lane_id(); n < (first - tile) / 32; n += 32) before += __popc(plan.ends[tile / 32 + n]);
  return plan.limits[tile / segment_tile] + __shfl_sync(all_lanes, sum_below(before) + before, 31);
}

// f(k, m, at, row) for each value of the warp's that exists, the k-th of this lane: its number, where it stands,
// and its segment if `rows`. A lane has `quad` neighbours, and so many again further on.
template <int VT, int quad, Where where, class F>
__device__ __forceinline__ void each_place(const SegmentRun& job, int tile, int first, bool rows, F f) {
  const int within = lane_id() * quad;
  const unsigned* words = job.plan.ends + first / 32;
  int row = rows ? rows_before(job.plan, tile, first) : 0;
  KERNOPS_UNROLL
  for (int k = 0; k < VT; k += quad) {
    int mine = row;
    unsigned ends = 0;
    KERNOPS_UNROLL
    for (int n = 0; n < quad && rows; ++n) {
      const unsigned word = words[k + n];
      if (n == within / 32) ends = word, mine += __popc(word & ((1u << within % 32) - 1));
      if (n < within / 32) mine += __popc(word);
      row += __popc(word);
    }
    KERNOPS_UNROLL
    for (int e = 0; e < quad; ++e) {
      const int n = first + k * 32 + within + e;
      const long long m = job.first + n;
      if (n < job.plan.count)
        f(k + e, m,
          where == Where::ordered   ? (long long)job.order[m]
          : where == Where::shifted ? m + job.shifts[mine]
                                    : m,
          mine);
      mine += ends >> (within + e) % 32 & 1;
    }
  }
}

__device__ __forceinline__ bool is_gap(double x) { return is_missing(x); }
__device__ __forceinline__ bool is_gap(float) { return false; }
__device__ __forceinline__ bool is_gap(int x) { return x == int(0x80000000); }

template <class V> __device__ __forceinline__ V value_at(const SegmentRun& job, int column, long long at) {
  return static_cast<const V*>(job.x)[at * job.x_row + column * job.x_column];
}
template <class W> __device__ __forceinline__ W partner_at(const SegmentRun& job, int column, long long at) {
  const long long by = job.through ? (long long)job.through[at] : at;
  return static_cast<const W*>(job.partner)[by * job.partner_row + column * job.partner_column];
}
__device__ __forceinline__ double given_at(const SegmentRun& job, int k, int column, int row) {
  return job.given[k][column * job.given_column + result_row(job, row)];
}

struct Itself {
  template <class T> static KERNOPS_FN T of(T x) { return x; }
};
struct IsZero {
  template <class T> static KERNOPS_FN T of(T x) { return T(x == 0); }
};
struct OneForZero {
  template <class T> static KERNOPS_FN T of(T x) { return x == 0 ? T(1) : x; }
};

// Of a value and its weight: one of weight 0 does not count, whatever it is. A value of NaN has that for a mass.
struct Times {
  template <class T> static KERNOPS_FN T join(T x, T w) { return w == 0 ? T(0) : x * w; }
};
struct Mass {
  template <class T> static KERNOPS_FN T join(T x, T w) { return x == x || w == 0 ? w : x; }
};
struct PlusLog {
  template <class T> static KERNOPS_FN T join(T x, T w) { return w == 0 ? log(w) : x + log(w); }
};
// With what is given of the segment: number 1 is its largest value m, number 2 the sum of exp(x - m), its mass.
// NaN where the largest one is infinite.
struct FromLargest {
  template <class T> static __device__ __forceinline__ T of(const SegmentRun& job, int column, int row, T x) {
    const T largest = T(given_at(job, 1, column, row));
    return exp((x - largest) + (largest - largest));
  }
};
__device__ __forceinline__ double softmax(const SegmentRun& job, int column, int row, double x) {
  return FromLargest::of(job, column, row, x) / given_at(job, 2, column, row);
}
struct SquareFromMean {
  template <class T> static __device__ __forceinline__ T of(const SegmentRun& job, int column, int row, T x, T w) {
    const T distance = x - T(given_at(job, 0, column, row));
    return w == 0 ? T(0) : w * (distance * distance);
  }
};
struct TimesSoftmax {
  template <class T> static __device__ __forceinline__ T of(const SegmentRun& job, int column, int row, T x, T g) {
    return T(softmax(job, column, row, x)) * g;
  }
};

// What is reduced: of each value what Map makes of it, with what is given of its segment or not,
template <class V, class T, class Map, bool given = false> struct Mapped {
  using Value = T;
  static constexpr int quad = 16 / sizeof(V);
  static constexpr bool by_segment = given;
  static __device__ __forceinline__ T term(const SegmentRun& job, int column, long long at, int row) {
    const T x = number<T>(value_at<V>(job, column, at));
    if constexpr (given)
      return Map::of(job, column, row, x);
    else
      return Map::of(x);
  }
  static __device__ __forceinline__ bool gap(const SegmentRun& job, int column, long long at) {
    return is_gap(value_at<V>(job, column, at));
  }
};

// or what Join makes of it and its partner,
template <class V, class W, class T, class Join, bool given = false> struct Paired {
  using Value = T;
  static constexpr int quad = 16 / sizeof(V);
  static constexpr bool by_segment = given;
  static __device__ __forceinline__ T term(const SegmentRun& job, int column, long long at, int row) {
    const T x = number<T>(value_at<V>(job, column, at)), partner = number<T>(partner_at<W>(job, column, at));
    if constexpr (given)
      return Join::of(job, column, row, x, partner);
    else
      return Join::join(x, partner);
  }
  static __device__ __forceinline__ bool gap(const SegmentRun& job, int column, long long at) {
    return is_gap(value_at<V>(job, column, at)) || is_gap(partner_at<W>(job, column, at));
  }
};

// or the partner alone.
template <class W, class T> struct PartnerAlone {
  using Value = T;
  static constexpr int quad = 16 / sizeof(W);
  static constexpr bool by_segment = false;
  static __device__ __forceinline__ T term(const SegmentRun& job, int column, long long at, int) {
    return number<T>(partner_at<W>(job, column, at));
  }
  static __device__ __forceinline__ bool gap(const SegmentRun& job, int column, long long at) {
    return is_gap(partner_at<W>(job, column, at));
  }
};

// Terms anywhere. They come to the lanes as those side by side do, so that sums have the same bits.
template <class Term, Where where> struct Anywhere {
  using Value = typename Term::Value;
  static constexpr int quad = Term::quad;

  template <int VT> struct Fetch {
    Value v[VT];
    static __device__ __forceinline__ int position(int k) { return (k / quad * 32 + lane_id()) * quad + k % quad; }
    __device__ __forceinline__ void load(const SegmentRun& job, int column, int tile, int first) {
      KERNOPS_UNROLL
      for (int k = 0; k < VT; ++k) v[k] = 0;
      each_place<VT, quad, where>(
          job, tile, first, Term::by_segment || where == Where::shifted,
          [&](int k, long long, long long at, int row) { v[k] = Term::term(job, column, at, row); });
    }
    __device__ __forceinline__ void turn(Value* room) {
      KERNOPS_UNROLL
      for (int k = 0; k < VT; ++k) room[Turn<Value, VT>::place(position(k))] = v[k];
      __syncwarp();
      Turn<Value, VT>::own(v, room);
    }
  };
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
