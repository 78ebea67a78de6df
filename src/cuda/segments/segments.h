// Reductions of segments on the GPU: their texts, and where they are on the device.
#pragma once
#include <kernops/jobs/device_segments.h>
#include <kernops/jobs/sort_pieces.h>

#include <algorithm>

#include "cuda/cuda.h"
#include "order/order_statistics.h"
#include "order/sort.h"
#include "segments/segments.h"

namespace kernops {
namespace cuda {

// One pass. Results of one column stand side by side.
void seg_reduce(const SegmentRequest& work);
// To where values stand, or, `in_place` being false, in the order of the segments; numbers may be floats.
void seg_map(const SegmentRequest& work, SegmentMap what, bool in_place, double elsewhere);

// A result for each value, one output after another; of values that fit in one batch.
void seg_scan(const SegmentRequest& work);

// Likewise: values of each segment in order, and statistics of them (cuda/segments/sort.cpp).
template <class Request> SegmentRequest values_of(const Request& request) {
  SegmentRequest work{request.segments};
  work.x = request.x, work.columns = request.columns, work.out = request.out, work.settings = request.settings;
  return work;
}
SegmentRequest values_of(const OrderRequest& request);  // and the weights
void seg_sort(const SortRequest& request);
void seg_order_statistics(const OrderRequest& request);

// Likewise: results of moving windows; of values that fit, together with the states of their parts.
bool rolls_there(const RollRequest& request);
void seg_roll(const RollRequest& request);

// ---- texts (cuda/segments/source.cpp)

inline bool in_order(const SegmentRequest& work) { return !work.segments.groups && work.segments.sources.empty(); }
const SegmentValues& foremost(const SegmentRequest& work);  // the values, or the weights alone
inline bool plain_values(const SegmentRequest& work) {      // side by side, reduced as they are
  return !work.weights.data && work.term == SegmentTerm::Itself && work.x.row == 1;
}
inline bool single(const SegmentRequest& work) { return foremost(work).type == SegmentValues::floats && !work.precise; }
constexpr int lane_values(bool single) { return single ? 32 : 16; }  // 128 bytes

// The text of a reduction, for one of its results; of NA among them; of a map; of what is done to results.
// `staged` values have been put in order.
std::string segment_text(const SegmentRequest& work, int output, bool staged);
std::string join_function(const std::string& name, const Plan& plan);  // a struct whose join(a, b) is the formula
std::string scan_text(const SegmentRequest& work, int output);
std::string sort_text(const SortRequest& request);
std::string order_text(const OrderRequest& request);
inline int scan_lane_values(const SegmentRequest& work) { return lane_values(work.x.type == SegmentValues::floats); }
// Windows of which a thread takes `each` results; those that contain NA.
std::string roll_text(const SegmentRequest& work, int output, int each);
std::string roll_gaps_text(const SegmentRequest& work, int each);
std::string by_key_text(const SegmentRequest& work);
std::string gaps_text(const SegmentRequest& work, bool staged);
std::string map_text(const SegmentRequest& work, SegmentMap what, bool in_place, bool staged);
std::string results_text();
std::string plan_text();
std::string keys_text(bool single);

// The texts that are compiled when the package is installed; those of every operation, and kind of values.
std::vector<std::string> usual_segment_texts();
std::vector<std::string> all_sort_texts();  // cuda/segments/sort_source.cpp
std::vector<std::string> all_segment_texts();

// ---- plans (cuda/segments/plan.cpp)

// Values that are reduced in one go: a whole number of tiles, so that no result depends on how many.
constexpr Count usual_batch = Count(1) << 28;
struct SegmentBatch {
  Count first;  // of all values
  int count, tiles;
  Count row, next_row;              // segments that end here
  bool open_before, open_after;     // whether one goes across the edge
  Count first_result, next_result;  // rows of the result, with those that are empty: each is in one batch
  Count begin;                      // of keys: where the first of its segments begins
};

SegmentBatch batch_of(Count first, Count count);  // of nothing but values yet

// Keys on a device, of which each run of equal adjacent ones is a segment.
class KeyRuns : public Segments {
 public:
  KeyRuns(const void* keys, bool single, Count keys_count);
  bool known() const override { return found_ || covered == 0; }
  void find() override;  // unless that has been done: only now are they counted
  // The same, reducing values in the same pass; the target has room for a result of each key.
  bool can_reduce(const SegmentRequest& work) const;
  void find_and_reduce(const SegmentRequest& work);
  const std::vector<Count>& offsets() const override;  // which then are on the host, too
  void come_to_host() override;
  Segments& on(int device) override;
  // To the device: of each run, its first key, as keys are, and how many there are of it.
  void describe(void* firsts, double* lengths) const;
  const void* const keys;
  const bool single;  // floats, else doubles
  const int device;

