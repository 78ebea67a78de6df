// segments.def as a table, for axis reductions.
#include <kernops/jobs/job.h>
#include <kernops/segment_reductions.h>

#include "axes/axes.h"

namespace kernops {

const std::vector<Statistic>& statistics() {
  static const std::vector<Statistic> all = {
#define SEGMENT_OP(name, R, kind, meaning) {#name, #R, R::outputs, sizeof(State<R, double, long long>)},
#include <kernops/segments.def>
  };
  return all;
}

}  // namespace kernops
