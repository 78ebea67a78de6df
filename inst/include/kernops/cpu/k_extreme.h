// Sorted lists of the K smallest or largest values.
#pragma once
#include <kernops/state.h>
#include <kernops/cpu/tiles.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// The K most extreme values of each entry (sign = 1: smallest values, ascending; sign = -1: largest values,
// descending). If values are equal, the value with the smaller index comes first. NaN comes last. Result 0 is the
// values, and result 1 is their indices; the results `first` .. `last` are written.
template <class T, int sign, int first, int last> struct KExtreme {
  static constexpr bool is_sum = false;
  struct Item {
    T value;
    Count index;
  };
  struct List {
    Count count;
    Item items[1];
  };

  static std::size_t list_bytes(const Job& job) { return sizeof(List) + (job.k - 1) * sizeof(Item); }
  static std::size_t state_bytes(const Job& job) { return job.f_size * list_bytes(job); }
  static std::size_t partial_bytes(const Job& job) { return state_bytes(job); }
  static List& list(const Job& job, const char* state, int k) {
    return *reinterpret_cast<List*>(const_cast<char*>(state) + k * list_bytes(job));
  }

  static void start(const Job& job, char* state) {
    for (int k = 0; k < job.f_size; ++k) list(job, state, k).count = 0;
  }

  static bool before(T x, T y) { return (sign > 0 ? x < y : x > y) || (y != y && x == x); }

  // Finds the position of x among the first `end` items, after equal values, and moves all later items by one position.
  // A long list is searched by bisection.
  static Count place_of(List& to, T x, Count end) {
    constexpr Count few = 128;
    Count place = end;
    if (end <= few) {
      for (; place > 0 && before(x, to.items[place - 1].value); --place) to.items[place] = to.items[place - 1];
      return place;
    }
    for (Count low = 0; low < place;) {
      const Count middle = (low + place) / 2;
      if (before(x, to.items[middle].value))
        place = middle;
      else
        low = middle + 1;
    }
    __builtin_memmove(to.items + place + 1, to.items + place, size_t(end - place) * sizeof(Item));
    return place;
  }

  static void insert(const Job& job, List& to, T x, Count index) {
    if (to.count == job.k && !before(x, to.items[job.k - 1].value)) return;
    const Count end = to.count < job.k ? to.count++ : job.k - 1, place = place_of(to, x, end);
    to.items[place] = {x, index};
  }

  static void add(const Job& job, char* state, const Operand<T>& f, const Operand<T>&, const TileColumns& tile, T*) {
    using V = Pack<T>;
    for (int k = 0; k < job.f_size; ++k) {
      List& to = list(job, state, k);
      for (int lane = 0; lane < tile.count; lane += V::width) {
        const V x = LaneView<T>(f, lane)[k];
        const V worst(to.count == job.k ? to.items[job.k - 1].value : T(0));
        if (to.count == job.k && all(sign > 0 ? x >= worst : x <= worst)) continue;
        for (int n = 0; n < V::width && lane + n < tile.count; ++n)
          insert(job, to, x.lane(n), tile.base + tile.first + lane + n);
      }
    }
  }

  static void collapse(const Job& job, const char* state, const TileColumns&, char* partial) {
    __builtin_memcpy(partial, state, state_bytes(job));
  }

  static void merge(const Job& job, char* into, const char* other) {
    for (int k = 0; k < job.f_size; ++k) {
      const List& from = list(job, other, k);
      for (Count n = 0; n < from.count; ++n) insert(job, list(job, into, k), from.items[n].value, from.items[n].index);
    }
  }

  static void finish(const Job& job, const char* partial, bool, double* out) {
    const int block = job.k * job.f_size;
    for (int k = 0; k < job.f_size; ++k) {
      const List& from = list(job, partial, k);
      for (int n = 0; n < job.k; ++n) {
        const int at = n * job.f_size + k;
        if (first == 0)
          out[at * job.out_entry] = n < from.count ? double(from.items[n].value) : sign * infinity<double>();
        if (last == 1)
          out[(at + (first == 0 ? block : 0)) * job.out_entry] = n < from.count ? double(from.items[n].index + 1) : 0;
      }
    }
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
