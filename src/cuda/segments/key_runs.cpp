// Runs of equal keys on the device, as segments. The host stores only the number of segments until a caller requests
// the offsets.
#include <kernops/jobs/segments.h>

#include "cuda/segments/segments.h"

namespace kernops {
namespace cuda {
namespace {

// Device memory, initially zero, in which the tiles (the blocks of values) of a pass exchange their counts.
class Words {
 public:
  explicit Words(int tiles)
      : tiles_(tiles), groups_(blocks(tiles, word_group)), memory_((size_t(tiles) + 3 * groups_) * sizeof(int)) {
    driver().check(driver().cuMemsetD32_v2(memory_.pointer(), 0, size_t(tiles) + 3 * groups_), "filling memory");
  }
  unsigned long long* groups() const { return at<unsigned long long>(memory_); }
  int* ends() const { return at<int>(memory_, 2 * Count(groups_)); }
  int* through() const { return ends() + tiles_; }

 private:
  const int tiles_;
  const size_t groups_;
  const Buffer memory_;
};

}  // namespace

KeyRuns::KeyRuns(const void* keys, bool single, Count keys_count)
    : keys(keys), single(single), device(current_device().number) {
  values = covered = keys_count;
}

void KeyRuns::find() {
  if (found_) return;
  use_device(device);
  if (covered > 0) count = on_device(*this, usual_batch).batches.back().next_row;
  found_ = true;
}

bool KeyRuns::can_reduce(const SegmentRequest& work) const {
  const bool floats = single && cuda::single(work), plain = plain_values(work) && work.x.on_device;
  const bool known = found_ || covered == 0 || covered > usual_batch || work.settings.tile > 0;
  if (known || !floats || !plain || work.columns != 1 || work.outputs() != 1) return false;
  if (!work.formula && statistics()[size_t(work.op)].kind == Statistic::Position) return false;
  return size_t(covered) * (sizeof(float) + sizeof(double)) < memory_left() / 2;
}

void KeyRuns::find_and_reduce(const SegmentRequest& work) {
  const SegmentBatch batch = batch_of(0, covered);
  auto plan = std::make_unique<BatchPlan>(batch);
  const size_t states = size_t(batch.tiles) * most_state_bytes;
  const Buffer carries(states), heads(states);
  const Words words(batch.tiles);
  firsts_ = std::make_unique<Buffer>(size_t(covered) * sizeof(float));
  KeyedRun job{};
  job.run.plan = plan->plan, job.run.x = work.x.data, job.run.out = work.out.data;
  job.run.carries = carries.address(), job.run.heads = heads.address();
  job.keys = keys, job.firsts = firsts_->address();
  job.ends = words.ends(), job.groups = words.groups(), job.through = words.through();

  const std::string text = by_key_text(work);
  launch(function(text, "kernops_by_key"), unsigned(batch.tiles), 1, segment_tile / lane_values(true), &job);
  launch(function(text, "kernops_keyed_limits"), blocks(batch.tiles, 256), 1, 256, &job);
  plan->complete(*this, batch);
  launch(function(text, "kernops_spine"), blocks(batch.tiles + 1, spine_threads), 1, spine_threads, &job.run);
  count = plan->ended, found_ = true;
  kept = std::make_shared<DeviceSegments>(*this, usual_batch, std::move(plan));
}

template <class F> void KeyRuns::each_batch(F body) const {
  if (covered == 0) return;
  use_device(device);
  const auto cached = std::dynamic_pointer_cast<DeviceSegments>(kept);  // keeps the plans while kernels may read them
  DeviceSegments& there = cached ? *cached : on_device(*this, usual_batch);
  for (size_t n = 0; n < there.batches.size(); ++n) body(there.batches[n], there.plan(n));
}

// Returns the segments in the form of offsets for another device.
Segments& KeyRuns::on(int number) {
  if (number == device) return *this;
  if (elsewhere_) return *elsewhere_;
  find();
  std::vector<Count> lengths;
  for (size_t s = 0; s + 1 < offsets().size(); ++s) lengths.push_back(offsets()[s + 1] - offsets()[s]);
  elsewhere_ = std::make_unique<Segments>();
  elsewhere_->values = values;
  elsewhere_->set_lengths(lengths, 0, {});
  return *elsewhere_;
}

const std::vector<Count>& KeyRuns::offsets() const {
  if (!offsets_.empty()) return offsets_;
  std::vector<Count> all(size_t(count) + 1, 0);
  each_batch([&](const SegmentBatch& batch, const BatchPlan& plan) {
    copy_out(&all[size_t(batch.row)], plan.offsets->pointer(), size_t(plan.ended + 1) * sizeof(Count));
  });
  return offsets_ = std::move(all);
}

void KeyRuns::come_to_host() {
  find();
  large.clear();
  for (Count s = 0; s < count; ++s) {
    const Count length = offsets()[size_t(s) + 1] - offsets()[size_t(s)];
    longest = std::max(longest, length);
    if (length > segment_block) large.push_back(s);
  }
}

void KeyRuns::describe(void* firsts, double* lengths) const {
  each_batch([&](const SegmentBatch& batch, const BatchPlan& plan) {
    if (plan.ended == 0) return;
    RunsJob job{at<long long>(*plan.offsets),
                plan.ended,
                keys,
                firsts_ ? firsts_->address() : nullptr,
                firsts,
                lengths,
                batch.row};
    launch(function(keys_text(single), "kernops_describe_runs"), blocks(plan.ended, 256), 1, 256, &job);
  });
}

}  // namespace cuda
}  // namespace kernops
