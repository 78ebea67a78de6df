// Moving reductions by two stacks. A window is divided at a position. For each value before the position, the front
// stack has the state that reduces all values from this value up to the position. The back stack is one state, of the
// values after the position. Each value is added twice, whatever the length of the window, and no value is ever
// subtracted.
#include <kernops/segment_reductions.h>

#include "roll/roll.h"

namespace kernops {
namespace {

// The reduction that is used for moving windows: sums use compensated summation.
template <class R> struct Rolled { using type = R; };
template <> struct Rolled<BlockSum> { using type = KahanSum; };
template <> struct Rolled<Mean> { using type = MeanOf<KahanSum>; };

template <class R> struct Numbers { double v[R::values]; };

template <class Reduction> class Stacks {
  using R = typename Rolled<Reduction>::type;
  // a state has no indices if the reduction does not use them, because states are copied often
  using One = std::conditional_t<R::indices == 0, Numbers<R>, State<R, double, Count>>;

 public:
  static void roll(const RollPart& part) {
    part.request.skip_missing ? Stacks(part).template roll<true>() : Stacks(part).template roll<false>();
  }

 private:
  explicit Stacks(const RollPart& part) : part_(part), x_(part.x), hi_(part.windows.first(part.begin)), middle_(hi_) {
    R::start(back_);
  }

  template <bool skip> void roll() {
    for (Count k = part_.begin; k < part_.end; ++k) {
      const Count lo = part_.windows.first(k), hi = part_.windows.end(k);
      for (; hi_ < hi; ++hi_) take<skip>(back_, hi_);
      if (lo >= middle_) turn<skip>(lo);
      One all = front_[size_t(middle_ - 1 - lo)];
      R::merge(all, back_);
      for (int o = 0; o < R::outputs; ++o) part_.results[o * part_.stride + k - part_.begin] = R::finish(all, o);
    }
  }

  template <bool skip> void take(One& s, Count k) const {
    if (!skip || x_[k] == x_[k]) R::add(s, x_[k], k);
    R::settle(s);
  }

  // Moves all values of the window to the front stack: the window is then divided at its end.
  template <bool skip> void turn(Count lo) {
    if (Count(front_.size()) < hi_ - lo) front_.resize(size_t(hi_ - lo));
    One s, *to = front_.data();
    R::start(s);
    for (Count k = hi_; k-- > lo;) {
      take<skip>(s, k);
      *to++ = s;
    }
    middle_ = hi_;
    R::start(back_);
  }

  const RollPart& part_;
  const double* const x_;
  Count hi_, middle_;
  std::vector<One> front_;  // states of the values from middle_ - 1 down to the start of the window
  One back_;
};

}  // namespace

RollWork roll_by_stacks(int op) {
  static const RollWork all[] = {
#define STATISTIC(name, reduction, ...) Stacks<reduction>::roll,
#include <kernops/segments.def>
  };
  return all[op];
}

}  // namespace kernops
