// The parts of the CUDA text of a plan, which names functions and structs in order. The headers below inst/include
// define these names.
#pragma once
#include "cuda/pairs/choose.h"
#include "cuda/text.h"

namespace kernops {
namespace cuda {

// The input of all parts, and the names of the slots in the text.
struct Words {
  const TiledPlan& plan;
  const Settings& settings;
  const Recipe& recipe;
  Names names;

  Words(const TiledPlan& plan, const Settings& settings, const Recipe& recipe);
  bool wide() const { return recipe.mainloop == Mainloop::wide || recipe.mainloop == Mainloop::panels; }
  bool sums_vectors() const { return plan.vector_sum.size > 0 || plan.panels.width > 0; }
  bool sums_scaled() const { return recipe.batching == Batching::whole || recipe.batching == Batching::tiles; }
  bool expands() const { return plan.expansion.exponent > 0 && (!wide() || plan.tiled()); }

  std::string call(const Step& step, int size, const Names& names) const;  // the call of an operation for a pair
  // the same call, which stores its result in the variable `result`
  std::string call_to(const std::string& result, const Step& step, const Names& names) const;
  bool has_own_call(const Step& step) const;  // true for operations with a single implementation
  bool watches_turns() const;                 // true if sines and cosines use cuda/turns.cuh

 private:
  bool takes_turns(const Step& step) const;
};

const char* text_of(Atom atom);  // the name of the struct of an atom

// Writes the steps that evaluate a pair (cuda/pairs/text_pairs.cpp). With `near`, exponents are expanded.
std::string pairs(const Words& words, bool near);

// Writes the structs of long vectors, and a list of the contractions that pairs read (cuda/pairs/text_vectors.cpp).
std::string long_vectors(const Words& words);
std::string contractions(const Words& words, bool near);

}  // namespace cuda
}  // namespace kernops
