// Map-reduce on one or several GPUs. The devices share the rows or, if there are few rows, the columns.
#include <kernops/sixteen_bits.h>

#include <algorithm>
#include <set>

#include "cuda/blas.h"
#include "cuda/pairs/device_worker.h"

namespace kernops {
namespace cuda {
namespace {

// The layouts of a plan, indexed by the settings on which layouts depend: float32 or not, and compensated sums or not.
struct LayoutCache : PlanCache {
  std::map<std::pair<bool, bool>, Layouts> layouts;
};

// Returns the layouts of a plan. The first call computes and stores the layouts.
const Layouts& layouts_once(const Plan& plan, const Settings& settings) {
  if (!plan.cache) plan.cache = std::make_shared<LayoutCache>();
  auto& known = dynamic_cast<LayoutCache&>(*plan.cache).layouts;
  const auto key = std::make_pair(settings.single, adds_carefully(settings));
  const auto match = known.find(key);
  return match != known.end() ? match->second : known.emplace(key, lay_out(plan, settings)).first->second;
}

// Returns part n of a range that is divided into `parts` parts of equal size; the last part may be smaller.
Range part(Range all, size_t n, size_t parts) {
  const Count size = ceil_div(all.count(), Count(parts));
  const Count begin = std::min(all.begin + Count(n) * size, all.end);
  return {begin, std::min(begin + size, all.end)};
}

// The destructor waits for the current device, also after an exception.
struct Finally {
  ~Finally() { driver().cuCtxSynchronize(); }
};

class CudaPairs : public Pairs {
 public:
  explicit CudaPairs(const std::vector<int>& devices) {
    for (const int number : devices) workers_.emplace_back(number);
  }

  Count batch_of_rows() const override { return Count(workers_.size()) << 20; }

  void next_batch(const Data& data) override {
    for (DeviceWorker& worker : workers_) worker.keep_shared(data);
  }

  Temporary keep(Count count) override {
    use_device(first().number());
    try {
      const auto memory = std::make_shared<Buffer>(size_t(count) * sizeof(double));
      return {static_cast<double*>(memory->address()), MemorySpace::device_double, first().number(), memory};
    } catch (const CudaError& error) {
      if (error.kind != std::string("memory")) throw;
      return Pairs::keep(count);
    }
  }

  std::vector<double> read(const ArrayRef& array, Count first, Count items, Count entries) const override {
    if (array.space == MemorySpace::host) return Pairs::read(array, first, items, entries);
    use_device(array.device);
    std::vector<double> numbers(size_t(items * entries));
    // a run is copied with the gaps between its numbers; therefore runs follow the dimension with the smaller stride
    const bool by_item = array.entry <= array.item;
    const Count runs = by_item ? items : entries, count = by_item ? entries : items;
    const Count stride = by_item ? array.entry : array.item, apart = by_item ? array.item : array.entry;
    for (Count run = 0; run < runs; ++run) {
      const Count at = first * array.item + run * apart;
      const auto all = read_numbers(array, at, count, stride);
      for (Count n = 0; n < count; ++n)
        numbers[size_t(by_item ? run * entries + n : n * entries + run)] = all[size_t(n * stride)];
    }
    return numbers;
  }

  void reduce(const Plan& untiled, const Data& data, const Settings& settings, Count row_begin, Count row_end,
              const Output& out) override {
    const Range rows{row_begin, row_end}, columns{0, data.length(both & ~untiled.rows)};
    if (rows.count() == 0) return;
    const Call call{layouts_once(untiled, settings), data, settings, columns, out, row_begin};
    const Count rows_of_device = part(rows, 0, workers_.size()).count();
    for (int attempt = 0; attempt < last_attempt; ++attempt) {
      const Recipe recipe = choose_for(call, rows_of_device, attempt);
      if (!recipe.in_bulk()) break;
      const Settings numbers = numbers_of(recipe, settings);
      if (reduce_in_bulk({call.layouts.of(recipe), data, numbers, recipe, out, row_begin, true}, rows, columns)) return;
    }
    if (untiled.stores) return store(call, rows);
    if (workers_.size() == 1) return reduce_alone(make_task(call, rows.count()), rows, columns);
    const Task by_rows = make_task(call, rows_of_device);
    if (should_split_columns(by_rows, rows, columns))
      reduce_together(make_task(call, rows.count()), rows, columns, true);
    else
      reduce_together(by_rows, rows, columns, false);
  }

 private:
  struct Call {
    const Layouts& layouts;
    const Data& data;
    const Settings& settings;
    const Range columns;
    const Output out;
    const Count first_row;
    unsigned rows_axis() const { return layouts.plans[0].rows; }
  };

