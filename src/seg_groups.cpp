// The groups of seg_plan(g =), as R gives them.
#include <kernops/jobs/segments.h>

#include <climits>
#include <numeric>

#include "run/huge_pages.h"
#include "run/parallel_for.h"
#include "seg_plan.h"
#include "settings.h"
#include "whole_numbers.h"

using namespace kernops;

namespace {

// Segments with groups keep their numbers themselves.
struct Grouped : Segments {
  std::unique_ptr<int[]> numbers;
};

// work(first, last, part) for equal parts of n values, whose lengths are multiples of `step`.
template <class Work> void for_parts(Count n, Count parts, Count step, const Work& work) {
  const Count length = ceil_div(ceil_div(n, parts), step) * step;
  parallel_for(parts, parts, Settings{}, [&](Count part, Count) {
    work(std::min(n, part * length), std::min(n, (part + 1) * length), size_t(part));
  });
}
Count parts_of(Count n, int threads) { return n < 100000 ? 1 : threads; }

// Numbers that are read and written in any order, from 0 on: in few pages, as each access would look one up.
template <class T> class Table {
 public:
  explicit Table(size_t size) : numbers_(new T[size]) {
    in_huge_pages(numbers_.get(), size * sizeof(T));
    std::fill_n(numbers_.get(), size, T(0));
  }
  T& operator[](Count k) { return numbers_[size_t(k)]; }

 private:
  std::unique_ptr<T[]> numbers_;
};

constexpr Count few = 16384;  // groups, whose bursts are counted

// The groups in a part of the values.
struct Found {
  std::vector<Count> lengths;
  Count burst = 0, wrong = -1;  // the first value that is no group
  bool sorted = true;
};

// Numbers of groups are put to `numbers`, from 0, and -1 for none. Groups are counted where that is asked for.
Found take_groups(const int* groups, Count first, Count last, Count count, bool counts, int* numbers) {
  Found results;
  results.lengths.assign(counts ? size_t(count) : 0, 0);
  const bool bursts = count <= few;
  const Count window = scatter_window(count);
  std::vector<Count> within(bursts ? size_t(count) : 0, 0), window_of(within.size(), -1);
  const auto number_of = [](int group) { return group == NA_INTEGER ? -1 : group - 1; };
  int before = first == 0 ? 0 : number_of(groups[first - 1]);
  for (Count k = first; k < last; ++k) {
    const int number = number_of(groups[k]);
    if (number < -1 || number >= count) return results.wrong = k, results;
    numbers[k] = number;
    results.sorted = results.sorted && number >= before;
    before = number;
    if (number < 0 || !counts) continue;
    ++results.lengths[number];
    if (!bursts) continue;
    if (window_of[number] != k / window) window_of[number] = k / window, within[number] = 0;
    results.burst = std::max(results.burst, ++within[number]);
  }
  return results;
}

// The least and the greatest key; far apart where a key is no whole number.
template <class Key> std::pair<Count, Count> range_of(Count n, Count parts, const Key& key) {
  std::vector<Count> lows(parts), highs(parts);
  for_parts(n, parts, 1, [&](Count first, Count last, size_t part) {
    int low = INT_MAX, high = INT_MIN, value = 0;
    for (Count k = first; k < last; ++k) {
      if (!key(k, value)) return void(highs[part] = Count(1) << 40);
      if (value != NA_INTEGER) low = std::min(low, value), high = std::max(high, value);
    }
    lows[part] = low, highs[part] = high;
  });
  return {*std::min_element(lows.begin(), lows.end()), *std::max_element(highs.begin(), highs.end())};
}

// Numbers the groups of the keys, whole numbers or NA_INTEGER, that key(k, value) returns; key() is false where a value
// has no key. `codes` holds the keys if the keys already number the groups from 1.
template <class Key> SEXP number_groups(Count n, int threads, const Key& key, SEXP codes) {
  const auto [low, high] = range_of(n, parts_of(n, threads), key);
  const Count range = high - low + 1;
  if (range < 1 || double(range) > 2.0 * double(n) + 1000 || n > Count(UINT32_MAX)) return R_NilValue;
  const Count parts = std::min(parts_of(n, threads), 1 + 4 * n / range);
  std::vector<Table<std::uint32_t>> counts;
  for (Count part = 0; part < parts; ++part) counts.emplace_back(size_t(range));
  for_parts(n, parts, 1, [&, low = low](Count first, Count last, size_t part) {
    int value = 0;
    for (Count k = first; k < last; ++k)
      if (key(k, value) && value != NA_INTEGER) ++counts[part][value - low];
  });
  Count count = 0;
  for (Count k = 0; k < range; ++k) {
    for (Count part = 1; part < parts; ++part) counts[0][k] += counts[part][k];
    count += counts[0][k] > 0;
  }
  Rcpp::IntegerVector levels = new_integers(double(count)), made;
  Rcpp::NumericVector lengths = zeros(double(count));
  Table<int> number{size_t(range)};
  for (Count k = 0, next = 0; k < range; ++k) {
    if (counts[0][k] == 0) continue;
    levels[next] = int(low + k), lengths[next] = counts[0][k];
    number[k] = int(++next);
  }
  if (low != 1 || count != range || Rf_isNull(codes)) {
    codes = made = new_integers(double(n));
    int* to = static_cast<int*>(in_huge_pages(made.begin(), size_t(n) * sizeof(int)));
    for_parts(n, parts, 1, [&, low = low](Count first, Count last, size_t) {
      int value = 0;
      for (Count k = first; k < last; ++k)
        to[k] = key(k, value) && value != NA_INTEGER ? number[value - low] : NA_INTEGER;
    });
  }
  return named_list({{"codes", codes}, {"levels", levels}, {"lengths", lengths}});
}

}  // namespace

