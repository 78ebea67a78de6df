// Values of class integer64: 64-bit integers in the memory of doubles, where the lowest integer means missing. Sums are
// exact because each integer is split into three limbs of 22 bits, which are summed as doubles; the highest limb has
// the sign.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "border.h"

using namespace kernops;

namespace {

constexpr int limb_bits = 22;
constexpr std::int64_t limb_mask = (std::int64_t(1) << limb_bits) - 1;
constexpr std::int64_t missing = std::numeric_limits<std::int64_t>::min();

const std::int64_t* bits_of(SEXP x) { return reinterpret_cast<const std::int64_t*>(REAL(in_memory(x))); }
std::int64_t* bits_of(Rcpp::NumericVector& x) { return reinterpret_cast<std::int64_t*>(x.begin()); }

// a - b as a double, because the difference may need 65 bits.
double difference(std::int64_t a, std::int64_t b) {
  const auto distance = [](std::int64_t a, std::int64_t b) { return double(std::uint64_t(a) - std::uint64_t(b)); };
  return a >= b ? distance(a, b) : -distance(b, a);
}

// Joins three limbs, or sums of limbs, to an integer; returns `missing` if the integer needs more than 64 bits.
std::int64_t joined(std::int64_t low, std::int64_t middle, std::int64_t high) {
  middle += low >> limb_bits, low &= limb_mask;
  high += middle >> limb_bits, middle &= limb_mask;
  constexpr std::int64_t bound = std::int64_t(1) << (63 - 2 * limb_bits);
  if (high < -bound || high >= bound) return missing;
  return (high * (limb_mask + 1) + middle) * (limb_mask + 1) + low;
}

}  // namespace

// x - origin as doubles, which are exact up to 2^53; NULL if the absolute value of a number exceeds `most`.
// [[Rcpp::export(rng = false)]]
SEXP int64_doubles(SEXP x, SEXP origin, double most) {
  return guard_new([&]() -> SEXP {
    const std::int64_t *from = bits_of(x), shift = Rf_isNull(origin) ? 0 : *bits_of(origin);
    Rcpp::NumericVector out = new_numbers(double(Rf_xlength(x)));
    for (R_xlen_t n = 0; n < out.size(); ++n) {
      if (from[n] == missing) {
        out[n] = NA_REAL;
        continue;
      }
      if (std::abs(double(from[n])) > most) return R_NilValue;
      out[n] = difference(from[n], shift);
    }
    return out;
  });
}

// Converts doubles to integer64; NaN becomes missing.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector int64_of_doubles(Rcpp::NumericVector x) {
  return guard_new([&] {
    Rcpp::NumericVector out = new_numbers(double(x.size()));
    std::transform(x.begin(), x.end(), bits_of(out), [](double v) { return ISNAN(v) ? missing : std::int64_t(v); });
    return out;
  });
}

// The low, middle and high limb of each number.
// [[Rcpp::export(rng = false)]]
Rcpp::List int64_limbs(SEXP x) {
  return guard_new([&] {
    const std::int64_t* from = bits_of(x);
    const double size = double(Rf_xlength(x));
    Rcpp::NumericVector limbs[] = {new_numbers(size), new_numbers(size), new_numbers(size)};
    for (int limb = 0; limb < 3; ++limb)
      std::transform(from, from + Rf_xlength(x), limbs[limb].begin(), [&](std::int64_t v) {
        if (v == missing) return NA_REAL;
        const std::int64_t shifted = v >> (limb * limb_bits);
        return double(limb == 2 ? shifted : shifted & limb_mask);
      });
    return named_list({{"low", limbs[0]}, {"middle", limbs[1]}, {"high", limbs[2]}});
  });
}

// Joins the limbs of each number to an integer64; NULL if a number needs more than 64 bits.
// [[Rcpp::export(rng = false)]]
SEXP int64_join(Rcpp::NumericVector low, Rcpp::NumericVector middle, Rcpp::NumericVector high) {
  return guard_new([&]() -> SEXP {
    Rcpp::NumericVector out = new_numbers(double(low.size()));
    for (R_xlen_t n = 0; n < out.size(); ++n) {
      if (ISNAN(low[n])) {
        bits_of(out)[n] = missing;
        continue;
      }
      const std::int64_t sum = joined(std::int64_t(low[n]), std::int64_t(middle[n]), std::int64_t(high[n]));
      if (sum == missing) return R_NilValue;
      bits_of(out)[n] = sum;
    }
    return out;
  });
}

// The distinct numbers of x in ascending order, without the missing value.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector int64_levels(SEXP x) {
  return guard_new([&] {
    std::vector<std::int64_t> levels;
    std::copy_if(bits_of(x), bits_of(x) + Rf_xlength(x), std::back_inserter(levels),
                 [](std::int64_t v) { return v != missing; });
    std::sort(levels.begin(), levels.end());
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    Rcpp::NumericVector out = new_numbers(double(levels.size()));
    std::copy(levels.begin(), levels.end(), bits_of(out));
    return out;
  });
}

// For each number of x, its position among the ascending levels, from 1.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector int64_codes(SEXP x, SEXP levels) {
  return guard_new([&] {
    const std::int64_t *first = bits_of(levels), *last = first + Rf_xlength(levels);
    Rcpp::NumericVector out = new_numbers(double(Rf_xlength(x)));
    std::transform(bits_of(x), bits_of(x) + Rf_xlength(x), out.begin(), [&](std::int64_t v) {
      return v == missing ? NA_REAL : double(std::lower_bound(first, last, v) - first + 1);
    });
    return out;
  });
}