  Recipe choose_for(const Call& call, Count rows_of_device, int attempt) {
    const Device& device = use_device(first().number());
    const Gpu gpu(device.architecture, device.multiprocessors, device.fast_doubles);
    const Extent extent = extent_of(rows_of_device, call.columns.count(), call.data.pairs(call.rows_axis()));
    return choose(call.layouts.features, call.settings, gpu, extent, attempt);
  }
  Task make_task(const Call& call, Count rows_of_device) {
    const Recipe recipe = choose_for(call, rows_of_device, last_attempt);
    // if the reduction is restricted to ranges, a block may have no columns
    const bool any_columns = !recipe.ranges && call.columns.count() > 0;
    return {call.layouts.of(recipe), call.data, call.settings, recipe, call.out, call.first_row, any_columns};
  }

  // Copies `count` numbers, which are `stride` numbers apart, to the host. One copy includes the unused numbers between
  // the copied numbers.
  template <class T> static std::vector<double> read_run(const ArrayRef& array, Count at, Count count, Count stride) {
    std::vector<T> all(size_t((count - 1) * stride + 1));
    const auto from = reinterpret_cast<DevicePointer>(static_cast<const T*>(array.data) + at);
    copy_out(all.data(), from, all.size() * sizeof(T));
    std::vector<double> numbers;
    for (const T& number : all) numbers.push_back(double(number));
    return numbers;
  }
  static std::vector<double> read_numbers(const ArrayRef& array, Count at, Count count, Count stride) {
    switch (array.space) {
      case MemorySpace::device_float: return read_run<float>(array, at, count, stride);
      case MemorySpace::device_bfloat16: return read_run<Bfloat16>(array, at, count, stride);
      case MemorySpace::device_float16: return read_run<Float16>(array, at, count, stride);
      default: return read_run<double>(array, at, count, stride);
    }
  }
  DeviceWorker& first() { return workers_.front(); }

  // Reduces pairs by panels or lists: each device processes a part of the rows with all columns. Returns false if
  // memory is short or if values have too large a range.
  bool reduce_in_bulk(const Task& task, Range rows, Range columns) {
    if (task.recipe.mainloop == Mainloop::panels && !has_blas()) return false;
    const bool others = wait_for_others(task.data, task.out);
    for (DeviceWorker& worker : workers_) worker.prepare(task);
    const bool done = workers_.size() == 1 ? first().reduce_in_bulk(task, rows, columns, task.settings.keep_going)
                                           : reduce_in_bulk_together(task, rows, columns);
    use_device(first().number());
    if (others) synchronize();  // other devices do not wait for pending copies of this device
    return done;
  }
  bool reduce_in_bulk_together(const Task& task, Range rows, Range columns) {
    const size_t count = workers_.size();
    std::vector<char> done(count, true);
    try {
      for (size_t n = 0; n < count; ++n) workers_[n].fetch_all(task, part(rows, n, count), columns);
      on_devices(task.settings.keep_going, [&](size_t n, const Watch& watch) {
        const Range some = part(rows, n, count);
        if (some.count() > 0) done[n] = workers_[n].reduce_in_bulk(task, some, columns, watch);
      });
    } catch (const CudaError& error) {
      if (error.kind != std::string("memory")) throw;
      // Only this thread can collect garbage. After a return of false, the caller uses tiles, which take less memory.
      collect_garbage();
      return false;
    }
    return std::all_of(done.begin(), done.end(), [](bool each) { return each; });
  }

  // Stores the value of each pair, on the first device only. If the output is not on this device, each batch of columns
  // is copied to the output.
  void store(const Call& call, Range rows) {
    const int device = first().number();
    const Range columns = call.columns;
    const Output& out = call.out;
    const Task task = make_task(call, rows.count());
    const auto write = [&](const Output& to, Range part) {
      reduce_alone({task.plan, task.data, task.settings, task.recipe, to, rows.begin, task.any_columns}, rows, part);
    };
    if (out.space != MemorySpace::host && out.device == device) return write(out, columns);
    constexpr Count most_numbers = 1 << 24;
    const Count size = task.plan.reduction.size, most = std::max<Count>(1, most_numbers / (rows.count() * size));
    for (Range part{columns.begin, 0}; part.begin < columns.end; part.begin = part.end) {
      part.end = std::min(part.begin + most, columns.end);
      const Count block = rows.count() * part.count();
      use_device(device);
      const Buffer memory(size_t(block * size) * sizeof(double));
      double* const target = static_cast<double*>(memory.address());
      write({target - part.begin * rows.count(), block, rows.count(), MemorySpace::device_double, device}, part);
      for (Count k = 0; k < size; ++k)
        fetch_columns(memory.pointer() + size_t(k * block) * sizeof(double), rows.count(), part, out, k);
    }
  }

