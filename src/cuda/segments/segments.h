// Reductions of segments on the GPU: their CUDA texts, and the data on the device.
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

// Reduces the values of segments in one pass. The results of a column are contiguous.
void seg_reduce(const SegmentRequest& work);
// Writes one number for each value. The numbers are in the order of x or, if `in_place` is false, in the order of the
// segments. The numbers may be floats.
void seg_map(const SegmentRequest& work, SegmentMap what, bool in_place, double elsewhere);

// Scans the values once for each output of the operation; each scan computes one result for each value. All values must
// fit into one batch.
void seg_scan(const SegmentRequest& work);

// Converts a request to a SegmentRequest without weights, because sorting and statistics of sorted values
// (cuda/segments/sort.cpp) read their values like a reduction.
template <class Request> SegmentRequest values_of(const Request& request) {
  SegmentRequest work{request.segments};
  work.x = request.x, work.columns = request.columns, work.out = request.out, work.settings = request.settings;
  return work;
}
SegmentRequest values_of(const OrderRequest& request);  // keeps the weights of the request
void seg_sort(const SortRequest& request);
void seg_order_statistics(const OrderRequest& request);

// Returns whether moving windows can be computed on the device: the values and the states must fit into memory
// together.
bool rolls_there(const RollRequest& request);
void seg_roll(const RollRequest& request);

// ---- texts (cuda/segments/source.cpp)

inline bool in_order(const SegmentRequest& work) { return !work.segments.groups && work.segments.sources.empty(); }
const SegmentValues& foremost(const SegmentRequest& work);  // the values or, if only weights are reduced, the weights
inline bool plain_values(const SegmentRequest& work) {      // true if contiguous values are reduced without weights
  return !work.weights.data && work.term == SegmentTerm::Itself && work.x.row == 1;
}
inline bool single(const SegmentRequest& work) { return foremost(work).type == SegmentValues::floats && !work.precise; }
constexpr int lane_values(bool single) { return single ? 32 : 16; }  // a lane has 128 bytes of values

// The functions below return CUDA texts. The texts of reductions, scans and moving windows compute one output of an
// operation. If values are `staged`, they have already been permuted into the order of the segments.
std::string segment_text(const SegmentRequest& work, int output, bool staged);
std::string join_function(const std::string& name, const Plan& plan);  // a struct whose join(a, b) is the formula
std::string scan_text(const SegmentRequest& work, int output);
std::string sort_text(const SortRequest& request);
std::string order_text(const OrderRequest& request);
inline int scan_lane_values(const SegmentRequest& work) { return lane_values(work.x.type == SegmentValues::floats); }
// The CUDA texts of moving windows, with `each` results per thread, and of the search for windows that contain NA.
std::string roll_text(const SegmentRequest& work, int output, int each);
std::string roll_gaps_text(const SegmentRequest& work, int each);
std::string by_key_text(const SegmentRequest& work);
std::string gaps_text(const SegmentRequest& work, bool staged);
std::string map_text(const SegmentRequest& work, SegmentMap what, bool in_place, bool staged);
std::string results_text();
std::string plan_text();
std::string keys_text(bool single);

// The texts that are compiled at installation (usual_segment_texts()), and the texts of all operations and types of
// values.
std::vector<std::string> usual_segment_texts();
std::vector<std::string> all_sort_texts();  // cuda/segments/sort_source.cpp
std::vector<std::string> all_segment_texts();

// ---- plans (cuda/segments/plan.cpp)

// A batch of values that are reduced together. A batch is a whole number of tiles (the values of one block), so that
// results do not depend on the size of a batch.
constexpr Count usual_batch = Count(1) << 28;
struct SegmentBatch {
  Count first;  // number of the first value
  int count, tiles;
  Count row, next_row;              // segments row .. next_row - 1 end in this batch
  bool open_before, open_after;     // true if a segment crosses the first border, or the last border, of the batch
  Count first_result, next_result;  // rows of the results of this batch, including empty segments
  Count begin;                      // for runs of keys: position at which the first segment of the batch begins
};

SegmentBatch batch_of(Count first, Count count);  // sets only the range of values

// Segments that are runs of equal adjacent keys on a device.
class KeyRuns : public Segments {
 public:
  KeyRuns(const void* keys, bool single, Count keys_count);
  bool known() const override { return found_ || covered == 0; }
  void find() override;  // the first call finds and counts the segments
  // Finds the segments and reduces the values in one pass. The output must have space for one result per key.
  bool can_reduce(const SegmentRequest& work) const;
  void find_and_reduce(const SegmentRequest& work);
  const std::vector<Count>& offsets() const override;  // copies the offsets to the host
  void come_to_host() override;
  Segments& on(int device) override;
  // Writes the first key (in the type of the keys) and the length of each run, in device memory.
  void describe(void* firsts, double* lengths) const;
  const void* const keys;
  const bool single;  // true for keys that are floats, false for doubles
  const int device;

 private:
  template <class F> void each_batch(F body) const;  // calls body(batch, plan)
  bool found_ = false;
  std::unique_ptr<Buffer> firsts_;  // results of find_and_reduce()
  mutable std::vector<Count> offsets_;
  std::unique_ptr<Segments> elsewhere_;
};

