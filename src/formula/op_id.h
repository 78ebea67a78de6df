// The operations with a separate row in ops.def (OP), in its order.
#pragma once

namespace kernops {

enum class OpId : int {
#define OP(name, ...) name,
#include <kernops/ops.def>
};

}  // namespace kernops
