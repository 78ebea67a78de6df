// kernops_ranges in C++.
#pragma once
#include "border.h"

// The pairs of six arrays, by i and by j; m and n are the numbers of points. Throws InputError.
struct Ranges {
  Ranges(const Rcpp::List& arrays, kernops::Count m, kernops::Count n);
  bool symmetric() const;  // each pair is present in both orders
  kernops::Blocks by_i, by_j;
};
