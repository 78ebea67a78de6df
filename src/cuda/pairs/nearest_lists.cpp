// Finds the nearest columns of each row by lists of candidates (cuda/wide/nearest.cuh).
#include <kernops/jobs/nearest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "cuda/pairs/device_worker.h"

namespace kernops {
namespace cuda {
namespace {

constexpr unsigned threads = 128, warps = threads / 32;

Count whole(Count items) { return ceil_div(items, nearest_tile) * nearest_tile; }

// Returns the size of one vector of 16-bit numbers, in floats; vectors are padded to chunks of 64 bytes.
Count floats_of_vector(const Task& task) {
  return ceil_div(task.plan.slots[task.plan.nearest.row].size * task.recipe.parts, 32) * 16;
}

// The 16-bit numbers, norms and error bounds that are computed from the vectors of rows or columns.
struct Points {
  Points(const Task& task, Count count)
      : floats(floats_of_vector(task)),
        norms(size_t(whole(count)) * sizeof(double)),
        halves(size_t(whole(count) * floats) * sizeof(float)),
        bounds(size_t(2 * whole(count)) * sizeof(float)) {}
  static Count bytes(const Task& task, Count count) { return whole(count) * (16 + 4 * floats_of_vector(task)); }

  // Returns the addresses of the data of a range of points. `level` has one item of `item_bytes` bytes for each point.
  NearestPoints some(Range range, const Buffer& level, Count item_bytes) const {
    const auto at = [&](const Buffer& buffer, Count bytes) {
      return static_cast<char*>(buffer.address()) + range.begin * bytes;
    };
    return {reinterpret_cast<const double*>(at(level, item_bytes)), int(range.count()),
            reinterpret_cast<double*>(at(norms, 8)), reinterpret_cast<float*>(at(halves, 4 * floats)),
            reinterpret_cast<float*>(at(bounds, 4))};
  }

  const Count floats;
  const Buffer norms, halves, bounds;
};

// The splits of the columns. If there are few blocks of rows, several splits are needed to fill the device. More splits
// would take more time, because each split fills its own lists.
struct Splits {
  int count, columns;  // number of splits; columns of each split except the last one
  int stride;          // distance, in tiles, to the tile that is processed next (tile_after() in cuda/wide/nearest.cuh)

  Splits(Count rows, Count columns_of_row, Count filled) {
    constexpr Count least_tiles = 8;
    const Count tiles = ceil_div(columns_of_row, nearest_tile), blocks = ceil_div(rows, nearest_tile);
    const Count most = std::max<Count>(1, std::min(tiles / least_tiles, ceil_div(4 * filled, blocks)));
    const auto cost = [&](Count parts) {
      return double(ceil_div(blocks * parts, filled)) / double(parts) * (1 + 0.05 * double(parts));
    };
    Count best = 1;
    for (Count parts = 2; parts <= most; ++parts)
      if (cost(parts) < cost(best)) best = parts;
    const Count tiles_of_split = ceil_div(tiles, best);
    columns = int(tiles_of_split * nearest_tile), count = int(ceil_div(tiles, tiles_of_split));
    const Count last = tiles - (count - 1) * tiles_of_split;
    Count step = std::max<Count>(1, Count(0.618 * double(tiles_of_split)));
    while (std::gcd(step, tiles_of_split) != 1 || std::gcd(step, last) != 1) ++step;
    stride = int(step);
  }
};

}  // namespace

// The memory and the kernels of a reduction by lists.
class NearestLists {
 public:
  static constexpr Count rows_of_trial = 2 * nearest_tile;

  NearestLists(const Task& task, const Levels& levels, Count rows, Count columns, Count filled)
      : task_(task),
        text_(source(task.plan, task.settings, task.recipe)),
        levels_(levels),
        rows_(rows),
        at_a_time_(rows_at_a_time(task, rows, columns)),
        splits_(at_a_time_, columns, filled),
        trial_(rows_of_trial, columns, filled),
        x_(task, rows),
        y_(task, columns),
        centre_(size_t(task.plan.slots[task.plan.nearest.row].size) * sizeof(double)),
        longest_(2 * sizeof(double)),
        odd_(sizeof(int)),
        limits_(size_t(whole(rows)) * sizeof(unsigned)),
        lists_(size_t(lists(at_a_time_, splits_, trial_) * bytes_of_list(task))) {
    const double none[2] = {};
    copy_in(longest_.pointer(), none, sizeof none), copy_in(odd_.pointer(), none, sizeof(int));
    job_.columns = y_.some({0, columns}, levels.y, task.item_bytes(Level::column));
    job_.centre = static_cast<double*>(centre_.address()), job_.longest = static_cast<double*>(longest_.address());
    job_.odd = static_cast<int*>(odd_.address()), job_.lists = static_cast<Neighbour*>(lists_.address());
  }
  static Count bytes(const Task& task, Count rows, Count columns, Count filled) {
    const Count some = rows_at_a_time(task, rows, columns);
    const Splits splits(some, columns, filled), trial(rows_of_trial, columns, filled);
    return Points::bytes(task, rows) + Points::bytes(task, columns) + lists(some, splits, trial) * bytes_of_list(task);
  }
  Count at_a_time() const { return at_a_time_; }
  // Returns whether to process a few rows first, as a trial. If there are few products, the trial would take as long as
  // the computation of all rows.
  bool tries() const {
    constexpr double most_products = 1e11;
    const double entries = double(task_.plan.slots[task_.plan.nearest.row].size);
    return rows_ >= 64 * rows_of_trial && double(rows_) * double(job_.columns.count) * entries > most_products;
  }

