// The source of values (values.cuh) for the terms of segments (terms.cuh), if the values are not contiguous, or if each
// value is combined with a partner such as a weight.
#pragma once
#include <kernops/cuda/segments/terms.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Terms of values at any positions. Neighbouring lanes load neighbouring values. Then arrange() exchanges the values,
// so that each lane has the same values as for contiguous memory, and sums have the same bits. If terms depend on the
// segment (`by_segment`), each lane loads the values that it reduces, without an exchange.
template <class Term, Where where> struct Anywhere {
  using Value = typename Term::Value;
  static constexpr int quad = Term::quad;
  static constexpr bool by_segment = Term::by_segment || where == Where::shifted;

  template <int VT> struct Fetch {
    Value v[VT];
    static __device__ __forceinline__ int position(int k) { return (k / quad * 32 + lane_id()) * quad + k % quad; }
    static __device__ __forceinline__ int loaded(int k) { return by_segment ? position(k) : k * 32 + lane_id(); }

    __device__ __forceinline__ void load(const SegmentRun& job, int column, int tile, int first) {
      if constexpr (by_segment) {
        KERNOPS_EACH(k, VT) v[k] = 0;
        each_place<VT, quad, where>(job, tile, first, true, [&](int k, long long, long long at, int row) {
          v[k] = Term::term(job, column, at, row);
        });
      } else {  // beyond the last value, an arbitrary value is loaded
        const int last = job.plan.count - 1;
        Term::terms(
            job, column,
            [&](int k) {
              const int n = first + loaded(k);
              const long long m = job.first + (n < last ? n : last);
              return where == Where::ordered ? (long long)job.order[m] : m;
            },
            v);
      }
    }
    __device__ __forceinline__ void put(Value* room) const {
      KERNOPS_EACH(k, VT) room[Turn<Value, VT>::place(loaded(k))] = v[k];
      __syncwarp();
    }
    __device__ __forceinline__ void turn(Value* room) {
      put(room);
      Turn<Value, VT>::own(v, room);
    }
    __device__ __forceinline__ void arrange(Value* room) {
      if (by_segment) return;
      put(room);
      KERNOPS_EACH(k, VT) v[k] = room[Turn<Value, VT>::place(position(k))];
    }
  };
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
