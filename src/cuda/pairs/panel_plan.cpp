// Finds the products and sums of panels: parts of the matrix of pairs that cuBLAS multiplies (cuda/pairs/panels.cpp). A
// contraction of a pair must be the inner product of a vector of the row and a vector of the column. The summand is
// split into terms: numbers of the pair times vectors of the column, and numbers of the pair times vectors of the row.
// If a term has a vector of the row, only the total of the term's numbers is needed. For example, a Hessian times a
// vector is the sum
//
//   sum_j k (h + c (x - y | h) (x - y)) = h sum_j k + x' sum_j n - sum_j n y',  n = c k (x - y | h),
//
// where (a | b) is an inner product, and x' and y' are the centred vectors of the expanded exponent, and (x - y | h) =
// (x' | h) - (y' | h).
#include <kernops/reductions.h>

#include <algorithm>

#include "formula/op_table.h"
#include "cuda/pairs/tiling.h"

namespace kernops {
namespace {

constexpr int most = 4;  // maximum number of terms

class SumTaker {
 public:
  explicit SumTaker(Tiling& tiling) : tiling_(tiling), plan_(tiling.plan) {}

  PanelPlan take() {
    const ReductionRow& reduction = reduction_table()[plan_.reduction.row];
    if (reduction.exponentiates()) {
      const bool columns = plan_.w_size >= many_weights && level(plan_.w) == Level::column;
      return columns ? PanelPlan{{}, {{plan_.f, plan_.w, 0, 0}}, plan_.w_size} : PanelPlan{};
    }
    if (!reduction.sums()) return {};
    const int f = plan_.slots[plan_.f].size, w = plan_.w ? plan_.slots[plan_.w].size : 1;
    if (f == 1 && w == 1) return {{}, {{times(plan_.f, plan_.w), 0, 0, 0}}, 0};
    made_.width = std::max(f, w);
    const bool apart = f == 1 ? add(plan_.w, plan_.f) : w == 1 && add(plan_.f, plan_.w);
    return apart && take_roots() ? made_ : PanelPlan{};
  }

 private:
  Level level(int slot) const { return plan_.slots[slot].level; }
  int times(int a, int b) { return a && b ? tiling_.add(Level::pair, OpId::Mult, 1, a, b) : a + b; }
  int opposite(int number) { return tiling_.add(Level::pair, OpId::Minus, 1, number); }

  // Adds a term to the sum: the number of the pair in the slot `number`, times the vector in `slot`. If `number` is 0,
  // the factor is 1.
  bool add(int slot, int number) {
    if (plan_.slots[slot].size != made_.width) return false;
    if (level(slot) == Level::row) return join({number, 0, slot, 0});
    if (level(slot) == Level::column) return join({number, slot, 0, 0});
    return level(slot) == Level::pair && add(Step(*plan_.maker(slot)), number);
  }
  bool add(const Step& made, int number) {
    switch (OpId(op_row(made.op).id)) {
      case OpId::Minus: return add(made.in[0], opposite(number));
      case OpId::Mult: return add_product(made, number);
      case OpId::Add: return add_both(made, number, number);
      case OpId::Subtract: return add_difference(made, number);
      default: return false;
    }
  }
  bool add_both(const Step& made, int first, int second) { return add(made.in[0], first) && add(made.in[1], second); }
  bool add_product(const Step& made, int number) {
    for (const int n : {0, 1}) {
      if (made.sizes[n] == 1) return add(made.in[1 - n], times(number, made.in[n]));
      if (made.in[n] == plan_.expansion.weights && made.in[n] && !weighted_)
        return add_weighted(made.in[1 - n], number);
    }
    return false;
  }
  bool add_weighted(int slot, int number) {
    weighted_ = true;
    const bool taken = add(slot, number);
    weighted_ = false;
    return taken;
  }
  // Adds a term for a difference of vectors. Only vectors of an expanded exponent are accepted, because these vectors
  // are centred. The offset of other vectors could cause cancellation.
  bool add_difference(const Step& made, int number) {
    const Expansion& e = plan_.expansion;
    for (const int n : {0, 1})
      if (made.in[n] == e.row && made.in[1 - n] == e.column) return e.exponent && join({number, 0, 0, n == 0 ? 1 : -1});
    const bool vectors = level(made.in[0]) == Level::pair || level(made.in[1]) == Level::pair;
    return vectors && add_both(made, number, opposite(number));
  }
  bool join(const PanelPlan::Term& term) {
    made_.terms.push_back(term);
    if (weighted_) ++weighted_terms_;
    return term.number && int(made_.terms.size()) <= most;
  }

