// Reductions of segments on the GPU. Values are taken in chunks, always of the same size, so that results
// depend neither on where they are nor on how much memory is free; a segment that goes across the edge of two
// chunks hands on its state.
#include "cuda_segments.h"

#include <kernops/segment_reductions.h>

#include <algorithm>

namespace kernops {
namespace cuda {
namespace {

constexpr Count usual_chunk = Count(1) << 28;
constexpr size_t state_bytes = most_state_bytes;

unsigned blocks(Count items, Count each) { return unsigned((items + each - 1) / each); }
template <class T> T* at(const Buffer& buffer, Count n = 0) { return static_cast<T*>(buffer.address()) + n; }
template <class T> void fill(const Buffer& buffer, const std::vector<T>& from) {
  copy_in(buffer.pointer(), from.data(), from.size() * sizeof(T));
}

void make_plan(const SegmentChunk& chunk, const long long* offsets, Count segments) {
  const std::string text = plan_text();
  OffsetsJob job{chunk.plan, offsets + chunk.row, chunk.first, int(segments)};
  const unsigned edges = blocks(chunk.plan.tiles + 1, 128);
  launch(function(text, "kernops_plan_limits"), edges, 1, 128, &job);
  launch(function(text, "kernops_plan_ends"), chunk.plan.tiles, 1, 128, &job);
  launch(function(text, "kernops_plan_opens"), edges, 1, 128, &job);
}

// What finish() makes of a fresh state.
double nothing(int op, int output) {
  int number = 0;
#define SEGMENT_OP(name, reduction, kind, meaning) \
  if (number++ == op) {                            \
    State<reduction, double, Count> state;         \
    reduction::start(state);                       \
    return reduction::finish(state, output);       \
  }
#include <kernops/segments.def>
#undef SEGMENT_OP
  return 0;
}

// Columns first .. first + count - 1 of one reduction.
class ColumnsRun {
 public:
  ColumnsRun(const SegmentRequest& request, const DeviceSegments& device, Count first, Count count)
      : request_(request),
        device_(device),
        first_(first),
        columns_(count),
        segments_(request.segments.segments()),
        results_(size_t(segments_ * count) * sizeof(double)),
        carries_(tiles() * state_bytes),
        heads_(tiles() * state_bytes),
        edges_{Buffer(size_t(count) * state_bytes), Buffer(size_t(count) * state_bytes)} {}

  void run() {
    const int outputs = request_.softmax || request_.formula ? 1 : segment_ops()[size_t(request_.op)].outputs;
    for (int output = 0; output < outputs; ++output) {
      reduce(segment_text(request_, output));
      if (!request_.softmax) fetch(output);
    }
    if (request_.softmax) spread();
  }

 private:
  size_t tiles() const { return size_t(device_.chunks[0]->plan.tiles) * size_t(columns_); }
  int value_bytes() const { return request_.x.type == SegmentValues::doubles ? 8 : 4; }

  void reduce(const std::string& text) {
    void *tile = function(text, "kernops_segments"), *spine = function(text, "kernops_spine");
    for (size_t n = 0; n < device_.chunks.size(); ++n) {
      const SegmentChunk& chunk = *device_.chunks[n];
      SegmentRun job = job_of(chunk);
      if (chunk.open_before) job.incoming = edges_[n % 2].address();
      if (chunk.open_after) job.outgoing = edges_[1 - n % 2].address();
      launch(tile, unsigned(chunk.plan.tiles), unsigned(columns_),
             unsigned(segment_tile / lane_values(single(request_))), &job);
      launch(spine, blocks(chunk.plan.tiles + 1, spine_threads), unsigned(columns_), spine_threads, &job);
      if (device_.chunks.size() > 1) pause(double(n + 1) / double(device_.chunks.size()));
    }
  }

  void pause(double done) const {
    driver().check(driver().cuCtxSynchronize(), "running a kernel");
    if (request_.settings.keep_going && !request_.settings.keep_going(done)) throw Interrupted();
  }

  SegmentRun job_of(const SegmentChunk& chunk) {
    SegmentRun job{};
    job.plan = chunk.plan, job.first = chunk.first;
    if (device_.order) job.order = at<unsigned>(*device_.order);
    if (device_.shifts) job.shifts = at<long long>(*device_.shifts, chunk.row);
    job.offsets = at<long long>(device_.offsets, chunk.row);
    job.out = at<double>(results_, chunk.row), job.out_column = segments_;
    job.carries = carries_.address(), job.heads = heads_.address();
    const SegmentValues& w = request_.weights;
    if (w.data) {
      job.weights_row = w.row;
      job.weights = static_cast<const double*>(w.data);
      if (!w.on_device) job.weights = static_cast<const double*>(whole(weights_, w, 1, 8));
    }
    place_values(job, chunk);
    return job;
  }

