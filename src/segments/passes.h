// Reductions of segments that take several passes over the values, written once (segments/recipes.cpp) in terms of the
// single passes of a backend.
#pragma once
#include "segments/segments.h"

namespace kernops {

// Operations on results, number by number.
enum class ResultStep { mean, variance, root, fill_where_none };

class SegmentPasses {
 public:
  virtual ~SegmentPasses() = default;
  virtual Temporary numbers(Count count) const = 0;  // allocates memory of this backend
  virtual void reduce(const SegmentRequest& request) const = 0;
  // Weighted means in one pass over the values; false if this backend needs one pass per sum.
  virtual bool reduce_mean(const SegmentRequest&) const { return false; }
  // Computes a number for each value; values outside all segments become `elsewhere`.
  virtual void map(const SegmentRequest& request, SegmentMap what, bool in_place, double elsewhere) const = 0;
  // Combines `out` with a and b, which have its shape; `value` is the constant of a fill.
  virtual void step(ResultStep step, const SegmentRequest& request, double* out, const double* a, const double* b,
                    double value) const = 0;
  virtual bool all_normal(const Temporary& numbers, Count count) const = 0;
  virtual void copy(const Temporary& from, Count count, const Output& to) const = 0;
  // For each value, the incoming gradient times the product of the other values of the segment, computed without
  // divisions.
  virtual void other_products(const SegmentGradient& request) const = 0;
};

// Computes any request except a softmax, and marks NA.
void reduce_segments(const SegmentPasses& passes, const SegmentRequest& request);
void softmax_segments(const SegmentPasses& passes, const SegmentRequest& request);
void gradient_of_segments(const SegmentPasses& passes, const SegmentGradient& request);

// A result that the user gave for empty segments also applies if all values were skipped or have weight 0.
// fills_empty() returns whether this takes a further pass, which fill_empty() runs.
bool fills_empty(const SegmentRequest& request);
void fill_empty(const SegmentPasses& passes, const SegmentRequest& request);

// A value on the host; NA for R's missing integer.
double value_at(const SegmentValues& values, Count column, Count row);

// Sets results that are NaN to NA if a value of the segment was NA, because engines distinguish only NaN. All arrays
// are on the host.
void mark_missing_on_host(const SegmentRequest& request);

}  // namespace kernops