  // Returns false if some terms have the coordinate weights of the exponent and other terms have no weights. Also
  // returns false for a difference without weights, if the exponent has weights.
  bool take_roots() {
    const bool differs = std::any_of(made_.terms.begin(), made_.terms.end(),
                                     [](const PanelPlan::Term& term) { return term.difference != 0; });
    if (weighted_terms_ == 0) return !differs || !plan_.expansion.weights;
    if (weighted_terms_ < int(made_.terms.size())) return false;
    tiling_.add_roots(plan_.expansion.weights);
    for (PanelPlan::Term& term : made_.terms)
      for (int* vector : {&term.row, &term.column})
        if (*vector) *vector = tiling_.add(level(*vector), OpId::Mult, made_.width, plan_.roots, *vector);
    return true;
  }

  Tiling& tiling_;
  TiledPlan& plan_;
  PanelPlan made_;
  bool weighted_ = false;  // true while the vectors of terms are multiplied by the weights of the expansion
  int weighted_terms_ = 0;
};

// Adds the steps that panels need. The contractions must be known, and the vectors of the expansion must have slots.
// The added steps read existing slots, and are inserted after the steps that compute these slots.
class Placing {
 public:
  explicit Placing(Tiling& tiling)
      : tiling_(tiling), plan_(tiling.plan), e_(tiling.plan.expansion), panels_(tiling.plan.panels) {}

  bool run() {
    for (Entries& made : plan_.contractions)
      if (!multiply(made)) return false;
    for (PanelPlan::Term& term : panels_.terms)
      if (term.difference && !expand(term)) return false;
    plan_.f = panels_.terms[0].number, plan_.w = 0;
    for (size_t n = 1; n < panels_.terms.size(); ++n)
      plan_.f = needed(tiling_.add(Level::pair, OpId::Concat, int(n) + 1, plan_.f, panels_.terms[n].number));
    return !panels_.products.empty();
  }

 private:
  bool expands() const { return plan_.inner_product.size > 0; }
  // Returns whether a step multiplies by the weights of the exponent, and the sum contains the square roots of these
  // weights.
  bool is_weighted(const Step& step) const {
    return plan_.roots && op_row(step.op).is(OpId::Mult) && (step.in[0] == e_.weights || step.in[1] == e_.weights);
  }
  int once(OpId op, int a, int b = 0) { return tiling_.add(Level::uniform, op, 1, a, b); }

  // Marks a slot that steps of pairs read or write, and returns this slot.
  int needed(int slot) {
    tiling_.used[slot] = true;
    if (plan_.slots[slot].level == Level::pair) tiling_.computed.insert(slot);
    return slot;
  }

  // Returns the slot of the factor that converts the scaled vector of a column to the original vector minus the centre.
  // The factor of the row's vector has the opposite sign if the factor of the exponent is positive.
  int inverse() {
    if (!inverse_) inverse_ = once(OpId::Inv, once(OpId::Sqrt, once(OpId::Abs, once(OpId::Add, e_.factor, e_.factor))));
    return inverse_;
  }
  int seen_from_centre(Level level) {
    const int vector = level == Level::row ? e_.row : e_.column;
    int& seen = seen_[level == Level::row];
    if (!seen) {
      seen = e_.centre ? tiling_.add(level, OpId::Subtract, plan_.slots[vector].size, vector, e_.centre) : vector;
      if (e_.weights) seen = tiling_.add(level, OpId::Mult, plan_.slots[vector].size, plan_.roots, seen);
    }
    return seen;
  }

  bool multiply(Entries& made) {
    const auto product = [&](int row, int column) {
      panels_.products.push_back({row, column, made.size});
      return true;
    };
    if (made.slot == e_.distance && expands()) return product(e_.row_vector, e_.column_vector);
    if (plan_.is_product(made)) {
      const bool swapped = plan_.slots[made.leaves[0]].level == Level::column;
      return product(made.leaves[swapped], made.leaves[!swapped]);
    }
    return expands() && multiply_difference(made);
  }

