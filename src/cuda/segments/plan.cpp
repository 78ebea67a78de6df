// Segments on the device: their plans, chunk by chunk.
#include "cuda/segments/segments.h"

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
  for (Count s = begin; s < end; ++s) shifts[size_t(s - begin)] -= segments.offsets()[size_t(s)];
  return copy_of(shifts, 0, end - begin);
}

// The segment after the last one that has values in the chunk.
Count last_segment(const SegmentChunk& chunk) { return chunk.next_row + chunk.open_after; }

size_t plan_bytes(const Segments& segments, bool of_keys) {
  const size_t each = sizeof(Count) * (1 + !segments.rows.empty() + !segments.sources.empty());
  return size_t(segments.covered) / 8 + size_t(of_keys ? segments.covered : segments.segments()) * each;
}

void find_opens(const SegmentPlan& plan) {
  OffsetsJob job{plan, nullptr, 0, 0};
  launch(function(plan_text(), "kernops_plan_opens"), blocks(plan.tiles + 1, 128), 1, 128, &job);
}

KeysJob keys_job(const KeyRuns& runs, const SegmentChunk& chunk, const SegmentPlan& plan) {
  const size_t bytes = runs.single ? sizeof(float) : sizeof(double);
  return {plan,        static_cast<const char*>(runs.keys) + size_t(chunk.first) * bytes,
          nullptr,     chunk.first,
          chunk.begin, chunk.first + chunk.count < runs.covered};
}

}  // namespace

SegmentChunk chunk_of(Count first, Count count) {
  SegmentChunk chunk{};
  chunk.first = first, chunk.count = int(count), chunk.tiles = int(blocks(count, segment_tile));
  return chunk;
}

ChunkPlan::ChunkPlan(const SegmentChunk& chunk)
    : ends(size_t(chunk.tiles) * (segment_tile / 8)),
      limits(size_t(chunk.tiles + 1) * sizeof(int)),
      opens(size_t(chunk.tiles + 1) * sizeof(int)),
      plan{at<unsigned>(ends), at<int>(limits), at<int>(opens), chunk.count, chunk.tiles} {}

ChunkPlan::ChunkPlan(const Segments& segments, const SegmentChunk& chunk) : ChunkPlan(chunk) {
  static_assert(sizeof(Count) == sizeof(long long), "offsets travel as they are");
  const Count last = last_segment(chunk);
  offsets = copy_of(segments.offsets(), chunk.row, last + 1);
  shifts = shifts_of(segments, chunk.row, last);
  rows = copy_of(segments.rows, chunk.row, last);
  const std::string text = plan_text();
  OffsetsJob job{plan, at<long long>(*offsets), chunk.first, int(chunk.next_row - chunk.row)};
  launch(function(text, "kernops_plan_limits"), blocks(chunk.tiles + 1, 128), 1, 128, &job);
  launch(function(text, "kernops_plan_ends"), unsigned(chunk.tiles), 1, 128, &job);
  find_opens(plan);
}

ChunkPlan::ChunkPlan(const KeyRuns& runs, const SegmentChunk& chunk) : ChunkPlan(chunk) {
  const std::string text = keys_text(runs.single);
  const KeysJob job = keys_job(runs, chunk, plan);
  launch(function(text, "kernops_plan_keys"), unsigned(chunk.tiles), 1, segment_tile / lane_values(false), &job);
  launch(function(text, "kernops_plan_scan"), 1, 1, 1024, &job);
  complete(runs, chunk);
}

void ChunkPlan::complete(const KeyRuns& runs, const SegmentChunk& chunk) {
  find_opens(plan);
  copy_out(&ended, limits.pointer() + size_t(chunk.tiles) * sizeof(int), sizeof(int));
  offsets = std::make_unique<Buffer>(size_t(ended + 1) * sizeof(Count));
  KeysJob job = keys_job(runs, chunk, plan);
  job.offsets = at<long long>(*offsets);
  launch(function(keys_text(runs.single), "kernops_plan_offsets"), blocks(chunk.tiles, 8), 1, 256, &job);
}

DeviceSegments::DeviceSegments(const Segments& segments, Count chunk_values, std::unique_ptr<ChunkPlan> first)
    : segments_(segments),
      runs_(dynamic_cast<const KeyRuns*>(&segments)),
      chunk_values_(chunk_values),
      device_(current_device().number),
      keep_(plan_bytes(segments, runs_) < memory_left() / 4) {
  const Count end = segments.first + segments.covered;
  for (Count begin = segments.first; begin < end; begin += chunk_values)
    chunks.push_back(chunk_of(begin, std::min(chunk_values, end - begin)));
  plans_.resize(chunks.size());
  runs_ ? cut_by_keys(std::move(first)) : cut_by_offsets();
}

void DeviceSegments::cut_by_offsets() {
  const auto& edges = segments_.offsets();
  const auto segment_of = [&](Count value) {
    return std::upper_bound(edges.begin(), edges.end(), value) - edges.begin() - 1;
  };
  for (SegmentChunk& chunk : chunks) {
    const Count end = chunk.first + chunk.count;
    chunk.row = segment_of(chunk.first), chunk.next_row = segment_of(end);
    chunk.open_before = edges[size_t(chunk.row)] != chunk.first;
    chunk.open_after = edges[size_t(chunk.next_row)] != end;
    chunk.next_result = segments_.count;
    if (&chunk == &chunks.front()) continue;
    (&chunk)[-1].next_result = chunk.first_result = segments_.row(chunk.row);
  }
}

// Each chunk is planned, unless the first one is already, to know how many segments end in it.
void DeviceSegments::cut_by_keys(std::unique_ptr<ChunkPlan> plan) {
  Count row = 0, begin = 0;
  for (size_t n = 0; n < chunks.size(); ++n) {
    SegmentChunk& chunk = chunks[n];
    chunk.row = chunk.first_result = row, chunk.begin = begin, chunk.open_before = begin != chunk.first;
    if (!plan) plan = std::make_unique<ChunkPlan>(*runs_, chunk);
    chunk.next_row = chunk.next_result = row += plan->ended;
    copy_out(&begin, plan->offsets->pointer() + size_t(plan->ended) * sizeof(Count), sizeof(Count));
    chunk.open_after = begin != chunk.first + chunk.count;
    keep(n, std::move(plan));
  }
}

void DeviceSegments::keep(size_t chunk, std::unique_ptr<ChunkPlan> plan) {
  if (!keep_)
    for (auto& other : plans_) other.reset();
  plans_[chunk] = std::move(plan);
}

const ChunkPlan& DeviceSegments::plan(size_t chunk) {
  if (!plans_[chunk])
    keep(chunk, runs_ ? std::make_unique<ChunkPlan>(*runs_, chunks[chunk])
                      : std::make_unique<ChunkPlan>(segments_, chunks[chunk]));
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

}  // namespace cuda
}  // namespace kernops
