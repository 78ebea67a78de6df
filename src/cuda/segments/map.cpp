// Computes a number for each value from the results of its segment, for softmax and gradients.
#include <algorithm>

#include "cuda/segments/segments.h"

namespace kernops {
namespace cuda {
namespace {

// The addresses to which kernels write the results of some columns. Results for the host are copied after each batch of
// values (`by_batch`) or after the last batch.
class Places {
 public:
  Places(const SegmentRequest& work, const DeviceSegments& device, Count first, Count columns, bool by_batch,
         Count rows)
      : work_(work), first_(first), columns_(columns), rows_(rows), by_batch_(by_batch) {
    if (work.out.space != MemorySpace::host) return;
    column_ = by_batch ? device.batches[0].count : rows;
    aside_ = std::make_unique<Buffer>(size_t(column_ * columns) * sizeof(double));
    if (by_batch) return;
    // results at positions outside all segments keep the values that the output already contains
    for (Count c = 0; c < columns; ++c)
      copy_in(aside_->pointer() + size_t(c * rows) * sizeof(double), column_of(work.out, first + c),
              size_t(rows) * sizeof(double));
  }

  void place(SegmentRun& job, const SegmentBatch& batch) const {
    job.out =
        aside_ ? at<double>(*aside_, by_batch_ ? -batch.first : 0) : static_cast<void*>(column_of(work_.out, first_));
    job.out_column = aside_ ? column_ : work_.out.entry;
  }

  void deliver(const SegmentBatch& batch) const {
    if (!aside_ || !by_batch_) return;
    std::vector<double> numbers(size_t(batch.count));
    for (Count c = 0; c < columns_; ++c) {
      copy_out(numbers.data(), aside_->pointer() + size_t(c * column_) * sizeof(double),
               numbers.size() * sizeof(double));
      double* out = reinterpret_cast<double*>(column_of(work_.out, first_ + c));
      each_position(work_.segments, batch, [&](Count m, Count at) { out[at] = numbers[size_t(m - batch.first)]; });
    }
  }

  void deliver_all() const {
    if (!aside_ || by_batch_) return;
    for (Count c = 0; c < columns_; ++c)
      copy_out(column_of(work_.out, first_ + c), aside_->pointer() + size_t(c * rows_) * sizeof(double),
               size_t(rows_) * sizeof(double));
  }

 private:
  const SegmentRequest& work_;
  const Count first_, columns_, rows_;
  const bool by_batch_;
  Count column_ = 0;
  std::unique_ptr<Buffer> aside_;
};

}  // namespace

void seg_map(const SegmentRequest& work, SegmentMap what, bool in_place, double elsewhere) {
  const Segments& segments = work.segments;
  const Count covered = segments.covered, rows = in_place ? segments.values : covered;
  if (covered < rows) fill_all(work, rows, elsewhere);
  if (covered == 0 || work.columns == 0) return;
  each_batch_of_columns(work, true, [&](DeviceSegments& device, Count first, Count columns, bool staged) {
    SegmentJobs jobs(work, device, first, columns, staged);
    void* map = function(map_text(work, what, in_place, staged), "kernops_map");
    const Places places(work, device, first, columns, in_order(work) || staged, rows);
    for (size_t n = 0; n < device.batches.size(); ++n) {
      SegmentRun job = jobs(n);
      places.place(job, device.batches[n]);
      launch(map, unsigned(device.batches[n].tiles), unsigned(columns), segment_tile / lane_values(false), &job);
      places.deliver(device.batches[n]);
      jobs.done(n);
    }
    places.deliver_all();
  });
}

}  // namespace cuda
}  // namespace kernops
