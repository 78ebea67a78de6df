// What runs a Program. Each backend offers the same map_reduce; execute() feeds it one reduction after
// another.
#pragma once
#include <kernops/job.h>

#include <functional>
#include <memory>

#include "formula.h"

namespace kernops {

// Entry k of item n at data[k * entry + n * item].
struct Column {
  const double* data = nullptr;
  Count entry = 0, item = 0;
};

enum class Where { automatic, cpu, cuda };

struct Settings {
  Where where = Where::automatic;
  bool single = false;  // float32 arithmetic
  SumScheme scheme = SumScheme::automatic;
  int threads = 1;
  std::string isa;                         // an instruction set by name, or the best one
  std::function<bool(double)> keep_going;  // told the fraction done; false interrupts
};

struct Interrupted {};

// Everything a reduction reads: the variables, what was reduced before it, and the lengths of the axes.
struct Data {
  std::vector<Column> variables, reduced;
  Count m, n;
  Count length(unsigned axis) const { return axis == axis_i ? m : n; }
};

// A compiled formula: the reductions it needs, in order, the result last.
struct Kernel {
  Program program;
  std::vector<int> order;
  std::vector<Plan> plans;
  std::vector<Plan> gpu_plans;  // of the same reductions
};
Kernel make_kernel(const std::string& formula, const std::vector<std::string>& declarations);

// The result has one row per item of its axis, entry k of row n at out[k * out_entry + n * out_row].
void execute(const Kernel& kernel, Data data, const Settings& settings, double* out, Count out_entry,
             Count out_row);

class Backend {
 public:
  virtual ~Backend() = default;
  // Rows row_begin..row_end of the plan's result, into out as above, counted from row_begin.
  virtual void map_reduce(const Plan& plan, const Data& data, const Settings& settings, Count row_begin,
                          Count row_end, double* out, Count out_entry, Count out_row) = 0;
  virtual Count slab() const = 0;  // rows at a time, for a sum over both axes
};

namespace cpu {
std::vector<std::string> instruction_sets();  // of this machine, the best one first
std::unique_ptr<Backend> backend();
}  // namespace cpu
namespace cuda {
bool available();
std::unique_ptr<Backend> backend();  // throws CudaError where there is no GPU
}  // namespace cuda

}  // namespace kernops