  // Replaces the contraction (x - y | h) by products, where h is a vector of the row or of the column. The difference
  // may be multiplied by weights.
  bool multiply_difference(Entries& made) {
    if (made.steps.size() != (e_.weights ? 3 : 2) || (e_.weights && !is_weighted(made.steps[1]))) return false;
    const Step difference = made.steps[0], contraction = made.steps.back();
    if (!op_row(difference.op).is(OpId::Subtract) || !op_row(contraction.op).is(OpId::Scalprod)) return false;
    const bool from_row = difference.in[0] == e_.row && difference.in[1] == e_.column;
    if (!from_row && !(difference.in[0] == e_.column && difference.in[1] == e_.row)) return false;
    const int factor = e_.weights ? made.steps[1].out : difference.out;
    int h = contraction.in[contraction.in[0] == factor ? 1 : 0];
    const Level level = plan_.slots[h].level;
    if (level != Level::row && level != Level::column) return false;
    if (e_.weights) h = tiling_.add(level, OpId::Mult, made.size, plan_.entry_factors, h);
    const bool of_row = level == Level::row;
    const int scaled = of_row ? e_.column_vector : e_.row_vector;
    panels_.products.push_back({of_row ? h : scaled, of_row ? scaled : h, made.size});
    subtract(made, of_row == from_row, needed(tiling_.add(level, OpId::Scalprod, 1, seen_from_centre(level), h)),
             of_row ? needed(inverse())
                    : needed(once(OpId::Mult, once(OpId::Minus, once(OpId::Sign, e_.factor)), inverse())));
    return true;
  }

  // Replaces the value of a contraction by a difference of two terms: `item`, which is a number of the row or of the
  // column; and `number` times the inner product of a row's and a column's vector. `item_first` is true if `item` is
  // the minuend.
  void subtract(Entries& made, bool item_first, int item, int number) {
    const int contraction = tiling_.new_slot(Level::pair, 1), product = tiling_.new_slot(Level::pair, 1);
    const auto one = [](int slot) { return SizedSlot{slot, 1}; };
    auto& steps = plan_.steps[int(Level::pair)];
    const auto makes = [&](const Step& step) { return step.out == made.slot; };
    steps.erase(std::remove_if(steps.begin(), steps.end(), makes), steps.end());
    const Step pair[] = {
        make_step(OpId::Mult, one(product), one(contraction), one(number)),
        make_step(OpId::Subtract, one(made.slot), one(item_first ? item : product), one(item_first ? product : item))};
    steps.insert(steps.begin(), std::begin(pair), std::end(pair));
    needed(product), needed(made.slot);
    made.slot = contraction;
  }

  // Replaces the term n (x - y) by n x' / t - n y' / s, where y' = s (y - centre) and x' = t (x - centre); t is s or
  // -s. Only the final sums are divided by s.
  bool expand(PanelPlan::Term& term) {
    if (!expands() || panels_.scale) return false;
    term.column = e_.column_vector, term.row = e_.row_vector;
    panels_.scale = term.difference > 0 ? once(OpId::Minus, inverse()) : inverse();
    term.factor = once(OpId::Mult, once(OpId::Sign, e_.factor), panels_.scale);
    for (PanelPlan::Term& other : panels_.terms)
      if (other.column && !other.difference)
        other.number =
            needed(tiling_.add(Level::pair, OpId::Mult, 1, other.number, needed(once(OpId::Inv, panels_.scale))));
    return true;
  }

  Tiling& tiling_;
  TiledPlan& plan_;
  const Expansion& e_;
  PanelPlan& panels_;
  int inverse_ = 0, seen_[2] = {};
};

}  // namespace

void take_sum_apart(Tiling& tiling) {
  tiling.plan.panels = SumTaker(tiling).take();
  if (!tiling.plan.panels.terms.empty()) tiling.plan.f = tiling.plan.w = 0;
}

void place_panels(Tiling& tiling) {
  if (!tiling.plan.panels.terms.empty() && !Placing(tiling).run()) tiling.plan.panels = {};
}

}  // namespace kernops
