// Map-reduce on a GPU: upload, fill the places, launch, fetch.
#include <kernops/device_job.h>

#include <algorithm>
#include <memory>

#include "cuda.h"

namespace kernops {
namespace cuda {
namespace {

Count ceil_div(Count a, Count b) { return (a + b - 1) / b; }

int padded(int entries, int bytes) {
  const int size = entries * bytes;
  return (size <= 4 ? 4 : size <= 8 ? 8 : (size + 15) / 16 * 16) / bytes;
}

constexpr Count most_partial_bytes = Count(1) << 30;
constexpr int shared_bytes = 48 * 1024;  // what every GPU has for a block

bool grouped(const Plan& plan) {
  const std::string& engine = reduction_table()[plan.reduction.row].engine;
  return engine == "LogSumExp" || engine == "SoftMax";
}

// About how many numbers a row keeps in registers, its own entries among them.
int words(const Plan& plan, int entries) {
  return entries + plan.entries[int(Place::pair)] + plan.f_size * (3 + 2 * plan.reduction.k) +
         (grouped(plan) ? 16 + 3 * plan.w_size : 0);
}

// Rows per thread: many amortise the loads of the lanes, few leave registers to long values and fill the
// card. The limits are where the H200 changed its mind.
Shape narrow_shape(const TiledPlan& plan, const Settings& settings, Count rows, int multiprocessors) {
  const int needed = words(plan, plan.kept[int(Place::row)]);
  int most = settings.single && needed <= (plan.expansion.exponent ? 12 : 22) ? 4
             : needed <= (settings.single ? 48 : 24)                          ? 2
                                                                              : 1;
  if (grouped(plan) && plan.expansion.exponent) most = 1;
  if (plan.factor && plan.f_size > 1) most = std::min(most, 2);
  while (most > 2 && rows < Count(most) * 64 * multiprocessors) most /= 2;
  if (rows > 128 && rows < Count(most) * 32 * multiprocessors) most = 1;
  int threads = rows <= 128 && most == 2                                  ? 64
                : settings.single && rows >= Count(256) * multiprocessors ? 256
                                                                          : 128;
  const int lane_bytes = padded(plan.entries[int(Place::lane)], 8) * 8;
  while (threads > 32 && threads * lane_bytes > shared_bytes) threads /= 2;  // a tile has as many lanes
  return {Shape::narrow, most, threads, threads};
}

// A plan is tiled, and its text written, at the first call only.
const TiledPlan& tiled_once(const Plan& plan) {
  static std::map<long, TiledPlan> known;
  const auto found = known.find(plan.id);
  return found != known.end() ? found->second : known.emplace(plan.id, tiled(plan)).first->second;
}

const Kernels& kernels_once(const TiledPlan& plan, const Settings& settings, const Shape& shape) {
  static std::map<std::array<long, 6>, const Kernels*> known;
  const Kernels*& k = known[{plan.id, settings.single, int(settings.scheme), shape.kind,
                             shape.rows_per_thread, shape.threads}];
  if (!k) k = &kernels(source(plan, settings, shape));
  return *k;
}

class CudaBackend : public Backend {
 public:
  CudaBackend() : device_(use_device()) {}

  Count slab() const override { return 1 << 20; }

  void map_reduce(const Plan& untiled, const Data& data, const Settings& settings, Count row_begin,
                  Count row_end, const Target& out) override {
    const Count rows = row_end - row_begin, lanes = data.length(both & ~untiled.rows);
    if (rows == 0) return;
    const TiledPlan& plan = tiled_once(untiled);
    const Shape shape = choose_shape(plan, settings, rows, device_.multiprocessors);
    const Kernels& k = kernels_once(plan, settings, shape);
    const int bytes = settings.single ? 4 : 8;

    const auto once = fill(plan, data, Place::once, k.once, nullptr, 0, 1, bytes);
    const auto x = fill(plan, data, Place::row, k.rows, once.get(), row_begin, rows, bytes);
    const auto y = fill(plan, data, Place::lane, k.lanes, once.get(), 0, lanes, bytes);

    const int size = plan.reduction.size;
    const bool to_host = out.home == Home::host;
    Buffer aside(to_host ? size_t(rows) * size * sizeof(double) : 0);
    PairJob job{once->address(), x->address(), y->address(), 0,      rows, lanes, 0, 0,
                nullptr,         out.data,     out.entry,    out.row};
    if (to_host) job.out = static_cast<double*>(aside.address()), job.out_entry = rows, job.out_row = 1;
    run_pairs(plan, k, shape, job, settings);
    if (to_host) fetch(aside, rows, size, out);
  }

