// Reads whole numbers from R, and rejects invalid ones.
#pragma once
#include <string>
#include <vector>

#include "border.h"

namespace kernops {

// Throws InputError. The message has the name of the argument, the rule, the position of the invalid value, from 1, and
// the value.
[[noreturn]] void refuse(const std::string& argument, const std::string& rule, Count position, const std::string& got);
std::string in_words(double value);

// Reads nonnegative whole numbers that R stores as integers, doubles or integer64 of the package bit64.
std::vector<Count> whole_numbers(SEXP x, const std::string& argument);

// Throws InputError unless each element is 0 (no neighbour) or the number of a point (1 .. points).
void check_neighbours(const Rcpp::IntegerMatrix& neighbours, Count points, int threads = 1);

}  // namespace kernops
