// A number for each value, from what is known of its segment: softmax and gradients.
#include <kernops/missing.h>

#include <algorithm>
#include <cmath>

#include "cuda/segments/segments.h"

namespace kernops {
namespace cuda {
namespace {

size_t number_bytes(const Output& out) {
  return out.home == MemorySpace::device_float ? sizeof(float) : sizeof(double);
}
char* column_of(const Output& out, Count column) {
  return reinterpret_cast<char*>(out.data) + size_t(column * out.entry) * number_bytes(out);
}

// Where the numbers of some columns go. Those of the host come chunk by chunk, in the order of the segments, where
// that is the order of the values, or where these come so too.
class Places {
 public:
  Places(const SegmentWork& work, const DeviceSegments& device, Count first, Count columns, bool by_chunk, Count rows)
      : work_(work), first_(first), columns_(columns), rows_(rows), by_chunk_(by_chunk) {
    if (work.out.home != MemorySpace::host) return;
    column_ = by_chunk ? device.chunks[0].count : rows;
    aside_ = std::make_unique<Buffer>(size_t(column_ * columns) * sizeof(double));
    if (by_chunk) return;
    for (Count c = 0; c < columns; ++c)  // what is in no segment stays
      copy_in(aside_->pointer() + size_t(c * rows) * sizeof(double), column_of(work.out, first + c),
              size_t(rows) * sizeof(double));
  }

  void place(SegmentRun& job, const SegmentChunk& chunk) const {
    job.out =
        aside_ ? at<double>(*aside_, by_chunk_ ? -chunk.first : 0) : static_cast<void*>(column_of(work_.out, first_));
    job.out_column = aside_ ? column_ : work_.out.entry;
  }

  void deliver(const SegmentChunk& chunk) const {
    if (!aside_ || !by_chunk_) return;
    std::vector<double> numbers(size_t(chunk.count));
    for (Count c = 0; c < columns_; ++c) {
      copy_out(numbers.data(), aside_->pointer() + size_t(c * column_) * sizeof(double),
               numbers.size() * sizeof(double));
      double* out = reinterpret_cast<double*>(column_of(work_.out, first_ + c));
      each_position(work_.segments, chunk, [&](Count m, Count at) { out[at] = numbers[size_t(m - chunk.first)]; });
    }
  }

  void deliver_all() const {
    if (!aside_ || by_chunk_) return;
    for (Count c = 0; c < columns_; ++c)
      copy_out(column_of(work_.out, first_ + c), aside_->pointer() + size_t(c * rows_) * sizeof(double),
               size_t(rows_) * sizeof(double));
  }

 private:
  const SegmentWork& work_;
  const Count first_, columns_, rows_;
  const bool by_chunk_;
  Count column_ = 0;
  std::unique_ptr<Buffer> aside_;
};

// Everything, before what is in a segment is written.
void fill_all(const SegmentWork& work, Count rows, double value) {
  const Count count = rows * work.columns;
  if (work.out.home == MemorySpace::host) {
    std::fill(work.out.data, work.out.data + count, value);
  } else if (work.out.home == MemorySpace::device_float) {
    const float narrow = float(value);
    unsigned bits;
    static_assert(sizeof bits == sizeof narrow, "a float is a word");
    std::copy_n(reinterpret_cast<const char*>(&narrow), sizeof bits, reinterpret_cast<char*>(&bits));
    driver().check(driver().cuMemsetD32_v2(reinterpret_cast<DevicePointer>(work.out.data), bits, size_t(count)),
                   "filling a result");
  } else {
    ResultsJob job{};
    job.out = work.out.data, job.out_column = job.count = rows, job.columns = work.columns, job.value = value;
    on_results("kernops_fill", work, job);
  }
}

// What a gradient needs of its segments.
struct Part {
  const char *op, *map;
};
struct Gradient {
  const char *name, *what;
  std::vector<Part> parts;
};
const std::vector<Gradient>& gradients() {
  static const std::vector<Gradient> all = {{"sum", "SumGradient", {}},
                                            {"mean", "MeanGradient", {}},
                                            {"var", "VarGradient", {{"mean", "Itself"}}},
                                            {"min", "PositionGradient", {{"argmin", "Itself"}}},
                                            {"max", "PositionGradient", {{"argmax", "Itself"}}},
                                            {"prod", "ProductGradient", {{"prod", "OneForZero"}, {"sum", "IsZero"}}}};
  return all;
}

// Results that stay on the device, as precise as they can be.
std::unique_ptr<Buffer> reduced(SegmentWork work, const char* op) {
  auto there = std::make_unique<Buffer>(size_t(work.segments.count * work.columns) * sizeof(double));
  work.op = operation(op), work.precise = true;
  work.out = {at<double>(*there), work.segments.count, 1, MemorySpace::device_double, current_device().number};
  seg_reduce(work);
  return there;
}

// Whether products have all their digits, so that one divided by a value is the product of the others.
bool can_be_divided(const Buffer& products, Count count) {
  std::vector<double> numbers(static_cast<size_t>(count));
  copy_out(numbers.data(), products.pointer(), numbers.size() * sizeof(double));
  return std::all_of(numbers.begin(), numbers.end(), [](double product) { return std::isnormal(product); });
}

// The largest value of each segment, and the sum of what the exponentials are of it: exact where their logarithm
// would be rounded.
class Exponentials {
 public:
  explicit Exponentials(const SegmentWork& work) : largest_(reduced(work, "max")), mass_(mass_of(work)) {}
  std::vector<const double*> after(const double* first) const {
    return {first, at<double>(*largest_), at<double>(*mass_)};
  }

