// Reductions of segments: the requests of R and the answers of a backend. Independent of R.
//
// A segment is a run of positions of the ordered values ("CSR order"), and its result is a row of the output. The
// struct of reductions.h that segments.def names adds one value after another. A backend that splits a segment must
// merge() the parts in order, at positions that do not depend on the number of threads.
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

// The positions of the segments; created once, used for any values and operations. Empty segments are stored
// separately: all other lists contain only nonempty segments.
class Segments {
 public:
  virtual ~Segments() = default;

  Count values = 0;              // number of rows of x
  Count count = 0;               // number of segments, including empty ones: rows of the result
  Count first = 0, covered = 0;  // position of the first value that is in a segment; number of values in segments
  std::vector<Count> rows;       // rows of the result of nonempty segments, ascending; if empty: segment s is row s
  std::vector<Count> empties;    // rows of the result of empty segments
  std::vector<Count> sources;    // segment s begins at row sources[s] of x; if empty: at row offsets[s]
  GroupCodes groups;             // for values in any order: groups[n] is the result row of value n, or -1
  Count longest = 0;
  std::vector<Count> large;  // number of segments with more values than segment_block of jobs/segments.h

  // Runs of keys are counted when they are first requested or reduced: until then, only the upper limit `covered` is
  // known. The values of groups are counted in the same way: until then, only `values`, `count` and `groups` are known.
  virtual bool known() const { return true; }
  virtual void find() {}
  virtual Segments& on(int) { return *this; }  // the same segments in a form that the device can read
  virtual void refuse_strays() const {}        // throws if a code is neither NA nor of a group

  // Sets segments of given lengths, in order; a length may be 0; `begin` is the position of the first value.
  void set_lengths(const std::vector<Count>& lengths, Count begin, const std::vector<Count>& sources_of);
  // Segment s has the positions offsets()[s] .. offsets()[s + 1] - 1.
  virtual const std::vector<Count>& offsets() const { return offsets_; }
  // called before the CPU reduces segments that are not known
  virtual void come_to_host() {}
  Count segments() const { return count - Count(empties.size()); }  // number of nonempty segments
  Count length(Count s) const { return offsets()[size_t(s) + 1] - offsets()[size_t(s)]; }
  Count row(Count s) const { return rows.empty() ? s : rows[s]; }
  // The row of x at position m, which is in segment s.
  Count source(Count s, Count m) const {
    return groups ? Count(order()[size_t(m)]) : sources.empty() ? m : sources[size_t(s)] + m - offsets()[size_t(s)];
  }

  // For groups, position k is row order()[k] of x: a stable counting sort, computed on first use.
  const std::vector<std::uint32_t>& order() const;

  // The host memory of the segments, including the order that groups may need later.
  double bytes() const {
    const size_t lists = rows.size() + empties.size() + sources.size() + large.size() + offsets_.size();
    return double(lists * sizeof(Count)) + (groups ? 8.0 * double(values) : 0);
  }

  // Data of a backend about the segments, such as a copy on a device.
  mutable std::shared_ptr<BackendCache> kept;

 private:
  std::vector<Count> offsets_{0};
  mutable std::once_flag sorted_;
  mutable std::vector<std::uint32_t> order_;
};

// Number of threads for `units` units of work on all values of some columns; few values use one thread.
inline Count worthwhile_threads(const Segments& segments, Count columns, const Settings& settings, Count units) {
  return segments.covered * columns < 100000 ? 1 : std::min<Count>(settings.threads, units);
}

// An associative formula of a and b: straight-line code over values (Level::uniform and Level::column), whose variables
// are a (0) and b (1), and whose result is slot plan.f. A segment is folded as a balanced tree from its first value:
// neighbours 2i and 2i + 1 are joined, a last value without a neighbour moves up unchanged, and so on.
struct SegmentFormula {
  Plan plan;
};
SegmentFormula segment_formula(const std::string& text);  // throws FormulaError

// Row n of column k is at data[n * row + k * column].
struct SegmentValues {
  enum Type { doubles, floats, integers } type = doubles;  // integers are int32; the lowest one is R's NA
  bool on_device = false;
  const void* data = nullptr;
  Count row = 1, column = 0;
  bool by_segment = false;  // true if values are in the order of the segments
};

// A scan has a result for each value: the reduction of the values of its segment up to this value or, if `exclusive`,
// before it.
enum class SegmentScan { none, inclusive, exclusive };

struct SegmentRequest {
  Segments& segments;
  int op = 0;                               // row of segments.def, or
  const SegmentFormula* formula = nullptr;  // an operation of the user, or
  bool softmax = false;                     // exp(x) divided by its sum: a result for each row of x
  SegmentScan scan = SegmentScan::none;
  bool reverse = false;           // a scan runs from the last value of a segment to its first
  const double* empty = nullptr;  // result of an empty segment, unless it is the result of a new state
  bool skip_missing = false;      // NaN is skipped; a segment without remaining values has the result of a new state
  SegmentValues x;                // without data for a sum of weights only
  SegmentValues weights{};        // in the memory space of the data
  Count columns = 1;
  Output out;  // output o of column k for row n at out.data[(o * columns + k) * out.entry + n * out.row]
  Settings settings{};

  // One pass reduces this term instead of each value. A term depends on the value, its weight, and `given`: numbers of
  // each segment and column, in memory of the backend. The term may also be a formula of value and weight.
  SegmentTerm term = SegmentTerm::Itself;
  std::vector<const double*> given{};
  const SegmentFormula* product = nullptr;
  const int* weight_of = nullptr;  // row n of x has weight weight_of[n], from 1; null: weight n
  bool by_masses = false;          // weighted means of groups in one pass
  bool precise = false;            // floats are reduced as doubles
  bool* no_nan = nullptr;          // set by a backend that finds no NaN among the results of values

  int outputs() const { return formula || softmax ? 1 : statistics()[size_t(op)].outputs; }
  bool by_value() const { return softmax || scan != SegmentScan::none; }        // has a result for each row of x
  Count rows() const { return by_value() ? segments.values : segments.count; }  // rows of the result
};

// The gradient of sum(incoming * result) with respect to the values: at the positions of the values or, unless
// `in_place`, in the order of the segments. For a softmax, `weights` contains the incoming gradient, one number per
// value.
struct SegmentGradient : SegmentRequest {
  explicit SegmentGradient(const SegmentRequest& request) : SegmentRequest(request) {}
  SegmentValues incoming{};
  bool in_place = true;
};

}  // namespace kernops
