// Plans of segments on the device: arrays from which kernels read where segments end. A plan describes one batch of
// values.
#include "cuda/segments/segments.h"

namespace kernops {
namespace cuda {
namespace {

// Copies elements begin .. end - 1 of a list to the device.
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

// Returns the number of the last segment with values in the batch, plus 1.
Count last_segment(const SegmentBatch& batch) { return batch.next_row + batch.open_after; }

size_t plan_bytes(const Segments& segments, bool of_keys) {
  const size_t each = sizeof(Count) * (1 + !segments.rows.empty() + !segments.sources.empty());
  return size_t(segments.covered) / 8 + size_t(of_keys ? segments.covered : segments.segments()) * each;
}

void find_opens(const SegmentPlan& plan) {
  OffsetsJob job{plan, nullptr, 0, 0};
  launch(function(plan_text(), "kernops_plan_opens"), blocks(plan.tiles + 1, 128), 1, 128, &job);
}

KeysJob keys_job(const KeyRuns& runs, const SegmentBatch& batch, const SegmentPlan& plan) {
  const size_t bytes = runs.single ? sizeof(float) : sizeof(double);
  return {plan,        static_cast<const char*>(runs.keys) + size_t(batch.first) * bytes,
          nullptr,     batch.first,
          batch.begin, batch.first + batch.count < runs.covered};
}

}  // namespace

SegmentBatch batch_of(Count first, Count count) {
  SegmentBatch batch{};
  batch.first = first, batch.count = int(count), batch.tiles = int(blocks(count, segment_tile));
  return batch;
}

BatchPlan::BatchPlan(const SegmentBatch& batch)
    : ends(size_t(batch.tiles) * (segment_tile / 8)),
      limits(size_t(batch.tiles + 1) * sizeof(int)),
      opens(size_t(batch.tiles + 1) * sizeof(int)),
      plan{at<unsigned>(ends), at<int>(limits), at<int>(opens), batch.count, batch.tiles} {}

BatchPlan::BatchPlan(const Segments& segments, const SegmentBatch& batch) : BatchPlan(batch) {
  static_assert(sizeof(Count) == sizeof(long long), "offsets travel as they are");
  const Count last = last_segment(batch);
  offsets = copy_of(segments.offsets(), batch.row, last + 1);
  shifts = shifts_of(segments, batch.row, last);
  rows = copy_of(segments.rows, batch.row, last);
  const std::string text = plan_text();
  OffsetsJob job{plan, at<long long>(*offsets), batch.first, int(batch.next_row - batch.row)};
  launch(function(text, "kernops_plan_limits"), blocks(batch.tiles + 1, 128), 1, 128, &job);
  launch(function(text, "kernops_plan_ends"), unsigned(batch.tiles), 1, 128, &job);
  find_opens(plan);
}

BatchPlan::BatchPlan(const KeyRuns& runs, const SegmentBatch& batch) : BatchPlan(batch) {
  const std::string text = keys_text(runs.single);
  const KeysJob job = keys_job(runs, batch, plan);
  launch(function(text, "kernops_plan_keys"), unsigned(batch.tiles), 1, segment_tile / lane_values(false), &job);
  launch(function(text, "kernops_plan_scan"), 1, 1, 1024, &job);
  complete(runs, batch);
}

void BatchPlan::complete(const KeyRuns& runs, const SegmentBatch& batch) {
  find_opens(plan);
  copy_out(&ended, limits.pointer() + size_t(batch.tiles) * sizeof(int), sizeof(int));
  offsets = std::make_unique<Buffer>(size_t(ended + 1) * sizeof(Count));
  KeysJob job = keys_job(runs, batch, plan);
  job.offsets = at<long long>(*offsets);
  launch(function(keys_text(runs.single), "kernops_plan_offsets"), blocks(batch.tiles, 8), 1, 256, &job);
}

DeviceSegments::DeviceSegments(const Segments& segments, Count batch_values, std::unique_ptr<BatchPlan> first)
    : segments_(segments),
      runs_(dynamic_cast<const KeyRuns*>(&segments)),
      batch_values_(batch_values),
      device_(current_device().number),
      keep_(plan_bytes(segments, runs_) < memory_left() / 4) {
  const Count end = segments.first + segments.covered;
  for (Count begin = segments.first; begin < end; begin += batch_values)
    batches.push_back(batch_of(begin, std::min(batch_values, end - begin)));
  plans_.resize(batches.size());
  runs_ ? cut_by_keys(std::move(first)) : cut_by_offsets();
}

void DeviceSegments::cut_by_offsets() {
  const auto& edges = segments_.offsets();
  const auto segment_of = [&](Count value) {
    return std::upper_bound(edges.begin(), edges.end(), value) - edges.begin() - 1;
  };
  for (SegmentBatch& batch : batches) {
    const Count end = batch.first + batch.count;
    batch.row = segment_of(batch.first), batch.next_row = segment_of(end);
    batch.open_before = edges[size_t(batch.row)] != batch.first;
    batch.open_after = edges[size_t(batch.next_row)] != end;
    batch.next_result = segments_.count;
    if (&batch == &batches.front()) continue;
    (&batch)[-1].next_result = batch.first_result = segments_.row(batch.row);
  }
}

// Plans all batches of runs of keys, to find out how many segments end in each batch. `plan` may already contain the
// plan of the first batch.
void DeviceSegments::cut_by_keys(std::unique_ptr<BatchPlan> plan) {
  Count row = 0, begin = 0;
  for (size_t n = 0; n < batches.size(); ++n) {
    SegmentBatch& batch = batches[n];
    batch.row = batch.first_result = row, batch.begin = begin, batch.open_before = begin != batch.first;
    if (!plan) plan = std::make_unique<BatchPlan>(*runs_, batch);
    batch.next_row = batch.next_result = row += plan->ended;
    copy_out(&begin, plan->offsets->pointer() + size_t(plan->ended) * sizeof(Count), sizeof(Count));
    batch.open_after = begin != batch.first + batch.count;
    keep(n, std::move(plan));
  }
}

void DeviceSegments::keep(size_t batch, std::unique_ptr<BatchPlan> plan) {
  if (!keep_)
    for (auto& other : plans_) other.reset();
  plans_[batch] = std::move(plan);
}

const BatchPlan& DeviceSegments::plan(size_t batch) {
  if (!plans_[batch])
    keep(batch, runs_ ? std::make_unique<BatchPlan>(*runs_, batches[batch])
                      : std::make_unique<BatchPlan>(segments_, batches[batch]));
  return *plans_[batch];
}

const unsigned* DeviceSegments::order() {
  if (!order_) {
    order_ = std::make_unique<Buffer>(segments_.order().size() * sizeof(std::uint32_t));
    fill(*order_, segments_.order().data(), segments_.order().size());
  }
  return at<unsigned>(*order_);
}

const SortPieces& DeviceSegments::sort_pieces(int key_bytes, int item_bytes) {
  if (!sort_pieces_ || sort_pieces_->key_bytes != key_bytes || sort_pieces_->item_bytes != item_bytes)
    sort_pieces_ = std::make_unique<SortPieces>(segments_, key_bytes, item_bytes);
  return *sort_pieces_;
}

bool DeviceSegments::serves(Count batch_values) const {
  return batch_values == batch_values_ && device_ == current_device().number;
}

DeviceSegments& on_device(const Segments& segments, Count batch_values) {
  const auto kept = std::dynamic_pointer_cast<DeviceSegments>(segments.kept);
  if (kept && kept->serves(batch_values)) return *kept;
  segments.kept.reset();
  const auto made = std::make_shared<DeviceSegments>(segments, batch_values);
  segments.kept = made;
  return *made;
}

}  // namespace cuda
}  // namespace kernops
