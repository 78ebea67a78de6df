// Computes the sparsity pattern of a posterior precision and of its factor.
#include <algorithm>
#include <atomic>
#include <climits>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "neighbours/posterior.h"
#include "neighbours/sparse_inverse.h"
#include "run/rows.h"

namespace kernops::neighbours {

namespace {

constexpr Count unit = 256;  // number of rows of a unit of work

// Up to this number of effects, factorising a dense matrix of the effects takes no longer than eliminating the points.
constexpr Count few_effects = 400;

// The head has the rows that are eliminated last (see neighbours/posterior.h). If factorising the head takes at most
// this number of operations per point, the factorisation takes about as long as eliminating the points after the head.
// The head is then accepted without comparing it with another head.
constexpr double few_operations = 2000;

// Up to this number of effects, a factor is computed even if the observations of each effect are scattered. The
// alternative, conjugate gradients, estimates the determinant with a Monte Carlo error.
constexpr Count few_scattered_effects = 1000;

using Lists = std::vector<std::vector<int>>;

// Computes the pattern of a sparse Cholesky factor from the earlier columns of each row of a symmetric matrix.
std::unique_ptr<SparseCholesky> factor_of_rows(const Lists& rows) {
  std::vector<int> start(rows.size() + 1, 0);
  for (size_t i = 0; i < rows.size(); ++i) {
    ++start[i + 1];
    for (const int j : rows[i]) ++start[size_t(j) + 1];
  }
  std::partial_sum(start.begin(), start.end(), start.begin());
  std::vector<int> row(static_cast<size_t>(start.back())), next(start.begin(), start.end() - 1);
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const int j : rows[i]) row[size_t(next[size_t(j)]++)] = int(i);
    row[size_t(next[i]++)] = int(i);
  }
  return std::make_unique<SparseCholesky>(LowerTriangle{int(rows.size()), start.data(), row.data()});
}

// Returns a pointer to the columns of each row, from row `from` on. Each element of `columns` has the rows of one unit,
// one after another.
std::vector<const int*> first_columns(const Lists& columns, const std::vector<Count>& length, Count from) {
  std::vector<const int*> first(length.size());
  for (Count i = from; i < Count(length.size()); ++i) {
    const bool begins = i % unit == 0 || i == from;
    first[size_t(i)] = begins ? columns[size_t(i / unit)].data() : first[size_t(i) - 1] + length[size_t(i) - 1];
  }
  return first;
}

// The rows that contain each column: column j is in the rows row[start[j]] .. row[start[j + 1] - 1], in ascending
// order.
struct Columns {
  std::vector<Count> start;
  LargeVector<int> row;
};

// Finds the rows that contain each column from `from` on. The rows begin at `from`; row i has the columns first[i][0]
// .. first[i][length[i] - 1].
Columns columns_of_rows(const std::vector<const int*>& first, const std::vector<Count>& length, Count from) {
  Columns columns{std::vector<Count>(length.size() + 1, 0), {}};
  const auto each = [&](const auto& work) {
    for (Count i = from; i < Count(length.size()); ++i)
      for (const int *j = first[size_t(i)], *end = j + length[size_t(i)]; j < end; ++j)
        if (*j >= from) work(int(i), size_t(*j));
  };
  each([&](int, size_t j) { ++columns.start[j + 1]; });
  std::partial_sum(columns.start.begin(), columns.start.end(), columns.start.begin());
  columns.row.resize(size_t(columns.start.back()));
  std::vector<Count> next(columns.start.begin(), columns.start.end() - 1);
  each([&](int i, size_t j) { columns.row[size_t(next[j]++)] = i; });
  return columns;
}

}  // namespace

// A pattern has the rows of the head and, stored by units of rows, the rows of the points after the head. It also has
// the factor of the head, or null if this factor has too many entries.
struct Posterior::Pattern {
  Count head;
  std::vector<Count> length;
  Lists columns, head_rows;
  std::unique_ptr<SparseCholesky> factor;
  bool possible() const { return !head || (factor && factor->operations() <= most_effect_operations); }
};