  void prepare() {
    take({0, rows_});
    const Count points = (whole(rows_) + whole(job_.columns.count)) / warps;
    run(pairs("kernops_centre"), 1), run(pairs("kernops_norms"), points), run(pairs("kernops_halves"), points);
  }
  // Computes the results of some rows; `out` has the address of the result of row 0. Returns false if the bounds of the
  // distances are too coarse to separate the nearest columns from other columns.
  bool finish(Range rows, const PairJob& out, bool trial) {
    const Splits& splits = trial ? trial_ : splits_;
    take(rows);
    job_.splits = splits.count, job_.columns_per_split = splits.columns, job_.stride = splits.stride;
    job_.out = out.out + rows.begin * out.out_row, job_.out_entry = out.out_entry, job_.out_row = out.out_row;
    run(pairs("kernops_pairs"), ceil_div(rows.count(), nearest_tile), splits.count);
    run(function(text_.of_levels(), "kernops_merge"), ceil_div(rows.count(), warps));
    int odd;
    copy_out(&odd, odd_.pointer(), sizeof odd);
    return odd == 0;
  }

 private:
  // Returns the number of rows that the device processes in some tenths of a second. The caller checks for interrupts
  // each time this number of rows has been processed.
  static Count rows_at_a_time(const Task& task, Count rows, Count columns) {
    constexpr Count least = 1 << 12, most = 1 << 17;
    const Count products = Count(5e13) / (columns * task.plan.slots[task.plan.nearest.row].size);
    return std::min(whole(rows), std::min(std::max(whole(products), least), most));
  }
  static Count lists(Count rows, const Splits& splits, const Splits& trial) {
    return std::max(rows * splits.count, rows_of_trial * trial.count);
  }
  static Count bytes_of_list(const Task& task) {
    return (task.plan.nearest.listed + nearest_waiting) * Count(sizeof(Neighbour));
  }
  void take(Range rows) {
    job_.rows = x_.some(rows, levels_.x, task_.item_bytes(Level::row));
    job_.limits = static_cast<unsigned*>(limits_.address()) + rows.begin;
  }
  void* pairs(const char* name) const { return function(text_.of_pairs(), name); }
  void run(void* kernel, Count blocks, int splits = 1) const {
    launch(kernel, unsigned(blocks), unsigned(splits), threads, &job_);
  }

  const Task& task_;
  const Text text_;
  const Levels& levels_;
  const Count rows_, at_a_time_;
  // The splits for all rows, and the splits for a trial with few rows. The trial shows early whether the bounds
  // separate the nearest columns from other columns.
  const Splits splits_, trial_;
  const Points x_, y_;
  const Buffer centre_, longest_, odd_, limits_, lists_;
  NearestJob job_{};
};

Count DeviceWorker::bytes_of_lists(const Task& task, Count rows, Count columns) const {
  return NearestLists::bytes(task, rows, columns, filled());
}

bool DeviceWorker::reduce_by_lists(const Part& part, const PairJob& out) {
  const Count rows_here = part.rows.count();
  NearestLists lists(part.task, part.levels, rows_here, part.columns.count(), filled());
  lists.prepare();
  if (lists.tries() && !lists.finish({0, NearestLists::rows_of_trial}, out, true)) return false;
  for (Range some{0, 0}; some.begin < rows_here; some.begin = some.end) {
    some.end = std::min(some.begin + lists.at_a_time(), rows_here);
    if (!lists.finish(some, out, false)) return false;
    if (some.end < rows_here && part.watch && !part.watch(double(some.end) / double(rows_here))) throw Interrupted();
  }
  return true;
}

}  // namespace cuda
}  // namespace kernops
