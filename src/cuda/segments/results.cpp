// Results of segments that stay on the device, and reductions that are made of several.
#include <kernops/segment_reductions.h>

#include "cuda/segments/segments.h"

namespace kernops {
namespace cuda {
namespace {

// What finish() makes of a fresh state; a position that there is not is NaN.
double fresh(int op, int output) {
  int number = 0;
#define SEGMENT_OP(name, reduction, kind, meaning) \
  if (number++ == op) {                            \
    State<reduction, double, Count> state;         \
    reduction::start(state);                       \
    return reduction::finish(state, output);       \
  }
#include <kernops/segments.def>
  return 0;
}

bool looks_for_position(int op) {
  const std::string& name = segment_ops()[size_t(op)].name;
  return name == "argmin" || name == "argmax";
}

size_t result_bytes(const SegmentWork& work) { return size_t(work.segments.count * work.columns) * sizeof(double); }

// The same segments, reduced to the device.
SegmentWork part_of(const SegmentWork& work, const char* op, const Buffer& to) {
  SegmentWork part = work;
  part.op = operation(op), part.formula = nullptr, part.empty = nullptr;
  part.out = {at<double>(to), work.segments.count, 1, MemorySpace::device_double, current_device().number};
  return part;
}

bool any_nan(const SegmentWork& work) {
  int found = 0;
  const Buffer flag(sizeof(int));
  fill(flag, &found, 1);
  ResultsJob job{};
  job.out = work.out.data, job.columns = work.columns * outputs_of(work), job.found = at<int>(flag);
  on_results("kernops_find_nan", work, job);
  copy_out(&found, flag.pointer(), sizeof(int));
  return found != 0;
}

void mark_gaps(const SegmentWork& work) {
  each_portion(work, true, [&](DeviceSegments& device, Count first, Count columns, bool staged) {
    SegmentJobs jobs(work, device, first, columns, staged);
    void* gaps = function(gaps_text(work, staged), "kernops_gaps");
    for (size_t n = 0; n < device.chunks.size(); ++n)
      for (int output = 0; output < outputs_of(work); ++output) {
        SegmentRun job = jobs(n);
        job.out =
            work.out.data + (output * work.columns + first) * work.out.entry + (job.rows ? 0 : device.chunks[n].row);
        job.out_column = work.out.entry;
        launch(gaps, unsigned(device.chunks[n].tiles), unsigned(columns), segment_tile / lane_values(false), &job);
        jobs.done(n);
      }
  });
}

// Weights count how often a value is there.
void weighted_moments(const SegmentWork& work) {
  const std::string& op = segment_ops()[size_t(work.op)].name;
  const Buffer mass(result_bytes(work)), mean(result_bytes(work)), squares(result_bytes(work));
  SegmentWork weigh = part_of(work, "sum", mass);
  weigh.join = "Mass";
  seg_reduce(weigh);
  seg_reduce(part_of(work, "sum", mean));
  ResultsJob job{};
  job.out = at<double>(mean), job.a = at<double>(mean), job.b = at<double>(mass);
  on_results("kernops_mean", work, job);
  if (op != "mean") {
    SegmentWork spread = part_of(work, "sum", squares);
    spread.join = "SquareFromMean", spread.given = {at<double>(mean)};
    seg_reduce(spread);
    job.out = at<double>(squares), job.a = at<double>(mean);
    on_results("kernops_variance", work, job);
    if (op == "sd") on_results("kernops_root", work, job);
  }
  const Buffer& result = op == "mean" ? mean : squares;
  if (work.out.home == MemorySpace::host)
    copy_out(work.out.data, result.pointer(), result_bytes(work));
  else
    copy_across(reinterpret_cast<DevicePointer>(work.out.data), current_device().number, result.pointer(),
                current_device().number, result_bytes(work));
}

}  // namespace

int operation(const std::string& name) {
  const auto& ops = segment_ops();
  return int(std::find_if(ops.begin(), ops.end(), [&](const SegmentOp& op) { return op.name == name; }) - ops.begin());
}

int outputs_of(const SegmentWork& work) { return work.formula ? 1 : segment_ops()[size_t(work.op)].outputs; }

double nothing(const SegmentWork& work, int output) {
  if (work.empty) return *work.empty;
  if (work.formula || looks_for_position(work.op)) return not_a_number<double>();
  return fresh(work.op, output);
}

void on_results(const char* kernel, const SegmentWork& work, ResultsJob job) {
  if (job.count == 0) job.count = work.segments.count, job.out_column = job.count;
  if (job.columns == 0) job.columns = work.columns;
  if (job.count * job.columns == 0) return;
  const unsigned grid = unsigned(std::min<Count>((job.count * job.columns + 255) / 256, 1 << 16));
  launch(function(results_text(), kernel), grid, 1, 256, &job);
}

void settle(const SegmentWork& work) {
  const bool weighted = work.weights.data && !work.through;
  if (work.skip_missing ? work.empty || work.formula : work.empty && weighted) {
    const Buffer count(result_bytes(work));
    SegmentWork counted = part_of(work, "count", count);
    counted.weights = {};
    seg_reduce(counted);
    for (int output = 0; output < outputs_of(work); ++output) {
      ResultsJob job{};
      job.out = work.out.data + output * work.columns * work.out.entry;
      job.a = at<double>(count), job.value = work.empty ? *work.empty : not_a_number<double>();
      on_results("kernops_fill_where_none", work, job);
    }
  }
  if (!work.skip_missing && !single(work) && work.segments.segments() > 0 && any_nan(work)) mark_gaps(work);
}

void seg_weighted(const SegmentWork& work) {
  const std::string& op = segment_ops()[size_t(work.op)].name;
  if (op != "sum" && op != "logsumexp") return weighted_moments(work);
  SegmentWork joined = work;
  joined.join = op == "sum" ? "Times" : "PlusLog";
  seg_reduce(joined);
}

}  // namespace cuda
}  // namespace kernops
