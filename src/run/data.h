// Inputs and outputs of computations: arrays of the host or of a device, pairs, settings. Independent of R.
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

// The memory space of an array, with the type of its numbers; host arrays are doubles.
enum class MemorySpace { host, device_double, device_float, device_bfloat16, device_float16 };

// Entry k of item n is at data[k * entry + n * item]. Batches, which exist on the host only, are `batch` numbers apart.
struct ArrayRef {
  const void* data = nullptr;
  Count entry = 0, item = 0;
  MemorySpace space = MemorySpace::host;
  int device = 0;  // number of the device
  Count batch = 0;
};

// The destination of a result: entry k of row n is at data[k * entry + n * row], as doubles in memory of the host or of
// a device. The stored value of a pair with column m is at data[k * entry + n * row + m].
struct Output {
  double* data;
  Count entry, row;
  MemorySpace space = MemorySpace::host;
  int device = 0;
  Count batch = 0;  // distance between batches
};

// The result of one reduction that the next reduction reads.
struct Temporary {
  double* data;
  MemorySpace space;
  int device;
  std::shared_ptr<void> memory;
};

// Options of a computation: device, precision, memory. R/settings.R makes the list that src/settings.cpp reads.
struct Settings {
  const Backend* backend = nullptr;  // null: determined by the memory of the data and the number of operations
  bool single = false;               // float32 arithmetic
  SumScheme scheme = SumScheme::automatic;
  bool accumulate_double = false;  // terms in float32 are summed in double precision
  int threads = 1;
  std::string isa;                         // name of an instruction set; empty: the best one
  std::function<bool(double)> keep_going;  // receives the fraction done; false interrupts
  std::vector<int> devices = {0};          // numbers of the GPUs to use
  bool stay = false;                       // the result stays on the first device
  Count tile = 0;                          // values of segments per unit of work, for tests; 0: the backend chooses
};

// The pairs as blocks of rows of one axis, which contain all rows in order.
struct Blocks {
  std::vector<RowBlock> rows;
  std::vector<Interval> columns;
  Count pair_count() const;
};
Blocks all_pairs(Count rows, Count columns);
// Selects some rows, renumbered from the first one, and some columns.
Blocks clip(const Blocks& blocks, Count row_begin, Count row_end, Count column_begin, Count column_end);
// Cuts blocks to a limited number of rows.
Blocks cut(const Blocks& blocks, Count most_rows);

// Numbers derived from a whole variable, such as eigenvalues.
struct Derived {
  std::vector<double> numbers;
  ArrayRef array;
};

// The inputs of a reduction: the variables, the results of earlier reductions, the lengths of the axes and, if only
// some pairs are reduced, the pairs by i and by j.
struct Data {
  std::vector<ArrayRef> variables, reduced;
  Count m, n;
  const Blocks* ranges[2] = {};
  std::map<std::pair<Load::Kind, int>, Derived> derived;  // indexed by variable
  // The array from which a load reads, or null if it reads no array.
  const ArrayRef* array(const Load& load) const {
    if (load.kind == Load::variable) return &variables[load.id];
    if (load.kind == Load::reduced) return &reduced[load.id];
    const auto match = derived.find({load.kind, load.id});
    return match == derived.end() ? nullptr : &match->second.array;
  }
  Count length(unsigned axis) const { return axis == axis_i ? m : n; }
  const Blocks* pairs(unsigned axis) const { return ranges[axis == axis_i ? 0 : 1]; }
  Count pair_count() const { return ranges[0] ? ranges[0]->pair_count() : m * n; }
  // The memory space of the variables or, if all are on the host, the given one, to which the result is written.
  MemorySpace memory(MemorySpace space) const {
    for (const ArrayRef& array : variables)
      if (array.space != MemorySpace::host) space = array.space;
    return space;
  }
};

}  // namespace kernops