 private:
  std::unique_ptr<Buffer> fill(const Plan& plan, const Data& data, Place place, void* kernel,
                               const Buffer* once, Count first, Count count, int bytes) {
    const int stride = padded(std::max(plan.entries[int(place)], 1), bytes);
    auto out = std::make_unique<Buffer>(size_t(count) * stride * bytes);
    if (count == 0) return out;
    std::vector<DeviceSource> sources;
    for (const Load& load : plan.loads[int(place)]) {
      const Slot& slot = plan.slots[load.slot];
      DeviceSource s{DeviceSource::constant, nullptr, 0, 0, first, load.value, slot.offset, slot.size};
      if (load.kind == Load::index) s.kind = DeviceSource::index;
      if (load.kind == Load::variable || load.kind == Load::reduced) {
        const Column& column = load.kind == Load::variable ? data.variables[load.id] : data.reduced[load.id];
        const Count items =
            place == Place::once ? 1 : data.length(place == Place::row ? plan.rows : both & ~plan.rows);
        const bool floats = column.home == Home::device_float;
        const void* there = column.home == Home::host ? upload(column.data, slot.size, items) : column.data;
        s.kind = floats ? DeviceSource::floats : DeviceSource::doubles;
        s.entry = column.entry, s.item = column.item;
        s.data = static_cast<const char*>(there) +
                 first * column.item * Count(floats ? sizeof(float) : sizeof(double));
      }
      sources.push_back(s);
    }
    AxisJob job{{},   nullptr, int(sources.size()), stride, once ? once->address() : nullptr, out->address(),
                count};
    const bool few = sources.size() <= AxisJob::most;  // they travel with the launch
    Buffer table(few ? 0 : sources.size() * sizeof(DeviceSource));
    if (few) {
      std::copy(sources.begin(), sources.end(), job.sources);
    } else {
      copy_in(table.pointer(), sources.data(), sources.size() * sizeof(DeviceSource));
      job.table = static_cast<const DeviceSource*>(table.address());
    }
    launch(kernel, unsigned(ceil_div(count, 128)), 1, 128, &job);
    return out;
  }

  // Each array of the host once, however many reductions read it.
  const void* upload(const void* data, int size, Count n) {
    auto& buffer = uploads_[data];
    if (!buffer) {
      buffer = std::make_unique<Buffer>(size_t(n) * size * sizeof(double));
      copy_in(buffer->pointer(), data, size_t(n) * size * sizeof(double));
    }
    return buffer->address();
  }

  // Lanes are split where rows alone do not fill the card several times; rows are launched in slabs, so that
  // the caller may interrupt.
  void run_pairs(const Plan& plan, const Kernels& k, const Shape& shape, PairJob& job,
                 const Settings& settings) {
    int resident = 1;
    driver().check(driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&resident, k.pairs, shape.threads, 0),
                   "asking about occupancy");
    const Count rows = job.row_end, per_block = Count(shape.threads) * shape.rows_per_thread;
    const Count filled = Count(std::max(resident, 1)) * device_.multiprocessors;  // blocks that run at a time
    const Count kept = std::min(rows, filled * per_block) * k.partial_bytes;      // bytes of a piece
    const Count waves = plan.reduction.k > 0 ? 1 : 8;  // a list is filled anew in each chunk
    const Count wanted =
        std::min<Count>(waves * filled / ceil_div(rows, per_block), job.lane_count / (2 * shape.lanes));
    const Count pieces = std::max<Count>(1, std::min<Count>(wanted, most_partial_bytes / kept));
    job.chunk = std::max<Count>(1, ceil_div(ceil_div(job.lane_count, pieces), shape.lanes) * shape.lanes);
    job.chunks = int(std::max<Count>(1, ceil_div(job.lane_count, job.chunk)));

