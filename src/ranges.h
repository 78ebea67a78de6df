// The R object kernops_ranges as a C++ object.
#pragma once
#include "border.h"

// The pairs that six R arrays describe, as blocks of points i and as blocks of points j, for m points i and n points j.
// The constructor throws InputError for invalid arrays.
struct Ranges {
  Ranges(const Rcpp::List& arrays, kernops::Count m, kernops::Count n);
  bool symmetric() const;  // true if each pair (i, j) also occurs as (j, i)
  kernops::Blocks by_i, by_j;
};
