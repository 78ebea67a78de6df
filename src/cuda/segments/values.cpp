// Values of segments on the device: already there, brought there whole, or chunk by chunk.
#include <cstring>

#include "cuda/segments/segments.h"

namespace kernops {
namespace cuda {
namespace {

constexpr size_t little = size_t(1) << 26;

size_t bytes_of(const SegmentValues& values) { return values.type == SegmentValues::doubles ? 8 : 4; }
bool travels(const SegmentValues& values) { return values.data && !values.on_device; }

// Memory for so many values of so many columns.
size_t bytes_for(const SegmentRequest& work, Count chunk, Count columns, bool maps) {
  size_t each = 2 * most_state_bytes / segment_tile + 1;
  if (travels(work.x)) each += bytes_of(work.x);
  if (travels(work.weights) && !work.weight_of) each += bytes_of(work.weights);
  const size_t results = maps ? size_t(chunk) : size_t(std::min(chunk, work.segments.count));
  return size_t(columns) * (size_t(chunk) * each + (work.out.space == MemorySpace::host ? 8 * results : 0));
}

size_t extent(const SegmentValues& values, Count rows, Count columns) {
  return values.data ? size_t((columns - 1) * values.column + (rows - 1) * values.row + 1) * bytes_of(values) : 0;
}

}  // namespace

Portions choose_portions(const SegmentRequest& work, bool maps) {
  const Segments& segments = work.segments;
  const Count values = std::max<Count>(1, segments.covered), tile = segment_tile;
  Portions portions{usual_chunk, std::max<Count>(1, usual_chunk / std::min(values, usual_chunk)), false};
  portions.columns = std::min<Count>({portions.columns, work.columns, 65535});
  const auto needed = [&] { return bytes_for(work, std::min(portions.chunk, values), portions.columns, maps); };
  const size_t whole = extent(work.x, segments.values, portions.columns) +
                       (work.weight_of ? 0 : extent(work.weights, segments.values, portions.columns)) +
                       (segments.groups ? size_t(values) * sizeof(std::uint32_t) : 0);
  if (memory_limit() || needed() + whole > little) {
    const size_t most = memory_left() / 2;
    const bool host = (!work.x.data || travels(work.x)) && (!work.weights.data || travels(work.weights));
    const bool elsewhere = maps && work.out.space != MemorySpace::host;  // numbers go to where values stand
    portions.staged = !in_order(work) && host && !work.weight_of && !elsewhere && whole + (maps ? whole : 0) > most / 2;
    while (needed() > most / 2 && (portions.columns > 1 || portions.chunk > tile))
      portions.columns > 1 ? portions.columns = (portions.columns + 1) / 2 : portions.chunk /= 2;
  }
  if (work.tile > 0) portions.chunk = (work.tile + tile - 1) / tile * tile;
  return portions;
}

Operand::Operand(const SegmentValues& from, const Segments& segments, Count rows, Count first_column, Count columns,
                 bool by_chunk)
    : from_(from),
      segments_(segments),
      rows_(rows),
      columns_(columns),
      bytes_(bytes_of(from)),
      by_chunk_(by_chunk && travels(from)) {
  if (from.data) from_.data = static_cast<const char*>(from.data) + size_t(first_column * from.column) * bytes_;
}

const void* Operand::address(const SegmentChunk& chunk) {
  if (!travels(from_)) return from_.data;
  if (!by_chunk_) {
    if (!there_) bring_all();
    return there_->address();
  }
  if (held_ != &chunk) bring(chunk);
  held_ = &chunk;
  return reinterpret_cast<const void*>(there_->pointer() - size_t(chunk.first) * bytes_);
}

void Operand::bring_all() {
  const size_t bytes = extent(from_, rows_, columns_);
  there_ = std::make_unique<Buffer>(bytes);
  copy_in(there_->pointer(), from_.data, bytes);
}

void Operand::bring(const SegmentChunk& chunk) {
  const size_t length = size_t(chunk.count) * bytes_;
  if (!there_) there_ = std::make_unique<Buffer>(length * size_t(columns_));  // the first chunk is the longest
  const bool side_by_side = segments_.sources.empty() && !segments_.groups && from_.row == 1;
  std::vector<char> aside(side_by_side ? 0 : length);
  for (Count c = 0; c < columns_; ++c) {
    const char* column = static_cast<const char*>(from_.data) + size_t(c * from_.column) * bytes_;
    if (!side_by_side)
      each_position(segments_, chunk, [&](Count m, Count at) {
        std::memcpy(&aside[size_t(m - chunk.first) * bytes_], column + size_t(at * from_.row) * bytes_, bytes_);
      });
    copy_in(there_->pointer() + size_t(c) * length, side_by_side ? column + size_t(chunk.first) * bytes_ : aside.data(),
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
  const SegmentChunk& chunk = device_.chunks[n];
  const ChunkPlan& plan = device_.plan(n);
  SegmentRun job{};
  job.plan = plan.plan, job.first = chunk.first;
  job.phase = int((chunk.first - work_.segments.first) / segment_tile % tile_group);
  if (work_.segments.groups && !staged_) job.order = device_.order();
  if (plan.shifts && !staged_) job.shifts = at<long long>(*plan.shifts);
  if (plan.rows) job.rows = at<long long>(*plan.rows);
  job.offsets = at<long long>(*plan.offsets);
  job.x = x_.address(chunk), job.x_row = x_.row(), job.x_column = x_.column(chunk);
  job.partner = weights_.address(chunk), job.partner_row = weights_.row();
  job.partner_column = work_.weights.column ? weights_.column(chunk) : 0;
  job.through = work_.weight_of;
  for (size_t k = 0; k < work_.given.size(); ++k)
    if (work_.given[k]) job.given[k] = work_.given[k] + first_ * work_.segments.count + (plan.rows ? 0 : chunk.row);
  job.given_column = work_.segments.count;
  return job;
}

void SegmentJobs::done(size_t n) const {
  if (device_.chunks.size() == 1) return;
  synchronize();
  const double fraction = double(n + 1) / double(device_.chunks.size());
  if (work_.settings.keep_going && !work_.settings.keep_going(fraction)) throw Interrupted();
}

}  // namespace cuda
}  // namespace kernops
