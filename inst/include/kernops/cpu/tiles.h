// The interpreter of formulas on the CPU. Each operation has one compiled SIMD loop over the lanes (columns) of a tile.
#pragma once
#include <kernops/cpu/bessel_k.h>
#include <kernops/jobs/job.h>
#include <kernops/ops.h>
#include <kernops/simd/pack.h>
#include <kernops/simd/math.h>
#include <kernops/tape.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// Entry k of lane l is at p[k * entry + (l & lanes)]. A value of size 1 has entry = 0, so that its only entry is
// repeated. A value that is equal for all lanes is stored as one pack of equal numbers, with lanes = 0.
template <class T> struct Operand {
  T* p;
  std::ptrdiff_t entry, lanes;
};

// The columns of a tile, and the row that is combined with these columns. The tile has `count` columns, from column
// `first` on; `first` counts from the start `base` of the split.
struct TileColumns {
  int count;
  Count first, base, row;
  const RowBlock* block;
};

// Calls run(column, count, at) for each run of columns that are contiguous in the data, where `at` is the position of
// the first of these columns in the tile. The tile has `count` columns, from column `first` of the block on.
template <class F> void for_runs(const Job& job, const RowBlock& block, Count first, int count, const F& run) {
  const Interval* interval = find_interval(job.intervals, block, first);
  for (int at = 0; at < count; ++interval) {
    const Count column = interval->begin + first + at - interval->before;
    const int length = int(interval->end - column < count - at ? interval->end - column : count - at);
    run(column, length, at);
    at += length;
  }
}

// Prefetches values that will be read soon, if the values are contiguous.
inline void prefetch(const double* from, Count item, int count) {
  for (int n = 0; item == 1 && n < count; n += 64 / int(sizeof(double))) __builtin_prefetch(from + n);
}

// Copies values that are `item` numbers apart; contiguous values are read one pack of doubles at a time.
template <class T> void convert(const double* from, Count item, int count, T* to) {
  constexpr int W = Pack<double>::width;
  typedef T Converted __attribute__((vector_size(W * sizeof(T))));
  int n = 0;
  for (; item == 1 && n + W <= count; n += W) {
    const Converted values = __builtin_convertvector(Pack<double>::load(from + n).v, Converted);
    std::memcpy(to + n, &values, sizeof values);
  }
  for (; n < count; ++n) to[n] = T(from[n * item]);
}

template <class T> struct LaneView {
  const T* p;
  std::ptrdiff_t entry;
  KERNOPS_INLINE LaneView(const Operand<T>& from, std::ptrdiff_t lane)
      : p(from.p + (lane & from.lanes)), entry(from.entry) {}
  KERNOPS_INLINE Pack<T> operator[](int k) const { return Pack<T>::load(p + k * entry); }
};

template <class Op, class T> void run_step(const Step& step, const Operand<T>* slots, int lanes) {
  using V = Pack<T>;
  const Operand<T> a = slots[step.in[0]], b = slots[step.in[1]], c = slots[step.in[2]], out = slots[step.out];
  const int A = step.sizes[0], B = step.sizes[1], C = step.sizes[2], p = step.ints[0], q = step.ints[1];
  for (int k = 0; k < step.size; ++k)
    for (std::ptrdiff_t lane = 0; lane < lanes; lane += V::width)
      V(Op::template entry<V>(k, LaneView<T>(a, lane), LaneView<T>(b, lane), LaneView<T>(c, lane), A, B, C, p, q))
          .store(out.p + k * out.entry + lane);
}

// Sets the operands of those slots of a level that lie in the first `count` entries. The entries of the level begin at
// `base`, and are `entry` numbers apart.
template <class T>
void place_slots(const Span<Slot>& slots, Level level, T* base, std::ptrdiff_t entry, std::ptrdiff_t lanes,
                 Operand<T>* operands, int count = INT32_MAX) {
  for (int n = 0; n < slots.count; ++n) {
    const Slot& slot = slots.items[n];
    if (slot.level == level && slot.offset < count)
      operands[n] = {base + slot.offset * entry, slot.size == 1 ? 0 : entry, lanes};
  }
}

template <class T> using StepFunction = void (*)(const Step&, const Operand<T>*, int lanes);

template <class T> StepFunction<T> step_function(int op) {
  static const StepFunction<T> table[] = {
#define OP(name, ...) run_step<ops::name, T>,
#include <kernops/ops.def>
  };
  return table[op];
}

template <class T> void run_steps(const Span<Step>& steps, const Operand<T>* operands, int lanes) {
  for (int n = 0; n < steps.count; ++n) step_function<T>(steps.items[n].op)(steps.items[n], operands, lanes);
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
