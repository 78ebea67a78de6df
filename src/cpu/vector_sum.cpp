#include "cpu/vector_sum.h"

#include <algorithm>

#include "formula/op_table.h"

namespace kernops {
namespace cpu {
namespace {

constexpr int shortest = 8;  // below, packing the vectors costs what it wins

// The factors of what is summed: numbers, one of which is of the pair; a vector of the column or a difference; and
// perhaps a vector that multiplies the sum as it would each of its terms.
class Taker {
 public:
  explicit Taker(Plan& plan) : plan_(plan), steps_(plan.steps[int(Level::pair)]) {}

  VectorSum take() {
    const VectorSum none{};
    if (plan_.f_size < shortest) return none;
    const int end = int(steps_.size());
    if (!take_apart(plan_.f, end) || (plan_.w != 0 && !take_apart(plan_.w, end)) || !found_) return none;
    const auto of_pair = [&](int slot) { return level(slot) == Level::pair; };
    if (!std::any_of(numbers_.begin(), numbers_.end(), of_pair)) return none;
    sum_.size = plan_.f_size;
    plan_.f = product(numbers_), plan_.w = 0;
    leave_out_unused();
    place_pairs();
    return sum_;
  }

 private:
  Level level(int slot) const { return plan_.slots[slot].level; }

  // The step that made what stands in a slot before step number `before`: buffers are shared.
  int maker(int slot, int before) const {
    while (--before >= 0 && steps_[before].out != slot) {
    }
    return before;
  }

  bool take_apart(int slot, int before) {
    if (plan_.slots[slot].size == 1) return take_number(slot, before);
    if (plan_.slots[slot].size != plan_.f_size) return false;
    if (level(slot) == Level::column) return take_vector(VectorSum::column_alone, 0, slot);
    if (level(slot) != Level::pair) return take_factor(slot);
    const int made = maker(slot, before);
    const Step& step = steps_[made];
    switch (OpId(op_row(step.op).id)) {
      case OpId::Mult: return take_apart(step.in[0], made) && take_apart(step.in[1], made);
      case OpId::Minus: sum_.negative = !sum_.negative; return take_apart(step.in[0], made);
      case OpId::Subtract: return take_difference(VectorSum::difference, step);
      case OpId::Square: return take_square(maker(step.in[0], made));
      default: return false;
    }
  }

  // One that still stands there when all steps are done.
  bool take_number(int slot, int before) {
    if (maker(slot, before) != maker(slot, int(steps_.size()))) return false;
    numbers_.push_back(slot);
    return true;
  }

  bool take_factor(int slot) { return sum_.factor == 0 && (sum_.factor = slot) != 0; }

  bool take_square(int made) {
    return made >= 0 && op_row(steps_[made].op).is(OpId::Subtract) && take_difference(VectorSum::square, steps_[made]);
  }

  bool take_difference(VectorSum::Term term, const Step& step) {
    int row = step.in[0], column = step.in[1];
    if (level(row) == Level::column) {
      std::swap(row, column);
      sum_.negative = sum_.negative != (term == VectorSum::difference);
    }
    return level(row) == Level::row && level(column) == Level::column && plan_.slots[row].size == plan_.f_size &&
           plan_.slots[column].size == plan_.f_size && take_vector(term, row, column);
  }

  bool take_vector(VectorSum::Term term, int row, int column) {
    if (found_) return false;
    sum_.term = term, sum_.row.slot = row, sum_.column.slot = column;
    return found_ = true;
  }

  int product(const std::vector<int>& numbers) {
    int result = numbers[0];
    for (size_t n = 1; n < numbers.size(); ++n) {
      plan_.slots.push_back({Level::pair, 0, 1});
      const int out = int(plan_.slots.size()) - 1;
      steps_.push_back({int(OpId::Mult), out, 1, {numbers[n], result, 0}, {1, 1, 1}, {0, 0}});
      result = out;
    }
    return result;
  }

  void leave_out_unused() {
    std::vector<bool> needed(plan_.slots.size(), false);
    needed[plan_.f] = true;
    std::vector<Step> left;
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      if (!needed[step->out]) continue;
      needed[step->out] = false;
      for (const int in : step->in) needed[in] = true;
      left.insert(left.begin(), *step);
    }
    steps_ = left;
  }

  void place_pairs() {
    std::vector<bool> made(plan_.slots.size(), false);
    for (const Step& step : steps_) made[step.out] = true;
    int& end = plan_.entries[int(Level::pair)] = 0;
    for (size_t n = 0; n < made.size(); ++n) {
      if (!made[n]) continue;
      plan_.slots[n].offset = end;
      end += plan_.slots[n].size;
    }
  }

  Plan& plan_;
  std::vector<Step>& steps_;
  VectorSum sum_{};
  bool found_ = false;
  std::vector<int> numbers_;
};

}  // namespace

VectorSum take_vector_sum(Plan& plan) { return Taker(plan).take(); }

}  // namespace cpu
}  // namespace kernops
