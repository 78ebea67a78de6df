// Reductions of segments on the GPU: their texts, and where they are on the device.
#pragma once
#include <kernops/device_segments.h>

#include "cuda.h"
#include "segments.h"

namespace kernops {
namespace cuda {

// Whether the values stand in the order of the segments, and are reduced as they are.
bool in_order(const SegmentRequest& request);
bool plain(const SegmentRequest& request);

// The text of a reduction, for one of its results; of plans; of the second pass of a softmax.
std::string segment_text(const SegmentRequest& request, int output);
std::string plan_text();
std::string keys_text(bool single);
std::string softmax_text(const SegmentRequest& request);
constexpr int lane_values(bool single) { return single ? 32 : 16; }  // 128 bytes
inline bool single(const SegmentRequest& request) {
  return request.x.type == SegmentValues::floats && !request.softmax;
}

// The texts that are compiled when the package is installed; those of every operation, and kind of values.
std::vector<std::string> usual_segment_texts();
std::vector<std::string> all_segment_texts();

// So many values at a time, those of one plan.
struct SegmentChunk {
  SegmentChunk(Count first, Count row, int count);
  Buffer ends, limits, opens;
  SegmentPlan plan;
  Count first, row;              // of all values, and the segment that the first value is in
  bool open_before, open_after;  // whether a segment goes across the edge
};

// Kept with Segments, chunk by chunk, so that a plan is made once.
struct DeviceSegments {
  DeviceSegments(const Segments& segments, Count chunk_values);
  Count chunk_values;
  int device = current_device().number;
  Buffer offsets;
  std::unique_ptr<Buffer> shifts, order;
  std::vector<std::unique_ptr<SegmentChunk>> chunks;
};
DeviceSegments& on_device(const Segments& segments, Count chunk_values);

// Runs of equal adjacent keys: where they begin, and where the last one ends; the key of each.
struct KeyRuns {
  std::vector<Count> offsets;
  std::vector<double> keys;
};
KeyRuns key_runs(const void* keys, bool single, Count count);

}  // namespace cuda
}  // namespace kernops
