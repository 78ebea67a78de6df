// Reductions of segments on the GPU. Values are processed in batches, which consist of whole tiles (the values that one
// block reads). If a segment crosses the border between two batches, the state of its part in the first batch is
// carried to the second batch. Therefore the results do not depend on the free memory, or on the memory in which the
// values are stored.
#include "cuda/segments/segments.h"

namespace kernops {
namespace cuda {
namespace {

// The destination of the results of some columns: device memory, or host memory to which the results of each batch are
// copied.
class Results {
 public:
  Results(const SegmentRequest& work, const DeviceSegments& device, Count first, Count columns, int output)
      : work_(work),
        columns_(columns),
        to_(work.out.data + (output * work.columns + first) * work.out.entry),
        empty_(nothing(work, output)) {
    if (stays()) {
      fill_empties(to_, work.out.entry, work.segments.count);
      return;
    }
    for (const SegmentBatch& batch : device.batches)
      longest_ = std::max(longest_, batch.next_result - batch.first_result);
    window_ = std::make_unique<Buffer>(size_t(longest_ * columns) * sizeof(double));
  }

  void place(SegmentRun& job, const SegmentBatch& batch) const {
    double* first = to_;
    job.out_column = work_.out.entry;
    if (!stays()) {
      job.out_column = longest_;
      fill_empties(at<double>(*window_), longest_, batch.next_result - batch.first_result);
      first = at<double>(*window_, -batch.first_result);
    }
    job.out = first + (job.rows ? 0 : batch.row);
  }

  void deliver(const SegmentBatch& batch) const {
    if (stays()) return;
    const Count count = batch.next_result - batch.first_result;
    for (Count c = 0; c < columns_; ++c)
      copy_out(to_ + c * work_.out.entry + batch.first_result,
               window_->pointer() + size_t(c * longest_) * sizeof(double), size_t(count) * sizeof(double));
  }

 private:
  bool stays() const { return work_.out.space != MemorySpace::host; }
  void fill_empties(double* from, Count column, Count count) const {
    if (count == 0 || work_.segments.empties.empty()) return;
    ResultsJob job{};
    job.out = from, job.out_column = column, job.count = count, job.columns = columns_, job.value = empty_;
    on_results("kernops_fill", work_, job);
  }

  const SegmentRequest& work_;
  const Count columns_;
  double* const to_;
  const double empty_;
  Count longest_ = 0;
  std::unique_ptr<Buffer> window_;
};

void reduce_columns(const SegmentRequest& work, DeviceSegments& device, Count first, Count columns, bool staged) {
  const size_t states = size_t(device.batches[0].tiles) * size_t(columns) * most_state_bytes,
               edge = size_t(columns) * most_carried_bytes;
  const Buffer carries(states), heads(states), edges[2] = {Buffer(edge), Buffer(edge)};
  SegmentJobs jobs(work, device, first, columns, staged);
  for (int output = 0; output < work.outputs(); ++output) {
    const std::string text = segment_text(work, output, staged);
    void *tile = function(text, "kernops_segments"), *spine = function(text, "kernops_spine");
    const Results results(work, device, first, columns, output);
    for (size_t n = 0; n < device.batches.size(); ++n) {
      const SegmentBatch& batch = device.batches[n];
      SegmentRun job = jobs(n);
      results.place(job, batch);
      job.carries = carries.address(), job.heads = heads.address();
      if (batch.open_before) job.incoming = edges[n % 2].address();
      if (batch.open_after) job.outgoing = edges[1 - n % 2].address();
      launch(tile, unsigned(batch.tiles), unsigned(columns), unsigned(segment_tile / lane_values(single(work))), &job);
      launch(spine, blocks(batch.tiles + 1, spine_threads), unsigned(columns), spine_threads, &job);
      results.deliver(batch);
      jobs.done(n);
    }
  }
}

// Writes the results of a request that has no values.
void give_nothing(const SegmentRequest& work) {
  const Count count = work.segments.count * work.columns;
  for (int output = 0; output < work.outputs() && count > 0; ++output) {
    double* out = work.out.data + output * work.columns * work.out.entry;
    ResultsJob job{};
    job.out = out, job.value = nothing(work, output);
    if (work.out.space == MemorySpace::host)
      std::fill(out, out + count, job.value);
    else
      on_results("kernops_fill", work, job);
  }
}

}  // namespace

void seg_reduce(const SegmentRequest& work) {
  if (work.segments.segments() == 0 || work.columns == 0) return give_nothing(work);
  each_batch_of_columns(work, false, [&](DeviceSegments& device, Count first, Count columns, bool staged) {
    reduce_columns(work, device, first, columns, staged);
  });
}

}  // namespace cuda
}  // namespace kernops
