// Map-reduce over pairs: a compiled formula, and its evaluation by a backend. execute() passes the reductions to a
// backend, one after another.
#pragma once
#include "formula/program.h"
#include "run/data.h"

namespace kernops {

// A compiled formula: the reductions in the order in which they must be computed; the last one is the result.
struct Kernel {
  Program program;
  std::vector<int> order;
  std::vector<std::vector<Plan>> plans;  // indexed by backend, then by reduction
  const Reduction& result() const { return program.graph.reductions[program.result]; }
  bool stores() const;              // true if the terms of the sum are stored instead of summed
  double work(double pairs) const;  // number of operations for `pairs` pairs
};
// Compiles a formula. If `stored` is true, the kernel stores the terms of a sum: see store_terms().
Kernel make_kernel(const std::string& formula, const std::vector<std::string>& declarations, bool stored = false);

// Reduces pairs by one backend, on the devices of the settings with which Backend::pairs() created the object.
class Pairs {
 public:
  virtual ~Pairs() = default;
  // Computes rows row_begin .. row_end - 1 of the result of a plan; `out` begins with row row_begin.
  virtual void reduce(const Plan& plan, const Data& data, const Settings& settings, Count row_begin, Count row_end,
                      const Output& out) = 0;
  virtual Count batch_of_rows() const = 0;  // for sums over both axes: the number of rows that are reduced at a time
  virtual Temporary keep(Count count);      // allocates the memory that this backend reads fastest
  // Copies contiguous items of an array to the host; each item has `entries` entries.
  virtual std::vector<double> read(const ArrayRef& array, Count first, Count items, Count entries) const;
  virtual void next_batch(const Data&) {}  // invalidates cached data that depend on the batch
};

// Chooses the backend for this number of pairs of a formula. A backend that the user requests is chosen. Without a
// request, the function chooses the backend that holds the memory of the data or of the result or, if this memory is on
// the host, the first backend that supports the formula and for which the transfer is worthwhile.
const Backend& backend_for(const Kernel& kernel, MemorySpace there, double pairs, const Settings& settings);

// Computes the arrays that plans derive from whole variables, such as eigenvalues.
void derive(const Pairs& pairs, const std::vector<Plan>& plans, Data& data);

// Runs a kernel. The result has one row per point of its axis; a sum over both axes is written to host memory. A result
// on a device is written in stream order, and execute() returns without synchronising.
void execute(const Kernel& kernel, Data data, const Settings& settings, const Output& out);
void execute(Pairs& pairs, const std::vector<Plan>& plans, const Kernel& kernel, Data data, const Settings& settings,
             const Output& out);

// Runs a kernel for each batch. Small batches are distributed over threads.
void execute_batches(const Kernel& kernel, const Data& data, Count batches, const Settings& settings,
                     const Output& out);

}  // namespace kernops
