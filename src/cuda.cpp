// Map-reduce on a GPU: upload, fill the places, launch, fetch.
#include <kernops/device_job.h>

#include <algorithm>
#include <memory>

#include "cuda.h"

namespace kernops {
namespace cuda {
namespace {

Count ceil_div(Count a, Count b) { return (a + b - 1) / b; }

class CudaBackend : public Backend {
 public:
  CudaBackend() : device_(use_device()) {}

  Count slab() const override { return 1 << 20; }

  void map_reduce(const Plan& plan, const Data& data, const Settings& settings, Count row_begin, Count row_end, double* out,
                  Count out_entry, Count out_row) override {
    const Count rows = row_end - row_begin, lanes = data.length(both & ~plan.rows);
    if (rows == 0) return;
    const Shape shape = choose_shape(plan, settings, rows);
    const Kernels& k = kernels(source(plan, settings, shape));
    const int bytes = settings.single ? 4 : 8;

    const auto once = fill(plan, data, Place::once, k.once, nullptr, 0, 1, bytes);
    const auto x = fill(plan, data, Place::row, k.rows, once.get(), row_begin, rows, bytes);
    const auto y = fill(plan, data, Place::lane, k.lanes, once.get(), 0, lanes, bytes);

    const int size = plan.reduction.size;
    Buffer result(size_t(rows) * size * sizeof(double));
    PairJob job{once->address(), x->address(), y->address(), 0, rows, lanes, 0, 0, nullptr,
                static_cast<double*>(result.address()), rows, 1};
    run_pairs(plan, k, shape, job, settings);
    fetch(result, rows, size, out, out_entry, out_row);
  }

 private:
  Shape choose_shape(const Plan& plan, const Settings& settings, Count rows) const {
    const std::vector<Shape> all = shapes(plan, settings);
    size_t n = 0;
    while (n + 1 < all.size() && rows < Count(all[n].rows_per_thread) * 64 * device_.multiprocessors) ++n;
    return all[n];
  }

  std::unique_ptr<Buffer> fill(const Plan& plan, const Data& data, Place place, void* kernel, const Buffer* once,
                               Count first, Count count, int bytes) {
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
        s.kind = DeviceSource::doubles, s.entry = column.entry, s.item = column.item;
        s.data = upload(column.data, slot.size, place == Place::once ? 1 : data.length(place == Place::row ? plan.rows : both & ~plan.rows)) +
                 first * column.item;
      }
      sources.push_back(s);
    }
    Buffer table(sources.size() * sizeof(DeviceSource));
    copy_in(table, sources.data(), sources.size() * sizeof(DeviceSource));
    AxisJob job{static_cast<const DeviceSource*>(table.address()), int(sources.size()), stride,
                once ? once->address() : nullptr, out->address(), count};
    launch(kernel, unsigned(ceil_div(count, 128)), 1, 128, &job);
    return out;
  }

  // Each array of the host once, however many reductions read it.
  const double* upload(const double* data, int size, Count n) {
    auto& buffer = uploads_[data];
    if (!buffer) {
      buffer = std::make_unique<Buffer>(size_t(n) * size * sizeof(double));
      copy_in(*buffer, data, size_t(n) * size * sizeof(double));
    }
    return static_cast<const double*>(buffer->address());
  }

  static void copy_in(const Buffer& to, const void* from, size_t bytes) {
    if (bytes) driver().check(driver().cuMemcpyHtoD_v2(to.pointer(), from, bytes), "copying to the GPU");
  }

  // Lanes are split where rows alone do not fill the card several times; rows are launched in slabs, so that the
  // caller may interrupt.
  void run_pairs(const Plan& plan, const Kernels& k, const Shape& shape, PairJob& job, const Settings& settings) {
    int resident = 1;
    driver().check(driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&resident, k.pairs, shape.threads, 0), "asking about occupancy");
    const Count rows = job.row_end, per_block = Count(shape.threads) * shape.rows_per_thread;
    const Count wanted = Count(8) * std::max(resident, 1) * device_.multiprocessors;
    const Count pieces = std::max<Count>(1, std::min<Count>(ceil_div(wanted, ceil_div(rows, per_block)), job.lane_count / (2 * shape.threads)));
    job.chunk = std::max<Count>(1, ceil_div(ceil_div(job.lane_count, pieces), shape.threads) * shape.threads);
    job.chunks = int(std::max<Count>(1, ceil_div(job.lane_count, job.chunk)));

    const double cost = double(std::max<Count>(job.lane_count, 1)) * (plan.pair_footprint + 1);
    const Count slab = std::max<Count>(1, Count(1e12 / cost / double(per_block))) * per_block;
    Buffer partials(job.chunks > 1 ? size_t(std::min(slab, rows)) * job.chunks * k.partial_bytes : 0);
    job.partials = partials.address();
    for (Count begin = 0; begin < rows; begin += slab) {
      job.row_begin = begin, job.row_end = std::min(begin + slab, rows);
      launch(k.pairs, unsigned(ceil_div(job.row_end - begin, per_block)), unsigned(job.chunks), unsigned(shape.threads), &job);
      if (job.chunks > 1) launch(k.merge, unsigned(ceil_div(job.row_end - begin, 64)), 1, 64, &job);
      if (slab < rows) {
        driver().check(driver().cuCtxSynchronize(), "running a kernel");
        if (settings.keep_going && !settings.keep_going(double(job.row_end) / double(rows))) throw Interrupted();
      }
    }
    driver().check(driver().cuCtxSynchronize(), "running a kernel");
  }

  static void fetch(const Buffer& result, Count rows, int size, double* out, Count out_entry, Count out_row) {
    const size_t count = size_t(rows) * size;
    const bool direct = out_row == 1 && (out_entry == rows || size == 1);
    std::vector<double> aside(direct ? 0 : count);
    double* to = direct ? out : aside.data();
    driver().check(driver().cuMemcpyDtoH_v2(to, result.pointer(), count * sizeof(double)), "copying from the GPU");
    if (direct) return;
    for (int k = 0; k < size; ++k)
      for (Count n = 0; n < rows; ++n) out[k * out_entry + n * out_row] = aside[k * rows + n];
  }

  const Device& device_;
  std::map<const double*, std::unique_ptr<Buffer>> uploads_;
};

}  // namespace

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
