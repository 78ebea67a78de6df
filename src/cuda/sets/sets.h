// Sets of points on the GPU: their texts.
#pragma once
#include <kernops/jobs/device_sets.h>

#include "cuda/cuda.h"
#include "sets/sets.h"

namespace kernops {
namespace cuda {

// The plan of a covariance or of its slopes, as on the CPU; its rows are the first points.
const Plan& plan_of(const Kernel& kernel);

// Returns whether a formula depends on the two points only through their difference.
bool sees_differences(const Plan& plan);

// The text of sums over sets or of weights, with or without slopes (cuda/sets/source.cpp), in floats if `single`. The
// matrices are `split` between two memories if one cannot hold them.
std::string set_sums_text(const Kernel& covariance, const Kernel* slopes, bool single, bool split = false);
std::string set_weights_text(const Kernel& covariance, const Kernel* slopes, bool single, bool split = false);

}  // namespace cuda
}  // namespace kernops
