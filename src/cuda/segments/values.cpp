// The values of segments in device memory. Values on the host are copied at once or batch by batch.
#include <cstring>

#include "cuda/segments/segments.h"

namespace kernops {
namespace cuda {
namespace {

constexpr size_t little = size_t(1) << 26;

size_t bytes_of(const SegmentValues& values) { return values.type == SegmentValues::doubles ? 8 : 4; }
bool travels(const SegmentValues& values) { return values.data && !values.on_device; }

// Returns the bytes of device memory for the values, the states and the results of some columns.
size_t bytes_for(const SegmentRequest& work, Count batch, Count columns, bool maps) {
  size_t each = 2 * most_state_bytes / segment_tile + 1;
  if (travels(work.x)) each += bytes_of(work.x);
  if (travels(work.weights) && !work.weight_of) each += bytes_of(work.weights);
  const size_t results = maps ? size_t(batch) : size_t(std::min(batch, work.segments.count));
  return size_t(columns) * (size_t(batch) * each + (work.out.space == MemorySpace::host ? 8 * results : 0));
}

size_t extent(const SegmentValues& values, Count rows, Count columns) {
  return values.data ? size_t((columns - 1) * values.column + (rows - 1) * values.row + 1) * bytes_of(values) : 0;
}

}  // namespace

BatchSize choose_batch_size(const SegmentRequest& work, bool maps) {
  const Segments& segments = work.segments;
  const Count values = std::max<Count>(1, segments.covered), tile = segment_tile;
  BatchSize size{usual_batch, std::max<Count>(1, usual_batch / std::min(values, usual_batch)), false};
  size.columns = std::min<Count>({size.columns, work.columns, 65535});
  const auto needed = [&] { return bytes_for(work, std::min(size.values, values), size.columns, maps); };
  const size_t whole = extent(work.x, segments.values, size.columns) +
                       (work.weight_of ? 0 : extent(work.weights, segments.values, size.columns)) +
                       (segments.groups ? size_t(values) * sizeof(std::uint32_t) : 0);
  if (memory_limit() || needed() + whole > little) {
    const size_t most = memory_left() / 2;
    const bool host = (!work.x.data || travels(work.x)) && (!work.weights.data || travels(work.weights));
    // true if kernels write results at the positions of the values, and no batch is copied to the host
    const bool elsewhere = maps && work.out.space != MemorySpace::host;
    size.staged = !in_order(work) && host && !work.weight_of && !elsewhere && whole + (maps ? whole : 0) > most / 2;
    while (needed() > most / 2 && (size.columns > 1 || size.values > tile))
      size.columns > 1 ? size.columns = (size.columns + 1) / 2 : size.values /= 2;
  }
  if (work.settings.tile > 0) size.values = ceil_div(work.settings.tile, tile) * tile;
  return size;
}

bool fits_one_batch(const SegmentRequest& work) {
  const Segments& segments = work.segments;
  if (work.x.row != 1 || !segments.sources.empty() || segments.covered == 0 || work.columns == 0) return false;
  const BatchSize size = choose_batch_size(work, true);
  return size.values >= segments.covered && !size.staged;
}

Operand::Operand(const SegmentValues& from, const Segments& segments, Count rows, Count first_column, Count columns,
                 bool by_batch)
    : from_(from),
      segments_(segments),
      rows_(rows),
      columns_(columns),
      bytes_(bytes_of(from)),
      by_batch_(by_batch && travels(from)) {
  if (from.data) from_.data = static_cast<const char*>(from.data) + size_t(first_column * from.column) * bytes_;
}

const void* Operand::address(const SegmentBatch& batch) {
  if (!travels(from_)) return from_.data;
  if (!by_batch_) {
    if (!there_) bring_all();
    return there_->address();
  }
  if (held_ != &batch) bring(batch);
  held_ = &batch;
  return reinterpret_cast<const void*>(there_->pointer() - size_t(batch.first) * bytes_);
}

void Operand::bring_all() {
  const size_t bytes = extent(from_, rows_, columns_);
  there_ = std::make_unique<Buffer>(bytes);
  copy_in(there_->pointer(), from_.data, bytes);
}

void Operand::bring(const SegmentBatch& batch) {
  const size_t length = size_t(batch.count) * bytes_;
  if (!there_) there_ = std::make_unique<Buffer>(length * size_t(columns_));  // no later batch is longer
  const bool side_by_side = segments_.sources.empty() && !segments_.groups && from_.row == 1;
  std::vector<char> aside(side_by_side ? 0 : length);
  for (Count c = 0; c < columns_; ++c) {
    const char* column = static_cast<const char*>(from_.data) + size_t(c * from_.column) * bytes_;
    if (!side_by_side)
      each_position(segments_, batch, [&](Count m, Count at) {
        std::memcpy(&aside[size_t(m - batch.first) * bytes_], column + size_t(at * from_.row) * bytes_, bytes_);
      });
    copy_in(there_->pointer() + size_t(c) * length, side_by_side ? column + size_t(batch.first) * bytes_ : aside.data(),
            length);
  }
}

SegmentJobs::SegmentJobs(const SegmentRequest& work, DeviceSegments& device, Count first, Count columns, bool staged)
    : work_(work),
      device_(device),
      first_(first),
      staged_(staged),
      x_(work.x, work.segments, work.segments.values, first, columns, staged || in_order(work)),
      weights_(work.weights, work.segments, work.weight_of ? work.weights.column : work.segments.values, first,
               work.weights.column ? columns : 1, (staged || in_order(work)) && !work.weight_of) {}

SegmentRun SegmentJobs::operator()(size_t n) {
  const SegmentBatch& batch = device_.batches[n];
  const BatchPlan& plan = device_.plan(n);
  SegmentRun job{};
  job.plan = plan.plan, job.first = batch.first;
  job.phase = int((batch.first - work_.segments.first) / segment_tile % tile_group);
  if (work_.segments.groups && !staged_) job.order = device_.order();
  if (plan.shifts && !staged_) job.shifts = at<long long>(*plan.shifts);
  if (plan.rows) job.rows = at<long long>(*plan.rows);
  job.offsets = at<long long>(*plan.offsets);
  job.x = x_.address(batch), job.x_row = x_.row(), job.x_column = x_.column(batch);
  job.partner = weights_.address(batch), job.partner_row = weights_.row();
  job.partner_column = work_.weights.column ? weights_.column(batch) : 0;
  job.through = work_.weight_of;
  for (size_t k = 0; k < work_.given.size(); ++k)
    if (work_.given[k]) job.given[k] = work_.given[k] + first_ * work_.segments.count + (plan.rows ? 0 : batch.row);
  job.given_column = work_.segments.count;
  return job;
}

void SegmentJobs::done(size_t n) const {
  if (device_.batches.size() == 1) return;
  synchronize();
  const double fraction = double(n + 1) / double(device_.batches.size());
  if (work_.settings.keep_going && !work_.settings.keep_going(fraction)) throw Interrupted();
}

}  // namespace cuda
}  // namespace kernops