// Numbers of groups from 1; NA is in none. `lengths` says how many values each has, if that is known.
// [[Rcpp::export(rng = false)]]
Rcpp::List seg_from_groups(SEXP g, double count, int threads = 1,
                           Rcpp::Nullable<Rcpp::NumericVector> lengths = R_NilValue) {
  return guard_new([&] {
    const Rcpp::IntegerVector groups(in_memory(g, INTSXP));
    if (!(count < 1e18)) throw NoMemory(count * sizeof(Count));
    auto grouped = std::make_unique<Grouped>();
    const bool counts = lengths.isNull() || count <= few;
    const Count n = groups.size(), most = counts ? Count(2 * double(n) / (count + 1)) + 1 : threads;
    const Count parts = std::min(parts_of(n, threads), most);
    grouped->numbers.reset(new int[size_t(n)]);
    in_huge_pages(grouped->numbers.get(), size_t(n) * sizeof(int));
    std::vector<Found> results(parts);
    const int* from = groups.begin();
    for_parts(n, parts, scatter_window(Count(count)), [&](Count first, Count last, size_t part) {
      results[part] = take_groups(from, first, last, Count(count), counts, grouped->numbers.get());
    });
    std::vector<Count> all = counts ? results[0].lengths : Rcpp::as<std::vector<Count>>(lengths.get());
    bool sorted = true;
    for (const Found& part : results) {
      if (part.wrong >= 0)
        refuse("g", "must number the groups from 1 to " + in_words(count), part.wrong,
               std::to_string(groups[part.wrong]));
      sorted = sorted && part.sorted;
      grouped->burst = std::max(grouped->burst, part.burst);
      for (size_t s = 0; &part != &results[0] && s < part.lengths.size(); ++s) all[s] += part.lengths[s];
    }
    grouped->values = n;
    grouped->set_lengths(all, 0, {});
    if (count > few) grouped->burst = grouped->longest;
    if (sorted)
      grouped->numbers.reset();
    else
      grouped->groups = grouped->numbers.get();
    if (!sorted && n > Count(UINT32_MAX))
      throw InputError("input", "unsorted groups must have fewer than 2^32 values; sort them first.");
    return described(std::move(grouped));
  });
}

// The groups of whole numbers that lie close together, in ascending order; NULL where they do not.
// [[Rcpp::export(rng = false)]]
SEXP seg_number_groups(SEXP groups, int threads = 1) {
  return guard_new([&]() -> SEXP {
    const Count n = Rf_xlength(groups);
    if (TYPEOF(groups) == INTSXP) {
      const Rcpp::IntegerVector g(in_memory(groups, INTSXP));
      const int* from = g.begin();
      const auto key = [=](Count k, int& value) { return value = from[k], true; };
      return number_groups(n, threads, key, ATTRIB(groups) == R_NilValue ? groups : R_NilValue);
    }
    const Rcpp::NumericVector g(in_memory(groups, REALSXP));
    const double* from = g.begin();
    const auto key = [=](Count k, int& value) {
      const double x = from[k];
      if (x != x) return value = NA_INTEGER, bool(R_IsNA(x));  // NaN is a group
      const bool whole = x > INT_MIN && x <= INT_MAX && x == double(int(x));
      return value = whole ? int(x) : NA_INTEGER, whole;
    };
    return number_groups(n, threads, key, R_NilValue);
  });
}