 private:
  template <class F> void each_batch(F body) const;  // body(batch, plan)
  bool found_ = false;
  std::unique_ptr<Buffer> firsts_;  // what the one pass found
  mutable std::vector<Count> offsets_;
  std::unique_ptr<Segments> elsewhere_;
};

// The plan of a batch, and what belongs to its segments.
struct BatchPlan {
  BatchPlan(const Segments& segments, const SegmentBatch& batch);
  BatchPlan(const KeyRuns& runs, const SegmentBatch& batch);
  explicit BatchPlan(const SegmentBatch& batch);                  // of nothing yet
  void complete(const KeyRuns& runs, const SegmentBatch& batch);  // its ends and limits being known
  Buffer ends, limits, opens;
  std::unique_ptr<Buffer> offsets, shifts, rows;
  SegmentPlan plan;
  int ended = 0;  // of keys: segments that end here
};

// The values that blocks sort (jobs/sort_pieces.h).
struct SortPieces {
  SortPieces(const Segments& segments, int capacity);
  const int capacity;
  struct List {
    unsigned count;
    std::unique_ptr<Buffer> memory;
  };
  List short_ones, medium, parts, numbers;  // parts are of long segments, which have these numbers
};

// Kept with Segments, so that a plan is made once, unless it is too large to be kept.
class DeviceSegments : public BackendCache {
 public:
  // The first batch of keys may be planned already.
  DeviceSegments(const Segments& segments, Count batch_values, std::unique_ptr<BatchPlan> first = nullptr);
  const BatchPlan& plan(size_t batch);
  const unsigned* order();
  const SortPieces& sort_pieces(int capacity);
  bool serves(Count batch_values) const;
  std::vector<SegmentBatch> batches;

 private:
  void cut_by_offsets();
  void cut_by_keys(std::unique_ptr<BatchPlan> plan);
  void keep(size_t batch, std::unique_ptr<BatchPlan> plan);
  const Segments& segments_;
  const KeyRuns* const runs_;  // the segments, if keys say where they are
  const Count batch_values_;
  const int device_;
  bool keep_;
  std::vector<std::unique_ptr<BatchPlan>> plans_;
  std::unique_ptr<Buffer> order_;
  std::unique_ptr<SortPieces> sort_pieces_;
};
DeviceSegments& on_device(const Segments& segments, Count batch_values);

// ---- values (cuda/segments/values.cpp)

// How much is taken at a time. Values that stand in another order are `staged` where they do not fit as a whole:
// put in order, batch by batch.
struct BatchSize {
  Count values, columns;
  bool staged;
};
BatchSize choose_batch_size(const SegmentRequest& work, bool maps);
// Are there values, and are they taken in one batch, to which results for each value fit?
bool fits_one_batch(const SegmentRequest& work);

// body(device, first, columns, staged) for some columns after others.
template <class F> void each_batch_of_columns(const SegmentRequest& work, bool maps, F body) {
  const BatchSize size = choose_batch_size(work, maps);
  DeviceSegments& device = on_device(work.segments, size.values);
  for (Count first = 0; first < work.columns; first += size.columns)
    body(device, first, std::min(size.columns, work.columns - first), size.staged);
}

// Position `first` on of the segments of a batch, place by place.
template <class F> void each_position(const Segments& segments, const SegmentBatch& batch, F f) {
  const std::vector<Count>& offsets = segments.offsets();
  Count s = batch.row;
  for (Count m = batch.first; m < batch.first + batch.count; ++m) {
    while (m >= offsets[size_t(s) + 1]) ++s;
    f(m, segments.source(s, m));
  }
}

// Values or weights of some columns, where the batch finds them.
class Operand {
 public:
  Operand(const SegmentValues& from, const Segments& segments, Count rows, Count first_column, Count columns,
          bool by_batch);
  // The one at `at`, in column c, is [at * row + c * column] from here; also those of a batch that is not the first.
  const void* address(const SegmentBatch& batch);
  Count row() const { return by_batch_ ? 1 : from_.row; }
  Count column(const SegmentBatch& batch) const { return by_batch_ ? batch.count : from_.column; }

 private:
  void bring(const SegmentBatch& batch);
  void bring_all();
  SegmentValues from_;
  const Segments& segments_;
  const Count rows_, columns_;
  const size_t bytes_;
  const bool by_batch_;
  std::unique_ptr<Buffer> there_;
  const SegmentBatch* held_ = nullptr;
};

// The kernel arguments of each batch, except the place of its results.
class SegmentJobs {
 public:
  SegmentJobs(const SegmentRequest& work, DeviceSegments& device, Count first, Count columns, bool staged);
  SegmentRun operator()(size_t batch);
  void done(size_t batch) const;  // interrupts, if that is wanted

 private:
  const SegmentRequest& work_;
  DeviceSegments& device_;
  const Count first_;
  const bool staged_;
  Operand x_, weights_;
};

template <class T> T* at(const Buffer& buffer, Count n = 0) { return static_cast<T*>(buffer.address()) + n; }
template <class T> void fill(const Buffer& buffer, const T* from, size_t count) {
  copy_in(buffer.pointer(), from, count * sizeof(T));
}
inline unsigned blocks(Count items, Count each) { return unsigned(ceil_div(items, each)); }

// ---- results (cuda/segments/results.cpp)

double nothing(const SegmentRequest& work, int output);  // the result of a segment without values
// A kernel of cuda/segments/results.cuh, on as many results as there are columns for all segments.
void on_results(const char* kernel, const SegmentRequest& work, ResultsJob job);
char* column_of(const Output& out, Count column);
// All results, so many rows of them, before those of values in segments are written.
void fill_all(const SegmentRequest& work, Count rows, double value);
// Results on the device that are NaN become NA where one of their values was NA.
void mark_missing(const SegmentRequest& work);

}  // namespace cuda
}  // namespace kernops
