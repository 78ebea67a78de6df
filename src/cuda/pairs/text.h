// The parts of a plan's CUDA text: names and order only. What they mean stands in the headers under inst/include.
#pragma once
#include "cuda/cuda.h"
#include "cuda/pairs/choose.h"

namespace kernops {
namespace cuda {

using Names = std::vector<std::string>;  // of slots

// What all parts are written with.
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

  std::string call(const Step& step, int size, const Names& names) const;  // of an operation, by a pair
  std::string call_to(const std::string& result, const Step& step, const Names& names) const;  // the same, into a value
  bool has_own_call(const Step& step) const;  // for which there is no other
  bool watches_turns() const;                 // whether sines and cosines are those of cuda/turns.cuh

 private:
  bool takes_turns(const Step& step) const;
};

std::string number(int n);
const char* text_of(Atom atom);      // its struct
std::string constant(double value);  // as a T
std::string part(int offset, int size, const std::string& of);
std::string operation(const Step& step);
std::string arguments(const Step& step, const Names& names, std::string text);  // after some, and a bracket
std::string applied(const Step& step, int size, const Names& names);            // of an operation, to slots
inline const char* yes_or_no(bool yes) { return yes ? "true" : "false"; }
inline int at_least_one(int n) { return n > 0 ? n : 1; }

// What is done for each pair (cuda/pairs/text_pairs.cpp), `near` where exponents may be expanded.
std::string pairs(const Words& words, bool near);

// What is done for the entries of long vectors (cuda/pairs/text_vectors.cpp), and which of these some pairs take.
std::string long_vectors(const Words& words);
std::string contractions(const Words& words, bool near);

}  // namespace cuda
}  // namespace kernops
