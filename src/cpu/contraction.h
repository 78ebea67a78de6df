// The parts of a plan that the CPU computes as products of matrices, for a block of rows and a tile of columns
// (kernops/cpu/contraction.h). There are two kinds. A contraction is a sum, for each pair, over the entries of a long
// vector of the row and a long vector of the column. A vector sum is a reduction that sums a number of the pair times a
// long vector, such as `x`, or `x - y` in gradients.
#pragma once
#include "formula/plan.h"
#include "run/pairs.h"

namespace kernops {
namespace cpu {

struct ContractedPlan : Plan {
  ContractedPlan(const Plan& plan, bool sums_by_tiles, bool single);
  std::vector<Contraction> contractions;  // the steps of contractions are removed from the plan
  VectorSum sum{};                        // the steps that compute the vector of the sum are removed, too
  int factor = 0;                         // slot of a vector by which the sum is multiplied at the end; 0 for none
  int kept;                               // number of entries of a row that pairs read; these entries come first
  std::vector<LongVector*> long_vectors(Level level);

 private:
  void take_out();
  bool contracts(const Step& step);
  bool contracts_difference(const Step& step, const std::vector<Step>& before);
  int multiply(int weights, int vector);         // appends a step and returns its slot
  std::vector<bool> read_by(Level level) const;  // slots that the steps of a level read; for pairs, also slots f and w
  void read_directly(Level level);
  void reorder(Level level);
};

}  // namespace cpu
}  // namespace kernops
