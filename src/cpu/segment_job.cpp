// Converts a request to a job for the engine of an instruction set.
#include "cpu/segments.h"

namespace kernops {
namespace cpu {
namespace {

template <class T> const T* data(const std::vector<T>& items) { return items.empty() ? nullptr : items.data(); }
template <class T> Span<T> span(const std::vector<T>& items) { return {items.data(), int(items.size())}; }

void set_formula(SegmentJob& job, const Plan& plan) {
  job.slots = span(plan.slots);
  for (int place = 0; place < 4; ++place) {
    if (place < 3) job.loads[place] = span(plan.loads[place]);
    job.steps[place] = span(plan.steps[place]);
    job.entries[place] = plan.entries[place];
  }
  job.f = plan.f;
}

}  // namespace

SegmentJob segment_job(const SegmentRequest& request) {
  const Segments& segments = request.segments;
  const SegmentValues &x = request.x, &w = request.weights;
  SegmentJob job{};
  job.offsets = segments.offsets().data();
  job.rows = data(segments.rows), job.sources = data(segments.sources);
  job.groups = segments.groups, job.count = segments.count;
  job.x = x.data, job.integers = x.type == SegmentValues::integers;
  job.x_row = x.row, job.x_column = x.column;
  job.weights = static_cast<const double*>(w.data), job.weights_row = w.row;
  job.weights_column = w.column, job.weight_of = request.weight_of;
  if (request.by_masses) std::swap(job.weights, job.masses);
  job.skip_missing = request.skip_missing;
  job.out = request.out.data, job.out_entry = request.out.entry, job.out_row = request.out.row;
  job.columns = request.columns, job.op = request.op, job.softmax = request.softmax;
  if (request.formula) set_formula(job, request.formula->plan);
  return job;
}

}  // namespace cpu
}  // namespace kernops
