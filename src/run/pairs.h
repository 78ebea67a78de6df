// Map-reduce over pairs: a compiled formula, and its execution by a backend. execute() gives a backend one reduction
// after another.
#pragma once
#include "formula/program.h"
#include "run/data.h"

namespace kernops {

// A compiled formula: the reductions it needs, in order, the result last.
struct Kernel {
  Program program;
  std::vector<int> order;
  std::vector<std::vector<Plan>> plans;  // plans of these reductions, for each backend
  const Reduction& result() const { return program.graph.reductions[program.result]; }
  bool stores() const;              // the terms of its sum
  double work(double pairs) const;  // number of operations for this number of pairs
};
// With `stored`, the terms of a sum: see store_terms().
Kernel make_kernel(const std::string& formula, const std::vector<std::string>& declarations, bool stored = false);

// The reduction of pairs by a backend, on the devices for which it was created.
class Pairs {
 public:
  virtual ~Pairs() = default;
  // Rows row_begin..row_end of the plan's result, counted from row_begin.
  virtual void reduce(const Plan& plan, const Data& data, const Settings& settings, Count row_begin, Count row_end,
                      const Output& out) = 0;
  virtual Count batch_of_rows() const = 0;  // rows at a time, for a sum over both axes
  virtual Temporary keep(Count count);      // in the memory from which this backend reads fastest
  // Some contiguous items, and their number of entries.
  virtual std::vector<double> read(const ArrayRef& array, Count first, Count items, Count entries) const;
  virtual void next_batch(const Data&) {}  // invalidates cached data, except those that serve every batch
};

// The backend that computes this number of pairs of a formula: the requested one, or the one that holds the memory of
// data or result, or the first that supports it and is worth the transfer.
const Backend& backend_for(const Kernel& kernel, MemorySpace there, double pairs, const Settings& settings);

// Computes the data derived from variables that plans read.
void derive(const Pairs& pairs, const std::vector<Plan>& plans, Data& data);

// The result has one row per item of its axis. A sum over both axes goes to the host. A result on a device is written
// in the order of its stream, without synchronisation.
void execute(const Kernel& kernel, Data data, const Settings& settings, const Output& out);
void execute(Pairs& pairs, const std::vector<Plan>& plans, const Kernel& kernel, Data data, const Settings& settings,
             const Output& out);

// The same for each batch; threads share small batches.
void execute_batches(const Kernel& kernel, const Data& data, Count batches, const Settings& settings,
                     const Output& out);

}  // namespace kernops
