// Converts keys of R to group numbers for seg_plan(g =). If keys are whole numbers in a small range, the group number
// is the key minus the lowest key. Other keys are looked up in a hash table of the distinct keys.
#include <climits>
#include <cstring>
#include <numeric>

#include "border.h"
#include "groups/key_table.h"
#include "groups/string_order.h"
#include "order/radix.h"
#include "whole_numbers.h"

using namespace kernops;

namespace {

constexpr std::uint32_t nowhere = UINT32_MAX;
constexpr Count step = 1024;  // number of values after which a pass checks whether it can end

// The code of each value, with the meaning of seg_from_groups(), and the position of the first value of each group,
// where groups are in the order of the result.
struct Numbered {
  Rcpp::RObject codes;
  int base = 0;
  Count span = 0;
  std::vector<int> rows;  // result row of each code; empty if code n has row n
  std::vector<std::uint32_t> firsts;
  bool collated = true, ascii = true;  // collated: the order is the same in every locale; ascii: all strings are ASCII

  SEXP list() const {
    const Rcpp::NumericVector places = numbers_of(firsts);
    for (double& place : const_cast<Rcpp::NumericVector&>(places)) place += 1;
    Rcpp::RObject of_groups = R_NilValue;
    if (!rows.empty()) {
      Rcpp::IntegerVector copy = new_integers(double(rows.size()));
      std::copy(rows.begin(), rows.end(), copy.begin());
      of_groups = copy;
    }
    const Rcpp::Shield<SEXP> from(Rf_ScalarInteger(base)), width(Rf_ScalarReal(double(span))),
        sorted(Rf_ScalarLogical(collated)), plain(Rf_ScalarLogical(ascii)), count(Rf_ScalarReal(double(firsts.size())));
    return named_list({{"input", codes},
                       {"base", from},
                       {"span", width},
                       {"rows", of_groups},
                       {"count", count},
                       {"first", places},
                       {"collated", sorted},
                       {"ascii", plain}});
  }
};

struct Range {
  int low = INT_MAX, high = INT_MIN;
  double width() const { return double(high) - low + 1; }
};

// The range of all integers except NA. Inner loops of constant length let the compiler use vector instructions.
Range range_of(const int* x, Count n) {
  constexpr int lanes = 16;
  int low[lanes], high[lanes];
  std::fill_n(low, lanes, INT_MAX), std::fill_n(high, lanes, INT_MIN);
  Count k = 0;
  for (; k + lanes <= n; k += lanes)
    for (int lane = 0; lane < lanes; ++lane) {
      const int value = x[k + lane], least = value == NA_INTEGER ? INT_MAX : value;
      low[lane] = least < low[lane] ? least : low[lane];
      high[lane] = value > high[lane] ? value : high[lane];
    }
  Range range;
  for (; k < n; ++k)
    if (x[k] != NA_INTEGER) range = {std::min(range.low, x[k]), std::max(range.high, x[k])};
  for (int lane = 0; lane < lanes; ++lane) range = {std::min(range.low, low[lane]), std::max(range.high, high[lane])};
  return range;
}

// For each integer of the range, returns the position of its first occurrence in x. The pass ends as soon as all
// numbers have occurred.
std::vector<std::uint32_t> first_places(const int* x, Count n, const Range& range) {
  const Count width = Count(range.width());
  std::vector<std::uint32_t> firsts(size_t(width), nowhere);
  for (Count k = 0, left = width; k < n && left > 0; ++k) {
    if (x[k] == NA_INTEGER) continue;
    std::uint32_t& first = firsts[size_t(Count(x[k]) - range.low)];
    if (first == nowhere) first = std::uint32_t(k), --left;
  }
  return firsts;
}

// Orders the groups by their keys if `sort` is true, otherwise by their first positions.
void order_range(Numbered& result, const std::vector<std::uint32_t>& firsts, bool sort) {
  std::vector<std::uint32_t> groups;
  for (std::uint32_t group = 0; group < firsts.size(); ++group)
    if (firsts[group] != nowhere) groups.push_back(group);
  if (!sort) std::sort(groups.begin(), groups.end(), [&](auto a, auto b) { return firsts[a] < firsts[b]; });
  if (groups.size() < firsts.size() || !sort) result.rows.assign(firsts.size(), -1);
  for (size_t row = 0; row < groups.size(); ++row) {
    if (!result.rows.empty()) result.rows[groups[row]] = int(row);
    result.firsts.push_back(firsts[groups[row]]);
  }
}

bool is_close(const Range& range, Count n) { return range.width() <= 2.0 * double(n) + 1000; }

bool number_range(Numbered& result, SEXP integers, bool sort) {
  const int* x = INTEGER(integers);
  const Count n = Rf_xlength(integers);
  const Range range = range_of(x, n);
  if (range.high < range.low || !is_close(range, n)) return false;
  result.codes = integers, result.base = range.low, result.span = Count(range.width());
  order_range(result, first_places(x, n, range), sort);
  return true;
}

// Converts doubles to an R integer vector; returns NULL unless all are whole numbers and none is NaN.
SEXP as_whole(const double* x, Count n) {
  const auto fits = [](double value) { return value > INT_MIN && value <= INT_MAX && value == double(int(value)); };
  for (Count k = 0; k < std::min(n, step); ++k)
    if (!fits(x[k]) && !R_IsNA(x[k])) return R_NilValue;
  Rcpp::IntegerVector codes = new_integers(double(n));
  int* const to = static_cast<int*>(in_huge_pages(codes.begin(), size_t(n) * sizeof(int)));
  for (Count k = 0; k < n; ++k) {
    if (fits(x[k]))
      to[k] = int(x[k]);
    else if (R_IsNA(x[k]))
      to[k] = NA_INTEGER;
    else
      return R_NilValue;
  }
  return codes;
}

// Numbers the distinct keys, in the order of their first positions; key(n, word) reads a key as 64 bits.
template <class Key> void number_words(Numbered& result, Count n, const Key& key) {
  Rcpp::IntegerVector codes = new_integers(double(n));
  in_huge_pages(codes.begin(), size_t(n) * sizeof(int));
  KeyTable table;
  table.number(n, key, NA_INTEGER, codes.begin());
  result.codes = codes, result.base = 0, result.span = table.count();
  result.firsts = table.firsts();
}

// Reorders the groups: group order[k] becomes group k.
template <class Order> void set_order(Numbered& result, const Order& order) {
  std::vector<std::uint32_t> firsts;
  firsts.swap(result.firsts);
  result.rows.resize(firsts.size());
  for (size_t row = 0; row < firsts.size(); ++row) {
    const auto group = size_t(order(row));
    result.rows[group] = int(row);
    result.firsts.push_back(firsts[group]);
  }
}

// Orders the groups by the ascending numbers value(group); NaN comes last.
template <class Value> void order_numbers(Numbered& result, const Value& value) {
  std::vector<Placed> groups, memory;
  Count nan = -1;
  for (size_t group = 0; group < result.firsts.size(); ++group) {
    const double x = value(result.firsts[group]);
    if (x != x)
      nan = Count(group);
    else
      groups.push_back({x, Count(group)});
  }
  sort_numbers(groups.data(), Count(groups.size()), false, memory);
  if (nan >= 0) groups.push_back({0, nan});
  set_order(result, [&](size_t row) { return groups[row].place; });
}

void number_integers(Numbered& result, SEXP g, bool sort) {
  const int* x = INTEGER(g);
  number_words(result, Rf_xlength(g), [=](Count k, std::uint64_t& word) {
    word = std::uint32_t(x[k]);
    return x[k] != NA_INTEGER;
  });
  if (sort) order_numbers(result, [=](size_t k) { return double(x[k]); });
}

// Numbers the distinct doubles. 0 and -0 are the same key. NaN is a key; NA is not a key, so that values with NA have
// no group.
void number_doubles(Numbered& result, SEXP g, bool sort) {
  const double* x = REAL(g);
  number_words(result, Rf_xlength(g), [=](Count k, std::uint64_t& word) {
    const double value = x[k] == x[k] ? x[k] + 0.0 : R_NaN;
    std::memcpy(&word, &value, sizeof word);
    return x[k] == x[k] || !R_IsNA(x[k]);
  });
  if (sort) order_numbers(result, [=](size_t k) { return x[k]; });
}

void number_integers64(Numbered& result, SEXP g, bool sort) {
  const double* x = REAL(g);
  const auto bits = [=](Count k) {
    std::int64_t value;
    std::memcpy(&value, x + k, sizeof value);
    return value;
  };
  number_words(result, Rf_xlength(g), [=](Count k, std::uint64_t& word) {
    word = std::uint64_t(bits(k));
    return bits(k) != INT64_MIN;
  });
  if (!sort) return;
  const std::vector<std::uint32_t>& firsts = result.firsts;
  std::vector<std::uint32_t> order(firsts.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return bits(firsts[a]) < bits(firsts[b]); });
  set_order(result, [&](size_t row) { return order[row]; });
}

