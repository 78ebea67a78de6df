// Vector sums of a Plan: reductions that sum long vectors, each multiplied by a number of the pair.
#pragma once
#include <kernops/jobs/job.h>

#include "formula/plan.h"

namespace kernops {
namespace cpu {

// Returns the vector sum of a plan; its size is 0 if the plan is not a vector sum. Otherwise, `f` of the plan becomes
// the number of the pair by which the vector is multiplied, and the steps that computed the vector are removed.
VectorSum take_vector_sum(Plan& plan, bool single);

// Removes the steps of pairs whose results are read neither as slots in `read` nor by other steps.
void leave_out_unused(Plan& plan, const std::vector<int>& read);

}  // namespace cpu
}  // namespace kernops
