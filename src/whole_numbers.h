// Whole numbers that come from R, and what is said of those that break a rule.
#pragma once
#include <string>
#include <vector>

#include "border.h"

namespace kernops {

// Throws InputError: the argument, the rule, the position (told from 1), and what stands there.
[[noreturn]] void refuse(const std::string& argument, const std::string& rule, Count position, const std::string& got);
std::string in_words(double value);

// Whole numbers from 0 as R gives them: integer, double or bit64's integer64.
std::vector<Count> whole_numbers(SEXP x, const std::string& argument);

// Throws InputError unless all are numbers of points from 1, or 0 for none.
void check_neighbours(const Rcpp::IntegerMatrix& neighbours, Count points, int threads = 1);

}  // namespace kernops
