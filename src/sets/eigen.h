// Includes Eigen's dense matrices without their compiler warnings.
#pragma once
#pragma GCC system_header  // silences warnings of Eigen
#include <Eigen/Dense>
