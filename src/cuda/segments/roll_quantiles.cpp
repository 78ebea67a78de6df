// Moving quantiles on the GPU. Sorts the keys of each column into the levels of a wavelet matrix, and then evaluates
// the windows (cuda/segments/roll_quantiles.cuh).
#include <kernops/missing.h>

#include "cuda/segments/roll.h"

namespace kernops {
namespace cuda {
namespace {

class Quantiles {
 public:
  Quantiles(const RollRequest& request, const SegmentRequest& work, const RollRun& roll)
      : text_(roll_quantiles_text(work)),
        count_(roll.run.plan.count),
        words_(count_ / 32 + 1),
        levels_(work.x.type == SegmentValues::floats ? 32 : 64),
        keys_{Buffer(bytes()), Buffer(bytes())},
        bits_(size_t(2 * levels_ * words_) * sizeof(unsigned)),
        counts_(size_t(grid() + levels_ + 1) * sizeof(int)) {
    job_.roll = roll, job_.keys.missing_last = 1;
    job_.roll.count = int(count_), job_.roll.values = int(count_);
    job_.words = at<unsigned>(bits_), job_.before = at<unsigned>(bits_, levels_ * words_);
    job_.blocks = at<int>(counts_), job_.zeros = at<int>(counts_, grid());
    job_.gaps = at<int>(counts_, grid() + levels_);
    job_.words_count = int(words_), job_.block_count = int(grid());
    job_.type = request.type, job_.skip_missing = request.skip_missing;
  }

  void build() {
    driver().check(driver().cuMemsetD32_v2(counts_.pointer() + size_t(grid() + levels_) * sizeof(int), 0, 1),
                   "filling memory");
    job_.to = keys_[0].address();
    run("kernops_quantile_keys", grid());
    for (job_.level = 0; job_.level < levels_; ++job_.level) {
      job_.from = keys_[job_.level % 2].address(), job_.to = keys_[1 - job_.level % 2].address();
      run("kernops_quantile_digits", grid());
      run("kernops_quantile_blocks", 1);
      run("kernops_quantile_move", grid());
    }
  }

  void windows(double prob, void* out) {
    job_.prob = prob, job_.roll.run.out = out;
    run("kernops_quantile_windows", blocks(count_ + 31, quantile_threads / 32 * roll_warp_values));
  }

 private:
  size_t bytes() const { return size_t(count_) * size_t(levels_ / 8); }
  Count grid() const { return ceil_div(words_ * 32, quantile_threads); }
  void run(const char* name, Count grid) const {
    launch(function(text_, name), unsigned(grid), 1, quantile_threads, &job_);
  }

  const std::string text_;
  const Count count_, words_, levels_;
  const Buffer keys_[2], bits_, counts_;
  QuantileRun job_{};
};

}  // namespace

std::string roll_quantiles_text(const SegmentRequest& work) {
  const char* types[] = {"double", "float", "int"};
  return std::string("#include <kernops/cuda/segments/roll_quantiles.cuh>\nKERNOPS_ROLL_QUANTILES(") +
         types[work.x.type] + ", Stored<" + (work.out.space == MemorySpace::device_float ? "float" : "double") + ">)\n";
}

void roll_quantile_columns(const RollRequest& request, const SegmentRequest& work, Count first, RollRun roll) {
  const char* const x = static_cast<const char*>(roll.x);
  roll.nothing = roll.incomplete = missing();
  for (Count c = 0; c < roll.columns; ++c) {
    roll.x = x + size_t(c * roll.x_column) * value_bytes(work);
    Quantiles quantiles(request, work, roll);
    quantiles.build();
    for (size_t o = 0; o < request.probs.size(); ++o)
      quantiles.windows(request.probs[o], column_of(work.out, Count(o) * work.columns + first + c));
  }
}

}  // namespace cuda
}  // namespace kernops
