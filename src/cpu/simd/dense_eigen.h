// Includes Eigen in a separate namespace for the instruction set of simd/isa.h, so that no function compiled for AVX2
// can be linked into baseline code.
#pragma once
#pragma GCC system_header  // silences warnings of Eigen

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <climits>
#include <complex>
#include <functional>
#include <iosfwd>
#include <iostream>
#include <limits>
#include <sstream>
#include <vector>

#include "cpu/simd/instruction_set.h"

#define Eigen KERNOPS_JOIN(Eigen_, KERNOPS_ISA)
#define EIGEN_DONT_PARALLELIZE

// Defines the macros of AVX2, which Eigen tests. `#pragma GCC target` would define these macros too late, because g++
// reads the whole file first.
#if KERNOPS_SIMD == 2
#undef __AVX__
#undef __AVX2__
#undef __FMA__
#define __AVX__ 1
#define __AVX2__ 1
#define __FMA__ 1
#endif

#include <Eigen/Cholesky>
#include <Eigen/Core>
