// Writers of the parts of the CUDA text of a plan. The text lists functions and structs in order; the headers below
// inst/include define them.
#pragma once
#include "cuda/pairs/choose.h"
#include "cuda/text.h"

namespace kernops {
namespace cuda {

// The input of the functions below, and the names of the plan's slots (values) in the text.
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
  // a call that stores its result in the variable `result`
  std::string call_to(const std::string& result, const Step& step, const Names& names) const;
  bool has_own_call(const Step& step) const;  // true if call() writes a call of another function than apply()
  bool watches_turns() const;                 // true if sines and cosines use cuda/turns.cuh

 private:
  bool takes_turns(const Step& step) const;
};

const char* text_of(Atom atom);  // the name of the struct of an atom

// Writes the steps that evaluate a pair (cuda/pairs/text_pairs.cpp). If `near` is true, the steps use the expansion of
// the exponent, which is valid for small norms.
std::string pairs(const Words& words, bool near);

// long_vectors() writes the structs of long vectors, and contractions() lists the contractions that pairs read
// (cuda/pairs/text_vectors.cpp).
std::string long_vectors(const Words& words);
std::string contractions(const Words& words, bool near);

}  // namespace cuda
}  // namespace kernops