  void fetch_columns(DevicePointer from, Count rows, Range columns, const Output& out, Count k) {
    const bool together = out.row == rows;
    const size_t bytes = size_t(together ? rows * columns.count() : rows) * sizeof(double);
    for (Count j = columns.begin; j < (together ? columns.begin + 1 : columns.end); ++j, from += bytes) {
      double* const to = out.data + k * out.entry + j * out.row;
      if (out.space == MemorySpace::host)
        copy_out(to, from, bytes);
      else
        copy_across(reinterpret_cast<DevicePointer>(to), out.device, from, first().number(), bytes);
    }
  }

  void reduce_alone(const Task& task, Range rows, Range columns) {
    first().prepare(task);
    const bool others = wait_for_others(task.data, task.out);
    first().reduce(task, rows, columns, task.settings.keep_going);
    if (others) synchronize();  // other devices do not wait for pending copies of this device
  }

  // Returns true if the devices share the columns, and false if they share the rows. The devices share the rows if
  // there are few columns, or if the many blocks of rows can be distributed almost evenly.
  bool should_split_columns(const Task& by_rows, Range rows, Range columns) const {
    const Count parts = Count(workers_.size());
    return rows.count() < 16 * parts * by_rows.rows_of_block() && columns.count() >= 2 * parts * by_rows.recipe.columns;
  }

  void reduce_together(const Task& task, Range rows, Range columns, bool split_columns) {
    for (DeviceWorker& worker : workers_) worker.prepare(task);
    wait_for_others(task.data, task.out);
    try {
      reduce_parts(task, rows, columns, split_columns);
    } catch (const CudaError& error) {
      if (error.kind != std::string("memory")) throw;
      collect_garbage();  // the threads cannot collect garbage themselves
      reduce_parts(task, rows, columns, split_columns);
    }
  }

  void reduce_parts(const Task& task, Range rows, Range columns, bool split_columns) {
    const size_t count = workers_.size();
    std::vector<std::unique_ptr<Buffer>> states(count);
    const auto part_of = [&](size_t n) {
      return split_columns ? std::make_pair(rows, part(columns, n, count))
                           : std::make_pair(part(rows, n, count), columns);
    };
    for (size_t n = 0; n < count; ++n) {
      const auto [some, these] = part_of(n);
      workers_[n].fetch(task, some, these, split_columns);
    }
    on_devices(task.settings.keep_going, [&](size_t n, const Watch& watch) {
      const auto [some, these] = part_of(n);
      if (some.count() == 0) return;
      states[n] = workers_[n].reduce(task, some, these, watch, split_columns);
    });
    if (split_columns) join(task, rows, states);
  }

  // Calls work(n, watch) for each device n in a separate thread, and waits for all threads.
  template <class Work> void on_devices(const Watch& keep_going, Work work) {
    in_threads(workers_.size(), keep_going, [&](size_t n, const Watch& watch) {
      use_device(workers_[n].number());
      const Finally waits;  // pending kernels may write to the output, even after an exception
      work(n, watch);
      synchronize();
    });
  }

  // Merges the states of all devices, in the order of their columns, and writes the results.
  void join(const Task& task, Range rows, const std::vector<std::unique_ptr<Buffer>>& states) {
    use_device(first().number());
    const size_t bytes = size_t(rows.count()) * first().state_bytes();
    const Buffer all(states.size() * bytes);
    for (size_t n = 0; n < states.size(); ++n)
      copy_across(all.pointer() + n * bytes, first().number(), states[n]->pointer(), workers_[n].number(), bytes);
    first().merge(task, rows, all, int(states.size()));
    synchronize();
  }

  // Waits for all devices that compute or store data of this reduction, because a device does not wait for pending work
  // of other devices. Returns whether several devices are involved.
  bool wait_for_others(const Data& data, const Output& out) {
    std::set<int> involved;
    for (const DeviceWorker& worker : workers_) involved.insert(worker.number());
    for (const auto* arrays : {&data.variables, &data.reduced})
      for (const ArrayRef& array : *arrays)
        if (array.space != MemorySpace::host) involved.insert(array.device);
    if (out.space != MemorySpace::host) involved.insert(out.device);
    if (involved.size() > 1)
      for (const int number : involved) {
        use_device(number);
        synchronize();
      }
    use_device(first().number());
    return involved.size() > 1;
  }

  std::vector<DeviceWorker> workers_;
};

}  // namespace

std::unique_ptr<Pairs> pairs(const std::vector<int>& devices) { return std::make_unique<CudaPairs>(devices); }

}  // namespace cuda
}  // namespace kernops