// Numbers the distinct strings. R stores equal strings at the same address, except that a string which is not ASCII may
// occur in two encodings, at two addresses.
void number_strings(Numbered& result, SEXP g, bool sort) {
  const SEXP* x = STRING_PTR_RO(g);
  number_words(result, Rf_xlength(g), [=](Count k, std::uint64_t& word) {
    word = std::uint64_t(reinterpret_cast<std::uintptr_t>(x[k]));
    return x[k] != NA_STRING;
  });
  const std::vector<std::uint32_t>& firsts = result.firsts;
  std::vector<Text> texts;
  constexpr size_t ahead = 16;
  for (size_t k = 0; k < firsts.size(); ++k) {
    if (k + ahead < firsts.size()) __builtin_prefetch(R_CHAR(x[firsts[k + ahead]]));
    const SEXP string = x[firsts[k]];
    const Text text = {R_CHAR(string), LENGTH(string)};
    for (Count byte = 0; byte < text.length; ++byte) result.ascii &= text.bytes[byte] >= 0;
    texts.push_back(text);
  }
  if (!sort) return;
  const StringOrder sorted = order_of_strings(texts);
  result.collated &= sorted.by_digits;
  set_order(result, [&](size_t row) { return sorted.order[row]; });
}

}  // namespace

// Numbers the groups of keys, which are integers, logicals, doubles, integer64 or strings. The result has the arguments
// of seg_from_groups(), and the position of the first value of each group, from 1. If `sort` is true, groups are in
// ascending order of their keys; strings are sorted by bytes, and `collated` is TRUE if this is also the order of every
// locale.
// [[Rcpp::export(rng = false)]]
SEXP seg_number_keys(SEXP g, bool sort) {
  return guard_new([&]() -> SEXP {
    if (Rf_xlength(g) > Count(nowhere) - 1)
      throw InputError("input", "groups must have fewer than 2^32 values; sort them, and use `lengths`.");
    Numbered result;
    const Rcpp::RObject keys(in_memory(g, TYPEOF(g) == LGLSXP ? INTSXP : TYPEOF(g)));
    if (TYPEOF(keys) == STRSXP) {
      number_strings(result, keys, sort);
    } else if (Rf_inherits(g, "integer64")) {
      number_integers64(result, keys, sort);
    } else if (TYPEOF(keys) == INTSXP) {
      if (!number_range(result, keys, sort)) number_integers(result, keys, sort);
    } else {
      const Rcpp::RObject whole(as_whole(REAL(keys), Rf_xlength(keys)));
      if (whole.isNULL() || !number_range(result, whole, sort)) number_doubles(result, keys, sort);
    }
    return result.list();
  });
}
