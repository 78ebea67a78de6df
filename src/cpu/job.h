// A Job that owns the memory to which it points.
#pragma once
#include "cpu/contraction.h"

namespace kernops {
namespace cpu {

class PreparedJob : public Job {
 public:
  // The job for rows row_begin .. row_end - 1 of the result of a plan.
  PreparedJob(const Plan& plan, const Data& data, const Settings& settings, Count row_begin, Count row_end,
              const Output& target);
  void keep_partials(size_t bytes);  // allocates a state of `bytes` bytes for each row and split

 private:
  PreparedJob(const Plan& plan, const Data& data, const Settings& settings, Count row_begin, Count row_end,
              const Output& target, bool in_lanes);
  void take_plan();
  void find_sources(const Data& data, Count row_begin);
  void choose_sizes(const Settings& settings);
  void choose_lane_sizes(const Settings& settings);
  Level level_of_result() const { return rows_in_lanes ? Level::column : Level::row; }

  ContractedPlan plan_;
  Blocks pairs_;
  std::vector<Source> sources_[3];
  std::vector<char> memory_;
};

}  // namespace cpu
}  // namespace kernops
