// The engines of this machine's instruction sets.
#pragma once
#include "run/backend.h"

namespace kernops {
namespace cpu {
const Engine& engine_for(const std::string& isa);  // by name, or the best one; throws where the machine lacks it
}  // namespace cpu
}  // namespace kernops
