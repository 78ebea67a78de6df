// What runs a Program. Each backend offers the same map_reduce; execute() feeds it one reduction after
// another.
#pragma once
#include <kernops/jobs/job.h>

#include <functional>
#include <memory>

#include "formula/plan.h"
#include "formula/program.h"

namespace kernops {

inline Count ceil_div(Count n, Count by) { return (n + by - 1) / by; }

// Where an array lives; those of the host are doubles.
enum class MemorySpace { host, device_double, device_float };

// Entry k of item n at data[k * entry + n * item]. Batches, of the host only, are `batch` numbers apart.
struct ArrayRef {
  const void* data = nullptr;
  Count entry = 0, item = 0;
  MemorySpace home = MemorySpace::host;
  int device = 0;  // which one
  Count batch = 0;
};

// Where a result goes: entry k of row n at data[k * entry + n * row], doubles of the host or of the device. Pairs that
// are stored, with their other item m, stand at data[k * entry + n * row + m].
struct Output {
  double* data;
  Count entry, row;
  MemorySpace home = MemorySpace::host;
  int device = 0;
  Count batch = 0;  // numbers from one batch to the next
};

// What one reduction leaves for the next.
struct Temporary {
  double* data;
  MemorySpace home;
  int device;
  std::shared_ptr<void> memory;
};

enum class BackendChoice { automatic, cpu, cuda };

struct Settings {
  BackendChoice backend = BackendChoice::automatic;
  bool single = false;  // float32 arithmetic
  SumScheme scheme = SumScheme::automatic;
  bool accumulate_double = false;  // float32 terms are summed as doubles
  int threads = 1;
  std::string isa;                         // an instruction set by name, or the best one
  std::function<bool(double)> keep_going;  // told the fraction done; false interrupts
  std::vector<int> devices = {0};          // of the GPUs, those to use
};

struct Interrupted {};

// Which pairs there are, seen from one axis: blocks that hold all its items, in order.
struct Blocks {
  std::vector<RowBlock> rows;
  std::vector<Interval> lanes;
  Count pair_count() const;
};
Blocks all_pairs(Count rows, Count lanes);
// Some of the rows, counted from the first of them, and of the lanes.
Blocks clip(const Blocks& blocks, Count row_begin, Count row_end, Count lane_begin, Count lane_end);
// Blocks of at most so many rows.
Blocks cut(const Blocks& blocks, Count most_rows);

// Everything a reduction reads: the variables, what was reduced before it, the lengths of the axes, and the
// pairs as i and as j see them, where not all are there.
struct Data {
  std::vector<ArrayRef> variables, reduced;
  Count m, n;
  const Blocks* ranges[2] = {};
  // What a load reads, or null for what comes from nowhere.
  const ArrayRef* column(const Load& load) const {
    if (load.kind == Load::variable) return &variables[load.id];
    return load.kind == Load::reduced ? &reduced[load.id] : nullptr;
  }
  Count length(unsigned axis) const { return axis == axis_i ? m : n; }
  const Blocks* pairs(unsigned axis) const { return ranges[axis == axis_i ? 0 : 1]; }
  Count pair_count() const { return ranges[0] ? ranges[0]->pair_count() : m * n; }
};

// A compiled formula: the reductions it needs, in order, the result last.
struct Kernel {
  Program program;
  std::vector<int> order;
  std::vector<Plan> plans;
  std::vector<Plan> gpu_plans;  // of the same reductions
  const Reduction& result() const { return program.graph.reductions[program.result]; }
  bool stores() const;  // the terms of its sum
};
// With `stored`, the terms of a sum: see store_terms().
Kernel make_kernel(const std::string& formula, const std::vector<std::string>& declarations, bool stored = false);

// Whether a GPU pays off: there is more to compute than to copy and launch, and there is one.
bool worth_gpu(const Kernel& kernel, Count m, Count n);

// The result has one row per item of its axis. Data or a target on the device take the computation there; a
// sum over both axes goes to the host. A target on the device is written in its order: nobody waits for it.
void execute(const Kernel& kernel, Data data, const Settings& settings, const Output& out);
bool on_gpu(const Kernel& kernel, const Data& data, const Settings& settings, const Output& out);

// The same for each batch; small ones share the threads out among them.
void execute_batches(const Kernel& kernel, const Data& data, Count batches, const Settings& settings,
                     const Output& out);

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const std::vector<Plan>& plans(const Kernel& kernel) const = 0;
  // Rows row_begin..row_end of the plan's result, counted from row_begin.
  virtual void map_reduce(const Plan& plan, const Data& data, const Settings& settings, Count row_begin, Count row_end,
                          const Output& out) = 0;
  virtual Count slab() const = 0;          // rows at a time, for a sum over both axes
  virtual Temporary keep(Count count);     // where this backend reads them best
  virtual void next_batch(const Data&) {}  // of what it keeps, only what serves every batch is of use
};

// The backend that is wanted, or where the data are.
std::unique_ptr<Backend> backend_for(const Kernel& kernel, const Data& data, const Settings& settings,
                                     const Output& out);
void execute(Backend& backend, const Kernel& kernel, Data data, const Settings& settings, const Output& out);

namespace cpu {
std::vector<std::string> instruction_sets();  // of this machine, the best one first
std::unique_ptr<Backend> backend();
}  // namespace cpu
namespace cuda {
bool available();
std::unique_ptr<Backend> backend(const std::vector<int>& devices);
}  // namespace cuda

}  // namespace kernops
