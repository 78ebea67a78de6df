// The statistics as a table.
#include <kernops/job.h>
#include <kernops/statistics.h>

#include "axis.h"

namespace kernops {

const std::vector<Statistic>& statistics() {
  static const std::vector<Statistic> all = {
#define SEGMENT_OP(name, R, kind, meaning) \
  {#name, #R, #kind, R::outputs, sizeof(State<R, double, long long>)},
#include <kernops/segments.def>
#undef SEGMENT_OP
  };
  return all;
}

}  // namespace kernops
