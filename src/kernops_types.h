// The types that RcppExports.cpp needs. RcppExports.cpp includes RcppEigen.h and Rcpp.h after this file, but needs no
// part of Eigen, and no part of Rcpp that allocate.h omits. Omitting these parts halves the compile time.
#pragma once
#include "allocate.h"
#include "segments/segments.h"
#include "run/pairs.h"
#define RcppEigen__RcppEigen__h
