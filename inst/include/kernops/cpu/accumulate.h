// The accumulators of accumulators.def on the CPU. An accumulator reduces the values f (and the weights w) of a row,
// tile after tile. Each accumulator keeps a State per row while it runs, converts the State to a Partial, merges
// Partials in order, and writes the result.
#pragma once
#include <kernops/cpu/entrywise.h>
#include <kernops/cpu/k_extreme.h>
#include <kernops/cpu/shifted_exp.h>
#include <kernops/cpu/store.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// The accumulators for terms of type T and sums of type A.
template <class T, class A> struct Engines {
#define ENTRYWISE(name, Numbers, ...) using name = Entrywise<T, kernops::__VA_ARGS__, Numbers>;
#define SHIFTED_EXP(name, result) using name = ShiftedExp<T, Shifted::result, A>;
#define K_EXTREME(name, sign, first, last) using name = KExtreme<T, sign, first, last>;
#define STORE(name) using name = StoreValues<T>;
#include <kernops/accumulators.def>
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
