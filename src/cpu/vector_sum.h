// Sums of long vectors, each times a number of the pair, of a Plan: what is reduced, taken apart.
#pragma once
#include <kernops/jobs/job.h>

#include "formula/plan.h"

namespace kernops {
namespace cpu {

// The vector sum of a plan that sums, of size 0 where it is none. If it is one, f is left as the number of a pair, and
// what made the vector is left out.
VectorSum take_vector_sum(Plan& plan, bool single);

// Steps of the pairs that make nothing of what is read, or of what others read that do.
void leave_out_unused(Plan& plan, const std::vector<int>& read);

}  // namespace cpu
}  // namespace kernops
