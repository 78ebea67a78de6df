// What RcppExports.cpp must know. It includes RcppEigen.h and Rcpp.h after this, but takes nothing of Eigen, nor of
// Rcpp what allocate.h leaves out: half of its time to compile.
#pragma once
#include "allocate.h"
#include "segments/segments.h"
#include "run/pairs.h"
#define RcppEigen__RcppEigen__h
