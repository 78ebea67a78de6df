// Scans of segments on the GPU.
#include <kernops/jobs/device_scans.h>

#include "cuda/segments/segments.h"

namespace kernops {
namespace cuda {

// Values side by side on the device, of one batch, for an operation without positions.
bool scans_there(const SegmentRequest& work) {
  const Segments& segments = work.segments;
  const StatisticId op = StatisticId(work.op);
  const bool positions = !work.formula && (op == StatisticId::argmin || op == StatisticId::argmax);
  if (!work.x.on_device || work.x.row != 1 || !segments.known() || !in_order(work) || positions) return false;
  if (work.formula && work.skip_missing) return false;
  return segments.covered > 0 && segments.covered == segments.values && work.columns > 0 &&
         choose_batch_size(work, true).values >= segments.covered;
}

void seg_scan(const SegmentRequest& request) {
  SegmentRequest work = request;
  work.precise = true;  // running sums of floats are doubles
  const bool floats = work.out.space == MemorySpace::device_float;
  each_batch_of_columns(work, true, [&](DeviceSegments& device, Count first, Count columns, bool staged) {
    const int tiles = device.batches[0].tiles;
    const Buffer parts(size_t(tiles) * size_t(columns) * most_scan_part_bytes);
    SegmentJobs jobs(work, device, first, columns, staged);
    for (int output = 0; output < work.outputs(); ++output) {
      const std::string text = scan_text(work, output);
      ScanRun job{jobs(0), nothing(work, output)};
      const Count column = output * work.columns + first;
      job.run.out = reinterpret_cast<char*>(work.out.data) +
                    size_t(column * work.out.entry) * (floats ? sizeof(float) : sizeof(double));
      job.run.out_column = work.out.entry, job.run.carries = parts.address();
      const unsigned threads = unsigned(segment_tile / scan_lane_values(work));
      launch(function(text, "kernops_scan_parts"), unsigned(tiles), unsigned(columns), threads, &job);
      launch(function(text, "kernops_scan_spine"), 1, unsigned(columns), scan_spine_threads, &job);
      launch(function(text, "kernops_scan"), unsigned(tiles), unsigned(columns), threads, &job);
    }
    jobs.done(0);
  });
}

}  // namespace cuda
}  // namespace kernops
