// Accumulators for the values of pairs; a thread keeps the state of an accumulator for its row. The GPU counterpart of
// cpu/accumulate.h. The functions of an accumulator are:
//
//   start()             initialises the state
//   add(f, w, j, n)     adds n values, with the indices j, j + 1, ...
//   settle()            is called after each tile
//   adopt(j)            is called after the last value, with the index of the first value (only for given pairs)
//   merge(o)            joins the state o, which has later indices; if `any_order`, indices may have any order
//   finish(out, stride) writes the results
#pragma once
#include <kernops/cuda/entrywise.cuh>
#include <kernops/cuda/k_extreme.cuh>
#include <kernops/cuda/shifted_exp.cuh>
#include <kernops/cuda/store.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Accumulators for F entries of type T with W weights (0: no weights). An accumulator of extremes keeps K values for
// each entry. Sums have type A.
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
