#include "cpu/vector_sum.h"

#include <algorithm>

#include "formula/op_table.h"

namespace kernops {
namespace cpu {
namespace {

// Splits the summand of a plan into factors. The first factors are numbers, of which at least one belongs to the pair.
// The next factor is a vector of the column, the difference between a vector of the row and a vector of the column, or
// the squares of this difference. The last, optional factor is a vector of the row or a uniform vector; the sum is
// multiplied by this vector at the end, instead of each term. The summand may also have a second term, which is added
// or subtracted: numbers times another vector of the row or of the column.
class Taker {
 public:
  explicit Taker(const Plan& plan) : plan_(plan), steps_(plan_.steps[int(Level::pair)]) { give_own_slots(plan_); }

  // Splits the plan's summand; returns false if the plan is not a vector sum.
  bool take(bool single) {
    if (!take_apart(plan_.f) || (plan_.w != 0 && !take_apart(plan_.w)) || !found_) return false;
    if (plan_.f_size < shortest(single)) return false;
    if (of_vector_factor_ != of_other_factor_ || (of_vector_factor_ && sum_.factor)) return false;
    if (of_vector_factor_) sum_.factor = of_vector_factor_;
    sum_.size = plan_.f_size;
    plan_.f = product(numbers_, of_vector_), plan_.w = 0;
    if (sum_.other.slot) {
      sum_.number = product(numbers_, of_other_), sum_.opposite = sum_.opposite != sum_.negative;
      sum_.other_of_row = level(sum_.other.slot) == Level::row;
      if (level(sum_.number) != Level::pair) return false;
    }
    return level(plan_.f) == Level::pair;
  }
  const Plan& plan() const { return plan_; }
  const VectorSum& sum() const { return sum_; }

 private:
  using Numbers = std::vector<int>;

  // Minimum length of vectors: for shorter ones, packing takes as much time as it saves.
  int shortest(bool single) const { return !single ? 4 : sum_.term == VectorSum::column_alone ? 6 : 5; }

  Level level(int slot) const { return plan_.slots[slot].level; }
  bool is_vector(int slot, Level of) const { return level(slot) == of && plan_.slots[slot].size == plan_.f_size; }
  static OpId op(const Step& step) { return OpId(op_row(step.op).id); }

  bool take_apart(int slot) {
    if (plan_.slots[slot].size == 1) return take_number(slot);
    if (plan_.slots[slot].size != plan_.f_size) return false;
    if (level(slot) == Level::column) return take_vector(VectorSum::column_alone, 0, slot);
    if (level(slot) != Level::pair) return take_factor(slot);
    const Step step = *plan_.maker(slot);
    switch (op(step)) {
      case OpId::Mult: return take_apart(step.in[0]) && take_apart(step.in[1]);
      case OpId::Minus: sum_.negative = !sum_.negative; return take_apart(step.in[0]);
      case OpId::Subtract: return take_difference(VectorSum::difference, step) || take_both(step);
      case OpId::Add: return take_both(step);
      case OpId::Square: return take_square(plan_.maker(step.in[0]));
      default: return false;
    }
  }

  bool take_number(int slot) {
    into_->push_back(slot);
    return true;
  }

  bool take_factor(int slot) { return take_factor(slot, into_ == &numbers_ ? sum_.factor : of_vector_factor_); }
  static bool take_factor(int slot, int& factor) { return factor == 0 && (factor = slot) != 0; }

  bool take_square(const Step* made) {
    return made && op(*made) == OpId::Subtract && take_difference(VectorSum::square, *made);
  }

  bool take_difference(VectorSum::Term term, const Step& step) {
    int row = step.in[0], column = step.in[1];
    const bool swapped = level(row) == Level::column;
    if (swapped) std::swap(row, column);
    if (!is_vector(row, Level::row) || !is_vector(column, Level::column)) return false;
    if (swapped && term == VectorSum::difference) sum_.negative = !sum_.negative;
    return take_vector(term, row, column);
  }

