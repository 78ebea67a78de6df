// Reductions of segments, as R requests them from a backend. This file does not depend on R.
//
// A segment is a range of positions of the ordered values (as in a CSR matrix), and its result is one row of the
// output. Values are added one after another to the state of a reduction, a struct that segments.def names. A backend
// that splits a segment must merge the states of the parts in order, and must split at positions that do not depend on
// the number of threads.
#pragma once
#include <kernops/jobs/segments.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "run/backend_cache.h"
#include "run/data.h"
#include "segments/statistics.h"

namespace kernops {

// The positions of segments, created once and used for any values and operations. Empty segments are stored separately:
// `empties` and `count` include empty segments, and all other members describe only nonempty segments.
class Segments {
 public:
  virtual ~Segments() = default;

  Count values = 0;              // number of rows of x
  Count count = 0;               // number of segments, including empty ones: rows of the result
  Count first = 0, covered = 0;  // position of the first value that is in a segment; number of values in segments
  std::vector<Count> rows;       // ascending rows of the result of nonempty segments; no elements: segment s is row s
  std::vector<Count> empties;    // rows of the result of empty segments
  std::vector<Count> sources;    // segment s begins at row sources[s] of x; no elements: at row offsets[s]
  GroupCodes groups;             // for values in any order: groups[n] is the result row of value n, or -1
  Count longest = 0;
  std::vector<Count> large;  // segments with more values than segment_block of jobs/segments.h

  // known() returns whether the segments have been found; find() finds them. Runs of equal keys are found when they are
  // first requested or reduced; until then, only an upper limit of their number is known, `covered`. The values of
  // groups are counted when they are first needed; until then, only `values`, `count` and `groups` are known.
  virtual bool known() const { return true; }
  virtual void find() {}
  virtual Segments& on(int) { return *this; }  // the same segments in a form that the device can read
  virtual void refuse_strays() const {}        // throws if a code is neither NA nor the code of a group

  // Sets successive segments of given lengths, which may be 0; `begin` is the position of the first value.
  void set_lengths(const std::vector<Count>& lengths, Count begin, const std::vector<Count>& sources_of);
  // Segment s has positions offsets()[s] .. offsets()[s + 1] - 1.
  virtual const std::vector<Count>& offsets() const { return offsets_; }
  // called before the CPU reduces segments that have not been found
  virtual void come_to_host() {}
  Count segments() const { return count - Count(empties.size()); }  // number of nonempty segments
  Count length(Count s) const { return offsets()[size_t(s) + 1] - offsets()[size_t(s)]; }
  Count row(Count s) const { return rows.empty() ? s : rows[s]; }
  // The row of x that is at position m, in segment s.
  Count source(Count s, Count m) const {
    return groups ? Count(order()[size_t(m)]) : sources.empty() ? m : sources[size_t(s)] + m - offsets()[size_t(s)];
  }

  // Sorts the values by group, stably: position k is row order()[k] of x. The first call sorts, by counting.
  const std::vector<std::uint32_t>& order() const;

  // The bytes of host memory that the segments take, including the order of groups, which may be computed later.
  double bytes() const {
    const size_t lists = rows.size() + empties.size() + sources.size() + large.size() + offsets_.size();
    return double(lists * sizeof(Count)) + (groups ? 8.0 * double(values) : 0);
  }

  // Data that a backend keeps about the segments, such as a copy on a device.
  mutable std::shared_ptr<BackendCache> kept;

 private:
  std::vector<Count> offsets_{0};
  mutable std::once_flag sorted_;
  mutable std::vector<std::uint32_t> order_;
};

// The number of threads that is worthwhile for `units` units of work on some columns; it is 1 if there are few values.
inline Count worthwhile_threads(const Segments& segments, Count columns, const Settings& settings, Count units) {
  return segments.covered * columns < 100000 ? 1 : std::min<Count>(settings.threads, units);
}

// An associative operation on a and b that a user defines by a formula. The plan is straight-line code over values
// (Level::uniform and Level::column); its variables are a (number 0) and b (number 1), and its result is slot plan.f. A
// segment is reduced by a balanced tree: values 2i and 2i + 1 are combined, a last value without a partner is kept, and
// the results are combined in the same way.
struct SegmentFormula {
  Plan plan;
};
SegmentFormula segment_formula(const std::string& text);  // throws FormulaError

// An array of values: row n of column k is at data[n * row + k * column].
struct SegmentValues {
  enum Type { doubles, floats, integers } type = doubles;  // integers are int32; the lowest one is R's NA
  bool on_device = false;
  const void* data = nullptr;
  Count row = 1, column = 0;
  bool by_segment = false;  // true if values are in the order of the segments
};

// A scan has a result for each value: the reduction of the values of its segment up to and including this value or, if
// `exclusive`, before this value.
enum class SegmentScan { none, inclusive, exclusive };

struct SegmentRequest {
  Segments& segments;
  int op = 0;                               // row of segments.def; unused with a formula or a softmax
  const SegmentFormula* formula = nullptr;  // an operation of the user
  bool softmax = false;                     // exp(x) divided by its sum: a result for each row of x
  SegmentScan scan = SegmentScan::none;
  bool reverse = false;           // a scan runs from the last value of a segment to its first
  const double* empty = nullptr;  // result of an empty segment; null: the result of an empty state
  bool skip_missing = false;      // NaN is skipped; a segment with only NaN is like an empty state
  SegmentValues x;                // has no data if only weights are summed
  SegmentValues weights{};        // in the memory space of x
  Count columns = 1;
  Output out;  // output o of column k for row n at out.data[(o * columns + k) * out.entry + n * out.row]
  Settings settings{};

  // A pass may reduce a term of each value instead of the value. The term depends on the value, its weight, and
  // `given`, which has numbers for each segment and column in the memory of the backend. The term may also be a formula
  // of the value and the weight.
  SegmentTerm term = SegmentTerm::Itself;
  std::vector<const double*> given{};
  const SegmentFormula* product = nullptr;
  const int* weight_of = nullptr;  // row n of x has weight weight_of[n], from 1; null: weight n
  bool by_masses = false;          // true for weighted means of groups in one pass
  bool precise = false;            // floats are reduced as doubles
  bool* no_nan = nullptr;          // set to true by the backend if no result is NaN because of a NaN among the values

  int outputs() const { return formula || softmax ? 1 : statistics()[size_t(op)].outputs; }
  bool by_value() const { return softmax || scan != SegmentScan::none; }        // has a result for each row of x
  Count rows() const { return by_value() ? segments.values : segments.count; }  // rows of the result
};

// The gradient of sum(incoming * result) with respect to the values. The gradient is in the order of x if `in_place`,
// otherwise in the order of the segments. For a softmax, `weights` has the incoming gradient, one number per value.
struct SegmentGradient : SegmentRequest {
  explicit SegmentGradient(const SegmentRequest& request) : SegmentRequest(request) {}
  SegmentValues incoming{};
  bool in_place = true;
};

}  // namespace kernops
