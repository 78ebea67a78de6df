// Moving quantiles of any windows. The values of a part of a segment are sorted once, and a window is represented by
// the set of ranks of its values. When the window moves, the quantile moves by few members of this set.
#include <kernops/missing.h>
#include <kernops/quantile_positions.h>
#include <kernops/state.h>

#include "roll/ranks.h"
#include "roll/roll.h"

namespace kernops {
namespace {

// A pointer to the member of the set of ranks that is the quantile: its rank `at`, and the number `below` of smaller
// members. `position` is the position of the quantile in a set of `members` members.
struct Pointer {
  size_t at = 0;
  Count below = 0, members = 0;
  QuantilePosition position{};

  // Moves the pointer to member number k of the set, counted from 0.
  void move_to(const RankSet& set, Count k) {
    if (below > k)
      for (; below > k; --below) at = set.previous(at);
    else
      for (at = set.next(at); below < k; ++below) at = set.next(at + 1);
  }
};

class MovingQuantiles {
 public:
  explicit MovingQuantiles(const RollPart& part)
      : part_(part),
        first_(part.windows.first(part.begin)),
        ranks_(part.x + first_, part.windows.end(part.end - 1) - first_),
        set_(Count(ranks_.sorted.size())),
        pointers_(part.request.probs.size()) {}

  void run() {
    const RollRequest& request = part_.request;
    Count lo = first_, hi = first_;
    for (Count k = part_.begin; k < part_.end; ++k) {
      const Count first = part_.windows.first(k), end = part_.windows.end(k);
      for (; hi < end; ++hi) change(hi, 1);
      for (; lo < first; ++lo) change(lo, -1);
      for (size_t o = 0; o < request.probs.size(); ++o) {
        double& result = part_.results[Count(o) * part_.stride + k - part_.begin];
        if (gaps_ > 0 && !request.skip_missing)
          result = not_a_number<double>();
        else
          result = set_.count() > 0 ? quantile(o) : missing();
      }
    }
  }

 private:
  struct TakenRanks : Ranks {
    TakenRanks(const double* x, Count n) { take(x, n); }
  };

  void change(Count k, int by) {
    const std::uint32_t r = ranks_.rank[size_t(k - first_)];
    if (r == Ranks::none) return void(gaps_ += by);
    by > 0 ? set_.insert(r) : set_.erase(r);
    for (Pointer& pointer : pointers_) pointer.below += r < pointer.at ? by : 0;
  }

  double quantile(size_t o) {
    Pointer& pointer = pointers_[o];
    const QuantilePosition& position = pointer.position;
    if (pointer.members != set_.count()) {
      pointer.members = set_.count();
      pointer.position = quantile_position(part_.request.type, double(set_.count()), part_.request.probs[o]);
    }
    pointer.move_to(set_, position.lower);
    const double lower = ranks_.sorted[pointer.at];
    if (!(position.share > 0) || position.upper == position.lower) return lower;
    return between(lower, ranks_.sorted[set_.next(pointer.at + 1)], position.share);
  }

  const RollPart& part_;
  const Count first_;
  const TakenRanks ranks_;
  RankSet set_;
  std::vector<Pointer> pointers_;
  Count gaps_ = 0;
};

}  // namespace

void roll_ranks(const RollPart& part) { MovingQuantiles(part).run(); }

}  // namespace kernops
