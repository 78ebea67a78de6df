// The parts of a block of rows and a tile of columns that the CPU computes as products of matrices
// (kernops/cpu/contraction.h). Contractions: pair values that sum over the entries of a long vector of the row and one
// of the column. Vector sums: the reduction sums a number of the pair times a long vector, such as `x`, or the `x - y`
// of gradients.
#pragma once
#include "formula/plan.h"
#include "run/pairs.h"

namespace kernops {
namespace cpu {

struct ContractedPlan : Plan {
  ContractedPlan(const Plan& plan, bool sums_by_tiles, bool single);
  std::vector<Contraction> contractions;  // the steps of these contractions are removed from the plan
  VectorSum sum{};                        // the steps that compute its vector are removed as well
  int factor = 0;                         // slot of a vector that multiplies the sum instead of its terms; 0 for none
  int kept;                               // number of entries of a row that its pairs read; these entries come first
  std::vector<LongVector*> long_vectors(Level level);

 private:
  void take_out();
  bool contracts(const Step& step);
  bool contracts_difference(const Step& step, const std::vector<Step>& before);
  int multiply(int weights, int vector);         // appends a step and returns its slot
  std::vector<bool> read_by(Level level) const;  // slots that its steps read, and slots of pairs that reductions read
  void read_directly(Level level);
  void reorder(Level level);
};

}  // namespace cpu
}  // namespace kernops
