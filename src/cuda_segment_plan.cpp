// Segments on the device: their plans, chunk by chunk, and those of keys.
#include "cuda_segments.h"

namespace kernops {
namespace cuda {
namespace {

// Some neighbours of a list.
std::unique_ptr<Buffer> copy_of(const std::vector<Count>& list, Count begin, Count end) {
  if (list.empty()) return nullptr;
  auto there = std::make_unique<Buffer>(size_t(end - begin) * sizeof(Count));
  fill(*there, list.data() + begin, size_t(end - begin));
  return there;
}

std::unique_ptr<Buffer> shifts_of(const Segments& segments, Count begin, Count end) {
  if (segments.sources.empty()) return nullptr;
  std::vector<Count> shifts(segments.sources.begin() + begin, segments.sources.begin() + end);
  for (Count s = begin; s < end; ++s) shifts[size_t(s - begin)] -= segments.offsets[size_t(s)];
  return copy_of(shifts, 0, end - begin);
}

// The segment after the last one that has values in the chunk.
Count last_segment(const SegmentChunk& chunk) { return chunk.next_row + chunk.open_after; }

size_t plan_bytes(const Segments& segments) {
  const size_t each = sizeof(Count) * (1 + !segments.rows.empty() + !segments.sources.empty());
  return size_t(segments.offsets.back() - segments.offsets.front()) / 8 + size_t(segments.segments()) * each;
}

SegmentPlan empty_plan(const Buffer& ends, const Buffer& limits, const Buffer& opens, int count) {
  return {at<unsigned>(ends), at<int>(limits), at<int>(opens), count, int(blocks(count, segment_tile))};
}

}  // namespace

ChunkPlan::ChunkPlan(const Segments& segments, const SegmentChunk& chunk)
    : ends(size_t(chunk.tiles) * (segment_tile / 8)),
      limits(size_t(chunk.tiles + 1) * sizeof(int)),
      opens(size_t(chunk.tiles + 1) * sizeof(int)),
      offsets(size_t(last_segment(chunk) - chunk.row + 1) * sizeof(Count)),
      shifts(shifts_of(segments, chunk.row, last_segment(chunk))),
      rows(copy_of(segments.rows, chunk.row, last_segment(chunk))),
      plan(empty_plan(ends, limits, opens, chunk.count)) {
  static_assert(sizeof(Count) == sizeof(long long), "offsets travel as they are");
  fill(offsets, segments.offsets.data() + chunk.row, size_t(last_segment(chunk) - chunk.row + 1));
  const std::string text = plan_text();
  OffsetsJob job{plan, at<long long>(offsets), chunk.first, int(chunk.next_row - chunk.row)};
  const unsigned edges = blocks(chunk.tiles + 1, 128);
  launch(function(text, "kernops_plan_limits"), edges, 1, 128, &job);
  launch(function(text, "kernops_plan_ends"), unsigned(chunk.tiles), 1, 128, &job);
  launch(function(text, "kernops_plan_opens"), edges, 1, 128, &job);
}

DeviceSegments::DeviceSegments(const Segments& segments, Count chunk_values)
    : segments_(segments),
      chunk_values_(chunk_values),
      device_(current_device().number),
      keep_(plan_bytes(segments) < memory_left() / 4) {
  const auto& edges = segments.offsets;
  const auto segment_of = [&](Count value) {
    return std::upper_bound(edges.begin(), edges.end(), value) - edges.begin() - 1;
  };
  for (Count first = edges.front(); first < edges.back(); first += chunk_values) {
    const Count end = std::min(first + chunk_values, edges.back());
    SegmentChunk chunk{first,
                       int(end - first),
                       int(blocks(end - first, segment_tile)),
                       segment_of(first),
                       segment_of(end),
                       false,
                       false,
                       0,
                       segments.count};
    chunk.open_before = edges[size_t(chunk.row)] != first;
    chunk.open_after = edges[size_t(chunk.next_row)] != end;
    if (!chunks.empty()) chunks.back().next_result = chunk.first_result = segments.row(chunk.row);
    chunks.push_back(chunk);
  }
  plans_.resize(chunks.size());
}

const ChunkPlan& DeviceSegments::plan(size_t chunk) {
  if (!plans_[chunk]) {
    if (!keep_)
      for (auto& other : plans_) other.reset();
    plans_[chunk] = std::make_unique<ChunkPlan>(segments_, chunks[chunk]);
  }
  return *plans_[chunk];
}

const unsigned* DeviceSegments::order() {
  if (!order_) {
    order_ = std::make_unique<Buffer>(segments_.order().size() * sizeof(std::uint32_t));
    fill(*order_, segments_.order().data(), segments_.order().size());
  }
  return at<unsigned>(*order_);
}

bool DeviceSegments::serves(Count chunk_values) const {
  return chunk_values == chunk_values_ && device_ == current_device().number;
}

DeviceSegments& on_device(const Segments& segments, Count chunk_values) {
  const auto kept = std::static_pointer_cast<DeviceSegments>(segments.kept);
  if (kept && kept->serves(chunk_values)) return *kept;
  segments.kept.reset();
  const auto made = std::make_shared<DeviceSegments>(segments, chunk_values);
  segments.kept = made;
  return *made;
}

KeyRuns key_runs(const void* keys, bool single, Count count) {
  if (count == 0) return {{0}, {}};
  if (count > INT32_MAX - segment_tile) throw CudaError("there are more than 2^31 keys");
  const int tiles = int(blocks(count, segment_tile));
  const Buffer ends(size_t(tiles) * (segment_tile / 8)), limits(size_t(tiles + 1) * sizeof(int)),
      opens(size_t(tiles + 1) * sizeof(int));
  const size_t bytes = single ? sizeof(float) : sizeof(double);
  const Buffer loose(size_t(count) * bytes);
  const std::string text = keys_text(single);
  KeysJob job{empty_plan(ends, limits, opens, int(count)), keys, loose.address(), nullptr, nullptr};
  launch(function(text, "kernops_plan_keys"), unsigned(tiles), 1, unsigned(segment_tile / lane_values(false)), &job);
  launch(function(text, "kernops_plan_scan"), 1, 1, 1024, &job);
  int runs = 0;
  copy_out(&runs, limits.pointer() + size_t(tiles) * sizeof(int), sizeof(int));

  const Buffer firsts(size_t(runs) * bytes), offsets(size_t(runs + 1) * sizeof(Count));
  job.firsts = firsts.address(), job.offsets = at<long long>(offsets);
  launch(function(text, "kernops_plan_firsts"), blocks(tiles, 8), 1, 256, &job);
  KeyRuns found{std::vector<Count>(size_t(runs) + 1), std::vector<double>(size_t(runs))};
  copy_out(found.offsets.data(), offsets.pointer(), found.offsets.size() * sizeof(Count));
  if (!single) {
    copy_out(found.keys.data(), firsts.pointer(), found.keys.size() * sizeof(double));
    return found;
  }
  std::vector<float> floats(found.keys.size());
  copy_out(floats.data(), firsts.pointer(), floats.size() * sizeof(float));
  found.keys.assign(floats.begin(), floats.end());
  return found;
}

}  // namespace cuda
}  // namespace kernops
