// An enumerator for each operation of ops.def that is not composite (rows OP), in the order of the rows.
#pragma once

namespace kernops {

enum class OpId : int {
#define OP(name, ...) name,
#include <kernops/ops.def>
};

}  // namespace kernops
