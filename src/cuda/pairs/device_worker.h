// One device at work on its part of a map-reduce.
#pragma once
#include <kernops/jobs/device.h>

#include <algorithm>
#include <memory>

#include "cuda/cuda.h"
#include "cuda/pairs/choose.h"

namespace kernops {
namespace cuda {

inline int bytes_of_number(const ArrayRef& array) { return array.space == MemorySpace::device_float ? 4 : 8; }

struct Range {
  Count begin, end;
  Count count() const { return end - begin; }
};

// A map-reduce as all devices see it.
struct Task {
  const TiledPlan& plan;
  const Data& data;
  const Settings& settings;
  Recipe recipe;
  Output out;
  Count first_row;  // which row of the plan's result stands first in `out`
  bool any_columns;

  int bytes() const { return settings.single ? 4 : 8; }
  int stride(Level level) const { return padded(std::max(plan.entries[int(level)], 1), bytes()); }
  Count item_bytes(Level level) const { return Count(stride(level)) * bytes(); }
  Count rows_of_block() const { return recipe.rows(); }
  // Pairs that take some tenths of a second, after which the caller may interrupt.
  Count pairs_of_launch() const { return Count((settings.single ? 1e13 : 3e12) / (plan.pair_footprint + 1)); }

  const Blocks* ranges() const { return data.pairs(plan.rows); }
  Count most_columns(Count columns) const;  // of so many, that a block meets
  Count full_blocks(Count rows) const;      // that meet as many: they have as many pairs as so many rows
};

// With ranges, also the rows that a pair shares its cluster with, on average.
Extent extent_of(Count rows, Count columns, const Blocks* ranges);

// The blocks of some rows, all of which meet some columns; they are launched so many at most at a time.
class Grid {
 public:
  Grid(const Task& task, Range rows, Range columns, Count most);
  Count blocks() const { return blocks_ ? Count(begins_.size()) : ceil_div(rows_, per_block_); }
  void choose(PairJob& job, Count first, Count end) const;

 private:
  Count begin_of(Count block) const {
    return block == blocks() ? rows_ : blocks_ ? begins_[size_t(block)] : block * per_block_;
  }

  Count per_block_, rows_;
  std::vector<Count> begins_;  // where there are ranges: of the blocks
  std::unique_ptr<Buffer> blocks_, intervals_;
};

// The levels of some rows and columns that the kernels read.
struct Levels {
  Levels(const Task& task, Count rows, Count columns)
      : once(size_t(task.item_bytes(Level::uniform))),
        x(size_t(rows * task.item_bytes(Level::row))),
        y(task.recipe.operands == Operands::made_columns ? 0 : size_t(columns * task.item_bytes(Level::column))) {}
  Buffer once, x, y;
};

class DeviceWorker {
 public:
  explicit DeviceWorker(int number) : number_(number) {}
  int number() const { return number_; }

  // Loads the kernels of a task: called by the first thread, before any other.
  void prepare(const Task& task);

  // Copies what other devices hold, unless it is taken in batches: before any device begins, as they would have to
  // end first.
  void fetch(const Task& task, Range rows, Range columns, bool to_states);
  void fetch_all(const Task& task, Range rows, Range columns);

  // Drops the copies of what serves one batch alone.
  void keep_shared(const Data& data);

  // Launches the reduction of a part into the target of the task or, if other devices reduce other columns, into
  // states of the rows, which it returns.
  std::unique_ptr<Buffer> reduce(const Task& task, Range rows, Range columns, const Watch& watch,
                                 bool to_states = false);
  // Reduces a part by panels or lists; false if memory is short or numbers are too far apart.
  bool reduce_in_bulk(const Task& task, Range rows, Range columns, const Watch& watch);
  // Merges states of rows in the order in which they stand, so many after one another, into the target.
  void merge(const Task& task, Range rows, const Buffer& states, int count);

  size_t state_bytes() const { return size_t(kernels_->partial_bytes); }

 private:
  // How much is taken at a time, and how the columns of that batch are split.
  struct Batch {
    Count rows, columns, columns_per_split;
    int states;  // of a row, at a time
  };
  struct Work;

  // The rows and columns that are reduced in bulk, in the memory of the device.
  struct Part {
    const Task& task;
    const Levels levels;
    const Range rows, columns;
    const Watch& watch;
  };
  static Count bytes_of_panels(const Task& task, Count rows, Count columns);
  Count bytes_of_lists(const Task& task, Count rows, Count columns) const;
  bool reduce_by_panels(const Part& part, const PairJob& out);
  bool reduce_by_lists(const Part& part, const PairJob& out);
  Count filled() const;  // blocks that run at a time
  static bool starts_early(Range rows, Range columns);
  Batch choose_batch(const Task& task, Count rows, Count columns, bool to_states);
  void split_columns(const Task& task, Count rows, Count columns, bool to_states, Batch& batch) const;
  Count columns_of_launch(const Task& task, Count rows, Count columns) const;
  Count bytes_of(const Task& task, Level level) const;
  size_t memory_for(size_t needed);
  std::vector<DeviceSource> sources(const Task& task, Level level, Range items, double* given);
  void fill(const Task& task, const Levels& levels, Range rows, Range columns);
  void reduce_pairs(Work& work, Range rows, Range columns);
  void read_levels(const Work& work, Range columns, PairJob& job);
  PairJob keep_states(const Work& work, Range rows, Range columns, PairJob& job) const;
  void merge_states(const Task& task, const PairJob& job);
  ArrayRef here(const ArrayRef& array, int size, Range items);
  bool is_here(const ArrayRef& array) const;

  bool writes_directly(const Output& out) const;
  size_t bytes_aside(const Task& task, Count rows) const;  // of results whose target is elsewhere
  void deliver(const Task& task, Range rows, const Buffer& from);
  PairJob job_for(const Task& task, Range rows, const Buffer& aside) const;

  int number_;
  const Kernels* kernels_ = nullptr;
  std::map<std::array<Count, 3>, std::unique_ptr<Buffer>> copies_;  // of data from elsewhere: address, items
};

}  // namespace cuda
}  // namespace kernops
