// Accumulates the values of pairs into the state of one thread's row; the GPU counterpart of cpu/accumulate.h.
//
//   start()             initialises the state
//   add(f, w, j, n)     adds n values, with the indices j, j + 1, ...
//   settle()            is called after each tile
//   adopt(j)            is called with the first index that was added
//   merge(o)            adds the state o, whose indices come later; in any order if `any_order`
//   finish(out, stride) writes the results
#pragma once
#include <kernops/cuda/entrywise.cuh>
#include <kernops/cuda/k_extreme.cuh>
#include <kernops/cuda/shifted_exp.cuh>
#include <kernops/cuda/store.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Accumulators of F entries of type T with W weights (0: no weights). K values are kept per entry; sums have type A.
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
