// Segments of values that are in any order, with one group number for each value, as R passes them.
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

// Calls work(first, last, part) for equal parts of n values.
template <class Work> void for_parts(Count n, Count parts, const Work& work) {
  const Count length = ceil_div(n, parts);
  parallel_for(parts, parts, Settings{}, [&](Count part, Count) {
    work(std::min(n, part * length), std::min(n, (part + 1) * length), size_t(part));
  });
}

// Counts the values of each group. If there are few groups, four tables of counts are used in turn. With a single
// table, successive values of one group would make each increment wait for the previous one.
std::vector<Count> count_part(const GroupCodes& groups, Count first, Count last) {
  const Count tables = groups.span <= 4096 ? 4 : 1, width = groups.span + 1;
  LargeVector<std::uint32_t> counts(size_t(tables * width));
  std::fill(counts.begin(), counts.end(), 0);
  std::uint32_t* const of_group = counts.data() + 1;  // the count at index -1 is that of values without a group
  for (Count n = first; n < last; ++n) ++of_group[(n & (tables - 1)) * width + groups.number(n)];
  std::vector<Count> all(size_t(groups.span), 0);
  for (Count table = 0; table < tables; ++table)
    for (Count group = 0; group < groups.span; ++group) all[size_t(group)] += of_group[table * width + group];
  return all;
}

// Segments of groups that keep the R vectors of the group numbers alive.
class Grouped : public Segments {
 public:
  Grouped(SEXP codes, int base, Count span, SEXP rows, Count count, int threads)
      : codes_(codes), rows_(rows), threads_(threads) {
    values = covered = Rf_xlength(codes);
    this->count = count;
    groups = {INTEGER(codes), base, span, Rf_isNull(rows) ? nullptr : INTEGER(rows), base == 1 && Rf_isNull(rows)};
  }

  // True if the group numbers are ascending and each value has a group, so that the values are already sorted by group.
  bool is_sorted() const {
    Count before = 0;
    for (Count n = 0; n < values; ++n) {
      const Count row = groups[n];
      if (row < before) return false;
      before = row;
    }
    return true;
  }
  void put_in_order() {
    find();
    groups = {}, codes_ = rows_ = R_NilValue;
  }

  void find() override {
    if (counted_) return;
    const Count most = Count(2 * double(values) / double(groups.span + 1)) + 1;
    const Count parts = std::min<Count>(values < 100000 ? 1 : threads_, most) + values / Count(UINT32_MAX);
    std::vector<std::vector<Count>> counts(static_cast<size_t>(parts));
    for_parts(values, parts,
              [&](Count first, Count last, size_t part) { counts[part] = count_part(groups, first, last); });
    std::vector<Count> lengths(size_t(count), 0);
    for (const auto& part : counts)
      for (Count group = 0; group < groups.span; ++group)
        if (const Count row = groups.row(group); row >= 0) lengths[size_t(row)] += part[size_t(group)];
    if (std::accumulate(lengths.begin(), lengths.end(), Count(0)) < values) refuse_strays();
    set_lengths(lengths, 0, {});
    counted_ = true;
  }

  void refuse_strays() const override {
    if (!groups.unchecked) return;
    for (Count n = 0; n < values; ++n)
      if (const int code = groups.code[n]; code != NA_INTEGER && groups.number(n) < 0)
        refuse("g", "must number the groups from 1 to " + in_words(double(count)), n, std::to_string(code));
  }

 private:
  Rcpp::RObject codes_, rows_;
  const int threads_;
  bool counted_ = false;
};

}  // namespace

// Value n has group codes[n] - base if this number is at least 0 and below `span`; otherwise it has no group. `rows`
// has the result row of each group, counted from 0, or -1 for a group without a result; NULL means that the row is the
// group number. If `base` is 1 and `rows` is NULL, invalid codes are errors; they are found by this function if `check`
// is true, otherwise by the pass that reduces the values.
// [[Rcpp::export(rng = false)]]
Rcpp::List seg_from_groups(SEXP codes, int base, double span, SEXP rows, double count, bool check = true,
                           int threads = 1) {
  return guard_new([&] {
    const Rcpp::IntegerVector groups(in_memory(codes, INTSXP));
    if (!(std::max(count, span) < 1e18)) throw NoMemory(count * sizeof(Count));
    auto grouped = std::make_unique<Grouped>(groups, base, Count(span), rows, Count(count), threads);
    if (check && grouped->groups.has_strays(grouped->values)) grouped->refuse_strays();
    if (check) grouped->groups.unchecked = false;
    if (grouped->is_sorted()) {
      grouped->put_in_order();
      return described(std::move(grouped));
    }
    if (grouped->values > Count(UINT32_MAX))
      throw InputError("input", "unsorted groups must have fewer than 2^32 values; sort them first.");
    const Rcpp::List about = allocate(0, [&]() -> SEXP {
      return Rcpp::List::create(Rcpp::_["values"] = double(grouped->values), Rcpp::_["segments"] = count);
    });
    return held(std::move(grouped), about);
  });
}
