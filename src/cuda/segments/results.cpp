// Operations on the results of segments, in device memory.
#include <kernops/state.h>

#include <algorithm>

#include "cuda/segments/segments.h"

namespace kernops {
namespace cuda {
namespace {

bool any_nan(const SegmentRequest& work) {
  int found = 0;
  const Buffer flag(sizeof(int));
  fill(flag, &found, 1);
  ResultsJob job{};
  job.out = work.out.data, job.columns = work.columns * work.outputs(), job.found = at<int>(flag);
  on_results("kernops_find_nan", work, job);
  copy_out(&found, flag.pointer(), sizeof(int));
  return found != 0;
}

void mark_gaps(const SegmentRequest& work) {
  each_batch_of_columns(work, true, [&](DeviceSegments& device, Count first, Count columns, bool staged) {
    SegmentJobs jobs(work, device, first, columns, staged);
    void* gaps = function(gaps_text(work, staged), "kernops_gaps");
    for (size_t n = 0; n < device.batches.size(); ++n)
      for (int output = 0; output < work.outputs(); ++output) {
        SegmentRun job = jobs(n);
        job.out =
            work.out.data + (output * work.columns + first) * work.out.entry + (job.rows ? 0 : device.batches[n].row);
        job.out_column = work.out.entry;
        launch(gaps, unsigned(device.batches[n].tiles), unsigned(columns), segment_tile / lane_values(false), &job);
        jobs.done(n);
      }
  });
}

}  // namespace

double nothing(const SegmentRequest& work, int output) {
  if (work.empty) return *work.empty;
  const StatisticId op = StatisticId(work.op);
  if (work.formula || op == StatisticId::argmin || op == StatisticId::argmax) return not_a_number<double>();
  return statistics()[size_t(work.op)].empty(output);
}

void on_results(const char* kernel, const SegmentRequest& work, ResultsJob job) {
  if (job.count == 0) job.count = work.segments.count, job.out_column = job.count;
  if (job.columns == 0) job.columns = work.columns;
  if (job.count * job.columns == 0) return;
  const unsigned grid = unsigned(std::min<Count>((job.count * job.columns + 255) / 256, 1 << 16));
  launch(function(results_text(), kernel), grid, 1, 256, &job);
}

char* column_of(const Output& out, Count column) {
  const size_t bytes = out.space == MemorySpace::device_float ? sizeof(float) : sizeof(double);
  return reinterpret_cast<char*>(out.data) + size_t(column * out.entry) * bytes;
}

void fill_all(const SegmentRequest& work, Count rows, double value) {
  const Count columns = work.columns * work.outputs(), count = rows * columns;
  if (work.out.space == MemorySpace::host) {
    std::fill(work.out.data, work.out.data + count, value);
  } else if (work.out.space == MemorySpace::device_float) {
    const float narrow = float(value);
    unsigned bits;
    static_assert(sizeof bits == sizeof narrow, "a float is a word");
    std::copy_n(reinterpret_cast<const char*>(&narrow), sizeof bits, reinterpret_cast<char*>(&bits));
    driver().check(driver().cuMemsetD32_v2(address(work.out.data), bits, size_t(count)), "filling a result");
  } else {
    ResultsJob job{};
    job.out = work.out.data, job.out_column = job.count = rows, job.columns = columns, job.value = value;
    on_results("kernops_fill", work, job);
  }
}

void mark_missing(const SegmentRequest& work) {
  if (!work.skip_missing && !single(work) && work.segments.segments() > 0 && any_nan(work)) mark_gaps(work);
}

}  // namespace cuda
}  // namespace kernops
