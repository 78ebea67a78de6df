// Runs a part of a map-reduce on one device.
#pragma once
#include <kernops/jobs/device.h>

#include <algorithm>
#include <memory>

#include "cuda/cuda.h"
#include "cuda/pairs/choose.h"

namespace kernops {
namespace cuda {

inline int bytes_of_number(const ArrayRef& array) {
  const bool sixteen_bits = array.space == MemorySpace::device_bfloat16 || array.space == MemorySpace::device_float16;
  return sixteen_bits ? 2 : array.space == MemorySpace::device_float ? 4 : 8;
}

struct Range {
  Count begin, end;
  Count count() const { return end - begin; }
};

// A map-reduce. All devices receive the same task.
struct Task {
  const TiledPlan& plan;
  const Data& data;
  const Settings& settings;
  Recipe recipe;
  Output out;
  Count first_row;  // `out` begins with this row of the plan's result
  bool any_columns;

  int bytes() const { return settings.single ? 4 : 8; }
  int stride(Level level) const { return padded(std::max(plan.entries[int(level)], 1), bytes()); }
  Count item_bytes(Level level) const { return Count(stride(level)) * bytes(); }
  // Returns whether another kernel fills the level; if not, the kernel of the pairs computes the items of the level.
  bool is_filled(Level level) const {
    return level == Level::uniform ||
           recipe.operands != (level == Level::row ? Operands::made_rows : Operands::made_columns);
  }
  Count rows_of_block() const { return recipe.rows(); }
  // Returns the number of pairs that a launch reduces in some tenths of a second, so that the user can interrupt.
  Count pairs_of_launch() const { return Count((settings.single ? 1e13 : 3e12) / (plan.pair_footprint + 1)); }

  const Blocks* ranges() const { return data.pairs(plan.rows); }
  Count most_columns(Count columns) const;  // maximum number of columns of a block
  // Returns the number of blocks that together have as many pairs as `rows` rows, if each block has the maximum number
  // of columns.
  Count full_blocks(Count rows) const;
};

// Returns the numbers of rows and columns, and for ranges the average number of rows in the cluster of a pair.
Extent extent_of(Count rows, Count columns, const Blocks* ranges);

// The thread blocks that reduce some rows, divided into launches of at most `most` blocks. All launches process the
// same columns.
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
  std::vector<Count> begins_;  // with ranges: the first row of each block
  std::unique_ptr<Buffer> blocks_, intervals_;
};

// Device memory for the values of a plan: uniform values (`once`), values of some rows (`x`) and of some columns (`y`).
struct Levels {
  Levels(const Task& task, Count rows, Count columns)
      : once(size_t(task.item_bytes(Level::uniform))),
        x(task.is_filled(Level::row) ? size_t(rows * task.item_bytes(Level::row)) : 0),
        y(task.is_filled(Level::column) ? size_t(columns * task.item_bytes(Level::column)) : 0) {}
  Buffer once, x, y;
};

class DeviceWorker {
 public:
  explicit DeviceWorker(int number) : number_(number) {}
  int number() const { return number_; }

  // Loads the kernels of a task. The first thread must call this function before other threads launch the kernels.
  void prepare(const Task& task);

  // Copies data from other devices, except data that are copied batch by batch. The caller must call this function for
  // all devices before any device begins its work, because each copy waits for the work of the source device.
  void fetch(const Task& task, Range rows, Range columns, bool to_states);
  void fetch_all(const Task& task, Range rows, Range columns);

  // Frees copies of data that belong to a single batch, and keeps copies that all batches read.
  void keep_shared(const Data& data);

  // Launches the reduction of the pairs of `rows` and `columns`. Writes the results to the output of the task. If
  // several devices share the columns (`to_states`), returns the states of the rows instead.
  std::unique_ptr<Buffer> reduce(const Task& task, Range rows, Range columns, const Watch& watch,
                                 bool to_states = false);
  // Reduces a part of the pairs by panels or by lists of nearest columns. Returns false if memory is short or if values
  // have too large a range.
  bool reduce_in_bulk(const Task& task, Range rows, Range columns, const Watch& watch);
  // Merges `count` states of each row, in order, and writes the results to the output.
  void merge(const Task& task, Range rows, const Buffer& states, int count);

  size_t state_bytes() const { return size_t(kernels_->partial_bytes); }

 private:
  // The size of a batch, and the number of columns of a split.
  struct Batch {
    Count rows, columns, columns_per_split;
    int states;  // number of states of a row that are in memory at a time
  };
  struct Work;

  // The rows and columns of a reduction by panels or lists, and their levels in device memory.
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
  Count filled() const;  // number of blocks that run at a time
  static bool starts_early(Range rows, Range columns);
  Batch choose_batch(const Task& task, Count rows, Count columns, bool to_states);
  void split_columns(const Task& task, Count rows, Count columns, bool to_states, Batch& batch) const;
  Count columns_of_launch(const Task& task, Count rows, Count columns) const;
  Count bytes_of(const Task& task, Level level) const;
  size_t memory_for(size_t needed);
  std::vector<DeviceSource> sources(const Task& task, Level level, Range items, double* arguments);
  void fill(const Task& task, const Levels& levels, Range rows, Range columns);
  void reduce_pairs(Work& work, Range rows, Range columns);
  void read_levels(const Work& work, Range rows, Range columns, PairJob& job);
  PairJob keep_states(const Work& work, Range rows, Range columns, PairJob& job) const;
  void merge_states(const Task& task, const PairJob& job);
  ArrayRef here(const ArrayRef& array, int size, Range items);
  bool is_here(const ArrayRef& array) const;

  bool writes_directly(const Output& out) const;
  size_t bytes_aside(const Task& task, Count rows) const;  // bytes of the temporary buffer for results
  void deliver(const Task& task, Range rows, const Buffer& from);
  PairJob job_for(const Task& task, Range rows, const Buffer& aside) const;

  int number_;
  const Kernels* kernels_ = nullptr;
  std::map<std::array<Count, 3>, std::unique_ptr<Buffer>> copies_;  // indexed by address and range of items
};

}  // namespace cuda
}  // namespace kernops
