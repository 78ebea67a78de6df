// How the values f (and w) of a row are accumulated on the CPU, tile after tile. Each engine of accumulators.def keeps
// a State per row while it runs, collapses it to a Partial, merges Partials in order, and writes the result.
#pragma once
#include <kernops/cpu/entrywise.h>
#include <kernops/cpu/k_extreme.h>
#include <kernops/cpu/shifted_exp.h>
#include <kernops/cpu/store.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// Engines of terms T and sums A.
template <class T, class A> struct Engines {
#define ENTRYWISE(name, Numbers, ...) using name = Entrywise<T, kernops::__VA_ARGS__, Numbers>;
#define SHIFTED_EXP(name, result) using name = ShiftedExp<T, Shifted::result, A>;
#define K_EXTREME(name, sign, first, last) using name = KExtreme<T, sign, first, last>;
#define STORE(name) using name = StoreValues<T>;
#include <kernops/accumulators.def>
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
