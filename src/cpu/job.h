// A Job with the memory it points to.
#pragma once
#include "cpu/contraction.h"

namespace kernops {
namespace cpu {

class PreparedJob : public Job {
 public:
  // Rows row_begin .. row_end of the plan's result.
  PreparedJob(const Plan& plan, const Data& data, const Settings& settings, Count row_begin, Count row_end,
              const Output& target);
  void keep_partials(size_t bytes);  // allocates states of this size for each row, to merge the splits

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
