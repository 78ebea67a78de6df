// Vector sums of a Plan: sums of long vectors, each times a number of the pair.
#pragma once
#include <kernops/jobs/job.h>

#include "formula/plan.h"

namespace kernops {
namespace cpu {

// The vector sum of a plan, of size 0 if the plan has none. If it has one, f becomes the number of a pair, and the
// steps that computed the vector are removed.
VectorSum take_vector_sum(Plan& plan, bool single);

// Removes steps of the pairs whose results are not read, directly or by other steps.
void leave_out_unused(Plan& plan, const std::vector<int>& read);

}  // namespace cpu
}  // namespace kernops