  bool take_vector(VectorSum::Term term, int row, int column) {
    if (found_) return false;
    sum_.term = term, sum_.row.slot = row, sum_.column.slot = column;
    return found_ = true;
  }

  // Splits a sum or difference into two terms: the vector of the vector sum, and numbers times another vector. The
  // other vector is a vector of the row, if possible.
  bool take_both(const Step& step) {
    if (into_ != &numbers_ || sum_.other.slot) return false;
    const bool subtracts = op(step) == OpId::Subtract, negative = sum_.negative;
    for (const Level of : {Level::row, Level::column}) {
      for (const int n : {0, 1}) {
        of_other_.clear(), of_other_factor_ = 0, sum_.opposite = negative != (n == 1 && subtracts);
        if (!take_other(step.in[n], of)) continue;
        sum_.negative = negative != (n == 0 && subtracts);
        into_ = &of_vector_;
        const bool taken = take_apart(step.in[1 - n]);
        into_ = &numbers_;
        return taken;
      }
    }
    return false;
  }

  bool take_other(int slot, Level of) {
    if (is_vector(slot, of)) return (sum_.other.slot = slot) != 0;
    if (!is_vector(slot, Level::pair)) return false;
    const Step step = *plan_.maker(slot);
    if (op(step) == OpId::Minus) return sum_.opposite = !sum_.opposite, take_other(step.in[0], of);
    if (op(step) != OpId::Mult) return false;
    for (const int n : {0, 1}) {
      const int slot = step.in[n];
      const bool number = plan_.slots[slot].size == 1;
      if (number) of_other_.push_back(slot);
      if (number || (is_vector(slot, Level::uniform) && take_factor(slot, of_other_factor_)))
        return take_other(step.in[1 - n], of);
    }
    return false;
  }

  int product(const Numbers& some, const Numbers& others) {
    int result = 0;
    for (const Numbers* numbers : {&some, &others})
      for (const int number : *numbers) result = result ? times(number, result) : number;
    return result;
  }
  int times(int number, int other) {
    plan_.slots.push_back({Level::pair, 0, 1});
    const int out = int(plan_.slots.size()) - 1;
    steps_.push_back({int(OpId::Mult), out, 1, {number, other, 0}, {1, 1, 1}, {0, 0}});
    return out;
  }

  Plan plan_;
  std::vector<Step>& steps_;
  VectorSum sum_{};
  bool found_ = false;
  int of_vector_factor_ = 0, of_other_factor_ = 0;  // slots of the factors of the two vectors; the slots must be equal
  Numbers numbers_, of_vector_, of_other_, *into_ = &numbers_;
};

void place_pairs(Plan& plan) {
  std::vector<bool> made(plan.slots.size(), false);
  for (const Step& step : plan.steps[int(Level::pair)]) made[step.out] = true;
  int& end = plan.entries[int(Level::pair)] = 0;
  for (size_t n = 0; n < made.size(); ++n) {
    if (!made[n]) continue;
    plan.slots[n].offset = end;
    end += plan.slots[n].size;
  }
}

}  // namespace

VectorSum take_vector_sum(Plan& plan, bool single) {
  Taker taker(plan);
  if (!taker.take(single)) return {};
  plan = taker.plan();
  leave_out_unused(plan, {plan.f, taker.sum().number});
  return taker.sum();
}

void leave_out_unused(Plan& plan, const std::vector<int>& read) {
  std::vector<Step>& steps = plan.steps[int(Level::pair)];
  std::vector<bool> needed(plan.slots.size(), false);
  for (const int slot : read) needed[slot] = true;
  std::vector<Step> left;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (!needed[step->out]) continue;
    needed[step->out] = false;
    for (const int in : step->in) needed[in] = true;
    left.push_back(*step);
  }
  steps.assign(left.rbegin(), left.rend());
  place_pairs(plan);
}

}  // namespace cpu
}  // namespace kernops
