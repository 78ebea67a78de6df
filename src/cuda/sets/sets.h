// The CUDA texts of computations with conditioning sets.
#pragma once
#include <kernops/jobs/device_sets.h>

#include "cuda/cuda.h"
#include "sets/sets.h"

namespace kernops {
namespace cuda {

// Returns the plan of a covariance or of its slopes (derivatives with respect to the parameters). As on the CPU, the
// point of the row is the first point of a pair.
const Plan& plan_of(const Kernel& kernel);

// Returns whether a formula depends on the two points only through their difference.
bool sees_differences(const Plan& plan);

// The CUDA texts of sums over sets and of weights, with slopes unless `slopes` is null (cuda/sets/source.cpp). The
// texts compute in floats if `single` is true. If `split` is true, the matrix of a set is divided between shared memory
// and device memory, because shared memory cannot hold the whole matrix.
std::string set_sums_text(const Kernel& covariance, const Kernel* slopes, bool single, bool split = false);
std::string set_weights_text(const Kernel& covariance, const Kernel* slopes, bool single, bool split = false);

}  // namespace cuda
}  // namespace kernops
