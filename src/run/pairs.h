// Map-reduce over pairs: a compiled formula, and what a backend does of it. execute() feeds a backend one reduction
// after another.
#pragma once
#include "formula/program.h"
#include "run/data.h"

namespace kernops {

// A compiled formula: the reductions it needs, in order, the result last.
struct Kernel {
  Program program;
  std::vector<int> order;
  std::vector<std::vector<Plan>> plans;  // of these reductions, for each backend
  const Reduction& result() const { return program.graph.reductions[program.result]; }
  bool stores() const;              // the terms of its sum
  double work(double pairs) const;  // operations, for so many pairs
};
// With `stored`, the terms of a sum: see store_terms().
Kernel make_kernel(const std::string& formula, const std::vector<std::string>& declarations, bool stored = false);

// How a backend reduces pairs, on the devices that it was made for.
class Pairs {
 public:
  virtual ~Pairs() = default;
  // Rows row_begin..row_end of the plan's result, counted from row_begin.
  virtual void reduce(const Plan& plan, const Data& data, const Settings& settings, Count row_begin, Count row_end,
                      const Output& out) = 0;
  virtual Count batch_of_rows() const = 0;  // rows at a time, for a sum over both axes
  virtual Temporary keep(Count count);      // where this backend reads them best
  // Some items next to each other, one after the other, and so many entries of each.
  virtual std::vector<double> read(const ArrayRef& array, Count first, Count items, Count entries) const;
  virtual void next_batch(const Data&) {}  // of what it keeps, only what serves every batch is of use
};

// The backend that computes so many pairs of a formula: the one that is wanted, or that holds the memory where data or
// the result are, or the first that pays off and can.
const Backend& backend_for(const Kernel& kernel, MemorySpace there, double pairs, const Settings& settings);

// Finds what plans read that is derived from variables.
void derive(const Pairs& pairs, const std::vector<Plan>& plans, Data& data);

// The result has one row per item of its axis. A sum over both axes goes to the host. A result on a device is written
// in its order: nobody waits for it.
void execute(const Kernel& kernel, Data data, const Settings& settings, const Output& out);
void execute(Pairs& pairs, const std::vector<Plan>& plans, const Kernel& kernel, Data data, const Settings& settings,
             const Output& out);

// The same for each batch; small ones share the threads out among them.
void execute_batches(const Kernel& kernel, const Data& data, Count batches, const Settings& settings,
                     const Output& out);

}  // namespace kernops