    const double cost = double(std::max<Count>(job.lane_count, 1)) * (plan.pair_footprint + 1);
    const bool merges = job.chunks > 1 || shape.kind == Shape::spread;
    Count blocks = std::max<Count>(2 * filled, Count(5e12 / cost / double(per_block)));
    if (merges)
      blocks = std::min<Count>(blocks, most_partial_bytes / (per_block * job.chunks * k.partial_bytes));
    const Count slab = std::max<Count>(1, blocks) * per_block;
    Buffer partials(merges ? size_t(std::min(slab, rows)) * job.chunks * k.partial_bytes : 0);
    job.partials = partials.address();
    for (Count begin = 0; begin < rows; begin += slab) {
      job.row_begin = begin, job.row_end = std::min(begin + slab, rows);
      launch(k.pairs, unsigned(ceil_div(job.row_end - begin, per_block)), unsigned(job.chunks),
             unsigned(shape.threads), &job);
      const bool together = job.chunks > merged_by_one && shape.kind != Shape::spread;
      const Count merging = together ? job.row_end - begin : ceil_div(job.row_end - begin, 64);
      if (merges) launch(k.merge, unsigned(merging), 1, 64, &job);
      if (slab < rows) {
        driver().check(driver().cuCtxSynchronize(), "running a kernel");
        if (settings.keep_going && !settings.keep_going(double(job.row_end) / double(rows)))
          throw Interrupted();
      }
    }
    driver().check(driver().cuCtxSynchronize(), "running a kernel");
  }

  static void fetch(const Buffer& result, Count rows, int size, const Target& out) {
    const size_t count = size_t(rows) * size;
    const bool direct = out.row == 1 && (out.entry == rows || size == 1);
    std::vector<double> aside(direct ? 0 : count);
    copy_out(direct ? out.data : aside.data(), result.pointer(), count * sizeof(double));
    if (direct) return;
    for (int k = 0; k < size; ++k)
      for (Count n = 0; n < rows; ++n) out.data[k * out.entry + n * out.row] = aside[k * rows + n];
  }

  const Device& device_;
  std::map<const void*, std::unique_ptr<Buffer>> uploads_;
};

}  // namespace

// While a thread can hold a row in its registers, it is better off with it; inner products are shared
// earlier.
TiledPlan tiled(const Plan& plan) {
  const int needed = words(plan, plan.entries[int(Place::row)]);
  const TiledPlan shared = tile(plan, needed > 40);
  return needed > 72 || shared.inner_product.size > 0 ? shared : tile(plan, false);
}

// Long vectors, and lanes too long for shared memory, go the wide way: 128 rows a block, one a thread once
// they are contracted, and so many lanes that the sums of 8 x (lanes / 8) pairs stay in registers.
Shape choose_shape(const TiledPlan& plan, const Settings& settings, Count rows, int multiprocessors) {
  const bool too_long = 32 * padded(plan.entries[int(Place::lane)], 8) * 8 > shared_bytes;
  if (!plan.tiled() && !too_long) return narrow_shape(plan, settings, rows, multiprocessors);
  int lanes = settings.single ? 64 : 32;
  for (int sums = 1; sums < int(plan.contractions.size()); sums *= 2) lanes /= 2;
  return {plan.spread.size > 0 ? Shape::spread : Shape::wide, 1, 128, lanes};
}

// All limits of choose_shape() on the rows of a multiprocessor are powers of two.
std::vector<Shape> shapes(const TiledPlan& plan, const Settings& settings) {
  std::vector<Shape> all;
  const auto same = [](const Shape& a, const Shape& b) {
    return a.kind == b.kind && a.rows_per_thread == b.rows_per_thread && a.threads == b.threads &&
           a.lanes == b.lanes;
  };
  for (Count rows = 1 << 16; rows >= 1; rows /= 2) {
    const Shape shape = choose_shape(plan, settings, rows, 1);
    if (all.empty() || !same(all.back(), shape)) all.push_back(shape);
  }
  return all;
}

std::unique_ptr<Backend> backend() { return std::make_unique<CudaBackend>(); }

bool available() {
  try {
    driver();
    return true;
  } catch (const CudaError&) {
    return false;
  }
}

}  // namespace cuda
}  // namespace kernops
