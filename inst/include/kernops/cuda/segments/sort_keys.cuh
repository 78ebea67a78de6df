// Keys and items of sorts. The key of a value is an unsigned number; keys have the same order as the sorted values, and
// NA and NaN also have keys. An item contains a key, and is the object that is sorted.
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

// The type to which values are converted before the sort. Integers become doubles.
template <class V> struct Sorted {
  using T = V;
  static __device__ __forceinline__ T of(V x) { return x; }
};
template <> struct Sorted<int> {
  using T = double;
  static __device__ __forceinline__ T of(int x) { return is_gap(x) ? missing() : double(x); }
};

// Converts x to a double, also if x is subnormal (compiled code otherwise replaces subnormal floats by 0).
__device__ __forceinline__ double wide(double x) { return x; }
__device__ __forceinline__ double wide(float x) {
  const unsigned bits = __float_as_uint(x), size = bits & 0x7fffffff;
  if (size >= 0x00800000) return double(x);
  const double small = double(size) * 1.401298464324817e-45;
  return bits == size ? small : -small;
}

// The keys of values of type T. The keys of numbers lie between the key of -Inf and the key of Inf. The keys 0 and 1,
// and the three largest keys, are reserved for missing and omitted values.
template <class T> struct Keyed {
  using Key = typename SortKey<T>::Key;
  static constexpr Key sign = Key(1) << (8 * sizeof(Key) - 1), largest = ~Key(0);
  static constexpr Key nan = largest, na = largest - 1, left_out = largest - 2;  // after all numbers
  const SortRun& job;

  __device__ __forceinline__ Key number(T x) const {
    const Key bits = SortKey<T>::bits(x), up = bits & sign ? ~bits : bits | sign;
    return job.decreasing ? ~up : up;
  }
  __device__ __forceinline__ Key of(T x) const { return x != x ? (job.missing_last ? na : 0) + !is_gap(x) : number(x); }
  // The key for tests of equality: 0 and -0 have the same key. NA and NaN have the same key if `apart` is false.
  __device__ __forceinline__ Key equal(T x, bool apart) const {
    if (x != x) return apart ? of(x) : job.missing_last ? largest : 0;
    return number(SortKey<T>::bits(x) == sign ? T(0) : x);
  }
  __device__ __forceinline__ T value(Key key) const {
    if (key < 2 || key >= na) return key == 0 || key == na ? T(missing()) : not_a_number<T>();
    const Key up = job.decreasing ? ~key : key;
    return SortKey<T>::value(up & sign ? up & ~sign : ~up);
  }
};

// ---- items of a piece: the number of a segment, a key and, if `placed`, the position in the piece

template <class Key, bool placed> struct SortItem {
  Key key;
  unsigned segment, place;
  static __device__ __forceinline__ SortItem of(unsigned segment, Key key, unsigned place) {
    return {key, segment, place};
  }
  static __device__ __forceinline__ SortItem last() { return {~Key(0), ~0u, ~0u}; }
  __device__ __forceinline__ bool operator<(const SortItem& other) const {
    if (segment != other.segment || key != other.key)
      return segment < other.segment || (segment == other.segment && key < other.key);
    return placed && place < other.place;
  }
};
template <bool placed> struct SortItem<unsigned, placed> {
  static constexpr int place_bits = placed ? 12 : 0;
  unsigned long long all;
  static __device__ __forceinline__ SortItem of(unsigned segment, unsigned key, unsigned place) {
    return {((unsigned long long)segment << 32 | key) << place_bits | (placed ? place : 0)};
  }
  static __device__ __forceinline__ SortItem last() { return {~0ull}; }
  __device__ __forceinline__ bool operator<(const SortItem& other) const { return all < other.all; }
};
template <bool placed> __device__ __forceinline__ unsigned key_of(const SortItem<unsigned, placed>& item) {
  return unsigned(item.all >> item.place_bits);
}
template <bool placed> __device__ __forceinline__ int place_of(const SortItem<unsigned, placed>& item) {
  return int(item.all & 4095);
}
template <class Key, bool placed> __device__ __forceinline__ Key key_of(const SortItem<Key, placed>& item) {
  return item.key;
}
template <class Key, bool placed> __device__ __forceinline__ int place_of(const SortItem<Key, placed>& item) {
  return int(item.place);
}

// ---- items of one long segment: a key and, if `placed`, the position in the segment

template <class Key> struct PlacedKey {
  Key key;
  unsigned place;
  static __device__ __forceinline__ PlacedKey of(Key key, unsigned place) { return {key, place}; }
  static __device__ __forceinline__ PlacedKey last() { return {~Key(0), ~0u}; }
  __device__ __forceinline__ bool operator<(const PlacedKey& other) const {
    return key < other.key || (key == other.key && place < other.place);
  }
};
template <> struct PlacedKey<unsigned> {
  unsigned long long all;
  static __device__ __forceinline__ PlacedKey of(unsigned key, unsigned place) {
    return {(unsigned long long)key << 32 | place};
  }
  static __device__ __forceinline__ PlacedKey last() { return {~0ull}; }
  __device__ __forceinline__ bool operator<(const PlacedKey& other) const { return all < other.all; }
};
template <class Key> struct KeyAlone {
  Key key;
  static __device__ __forceinline__ KeyAlone of(Key key, unsigned) { return {key}; }
  static __device__ __forceinline__ KeyAlone last() { return {~Key(0)}; }
  __device__ __forceinline__ bool operator<(const KeyAlone& other) const { return key < other.key; }
};
template <class Key> __device__ __forceinline__ Key key_of(const KeyAlone<Key>& item) { return item.key; }
template <class Key> __device__ __forceinline__ int place_of(const KeyAlone<Key>&) { return 0; }
template <class Key> __device__ __forceinline__ Key key_of(const PlacedKey<Key>& item) { return item.key; }
template <class Key> __device__ __forceinline__ int place_of(const PlacedKey<Key>& item) { return int(item.place); }
__device__ __forceinline__ unsigned key_of(const PlacedKey<unsigned>& item) { return unsigned(item.all >> 32); }
__device__ __forceinline__ int place_of(const PlacedKey<unsigned>& item) { return int(unsigned(item.all)); }

template <class Key, bool placed> struct LongItem { using Item = KeyAlone<Key>; };
template <class Key> struct LongItem<Key, true> { using Item = PlacedKey<Key>; };

}  // namespace KERNOPS_ISA
}  // namespace kernops
