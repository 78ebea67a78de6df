// The inputs and outputs of computations: arrays on the host or on a device, pairs, and settings. This file does not
// depend on R.
#pragma once
#include <kernops/jobs/job.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "formula/plan.h"
#include "run/errors.h"

namespace kernops {

class Backend;

inline Count ceil_div(Count n, Count by) { return (n + by - 1) / by; }

// The memory space of an array, with the type of its numbers; arrays on the host are doubles.
enum class MemorySpace { host, device_double, device_float, device_bfloat16, device_float16 };

// An array in which entry k of item n is at data[k * entry + n * item]. Successive batches are `batch` numbers apart;
// only arrays on the host have batches.
struct ArrayRef {
  const void* data = nullptr;
  Count entry = 0, item = 0;
  MemorySpace space = MemorySpace::host;
  int device = 0;  // number of the device
  Count batch = 0;
};

// The destination of a result, in doubles on the host or on a device. Entry k of row n is at data[k * entry + n * row].
// If values of pairs are stored, entry k of row n and column m is at data[k * entry + n * row + m].
struct Output {
  double* data;
  Count entry, row;
  MemorySpace space = MemorySpace::host;
  int device = 0;
  Count batch = 0;  // distance between batches
};

// Memory for the result of a reduction that a later reduction reads.
struct Temporary {
  double* data;
  MemorySpace space;
  int device;
  std::shared_ptr<void> memory;
};

// Options of a computation, such as device, precision and memory. src/settings.cpp reads them from a list that
// R/settings.R makes.
struct Settings {
  const Backend* backend = nullptr;  // null: chosen by the memory of the data and the number of operations
  bool single = false;               // float32 arithmetic
  SumScheme scheme = SumScheme::automatic;
  bool accumulate_double = false;  // true if terms in float32 are summed in double precision
  int threads = 1;
  std::string isa;                         // name of the instruction set; empty: the best one
  std::function<bool(double)> keep_going;  // receives the fraction that is done; false stops the computation
  std::vector<int> devices = {0};          // numbers of the GPUs that are used
  bool stay = false;                       // true if the result stays on the first device
  Count tile = 0;                          // values per unit of work, set by tests; 0: the backend chooses
};

// The pairs to reduce, as blocks of rows. The blocks contain all rows of one axis in order.
struct Blocks {
  std::vector<RowBlock> rows;
  std::vector<Interval> columns;
  Count pair_count() const;
};
Blocks all_pairs(Count rows, Count columns);
// Restricts blocks to the rows row_begin .. row_end - 1, which are renumbered from 0, and to some columns.
Blocks clip(const Blocks& blocks, Count row_begin, Count row_end, Count column_begin, Count column_end);
// Cuts blocks such that none has more than `most_rows` rows.
Blocks cut(const Blocks& blocks, Count most_rows);

// Numbers that are computed from a whole variable, such as eigenvalues.
struct Derived {
  std::vector<double> numbers;
  ArrayRef array;
};

// The inputs of a reduction: the variables, the results of earlier reductions, and the number of points of each axis.
// If only some pairs are reduced, `ranges` has these pairs twice: as blocks of points i, and as blocks of points j.
struct Data {
  std::vector<ArrayRef> variables, reduced;
  Count m, n;
  const Blocks* ranges[2] = {};
  std::map<std::pair<Load::Kind, int>, Derived> derived;  // indexed by the kind and the number of the variable
  // Returns the array from which a load reads; null if the load reads no array.
  const ArrayRef* array(const Load& load) const {
    if (load.kind == Load::variable) return &variables[load.id];
    if (load.kind == Load::reduced) return &reduced[load.id];
    const auto match = derived.find({load.kind, load.id});
    return match == derived.end() ? nullptr : &match->second.array;
  }
  Count length(unsigned axis) const { return axis == axis_i ? m : n; }
  const Blocks* pairs(unsigned axis) const { return ranges[axis == axis_i ? 0 : 1]; }
  Count pair_count() const { return ranges[0] ? ranges[0]->pair_count() : m * n; }
  // Returns the memory space of the variables. If all variables are on the host, returns `space`, the memory space of
  // the result.
  MemorySpace memory(MemorySpace space) const {
    for (const ArrayRef& array : variables)
      if (array.space != MemorySpace::host) space = array.space;
    return space;
  }
};

}  // namespace kernops
