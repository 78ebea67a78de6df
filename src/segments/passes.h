// Reductions of segments that take several passes over the values. segments/recipes.cpp composes them from single
// passes, which each backend implements.
#pragma once
#include "segments/segments.h"

namespace kernops {

// Elementwise operations on results.
enum class ResultStep { mean, variance, root, fill_where_none };

class SegmentPasses {
 public:
  virtual ~SegmentPasses() = default;
  virtual Temporary numbers(Count count) const = 0;  // allocates memory of this backend
  virtual void reduce(const SegmentRequest& request) const = 0;
  // Computes weighted means in one pass over the values; returns false if this backend needs a pass for each sum.
  virtual bool reduce_mean(const SegmentRequest&) const { return false; }
  // Computes a number for each value by the function `what`. Values outside all segments receive the number
  // `elsewhere`.
  virtual void map(const SegmentRequest& request, SegmentMap what, bool in_place, double elsewhere) const = 0;
  // Combines `out` with a and b, arrays of the same shape, elementwise; `value` is the constant of a fill.
  virtual void step(ResultStep step, const SegmentRequest& request, double* out, const double* a, const double* b,
                    double value) const = 0;
  virtual bool all_normal(const Temporary& numbers, Count count) const = 0;
  virtual void copy(const Temporary& from, Count count, const Output& to) const = 0;
  // Computes, for each value, the incoming gradient times the product of the other values of the segment, without
  // divisions.
  virtual void other_products(const SegmentGradient& request) const = 0;
};

// Computes any request except a softmax, and sets results to NA where required.
void reduce_segments(const SegmentPasses& passes, const SegmentRequest& request);
void softmax_segments(const SegmentPasses& passes, const SegmentRequest& request);
void gradient_of_segments(const SegmentPasses& passes, const SegmentGradient& request);

// The result that a user gave for empty segments is also used if all values of a segment were skipped or have weight 0.
// fills_empty() returns whether writing this result needs another pass, which fill_empty() runs.
bool fills_empty(const SegmentRequest& request);
void fill_empty(const SegmentPasses& passes, const SegmentRequest& request);

// Returns a value on the host as a double; the missing integer of R becomes NA.
double value_at(const SegmentValues& values, Count column, Count row);

// Changes results from NaN to NA if a value of the segment was NA: the engines themselves do not distinguish NA from
// NaN. All arrays are on the host.
void mark_missing_on_host(const SegmentRequest& request);

}  // namespace kernops
