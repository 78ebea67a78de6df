// Reductions over array dimensions on the GPU: distributes slices (the values of one result) to thread blocks, and
// launches the kernels of cuda/axes/reduce.cuh.
#include <algorithm>
#include <stdexcept>

#include "axes/axes.h"
#include "cuda/cuda.h"
#include "cuda/segments/segments.h"

namespace kernops {
namespace cuda {
namespace {

constexpr Count block = 256, warp = 32, enough_blocks = 4096, most_chunks = 4096;

// Returns the smallest power of 2 that is at least n, but not more than `most`.
Count power_of_2(Count n, Count most) {
  Count power = 1;
  while (power < n && power < most) power *= 2;
  return power;
}

// Distributes slices such that neighbouring threads read neighbouring values. If there are too few results to occupy
// the device, several blocks share a slice.
void lay_out(SliceJob& job) {
  const Run first = job.reduced.count ? job.reduced.run[0] : Run{1, 1, 1};
  job.along = job.reduced.count > 0 && first.stride == 1;
  if (job.along) {
    job.parts = int(power_of_2(std::max<Count>(first.size / 16, 4), block));
  } else {
    const Count side_by_side = job.kept.count ? power_of_2(job.kept.run[0].size, warp) : 1;
    job.parts = int(power_of_2(first.size, block / side_by_side));
  }
  const Count blocks = ceil_div(job.results, block / job.parts);
  const Count chunks = std::min({enough_blocks / blocks, Count(job.slice / (32 * job.parts)), most_chunks});
  job.chunk = ceil_div(std::max<Count>(job.slice, 1), std::max<Count>(chunks, 1));
}

size_t partial_bytes(const SliceJob& job, size_t state_bytes) {
  return job.chunks() > 1 ? size_t(job.results * job.chunks()) * state_bytes : 0;
}

// The statistic whose states a softmax computes in its first pass.
const Statistic& logsumexp() { return statistics()[int(StatisticId::logsumexp)]; }

const char* type_of(const SliceJob& job) { return job.doubles ? "double" : job.floats ? "float" : "int"; }

// Launches the kernels for one reduction.
class Launcher {
 public:
  Launcher(SliceJob& job, const std::string& text)
      : job_(job), text_(text), blocks_(unsigned(ceil_div(job.results, block / job.parts))) {}

  void operator()(const char* name) const { run(name, blocks_, unsigned(job_.chunks())); }
  void once(const char* name) const { run(name, blocks_, 1); }
  void by_result(const char* name) const { run(name, unsigned(std::min<Count>(job_.results, 1 << 30)), 1); }
  void wait() const { driver().check(driver().cuCtxSynchronize(), "running a kernel"); }

 private:
  void run(const char* name, unsigned grid_x, unsigned grid_y) const {
    launch(function(text_, name), grid_x, grid_y, unsigned(block), &job_);
  }
  SliceJob& job_;
  std::string text_;
  unsigned blocks_;
};

}  // namespace

std::string axis_source(const std::string& op, const std::string& type, bool skip) {
  const std::string last = type + ", " + (skip ? "true" : "false") + ")\n";
  if (op == "softmax") return "#include <kernops/cuda/axes/softmax.cuh>\nKERNOPS_AXIS_SOFTMAX(" + last;
  for (const Statistic& row : statistics())
    if (row.name == op) return "#include <kernops/cuda/axes/reduce.cuh>\nKERNOPS_AXIS(" + row.structure + ", " + last;
  throw std::invalid_argument("there is no operation '" + op + "'");
}

namespace {

std::string axis_fold_source(const SegmentFormula& formula, const std::string& type, bool skip) {
  return "#include <kernops/cuda/axes/fold.cuh>\n#include <kernops/cuda/values.cuh>\nusing namespace kernops;\n"
         "using T = double;\n" +
         join_function("Join", formula.plan) + "KERNOPS_AXIS_FOLD(Join, " + type + ", " + (skip ? "true" : "false") +
         ")\n";
}

constexpr size_t fold_bytes = 16;  // size of a FoldState of cuda/axes/fold.cuh

void reduce(SliceJob job, const SegmentFormula* formula) {
  if (job.results == 0) return;
  const Statistic& row = statistics()[job.op];
  lay_out(job);
  const Buffer memory(partial_bytes(job, formula ? fold_bytes : row.state_bytes));
  job.partials = memory.address();
  const Launcher run(job, formula ? axis_fold_source(*formula, type_of(job), job.skip)
                                  : axis_source(row.name, type_of(job), job.skip));
  run("kernops_axis_reduce");
  if (job.chunks() > 1) run.by_result("kernops_axis_merge");
  if (!job.skip && !job.floats) run.once("kernops_axis_missing");
  run.wait();
}

void softmax(SliceJob job) {
  if (job.results == 0 || job.slice == 0) return;
  lay_out(job);
  const Buffer memory(partial_bytes(job, logsumexp().state_bytes));
  job.partials = memory.address();
  const Launcher run(job, axis_source("softmax", type_of(job), job.skip));
  if (job.chunks() > 1) {
    run("kernops_axis_reduce");
    run.by_result("kernops_axis_merge");
  }
  run("kernops_axis_softmax");
  run.wait();
}

// Copies values of the host to the current device. The caller must keep the returned Buffer as long as the job uses it.
std::unique_ptr<Buffer> upload(SliceJob& job, Count values) {
  const void* from = job.doubles ? static_cast<const void*>(job.doubles) : job.integers;
  const size_t bytes = size_t(values) * (job.doubles ? sizeof(double) : sizeof(int));
  auto there = std::make_unique<Buffer>(bytes);
  copy_in(there->pointer(), from, bytes);
  if (job.doubles)
    job.doubles = static_cast<const double*>(there->address());
  else
    job.integers = static_cast<const int*>(there->address());
  return there;
}

void run(const AxisRequest& request, const SliceJob& job) {
  request.softmax ? softmax(job) : reduce(job, request.formula);
}

}  // namespace

void axes(const AxisRequest& request) {
  use_device(request.settings.devices.front());
  SliceJob job = request.job;
  std::unique_ptr<Buffer> values;
  if (request.from == MemorySpace::host) values = upload(job, request.values);
  if (request.to != MemorySpace::host) return run(request, job);
  const size_t count = size_t(request.results());
  const Buffer results(count * sizeof(double));
  job.out = static_cast<double*>(results.address());
  job.out_floats = nullptr;
  run(request, job);
  copy_out(request.job.out, results.pointer(), count * sizeof(double));
}

}  // namespace cuda
}  // namespace kernops