// Computes the rows of the pattern that belong to points. The row of a point contains the earlier points of all sets
// that contain the point, including the wide sets of the constructor, and the effects that are observed with points of
// these sets.
std::vector<std::vector<int>> Posterior::rows_of_sets(const PointSets& wide, const Settings& settings) {
  Numbers wide_start(size_t(n_) + 1);
  std::vector<int> wide_entry(size_t(wide.count * wide.m));
  find_columns(wide.at, n_, wide.m, wide_start.data(), wide_entry.data());
  Lists columns(size_t(ceil_div(n_, unit)));
  Lists found(size_t(row_workers(n_, settings)), std::vector<int>(size_t(n_), -1));
  start_.assign(size_t(n_) + 1, 0);
  each_row(n_, unit, settings, [&](Count i, Count worker) {
    if (i < effects_.count) return;
    std::vector<int>&row = columns[size_t(i / unit)], &seen = found[size_t(worker)];
    const size_t before = row.size();
    const auto add = [&](int j) {
      if (j >= 0 && j < i && seen[size_t(j)] != i) seen[size_t(j)] = int(i), row.push_back(j);
    };
    const auto add_effects = [&](Count set) {
      for (int t = first_effect(set); t < first_effect(set + 1); ++t) add(effects_.column[size_t(t)]);
    };
    const auto add_wide = [&](Count set) {
      for (int s = 0; s < wide.m; ++s) add(wide.at[set * wide.m + s] - 1);
      add_effects(set);
    };
    each_set(i, [&](Count set, int slot) {
      for (int s = 0; s < slot; ++s) add(member(set, s));
      add_effects(set);
    });
    if (wide.m) add_wide(i);
    for (Count k = Count(wide_start[size_t(i)]); k < Count(wide_start[size_t(i + 1)]); ++k)
      add_wide(wide_entry[size_t(k)] / wide.m);
    std::sort(row.begin() + std::ptrdiff_t(before), row.end());
    start_[size_t(i + 1)] = Count(row.size() - before);
  });
  return columns;
}

void Posterior::find_pattern(const PointSets& wide, const Settings& settings) {
  if (are_scattered()) throw TooManyEffects();
  Lists columns = rows_of_sets(wide, settings), head_rows;
  if (effects_.count) {
    Pattern pattern = cheapest_pattern(columns, settings);
    if (!pattern.possible()) throw TooManyEffects();
    head_ = pattern.head, within_ = std::move(pattern.factor), columns = std::move(pattern.columns);
    for (Count i = 0; i < n_; ++i) start_[size_t(i) + 1] = pattern.length[size_t(i)];
    head_rows = std::move(pattern.head_rows);
  }
  std::partial_sum(start_.begin(), start_.end(), start_.begin());
  if (start_.back() > INT_MAX) throw std::length_error("there are too many points and neighbours");
  column_.resize(size_t(start_.back()));
  each_row(n_, unit, settings, [&](Count i, Count) {
    const int* const row = i < head_
                               ? head_rows[size_t(i)].data() - start_[size_t(i)]
                               : columns[size_t(i / unit)].data() - start_[size_t(std::max(i / unit * unit, head_))];
    std::copy(row + start_[size_t(i)], row + start_[size_t(i + 1)], column_.begin() + start_[size_t(i)]);
  });
}

// Returns whether there are many effects, and few pairs of neighbours are observed with the same effect.
bool Posterior::are_scattered() const {
  if (effects_.count <= few_scattered_effects || n_ < 2 * effects_.count) return false;
  const int* const column = effects_.column.data();
  const auto together = [&](Count i, Count j) {
    return std::any_of(column + first_effect(i), column + first_effect(i + 1), [&](int effect) {
      return std::binary_search(column + first_effect(j), column + first_effect(j + 1), effect);
    });
  };
  Count pairs = 0, common = 0;
  for (Count i = effects_.count; i < n_; ++i)
    for (int slot = 0; slot < m_; ++slot)
      if (member(i, slot) >= 0) ++pairs, common += together(i, member(i, slot));
  return 50 * common < pairs;
}

// Chooses the pattern whose head takes fewer operations: the head with the effects alone, or the head that also has an
// equal number of points. If the first points are farther apart than the observations of an effect, they are near many
// effects. Eliminating these points before the effects would create entries for all pairs of effects. If the
// observations of each effect are close in space, the number of such points is about the number of effects.
Posterior::Pattern Posterior::cheapest_pattern(const Lists& columns, const Settings& settings) const {
  const auto alone = [&] { return pattern_with_head(columns, effects_.count, settings); };
  if (effects_.count <= few_effects) return alone();
  Pattern together = pattern_with_head(columns, std::min(n_, 2 * effects_.count), settings);
  const auto operations = [](const Pattern& pattern) {
    return pattern.possible() ? pattern.factor->operations() : std::numeric_limits<double>::infinity();
  };
  if (operations(together) <= few_operations * double(n_)) return together;
  Pattern other = alone();
  return operations(other) <= operations(together) ? std::move(other) : std::move(together);
}

