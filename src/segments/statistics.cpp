#include "segments/statistics.h"

#include <kernops/jobs/job.h>
#include <kernops/segment_reductions.h>

#include <algorithm>

namespace kernops {
namespace {

template <class R> double empty(int output) {
  State<R, double, Count> state;
  R::start(state);
  return R::finish(state, output);
}

}  // namespace

const std::vector<Statistic>& statistics() {
  static const std::vector<Statistic> all = {
#define STATISTIC(name, R, kind, least, weights, gradient, meaning) \
  {#name,                                                           \
   #R,                                                              \
   meaning,                                                         \
   Statistic::kind,                                                 \
   least,                                                           \
   SegmentTerm::weights,                                            \
   SegmentMap::gradient,                                            \
   R::outputs,                                                      \
   sizeof(State<R, double, long long>),                             \
   empty<R>},
#include <kernops/segments.def>
  };
  return all;
}

int statistic_row(const std::string& name) {
  const auto& all = statistics();
  const auto match = std::find_if(all.begin(), all.end(), [&](const Statistic& row) { return row.name == name; });
  return match == all.end() ? -1 : int(match - all.begin());
}

const TermRow& term_row(SegmentTerm term) {
  static const TermRow rows[] = {
#define TERM(name, weight, given) {#name, weight, given},
#include <kernops/segment_terms.def>
  };
  return rows[int(term)];
}

const std::string& map_name(SegmentMap map) {
  static const std::string names[] = {
#define MAP(name) #name,
#include <kernops/segment_terms.def>
  };
  return names[int(map)];
}

}  // namespace kernops