// The plan of a batch, and its segments, in device memory.
struct BatchPlan {
  BatchPlan(const Segments& segments, const SegmentBatch& batch);
  BatchPlan(const KeyRuns& runs, const SegmentBatch& batch);
  explicit BatchPlan(const SegmentBatch& batch);                  // allocates memory only
  void complete(const KeyRuns& runs, const SegmentBatch& batch);  // `ends` and `limits` must have been computed
  Buffer ends, limits, opens;
  std::unique_ptr<Buffer> offsets, shifts, rows;
  SegmentPlan plan;
  int ended = 0;  // number of runs of keys that end in this batch
};

// The pieces that blocks sort, with one block per piece: some short segments, or a part of a long segment
// (jobs/sort_pieces.h).
struct SortPieces {
  SortPieces(const Segments& segments, int key_bytes, int item_bytes);
  const int key_bytes, item_bytes;
  struct List {
    unsigned count;
    std::unique_ptr<Buffer> memory;
  };
  List short_ones, medium, parts, tiles, numbers;  // numbers: the numbers of the segments in `parts` and `tiles`
  Count longest, longest_of_all;  // the greatest length of a segment: in `parts`, and in `parts` or `tiles`
  unsigned by_digits;             // number of segments in `tiles`
};

// The plans of all batches of segments. The Segments object keeps this object. Plans that are not too large are kept in
// this object, and thus are computed only once.
class DeviceSegments : public BackendCache {
 public:
  // `first` is the plan of the first batch, if runs of keys have already been planned.
  DeviceSegments(const Segments& segments, Count batch_values, std::unique_ptr<BatchPlan> first = nullptr);
  const BatchPlan& plan(size_t batch);
  const unsigned* order();
  const SortPieces& sort_pieces(int key_bytes, int item_bytes);
  bool serves(Count batch_values) const;
  std::vector<SegmentBatch> batches;

 private:
  void cut_by_offsets();
  void cut_by_keys(std::unique_ptr<BatchPlan> plan);
  void keep(size_t batch, std::unique_ptr<BatchPlan> plan);
  const Segments& segments_;
  const KeyRuns* const runs_;  // the segments, if they are runs of keys
  const Count batch_values_;
  const int device_;
  bool keep_;
  std::vector<std::unique_ptr<BatchPlan>> plans_;
  std::unique_ptr<Buffer> order_;
  std::unique_ptr<SortPieces> sort_pieces_;
};
DeviceSegments& on_device(const Segments& segments, Count batch_values);

// ---- values (cuda/segments/values.cpp)

// The size of a batch. If values must be permuted into the order of the segments, and do not all fit into memory, they
// are `staged`: the host permutes one batch at a time.
struct BatchSize {
  Count values, columns;
  bool staged;
};
BatchSize choose_batch_size(const SegmentRequest& work, bool maps);
// Returns whether one batch can hold all values and as many results. Returns false if there are no values, if they are
// not contiguous, if segments have `sources`, or if the values must be staged.
bool fits_one_batch(const SegmentRequest& work);

// Calls body(device, first, columns, staged) for successive groups of columns first .. first + columns - 1.
template <class F> void each_batch_of_columns(const SegmentRequest& work, bool maps, F body) {
  const BatchSize size = choose_batch_size(work, maps);
  DeviceSegments& device = on_device(work.segments, size.values);
  for (Count first = 0; first < work.columns; first += size.columns)
    body(device, first, std::min(size.columns, work.columns - first), size.staged);
}

// Calls f(m, row) for each position m of a batch, where `row` is the row of x that has the value at position m.
template <class F> void each_position(const Segments& segments, const SegmentBatch& batch, F f) {
  const std::vector<Count>& offsets = segments.offsets();
  Count s = batch.row;
  for (Count m = batch.first; m < batch.first + batch.count; ++m) {
    while (m >= offsets[size_t(s) + 1]) ++s;
    f(m, segments.source(s, m));
  }
}

// The values or the weights of some columns, in device memory that the kernels of a batch read.
class Operand {
 public:
  Operand(const SegmentValues& from, const Segments& segments, Count rows, Count first_column, Count columns,
          bool by_batch);
  // Returns an address `a` such that the value at position m of column c is a[m * row + c * column]. Positions are
  // numbered across batches.
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

// The arguments of kernels for each batch, without the address of the results.
class SegmentJobs {
 public:
  SegmentJobs(const SegmentRequest& work, DeviceSegments& device, Count first, Count columns, bool staged);
  SegmentRun operator()(size_t batch);
  void done(size_t batch) const;  // checks for interrupts, if requested

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
// Launches a kernel of cuda/segments/results.cuh for the results of all segments and columns.
void on_results(const char* kernel, const SegmentRequest& work, ResultsJob job);
char* column_of(const Output& out, Count column);
// Sets all results to `value`. Kernels then overwrite the results of segments that are not empty.
void fill_all(const SegmentRequest& work, Count rows, double value);
// Changes results on the device from NaN to NA if a value of the segment was NA.
void mark_missing(const SegmentRequest& work);

}  // namespace cuda
}  // namespace kernops