// Computes the pattern for a given size of the head. Let i be a point after the head. If a later row contains i, the
// elimination of the later row creates entries in row i for the effects of the later row. The pattern of row i includes
// these entries. Without these entries, the incomplete factor of 15,000 points and 1,500 effects has a negative pivot,
// and the log-likelihood of 2,000 points and 200 effects is wrong by 1.2; with them, it is wrong by less than 0.002.
Posterior::Pattern Posterior::pattern_with_head(const Lists& columns, Count head, const Settings& settings) const {
  const std::vector<Count> length(start_.begin() + 1, start_.end());
  const std::vector<const int*> first = first_columns(columns, length, effects_.count);
  const Columns later = columns_of_rows(first, length, head);
  Pattern pattern{head, length, Lists(columns.size()), {}, nullptr};
  Lists found(size_t(row_workers(n_, settings)), std::vector<int>(size_t(effects_.count), -1));
  each_row(n_, unit, settings, [&](Count i, Count worker) {
    if (i < head) return;
    std::vector<int>&row = pattern.columns[size_t(i / unit)], &seen = found[size_t(worker)];
    const size_t before = row.size();
    const auto add_effects_of = [&](Count j) {
      for (Count k = 0; k < length[size_t(j)] && first[size_t(j)][k] < effects_.count; ++k) {
        const int e = first[size_t(j)][k];
        if (seen[size_t(e)] != i) seen[size_t(e)] = int(i), row.push_back(e);
      }
    };
    add_effects_of(i);
    for (Count t = later.start[size_t(i)]; t < later.start[size_t(i) + 1]; ++t) add_effects_of(later.row[size_t(t)]);
    for (Count k = 0; k < length[size_t(i)]; ++k)
      if (first[size_t(i)][k] >= effects_.count) row.push_back(first[size_t(i)][k]);
    std::sort(row.begin() + std::ptrdiff_t(before), row.end());
    pattern.length[size_t(i)] = Count(row.size() - before);
  });
  find_rows_of_head(pattern, settings);
  return pattern;
}

// Finds the rows of the head. The row of a point in the head contains the points of the head that have an entry in Q +
// D. It also contains the points of the head that occur together with this point in the row of a point after the head.
// Each row of a point after the head begins with its points in the head.
void Posterior::find_rows_of_head(Pattern& pattern, const Settings& settings) const {
  const Count head = pattern.head;
  Lists rows(static_cast<size_t>(head)), rows_with(rows.size());
  for (int e = 0; e < effects_.count; ++e)
    for (int t = effects_.within_start[size_t(e)] + 1; t < effects_.within_start[size_t(e) + 1]; ++t)
      rows[size_t(effects_.within_row[size_t(t)])].push_back(e);
  for (Count i = effects_.count; i < head; ++i) {
    std::vector<int>& row = rows[size_t(i)];
    each_set(i, [&](Count set, int slot) {
      for (int s = 0; s < slot; ++s)
        if (member(set, s) >= 0) row.push_back(member(set, s));
    });
    for (int t = first_effect(i); t < first_effect(i + 1); ++t) row.push_back(effects_.column[size_t(t)]);
  }
  const std::vector<const int*> first = first_columns(pattern.columns, pattern.length, head);
  for (Count i = head; i < n_; ++i)
    for (Count k = 0; k < pattern.length[size_t(i)] && first[size_t(i)][k] < head; ++k)
      rows_with[size_t(first[size_t(i)][k])].push_back(int(i));
  std::atomic<Count> total{0};
  std::vector<std::vector<Count>> seen(size_t(row_workers(head, settings)), std::vector<Count>(rows.size(), -1));
  each_row(head, unit, settings, [&](Count e, Count worker) {
    if (double(total) > most_effect_entries) return;
    std::vector<int> together;
    const auto add = [&](int f) {
      if (seen[size_t(worker)][size_t(f)] != e) seen[size_t(worker)][size_t(f)] = e, together.push_back(f);
    };
    for (const int f : rows[size_t(e)]) add(f);
    for (const int i : rows_with[size_t(e)])
      for (const int* f = first[size_t(i)]; *f < e; ++f) add(*f);
    std::sort(together.begin(), together.end());
    total += Count(together.size()), pattern.length[size_t(e)] = Count(together.size());
    rows[size_t(e)] = std::move(together);
  });
  if (double(total) > most_effect_entries) return;
  pattern.factor = factor_of_rows(rows), pattern.head_rows = std::move(rows);
}

}  // namespace kernops::neighbours
