// The types that RcppExports.cpp needs. RcppExports.cpp includes RcppEigen.h and Rcpp.h after this file, but needs
// nothing of Eigen, nor of Rcpp what allocate.h leaves out: this saves half of its compile time.
#pragma once
#include "allocate.h"
#include "segments/segments.h"
#include "run/pairs.h"
#define RcppEigen__RcppEigen__h
