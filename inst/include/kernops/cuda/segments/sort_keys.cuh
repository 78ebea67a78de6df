// Keys of values: unsigned numbers in the wanted order, NA and NaN included.
#pragma once
#include <kernops/cuda/segments/terms.cuh>
#include <kernops/jobs/device_sorts.h>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class T> struct SortKey;
template <> struct SortKey<float> {
  using Key = unsigned;
  static __device__ __forceinline__ Key bits(float x) { return __float_as_uint(x); }
  static __device__ __forceinline__ float value(Key bits) { return __uint_as_float(bits); }
};
template <> struct SortKey<double> {
  using Key = unsigned long long;
  static __device__ __forceinline__ Key bits(double x) { return Key(__double_as_longlong(x)); }
  static __device__ __forceinline__ double value(Key bits) { return __longlong_as_double((long long)bits); }
};

// Numbers have keys from that of -Inf to that of Inf; the keys 0 and 1, and the two largest ones, are free for NA and
// NaN.
template <class T> struct Keyed {
  using Key = typename SortKey<T>::Key;
  static constexpr Key sign = Key(1) << (8 * sizeof(Key) - 1), largest = ~Key(0);
  const SortRun& job;

  __device__ __forceinline__ Key of(T x) const {
    if (x != x) return (job.missing_last ? largest - 1 : 0) + !is_gap(x);
    const Key bits = SortKey<T>::bits(x), up = bits & sign ? ~bits : bits | sign;
    return job.decreasing ? ~up : up;
  }
  __device__ __forceinline__ T value(Key key) const {
    if (key < 2 || key >= largest - 1) return key == 0 || key == largest - 1 ? T(missing()) : not_a_number<T>();
    const Key up = job.decreasing ? ~key : key;
    return SortKey<T>::value(up & sign ? up & ~sign : ~up);
  }
};

// A key after the number of its segment.
template <class Key> struct SortItem {
  Key key;
  unsigned segment;
  static __device__ __forceinline__ SortItem of(unsigned segment, Key key) { return {key, segment}; }
  static __device__ __forceinline__ SortItem last() { return {~Key(0), ~0u}; }
  __device__ __forceinline__ bool operator<(const SortItem& other) const {
    return segment < other.segment || (segment == other.segment && key < other.key);
  }
};
template <> struct SortItem<unsigned> {
  unsigned long long both;
  static __device__ __forceinline__ SortItem of(unsigned segment, unsigned key) {
    return {(unsigned long long)segment << 32 | key};
  }
  static __device__ __forceinline__ SortItem last() { return {~0ull}; }
  __device__ __forceinline__ bool operator<(const SortItem& other) const { return both < other.both; }
};
__device__ __forceinline__ unsigned key_of(const SortItem<unsigned>& item) { return unsigned(item.both); }
template <class Key> __device__ __forceinline__ Key key_of(const SortItem<Key>& item) { return item.key; }

}  // namespace KERNOPS_ISA
}  // namespace kernops
