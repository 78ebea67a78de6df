// Moving windows on the GPU. If memory is short, a few columns are processed at a time.
#include <kernops/missing.h>

#include "cuda/segments/roll.h"

namespace kernops {
namespace cuda {
namespace {

std::unique_ptr<Buffer> uploaded(const int* from, Count count) {
  if (!from) return nullptr;
  auto there = std::make_unique<Buffer>(size_t(count) * sizeof(int));
  fill(*there, from, size_t(count));
  return there;
}

// Returns true if results for R must distinguish NA from NaN, and at least one value is NA.
bool any_gap(const SegmentRequest& work, RollRun job, const std::string& text) {
  if (work.skip_missing || work.x.type == SegmentValues::floats || work.settings.stay) return false;
  int found = 0;
  const Buffer flag(sizeof(int));
  fill(flag, &found, 1);
  job.found = at<int>(flag);
  const unsigned grid = std::min(blocks(job.run.plan.count, 256), 4096u);
  launch(function(text, "kernops_roll_find_gap"), grid, unsigned(job.columns), 256, &job);
  copy_out(&found, flag.pointer(), sizeof(int));
  return found;
}

class Columns {
 public:
  Columns(const RollRequest& request, const SegmentRequest& work, SegmentJobs& jobs, Count first, Count columns)
      : request_(request), work_(work), first_(first) {
    const Count covered = work.segments.covered;
    job_.run = jobs(0), job_.columns = int(columns), job_.partial = request.windows.partial;
    job_.run.out_column = work.out.entry;
    job_.left = request.windows.left, job_.right = request.windows.right;
    before_ = uploaded(request.windows.before, covered), after_ = uploaded(request.windows.after, covered);
    if (before_) job_.before = at<int>(*before_), job_.after = at<int>(*after_);
    job_.x = static_cast<const char*>(job_.run.x) + job_.run.first * Count(value_bytes(work));
    job_.x_column = job_.run.x_column;
    if (job_.run.order) gather(covered);
  }

  void run_all() {
    if (!request_.probs.empty()) {
      roll_quantile_columns(request_, work_, first_, job_);
      for (size_t o = 0; o < request_.probs.size(); ++o) mark(int(o), roll_quantiles_text(work_));
    }
    for (int output = 0; request_.probs.empty() && output < work_.outputs(); ++output) run(output);
  }

 private:
  void run(int output) {
    job_.run.out = column_of(work_.out, output * work_.columns + first_);
    job_.nothing = nothing(work_, output), job_.incomplete = missing();
    const size_t bytes = work_.out.space == MemorySpace::device_float ? sizeof(float) : sizeof(double);
    const int each = roll_values(work_, width());
    const RollKernels kernels{roll_text(work_, output, each), each, bytes};
    roll_columns(request_, work_, kernels, job_);
    const StatisticId op = StatisticId(work_.op);
    const bool is_value =
        op == StatisticId::first || op == StatisticId::last;  // the result is a value of the window, and may be NA
    if (!work_.formula && (is_value || op == StatisticId::count)) return;
    mark(output, kernels.text);
  }

  // Sets the results of windows that contain an NA to NA; a kernel of `text` finds these windows.
  void mark(int output, const std::string& text) {
    if (!any_gap(work_, job_, text)) return;
    job_.run.out = column_of(work_.out, output * work_.columns + first_), job_.incomplete = 0;
    roll_columns(request_, work_, {marks_text(), each_gap(), sizeof(double)}, job_);
  }

  Count width() const { return request_.windows.left + request_.windows.right + 1; }
  int each_gap() const { return chunk_values(15, width()); }
  std::string marks_text() const { return roll_gaps_text(work_, each_gap()); }

  void gather(Count covered) {
    const size_t bytes = size_t(covered) * size_t(job_.columns) * value_bytes(work_);
    gathered_ = std::make_unique<Buffer>(bytes);
    job_.x = gathered_->address(), job_.x_column = covered;
    launch(function(marks_text(), "kernops_roll_gather"), blocks(covered, 256), unsigned(job_.columns), 256, &job_);
  }

  const RollRequest& request_;
  const SegmentRequest& work_;
  const Count first_;
  std::unique_ptr<Buffer> before_, after_, gathered_;
  RollRun job_{};
};

SegmentRequest values_of(const RollRequest& request) {
  SegmentRequest work{request.segments};
  work.op = request.op, work.formula = request.formula, work.empty = request.empty;
  work.skip_missing = request.skip_missing, work.x = request.x, work.columns = request.columns;
  work.out = request.out, work.settings = request.settings;
  work.precise = true;  // windows of floats are reduced as doubles
  return work;
}

}  // namespace

bool rolls_there(const RollRequest& request) {
  if (!fits_one_batch(values_of(request))) return false;
  const size_t bytes = request.probs.empty() ? 32 : 48;
  return size_t(std::min(request.segments.covered * request.columns, usual_batch)) * bytes < memory_left();
}

void seg_roll(const RollRequest& request) {
  const SegmentRequest work = values_of(request);
  SegmentRequest results = work;
  results.columns *= request.outputs() / work.outputs();
  if (work.segments.covered < work.segments.values) fill_all(results, work.segments.values, missing());
  each_batch_of_columns(work, true, [&](DeviceSegments& device, Count first, Count columns, bool staged) {
    SegmentJobs jobs(work, device, first, columns, staged);
    Columns some(request, work, jobs, first, columns);
    some.run_all();
    jobs.done(0);
  });
}

}  // namespace cuda
}  // namespace kernops
