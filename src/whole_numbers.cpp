#include "whole_numbers.h"

#include <cmath>
#include <cstring>

#include "run/parallel_for.h"
#include "settings.h"

namespace kernops {

void refuse(const std::string& argument, const std::string& rule, Count position, const std::string& got) {
  throw InputError("input",
                   "`" + argument + "` " + rule + "; element " + std::to_string(position + 1) + " is " + got + ".");
}

std::string in_words(double value) {
  if (ISNAN(value)) return "missing";
  if (!R_FINITE(value)) return value > 0 ? "Inf" : "-Inf";
  char text[32];
  snprintf(text, sizeof text, "%.15g", value);
  return text;
}

std::vector<Count> whole_numbers(SEXP x, const std::string& argument) {
  if ((TYPEOF(x) != INTSXP && TYPEOF(x) != REALSXP) || Rf_isFactor(x))
    throw InputError("input", "`" + argument + "` must be whole numbers, not " +
                                  (Rf_isFactor(x) ? "a factor" : Rf_type2char(TYPEOF(x))) + ".");
  const bool integer64 = TYPEOF(x) == REALSXP && Rf_inherits(x, "integer64");
  in_memory(x);
  std::vector<Count> numbers(Rf_xlength(x));
  for (size_t n = 0; n < numbers.size(); ++n) {
    if (integer64) {
      std::memcpy(&numbers[n], REAL(x) + n, sizeof(Count));
      if (numbers[n] < 0)
        refuse(argument, "must be non-negative whole numbers", n,
               numbers[n] == INT64_MIN ? "missing" : std::to_string(numbers[n]));
      continue;
    }
    const double value = TYPEOF(x) == REALSXP ? REAL(x)[n] : INTEGER(x)[n] == NA_INTEGER ? NA_REAL : INTEGER(x)[n];
    if (R_FINITE(value) && value >= 9e15) refuse(argument, "must be whole numbers below 9e15", n, in_words(value));
    if (!(R_FINITE(value) && value >= 0 && value == std::floor(value)))
      refuse(argument, "must be non-negative whole numbers", n, in_words(value));
    numbers[n] = Count(value);
  }
  return numbers;
}

void check_neighbours(const Rcpp::IntegerMatrix& neighbours, Count points, int threads) {
  const int* const all = neighbours.begin();
  in_parts(
      Count(neighbours.size()), with_threads(threads),
      [&](Count first, Count last) {
        int least = 0, most = 0;
        for (Count k = first; k < last; ++k) least = std::min(least, all[k]), most = std::max(most, all[k]);
        if (least < 0 || most > points) throw InputError("input", "neighbours are numbers of points");
      },
      1 << 19);
}

}  // namespace kernops
