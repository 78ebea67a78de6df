// Eigen's dense matrices.
#pragma once
#pragma GCC system_header  // its warnings are not ours
#include <Eigen/Dense>
