// Sorts segments on the GPU, column by column, and computes results from the sorted values.
#include <kernops/jobs/device_sorts.h>
#include <kernops/missing.h>

#include "cuda/segments/column_sort.h"

namespace kernops {
namespace cuda {
namespace {

size_t key_bytes(const SegmentValues& x) { return x.type == SegmentValues::floats ? 4 : 8; }

// Sorts all columns, one after another. `job` has the arguments that do not depend on the column.
void sort_columns(const SegmentRequest& work, SortRun job, const Sorting& sorting) {
  const double* const incoming = job.how.incoming;  // the incoming gradients of all columns
  each_batch_of_columns(work, true, [&](DeviceSegments& device, Count first, Count columns, bool staged) {
    SegmentJobs jobs(work, device, first, columns, staged);
    job.run = jobs(0);
    const char* const x = static_cast<const char*>(job.run.x);
    const size_t bytes = work.x.type == SegmentValues::doubles ? 8 : 4;
    const SortPieces& pieces = device.sort_pieces(int(sorting.key_bytes), int(sorting.item_bytes()));
    for (Count c = 0; c < columns; ++c) {
      job.run.x = x + size_t(c * job.run.x_column) * bytes;
      job.run.out = column_of(work.out, first + c);
      job.how.incoming = incoming + (first + c) * work.segments.count;
      sort_column(work.segments, job, pieces, sorting);
    }
    jobs.done(0);
  });
}

// Initialises the results if there are empty segments.
void fill_empties(const SegmentRequest& work, Count outputs, double value) {
  if (work.segments.empties.empty()) return;
  ResultsJob job{};
  job.out = work.out.data, job.out_column = work.out.entry, job.count = work.segments.count;
  job.columns = work.columns * outputs, job.value = value;
  on_results("kernops_fill", work, job);
}

}  // namespace

void seg_sort(const SortRequest& request) {
  const SegmentRequest work = values_of(request);
  const bool by_value = request.result == SortRequest::values || request.result == SortRequest::ranks;
  const bool by_segment = request.result == SortRequest::ranks || request.result == SortRequest::first;
  if (by_value && work.segments.covered < work.segments.values) fill_all(work, work.segments.values, missing());
  if (!by_value) fill_empties(work, request.outputs(), missing());
  SortRun job{};
  job.decreasing = request.decreasing, job.missing_last = request.missing_last;
  job.how.ties = int(request.ties), job.how.keep_missing = request.keep_missing, job.how.top = int(request.top);
  job.how.outputs_apart = work.out.entry * work.columns;
  sort_columns(work, job, {sort_text(request), key_bytes(work.x), request.result != SortRequest::values, by_segment});
}

SegmentRequest values_of(const OrderRequest& request) {
  SegmentRequest work = values_of<OrderRequest>(request);
  if (request.weights) work.weights = {SegmentValues::doubles, false, request.weights, 1, 0};
  return work;
}

namespace {

void seg_order_gradient(const OrderRequest& request) {
  const SegmentRequest work = values_of(request);
  const ChosenValues chosen = chosen_values(request);
  fill_all(work, work.segments.values, 0);
  SortRun job{};
  job.missing_last = 1, job.decreasing = request.decreasing;
  OrderHow& how = job.how;
  how.outputs = int(chosen.outputs), how.type = chosen.type, how.nth = request.nth;
  how.skip_missing = request.skip_missing;
  const Buffer probs(chosen.probs.size() * sizeof(double));
  fill(probs, chosen.probs.data(), chosen.probs.size());
  how.probs = chosen.probs.empty() ? nullptr : at<double>(probs);
  const Buffer uploaded(request.incoming.on_device ? 0 : size_t(request.incoming_count()) * sizeof(double));
  how.incoming = static_cast<const double*>(request.incoming.data);
  if (!request.incoming.on_device) {
    fill(uploaded, how.incoming, size_t(request.incoming_count()));
    how.incoming = at<double>(uploaded);
  }
  how.incoming_apart = work.columns * work.segments.count;
  sort_columns(work, job, {order_text(request), key_bytes(work.x), true, true});
}

}  // namespace

void seg_order_statistics(const OrderRequest& request) {
  if (request.is_gradient()) return seg_order_gradient(request);
  const SegmentRequest work = values_of(request);
  SortRun job{};
  job.missing_last = 1;
  OrderHow& how = job.how;
  how.outputs = int(request.outputs()), how.type = request.type, how.nth = request.nth;
  how.skip_missing = request.skip_missing, how.empty = empty_result(request);
  how.outputs_apart = work.out.entry * work.columns;
  fill_empties(work, how.outputs, how.empty);
  const Buffer probs(request.probs.size() * sizeof(double));
  fill(probs, request.probs.data(), request.probs.size());
  how.probs = at<double>(probs);
  const std::string& function = kernops::order_statistics()[size_t(request.op)].function;
  sort_columns(work, job,
               {order_text(request), key_bytes(work.x), request.weights || function == "most_frequent", true});
}

}  // namespace cuda
}  // namespace kernops
