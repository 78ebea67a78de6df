// Scans of segments on the GPU.
#include <kernops/jobs/device_scans.h>
#include <kernops/missing.h>

#include "cuda/segments/segments.h"

namespace kernops {
namespace cuda {

void seg_scan(const SegmentRequest& request) {
  SegmentRequest work = request;
  work.precise = true;  // running sums of floats are computed in doubles
  if (work.segments.covered < work.segments.values) fill_all(work, work.rows(), missing());
  each_batch_of_columns(work, true, [&](DeviceSegments& device, Count first, Count columns, bool staged) {
    SegmentJobs jobs(work, device, first, columns, staged);
    ScanRun job{jobs(0), device.batches[0].tiles, int(columns), 0};
    const Buffer parts(size_t(scan_parts(job.tiles)) * size_t(columns) * most_part_bytes);
    job.run.out_column = work.out.entry, job.run.carries = parts.address();
    for (int output = 0; output < work.outputs(); ++output) {
      const std::string text = scan_text(work, output);
      job.run.out = column_of(work.out, output * work.columns + first), job.nothing = nothing(work, output);
      launch(function(text, "kernops_scan_clear"), blocks(job.tiles, 256) * unsigned(columns), 1, 256, &job);
      launch(function(text, "kernops_scan"), unsigned(job.tiles), unsigned(columns),
             unsigned(segment_tile / scan_lane_values(work)), &job);
    }
    jobs.done(0);
  });
}

}  // namespace cuda
}  // namespace kernops