 private:
  std::unique_ptr<Buffer> mass_of(SegmentWork work) const {
    work.map = "FromLargest", work.given = {nullptr, at<double>(*largest_)};
    return reduced(work, "sum");
  }
  std::unique_ptr<Buffer> largest_, mass_;
};

}  // namespace

void seg_spread(const SegmentWork& work, const std::string& what, bool in_place, double elsewhere) {
  const Segments& segments = work.segments;
  const Count covered = segments.covered, rows = in_place ? segments.values : covered;
  if (covered < rows) fill_all(work, rows, elsewhere);
  if (covered == 0 || work.columns == 0) return;
  each_portion(work, true, [&](DeviceSegments& device, Count first, Count columns, bool staged) {
    SegmentJobs jobs(work, device, first, columns, staged);
    void* spread = function(spread_text(work, what, in_place, staged), "kernops_spread");
    const Places places(work, device, first, columns, in_order(work) || staged, rows);
    for (size_t n = 0; n < device.chunks.size(); ++n) {
      SegmentRun job = jobs(n);
      places.place(job, device.chunks[n]);
      launch(spread, unsigned(device.chunks[n].tiles), unsigned(columns), segment_tile / lane_values(false), &job);
      places.deliver(device.chunks[n]);
      jobs.done(n);
    }
    places.deliver_all();
  });
}

void seg_softmax(const SegmentWork& work) {
  const Exponentials all(work);
  SegmentWork spread = work;
  spread.given = all.after(nullptr);
  seg_spread(spread, "Softmax", true, missing());
}

bool seg_gradient(const SegmentWork& work, const std::string& op, const double* incoming, bool in_place) {
  SegmentWork alone = work, spread = work;
  alone.weights = {};
  if (op == "softmax") {  // the incoming gradient is the weight of each value
    const Exponentials all(alone);
    SegmentWork both = work;
    both.join = "TimesSoftmax", both.given = all.after(nullptr);
    const auto along = reduced(both, "sum");
    spread.given = all.after(at<double>(*along));
    seg_spread(spread, "SoftmaxGradient", true, 0);
    return true;
  }
  if (op == "logsumexp") {
    const Exponentials all(alone);
    spread.given = all.after(incoming);
    seg_spread(spread, "LogSumExpGradient", in_place, 0);
    return true;
  }
  for (const Gradient& gradient : gradients()) {
    if (gradient.name != op) continue;
    std::vector<std::unique_ptr<Buffer>> parts;
    spread.given = {incoming};
    for (const Part& part : gradient.parts) {
      alone.map = part.map;
      parts.push_back(reduced(alone, part.op));
      if (std::string(part.op) == "prod" && !can_be_divided(*parts.back(), work.segments.count * work.columns))
        return false;
      spread.given.push_back(at<double>(*parts.back()));
    }
    seg_spread(spread, gradient.what, in_place, 0);
  }
  return true;
}

}  // namespace cuda
}  // namespace kernops
