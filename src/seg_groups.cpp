// The groups of seg_plan(g =), as R gives them.
#include <kernops/jobs/segments.h>

#include <climits>
#include <numeric>

#include "seg_plan.h"
#include "whole_numbers.h"

using namespace kernops;

namespace {

// Segments with groups keep their numbers themselves.
struct Grouped : Segments {
  std::vector<int> numbers;
};

}  // namespace

// Numbers of groups from 1; NA is in none.
// [[Rcpp::export]]
Rcpp::List seg_from_groups(SEXP g, double count) {
  return guard([&] {
    const Rcpp::IntegerVector groups(in_memory(g, INTSXP));
    auto grouped = std::make_unique<Grouped>();
    const Count n = groups.size();
    std::vector<int>& numbers = grouped->numbers;
    std::vector<Count> lengths(size_t(count), 0);
    numbers.resize(n);
    const bool few = count <= 16384;
    std::vector<Count> within(few ? lengths.size() : 0, 0), window_of(within.size(), -1);
    const Count window = scatter_window(Count(count));
    bool sorted = true;
    int before = 0;
    for (Count k = 0; k < n; ++k) {
      const int number = groups[k] == NA_INTEGER ? -1 : groups[k] - 1;
      if (number < -1 || number >= count)
        refuse("g", "must number the groups from 1 to " + in_words(count), k, std::to_string(groups[k]));
      numbers[k] = number;
      sorted = sorted && number >= before;
      before = number;
      if (number < 0) continue;
      ++lengths[number];
      if (!few) continue;
      if (window_of[number] != k / window) window_of[number] = k / window, within[number] = 0;
      grouped->burst = std::max(grouped->burst, ++within[number]);
    }
    grouped->values = n;
    grouped->set_lengths(lengths, 0, {});
    if (!few) grouped->burst = grouped->longest;
    if (sorted)
      std::vector<int>().swap(numbers);
    else
      grouped->groups = numbers.data();
    if (!sorted && n > Count(UINT32_MAX))
      throw InputError("input", "unsorted groups must have fewer than 2^32 values; sort them first.");
    return described(std::move(grouped));
  });
}

// The groups of whole numbers that lie close together, in ascending order; NULL where they do not.
// [[Rcpp::export]]
SEXP seg_number_groups(SEXP groups) {
  return guard([&]() -> SEXP {
    const Rcpp::IntegerVector g(in_memory(groups, INTSXP));
    const R_xlen_t n = g.size();
    int low = INT_MAX, high = INT_MIN;
    for (const int key : g)
      if (key != NA_INTEGER) low = std::min(low, key), high = std::max(high, key);
    if (low > high || double(high) - low > 2.0 * double(n) + 1000) return R_NilValue;
    std::vector<int> number(size_t(Count(high) - low + 1), 0);
    for (const int key : g)
      if (key != NA_INTEGER) number[Count(key) - low] = 1;
    Rcpp::IntegerVector levels = new_integers(std::accumulate(number.begin(), number.end(), 0.0));
    int count = 0;
    for (size_t k = 0; k < number.size(); ++k)
      if (number[k]) {
        levels[count] = low + int(k);
        number[k] = ++count;
      }
    Rcpp::IntegerVector codes = new_integers(double(n));
    for (R_xlen_t k = 0; k < n; ++k) codes[k] = g[k] == NA_INTEGER ? NA_INTEGER : number[Count(g[k]) - low];
    return named_list({{"codes", codes}, {"levels", levels}});
  });
}