  // Where the values are: on the device, brought there whole, or only those of the chunk.
  void place_values(SegmentRun& job, const SegmentChunk& chunk) {
    SegmentValues x = request_.x;
    x.data = static_cast<const char*>(x.data) + first_ * x.column * value_bytes();
    job.x_row = x.row, job.x_column = x.column;
    if (x.on_device)
      job.x = x.data;
    else if (!in_order(request_))
      job.x = whole(values_, x, columns_, value_bytes());
    else
      job.x = part(x, chunk), job.x_column = chunk.plan.count;
  }

  const void* whole(std::unique_ptr<Buffer>& buffer, const SegmentValues& from, Count columns, int bytes) {
    if (!buffer) {
      const size_t extent =
          size_t((columns - 1) * from.column + (request_.segments.values - 1) * from.row + 1);
      buffer = std::make_unique<Buffer>(extent * bytes);
      copy_in(buffer->pointer(), from.data, extent * bytes);
    }
    return buffer->address();
  }

  // Value number m of a column stands at [m], as elsewhere: those before the chunk are not there.
  const void* part(const SegmentValues& x, const SegmentChunk& chunk) {
    const size_t bytes = size_t(value_bytes()), length = size_t(chunk.plan.count) * bytes;
    if (!values_)
      values_ = std::make_unique<Buffer>(size_t(device_.chunks[0]->plan.count * columns_) * bytes);
    if (held_ != &chunk)
      for (Count c = 0; c < columns_; ++c)
        copy_in(values_->pointer() + size_t(c) * length,
                static_cast<const char*>(x.data) + size_t(c * x.column + chunk.first) * bytes, length);
    held_ = &chunk;
    return reinterpret_cast<const void*>(values_->pointer() - size_t(chunk.first) * bytes);
  }

  void fetch(int output) const {
    const Segments& segments = request_.segments;
    const Target& out = request_.out;
    const bool direct = segments.rows.empty() && out.row == 1;
    std::vector<double> aside(direct ? 0 : size_t(segments_));
    for (Count c = 0; c < columns_; ++c) {
      double* to = out.data + (output * request_.columns + first_ + c) * out.entry;
      copy_out(direct ? to : aside.data(), results_.pointer() + size_t(c * segments_) * sizeof(double),
               size_t(segments_) * sizeof(double));
      for (size_t s = 0; s < aside.size(); ++s) to[segments.row(Count(s)) * out.row] = aside[s];
    }
  }

  // The second pass of a softmax: a result for each value, those in no segment stay as they are.
  void spread() {
    void* softmax = function(softmax_text(request_), "kernops_softmax");
    const Count values = request_.segments.values;
    const Buffer results(size_t(values * columns_) * sizeof(double));
    const auto each_column = [&](auto copy) {
      for (Count c = 0; c < columns_; ++c)
        copy(request_.out.data + (first_ + c) * request_.out.entry,
             results.pointer() + size_t(c * values) * sizeof(double), size_t(values) * sizeof(double));
    };
    each_column([](double* out, DevicePointer there, size_t bytes) { copy_in(there, out, bytes); });
    for (const auto& chunk : device_.chunks) {
      SegmentRun job = job_of(*chunk);
      job.softmax = at<double>(results), job.softmax_column = values;
      launch(softmax, unsigned(chunk->plan.tiles), unsigned(columns_), segment_tile / lane_values(false),
             &job);
      if (device_.chunks.size() > 1) pause(1);
    }
    each_column([](double* out, DevicePointer there, size_t bytes) { copy_out(out, there, bytes); });
  }

