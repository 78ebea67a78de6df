// How one thread's row takes in the values of its pairs; the counterpart of cpu/accumulate.h.
//
//   start()   add(f, w, j, n): n values at a time, of indices j, j + 1, ...   settle(): after each tile
//   merge(o): o joins, its indices come later   finish(out, stride): the results
//   adopt(j): j is the first of the indices added   any_order: o may also have indices between its own
#pragma once
#include <kernops/cuda/entrywise.cuh>
#include <kernops/cuda/k_extreme.cuh>
#include <kernops/cuda/shifted_exp.cuh>
#include <kernops/cuda/store.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Accumulators of numbers T, F entries reduced, W weights (0 for none), K kept, sums of type A.
namespace accumulators {
#define KERNOPS_ENGINE template <class T, int F, int W, int K, class A = T> using
#define ENTRYWISE(name, Numbers, ...) KERNOPS_ENGINE name = EntrywiseRow<T, kernops::__VA_ARGS__, F, W, Numbers>;
#define SHIFTED_EXP(name, result) KERNOPS_ENGINE name = ShiftedExpRow < T, W ? W : 1, Shifted::result, A > ;
#define K_EXTREME(name, sign, first, last) KERNOPS_ENGINE name = KExtremeRow<T, F, K, sign, first, last>;
#define STORE(name) KERNOPS_ENGINE name = StoreRow<T, F>;
#include <kernops/accumulators.def>
#undef KERNOPS_ENGINE
}  // namespace accumulators

}  // namespace KERNOPS_ISA
}  // namespace kernops
