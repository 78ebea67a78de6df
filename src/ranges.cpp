// The R interface of block-sparse ranges. R passes six arrays, counted from 1 with inclusive ends, which are checked
// and converted to Blocks.
#include "ranges.h"

#include <cstdint>

using namespace kernops;

namespace {

// An R matrix with two columns: first and last positions, from 1.
struct Ends {
  std::string name;
  Rcpp::IntegerMatrix ends;
  Count limit;
  const char* axis;

  Count count() const { return ends.nrow(); }
  Count begin(Count n) const { return ends(n, 0) - Count(1); }
  Count end(Count n) const { return ends(n, 1); }

  // Checks that ranges first .. last - 1 lie within the points and are in ascending order without overlaps.
  void check(Count first, Count last) const {
    for (Count n = first; n < last; ++n) {
      const bool inside = ends(n, 0) > 0 && end(n) > begin(n) && end(n) <= limit;
      if (!inside || (n > first && begin(n) < end(n - 1))) complain(n);
    }
  }

  [[noreturn]] void complain(Count n) const {
    const auto number = [](Count k) { return k == NA_INTEGER ? "NA" : std::to_string(k); };
    const std::string here =
        "`" + name + "[" + number(n + 1) + ", ]` is " + number(ends(n, 0)) + ", " + number(ends(n, 1)) + ", but ";
    if (end(n) > limit) throw InputError("dim", here + "there are " + number(limit) + " points indexed by " + axis);
    if (ends(n, 0) <= 0) throw InputError("input", here + "positions must be positive whole numbers");
    if (end(n) <= begin(n)) throw InputError("input", here + "a range must not end before its first point");
    throw InputError("input",
                     here + "ranges must ascend without overlap, and the previous range ends at " + number(end(n - 1)));
  }
};

SEXP integers(const Rcpp::List& arrays, const std::string& name) { return in_memory(arrays[name], INTSXP); }

// The clusters of one axis. Each cluster has a range of rows, and a slice of the list of ranges of the other axis. The
// rows are combined with all ranges of the slice.
class Half {
 public:
  Half(const Rcpp::List& arrays, const std::string& rows, const std::string& columns, Count m, Count n)
      : clusters_{"ranges_" + rows, integers(arrays, "ranges_" + rows), m, rows.c_str()},
        slices_name_("slices_" + rows),
        slices_(integers(arrays, slices_name_)),
        kept_{"redranges_" + columns, integers(arrays, "redranges_" + columns), n, columns.c_str()} {
    clusters_.check(0, clusters_.count());
    check_slices();
    for (Count c = 0; c < clusters_.count(); ++c) kept_.check(slice(c), slice(c + 1));
  }

  // The blocks of all rows, in order. Rows outside all clusters belong to blocks without columns.
  Blocks blocks() const {
    Blocks all;
    Count covered = 0;
    const auto gap = [&](Count to) {
      if (covered < to) all.rows.push_back({covered, to, 0, 0, 0});
    };
    for (Count c = 0; c < clusters_.count(); ++c) {
      gap(clusters_.begin(c));
      RowBlock block{clusters_.begin(c), clusters_.end(c), Count(all.columns.size()), 0, 0};
      for (Count n = slice(c); n < slice(c + 1); ++n) {
        if (Count(all.columns.size()) > block.first && all.columns.back().end == kept_.begin(n))
          all.columns.back().end = kept_.end(n);
        else
          all.columns.push_back({kept_.begin(n), kept_.end(n), block.columns});
        block.columns += kept_.end(n) - kept_.begin(n);
      }
      block.last = Count(all.columns.size());
      covered = block.end;
      all.rows.push_back(block);
    }
    gap(clusters_.limit);
    return all;
  }

 private:
  Count slice(Count c) const { return c == 0 ? 0 : slices_[c - 1]; }

  void check_slices() const {
    const auto number = [](Count n) { return std::to_string(n); };
    if (slices_.size() != clusters_.count())
      throw InputError("dim", "`" + slices_name_ + "` must have one entry for each row of `" + clusters_.name + "`, " +
                                  number(clusters_.count()) + ", not " + number(slices_.size()));
    for (Count c = 0; c < clusters_.count(); ++c)
      if (slices_[c] == NA_INTEGER || slice(c + 1) < slice(c))
        throw InputError("input", "`" + slices_name_ + "` must not decrease, as it does at position " + number(c + 1));
    if (slice(clusters_.count()) != kept_.count())
      throw InputError("dim", "`" + slices_name_ + "` must end with the number of rows of `" + kept_.name + "`, " +
                                  number(kept_.count()) + ", not " + number(slice(clusters_.count())));
  }

  Ends clusters_;
  std::string slices_name_;
  Rcpp::IntegerVector slices_;
  Ends kept_;
};

// Mixes the bits of a number (the last steps of SplitMix64).
std::uint64_t mixed(std::uint64_t n) {
  n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9u;
  n = (n ^ (n >> 27)) * 0x94d049bb133111ebu;
  return n ^ (n >> 31);
}

// Returns a fingerprint of a set of pairs. Each pair has a weight, which is a product of two differences of mixed(),
// one for i and one for j. The fingerprint is the sum of the weights. Equal sets have equal fingerprints, and different
// sets almost never do.
std::uint64_t fingerprint(const Blocks& blocks, bool rows_are_i) {
  const auto weight = [](Count begin, Count end, bool i) {
    return mixed(std::uint64_t(2 * end + i)) - mixed(std::uint64_t(2 * begin + i));
  };
  std::uint64_t total = 0;
  for (const RowBlock& block : blocks.rows)
    for (Count n = block.first; n < block.last; ++n)
      total += weight(block.begin, block.end, rows_are_i) *
               weight(blocks.columns[n].begin, blocks.columns[n].end, !rows_are_i);
  return total;
}

}  // namespace

Ranges::Ranges(const Rcpp::List& arrays, Count m, Count n)
    : by_i(Half(arrays, "i", "j", m, n).blocks()), by_j(Half(arrays, "j", "i", n, m).blocks()) {
  if (fingerprint(by_i, true) != fingerprint(by_j, false))
    throw InputError("input", "`redranges_j` and `redranges_i` must describe the same pairs, once by i and once by j");
}

bool Ranges::symmetric() const { return fingerprint(by_i, true) == fingerprint(by_i, false); }

// Returns whether the ranges contain, for each pair (i, j), the pair (j, i). Throws InputError if the ranges do not fit
// m x n points.
// [[Rcpp::export(rng = false)]]
bool ranges_symmetric(Rcpp::List ranges, double m, double n) {
  return guard([&] { return Ranges(ranges, Count(m), Count(n)).symmetric(); });
}
