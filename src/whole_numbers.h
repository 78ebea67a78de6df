// Whole numbers from R, and the messages about invalid ones.
#pragma once
#include <string>
#include <vector>

#include "border.h"

namespace kernops {

// Throws InputError with the argument, the rule, the position (from 1), and the value.
[[noreturn]] void refuse(const std::string& argument, const std::string& rule, Count position, const std::string& got);
std::string in_words(double value);

// Whole numbers from 0 as R stores them: integer, double or bit64's integer64.
std::vector<Count> whole_numbers(SEXP x, const std::string& argument);

// Throws InputError unless all are numbers of points from 1, or 0 for none.
void check_neighbours(const Rcpp::IntegerMatrix& neighbours, Count points, int threads = 1);

}  // namespace kernops