  const SegmentRequest& request_;
  const DeviceSegments& device_;
  const Count first_, columns_, segments_;
  const Buffer results_, carries_, heads_, edges_[2];
  std::unique_ptr<Buffer> values_, weights_;
  const SegmentChunk* held_ = nullptr;
};

}  // namespace

SegmentChunk::SegmentChunk(Count first, Count row, int count)
    : ends(size_t(blocks(count, segment_tile)) * (segment_tile / 8)),
      limits((blocks(count, segment_tile) + 1) * sizeof(int)),
      opens((blocks(count, segment_tile) + 1) * sizeof(int)),
      plan{at<unsigned>(ends), at<int>(limits), at<int>(opens), count, int(blocks(count, segment_tile))},
      first(first),
      row(row) {}

DeviceSegments::DeviceSegments(const Segments& segments, Count chunk_values)
    : chunk_values(chunk_values), offsets(segments.offsets.size() * sizeof(Count)) {
  static_assert(sizeof(Count) == sizeof(long long), "offsets travel as they are");
  fill(offsets, segments.offsets);
  if (!segments.sources.empty()) {
    std::vector<Count> all = segments.sources;
    for (size_t s = 0; s < all.size(); ++s) all[s] -= segments.offsets[s];
    shifts = std::make_unique<Buffer>(all.size() * sizeof(Count));
    fill(*shifts, all);
  }
  if (segments.groups) {
    order = std::make_unique<Buffer>(segments.order().size() * sizeof(std::uint32_t));
    fill(*order, segments.order());
  }
  const auto& edges = segments.offsets;
  const auto segment_of = [&](Count value) {
    return std::upper_bound(edges.begin(), edges.end(), value) - edges.begin() - 1;
  };
  for (Count first = edges.front(); first < edges.back(); first += chunk_values) {
    const Count end = std::min(first + chunk_values, edges.back()), row = segment_of(first),
                last = segment_of(end);
    chunks.push_back(std::make_unique<SegmentChunk>(first, row, int(end - first)));
    chunks.back()->open_before = edges[size_t(row)] != first;
    chunks.back()->open_after = edges[size_t(last)] != end;
    make_plan(*chunks.back(), at<long long>(offsets), last - row);
  }
}

DeviceSegments& on_device(const Segments& segments, Count chunk_values) {
  const auto kept = std::static_pointer_cast<DeviceSegments>(segments.kept);
  const int device = current_device().number;
  if (kept && kept->chunk_values == chunk_values && kept->device == device) return *kept;
  const auto made = std::make_shared<DeviceSegments>(segments, chunk_values);
  segments.kept = made;
  return *made;
}

KeyRuns key_runs(const void* keys, bool single, Count count) {
  if (count == 0) return {{0}, {}};
  if (count > INT32_MAX - segment_tile) throw CudaError("there are more than 2^31 keys");
  const SegmentChunk chunk(0, 0, int(count));
  const size_t bytes = single ? sizeof(float) : sizeof(double);
  const Buffer loose(size_t(count) * bytes);
  const std::string text = keys_text(single);
  KeysJob job{chunk.plan, keys, loose.address(), nullptr, nullptr};
  launch(function(text, "kernops_plan_keys"), unsigned(chunk.plan.tiles), 1,
         unsigned(segment_tile / lane_values(false)), &job);
  launch(function(text, "kernops_plan_scan"), 1, 1, 1024, &job);
  int runs = 0;
  copy_out(&runs, chunk.limits.pointer() + size_t(chunk.plan.tiles) * sizeof(int), sizeof(int));

  const Buffer firsts(size_t(runs) * bytes), offsets(size_t(runs + 1) * sizeof(Count));
  job.firsts = firsts.address(), job.offsets = at<long long>(offsets);
  launch(function(text, "kernops_plan_firsts"), blocks(chunk.plan.tiles, 8), 1, 256, &job);
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

void seg_reduce(const SegmentRequest& request) {
  use_device(request.device);
  const Segments& segments = request.segments;
  const Target& out = request.out;
  const int outputs = request.formula ? 1 : segment_ops()[size_t(request.op)].outputs;
  for (int o = 0; o < outputs && !request.softmax; ++o)
    for (Count c = 0; c < request.columns; ++c)
      for (const Count row : segments.empties)
        out.data[(o * request.columns + c) * out.entry + row * out.row] =
            request.empty ? *request.empty : nothing(request.op, o);
  if (segments.segments() == 0) return;
  const Count tile = segment_tile,
              chunk = request.tile > 0 ? (request.tile + tile - 1) / tile * tile : usual_chunk;
  const DeviceSegments& device = on_device(segments, chunk);
  const Count values = segments.offsets.back() - segments.offsets.front();
  const Count together =
      std::min<Count>(65535, std::max<Count>(1, usual_chunk / std::min(values, usual_chunk)));
  for (Count first = 0; first < request.columns; first += together)
    ColumnsRun(request, device, first, std::min(together, request.columns - first)).run();
}

}  // namespace cuda
}  // namespace kernops
