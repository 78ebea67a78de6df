// Sums of exponentials with many weights, as those of a softmax, take two passes: the largest exponent of each row,
// then sum_j exp(f - top) w, a sum of long vectors like any other. A thread that had the sums of a row, as
// cuda/shifted_exp.cuh has, would keep them in local memory, and be compiled for 20 seconds.
#include <kernops/jobs/shifted_sums.h>

#include "cuda/pairs/device_worker.h"
#include "formula/op_table.h"
#include "formula/regroup.h"

namespace kernops {
namespace cuda {

std::shared_ptr<const ShiftedSums> shifted_sums(Graph& graph, const Reduction& reduction) {
  constexpr int many = 16;
  const ReductionRow& row = reduction_table()[reduction.row];
  const int weights = reduction.w < 0 ? 1 : graph[reduction.w].size;
  const bool softmax = row.accumulator == Accumulator::SoftMax;
  if (!row.exponentiates() || weights < many || (softmax && graph[reduction.w].axes == both)) return nullptr;
  const Tree f = reduction.f, one = graph.constant(1);
  const auto reduced = [&](const char* name, Tree what) {
    return Reduction{find_reduction(name, false), 0, what, -1, reduction.over, graph[what].size};
  };
  const auto plan = [&](const Reduction& r) { return kernops::plan(graph, regroup(graph, r, true)); };
  const Reduction largest = reduced("Max", f);
  const Tree top = graph.reduced(largest);
  const int number = graph[top].id;
  // an infinite exponent is 0 as seen from itself
  const Tree most = graph.constant(ShiftedSumsJob::most), least = graph.constant(-ShiftedSumsJob::most);
  const Tree origin = graph.operation(OpId::Clamp, {top, least, most});
  const Tree seen = graph.operation(OpId::Subtract, {graph.operation(OpId::Min2, {f, most}), origin});
  const Tree power = graph.operation(OpId::Exp, {seen});
  const Tree summed = softmax ? graph.operation(OpId::Concat, {reduction.w, one}) : reduction.w;
  const Reduction sums = reduced("Sum", graph.operation(OpId::Mult, {power, summed}));
  return std::make_shared<ShiftedSums>(ShiftedSums{number, plan(largest), plan(sums)});
}

void DeviceWorker::finish_shifted_sums(const Task& task, Range rows, const double* top, const double* sums) {
  use_device(number_);
  const Accumulator kind = reduction_table()[task.plan.reduction.row].accumulator;
  const int results = task.plan.reduction.size;
  const bool direct = writes_directly(task.out);
  const Buffer aside(direct ? 0 : size_t(rows.count() * results) * sizeof(double));
  const PairJob to = job_for(task, rows, direct ? nullptr : &aside);
  const ShiftedSumsJob job{top,
                           sums,
                           task.plan.shifted->sums.reduction.size,
                           results,
                           kind == Accumulator::MaxSumShiftExp,
                           kind == Accumulator::LogSumExp,
                           kind == Accumulator::SoftMax,
                           rows.count(),
                           to.out,
                           to.out_entry,
                           to.out_row};
  constexpr unsigned threads = 256;
  static const std::string text = "#include <kernops/cuda/wide/shifted_sums.cuh>\nKERNOPS_SHIFTED_SUMS\n";
  launch(function(text, "kernops_finish_shifted_sums"), unsigned(ceil_div(rows.count() * results, threads)), 1, threads,
         &job);
  if (!direct) deliver(task, rows, aside);
}

}  // namespace cuda
}  // namespace kernops
