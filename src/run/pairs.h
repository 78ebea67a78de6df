// Map-reduce over pairs: a compiled formula, and its execution by a backend. execute() gives a backend one reduction
// after another.
#pragma once
#include "formula/program.h"
#include "run/data.h"

namespace kernops {

// A compiled formula: the reductions that it needs, in order; the last one is the result.
struct Kernel {
  Program program;
  std::vector<int> order;
  std::vector<std::vector<Plan>> plans;  // plans of the reductions, for each backend
  const Reduction& result() const { return program.graph.reductions[program.result]; }
  bool stores() const;              // true if the terms of the sum are stored
  double work(double pairs) const;  // number of operations for this number of pairs
};
// With `stored`, the kernel stores the terms of a sum: see store_terms().
Kernel make_kernel(const std::string& formula, const std::vector<std::string>& declarations, bool stored = false);

// The reduction of pairs by a backend, on the devices for which it was created.
class Pairs {
 public:
  virtual ~Pairs() = default;
  // Computes rows row_begin..row_end of the plan's result; the output begins with row row_begin.
  virtual void reduce(const Plan& plan, const Data& data, const Settings& settings, Count row_begin, Count row_end,
                      const Output& out) = 0;
  virtual Count batch_of_rows() const = 0;  // number of rows at a time for a sum over both axes
  virtual Temporary keep(Count count);      // allocates in the memory from which this backend reads fastest
  // Copies some contiguous items to the host; `entries` is their number of entries.
  virtual std::vector<double> read(const ArrayRef& array, Count first, Count items, Count entries) const;
  virtual void next_batch(const Data&) {}  // invalidates cached data that do not serve every batch
};

// The backend for this number of pairs of a formula: the requested backend, or the one that holds the memory of the
// data or the result, or the first that supports the formula and for which the transfer is worthwhile.
const Backend& backend_for(const Kernel& kernel, MemorySpace there, double pairs, const Settings& settings);

// Computes the derived data that plans read, such as eigenvalues.
void derive(const Pairs& pairs, const std::vector<Plan>& plans, Data& data);

// Computes a kernel. The result has one row per item of its axis. A sum over both axes is returned to the host. A
// result on a device is written in the order of its stream, without synchronisation.
void execute(const Kernel& kernel, Data data, const Settings& settings, const Output& out);
void execute(Pairs& pairs, const std::vector<Plan>& plans, const Kernel& kernel, Data data, const Settings& settings,
             const Output& out);

// Computes a kernel for each batch; threads share small batches.
void execute_batches(const Kernel& kernel, const Data& data, Count batches, const Settings& settings,
                     const Output& out);

}  // namespace kernops
