// Contractions: pair values that sum over the entries of a long vector of the row and one of the column. The CPU
// computes those of a block of rows and a tile of columns together (kernops/cpu/contraction.h).
#pragma once
#include "formula/plan.h"
#include "run/pairs.h"

namespace kernops {
namespace cpu {

struct ContractedPlan : Plan {
  explicit ContractedPlan(const Plan& plan);
  std::vector<Contraction> contractions;  // are no steps any more
  int kept;                               // entries of a row that its pairs read; they come first

 private:
  void take_out();
  bool contracts(const Step& step);
  std::vector<bool> read_by(Level level) const;  // which slots its steps read, and reductions those of pairs
  void read_directly(Level level, Contraction::Vector Contraction::*vector);
  void reorder(Level level);
};

}  // namespace cpu
}  // namespace kernops
