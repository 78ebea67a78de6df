// Eigen's dense matrices.
#pragma once
#pragma GCC system_header  // silences warnings of Eigen
#include <Eigen/Dense>
