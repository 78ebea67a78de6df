// The CUDA texts of computations with conditioning sets.
#pragma once
#include <kernops/jobs/device_sets.h>

#include "cuda/cuda.h"
#include "sets/sets.h"

namespace kernops {
namespace cuda {

// The plan of a covariance or of its slopes. As on the CPU, the points of the rows are the first points of the pairs.
const Plan& plan_of(const Kernel& kernel);

// Returns whether a formula depends on the two points only through their difference.
bool sees_differences(const Plan& plan);

// The CUDA texts of sums over sets and of weights, with slopes unless `slopes` is null (cuda/sets/source.cpp), in
// floats if `single`. If `split`, the matrix of a set is divided between shared and device memory, because shared
// memory cannot hold it.
std::string set_sums_text(const Kernel& covariance, const Kernel* slopes, bool single, bool split = false);
std::string set_weights_text(const Kernel& covariance, const Kernel* slopes, bool single, bool split = false);

}  // namespace cuda
}  // namespace kernops
