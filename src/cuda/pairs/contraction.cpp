// Finds the values of a Plan that a GPU computes for a whole tile of pairs at a time. There are two kinds:
// contractions, which are sums over the entries of long vectors, such as SqDist(x, y); and vector sums, which are sums
// of long vectors over the pairs, such as the gradient Sum(k * (x - y)).
#include <kernops/reductions.h>

#include <algorithm>

#include "formula/op_table.h"
#include "cuda/pairs/crossovers.h"
#include "cuda/pairs/tiling.h"

namespace kernops {
namespace {

constexpr int most_levels = 200;  // maximum number of steps that compute an entry; limits the recursion

bool contains(const std::vector<int>& slots, int slot) {
  return std::find(slots.begin(), slots.end(), slot) != slots.end();
}

class Tiler : Tiling {
 public:
  Tiler(const Plan& untiled, const Wanted& wanted) : wanted_(wanted) { static_cast<Plan&>(plan) = untiled; }

  TiledPlan make() {
    give_own_slots(plan);
    turn_distances();
    take_out_factor();
    multiply_opposite();
    plan.expansion = find_expansion(plan, wanted_.long_vectors);
    if (!plan.expansion.exponent && wanted_.long_vectors && wanted_.products) plan.expansion = find_product(plan);
    used.assign(plan.slots.size(), false);
    used[0] = true;
    if (wanted_.bulk)
      find_nearest(plan), take_sum_apart(*this);
    else if (wanted_.long_vectors)
      find_vector_sum(), take_roots();
    if (plan.panels.terms.empty() && plan.vector_sum.size == 0) plan.entry_factors = take_out_once(plan);
    if (plan.entry_factors && wanted_.roots && !plan.expansion.exponent) find_roots(*this);
    need(plan.f), need(plan.w);
    for (const PanelPlan::Term& term : plan.panels.terms) need(term.number);
    place_expansion(*this, wanted_.long_vectors);
    place_panels(*this);
    plan.weighted = can_weight_columns(*this);
    auto& steps = plan.steps[int(Level::pair)];
    steps.erase(std::remove_if(steps.begin(), steps.end(), [&](const Step& step) { return !computed.count(step.out); }),
                steps.end());
    reorder();
    return plan;
  }

 private:
  // |x - y| equals |y - x|. If the formula also contains one of the differences x - y and y - x, the distance is
  // computed from this difference, so that each entry is subtracted only once.
  void turn_distances() {
    std::vector<Step>& steps = plan.steps[int(Level::pair)];
    for (Step& step : steps) {
      const OpRow& op = op_row(step.op);
      if (!op.is(OpId::SqDist) && !op.is(OpId::DiagSqDist)) continue;
      const int a = op.is(OpId::SqDist) ? 0 : 1, b = a + 1;
      const bool turned = std::any_of(steps.begin(), steps.end(), [&](const Step& other) {
        return op_row(other.op).is(OpId::Subtract) && other.in[0] == step.in[b] && other.in[1] == step.in[a];
      });
      if (turned) std::swap(step.in[a], step.in[b]), std::swap(step.sizes[a], step.sizes[b]);
    }
  }

  // If a factor of the summand depends only on the row, multiplies the row's sum, and not every term, by this factor.
  void take_out_factor() {
    if (!reduction_table()[plan.reduction.row].sums()) return;
    for (int* product : {&plan.f, &plan.w}) {
      if (take_out_factor_of(*product)) return;
      // the factor may be in a nested product, such as a value b of the row in the gradient of k(x, y) b with respect
      // to y
      const Step* outer = plan.maker(*product);
      if (!outer || !op_row(outer->op).is(OpId::Mult)) continue;
      Step made = *outer;
      for (const int n : {0, 1}) {
        if (made.sizes[n] != 1 || !take_out_factor_of(made.in[n])) continue;
        *product = add(Level::pair, OpId::Mult, made.size, made.in[0], made.in[1]);
        return;
      }
    }
  }
  bool take_out_factor_of(int& product) {
    const Step* made = plan.maker(product);
    if (!made || !op_row(made->op).is(OpId::Mult)) return false;
    for (const int n : {0, 1}) {
      if (plan.slots[made->in[n]].level != Level::row || made->sizes[n] != 1) continue;
      plan.factor = made->in[n];
      product = made->in[1 - n];
      return true;
    }
    return false;
  }

  // Replaces the exponent -d, for a distance d, by the product -1 * d, because only products are expanded.
  void multiply_opposite() {
    if (!reduction_table()[plan.reduction.row].exponentiates()) return;
    for (Step& step : plan.steps[int(Level::pair)]) {
      if (step.out != plan.f || !op_row(step.op).is(OpId::Minus)) continue;
      step = make_step(OpId::Mult, {step.out, 1}, {constant(-1), 1}, {step.in[0], 1});
    }
  }

  // Splits the summand into one number of the pair and a vector. Entry k of the vector must be computed from the
  // entries k of other vectors.
  void find_vector_sum() {
    const ReductionRow& row = reduction_table()[plan.reduction.row];
    const bool entrywise = !row.stores() && !row.counted, weighs = row.exponentiates();
    if (!entrywise || (weighs ? plan.w_size < many_weights
                              : plan.f_size < (row.sums() ? crossover::summed : crossover::reduced_by_entries)))
      return;
    std::vector<std::pair<int, int>> choices{{plan.w, plan.f}};
    if (!weighs) choices.insert(choices.begin(), {plan.f, plan.w});
    if (plan.slots[plan.f].size > 1 && plan.slots[plan.w].size > 1)
      choices = {{add(Level::pair, OpId::Mult, plan.f_size, plan.f, plan.w), 0}};
    for (const auto& [made, number] : choices) {
      Entries vector{made, plan.slots[made].size, {}, {}, {}};
      if (plan.slots[number].size != 1 || !collect(made, vector)) continue;
      plan.vector_sum = vector;
      plan.f = number, plan.w = 0;
      return;
    }
    if (!weighs && plan.f_size >= crossover::reduced_by_entries) find_sum_of_entries();
  }

  // Finds a summed vector w (x - y), where w are the coordinate weights of a distance whose exponent is expanded. The
  // vectors of the expansion are multiplied by the square roots of w, so one root replaces w in the summed vector.
  void take_roots() {
    const int weights = plan.expansion.weights;
    Entries& made = plan.vector_sum;
    if (!weights || made.steps.size() != 2 || !reduction_table()[plan.reduction.row].sums()) return;
    Step& product = made.steps[1];
    if (!op_row(product.op).is(OpId::Mult) || (product.in[0] != weights && product.in[1] != weights)) return;
    add_roots(weights);
    std::replace(std::begin(product.in), std::end(product.in), weights, plan.roots);
    std::replace(made.leaves.begin(), made.leaves.end(), weights, plan.roots);
  }

  // Finds a summed vector whose entry k depends on the entries k of other vectors, and on a few numbers of the pair.
  void find_sum_of_entries() {
    const int made = plan.w ? add(Level::pair, OpId::Mult, plan.f_size, plan.f, plan.w) : plan.f;
    Entries vector{made, plan.slots[made].size, {}, {}, {}};
    if (!collect(made, vector, crossover::most_numbers) || vector.numbers.empty()) return;
    plan.vector_sum = vector;
    plan.f = vector.numbers[0], plan.w = 0;
    for (size_t n = 1; n < vector.numbers.size(); ++n)
      plan.f = add(Level::pair, OpId::Concat, int(n) + 1, plan.f, vector.numbers[n]);
  }

  static void insert(std::vector<int>& slots, int slot) {
    if (!contains(slots, slot)) slots.push_back(slot);
  }

  // Collects the steps that compute entry k of a vector from the entries k of row vectors or column vectors, and from
  // at most `numbers` numbers of the pair. Returns false if the vector depends on anything else.
  bool collect(int slot, Entries& made, int numbers = 0, int levels = most_levels) {
    const Slot& s = plan.slots[slot];
    if (s.level == Level::uniform && s.size == 1) return used[slot] = true;
    if (s.size == 1 && numbers > 0) {
      insert(made.numbers, slot);
      return int(made.numbers.size()) <= numbers;
    }
    if (s.size != made.size) return false;
    if (s.level != Level::pair) {
      insert(made.leaves, slot);
      return leaves(made, s.level) <= crossover::most_leaves;
    }
    const auto same = [&](const Step& other) { return other.out == slot; };
    if (std::any_of(made.steps.begin(), made.steps.end(), same)) return true;
    const Step& step = *plan.maker(slot);
    if (levels == 0 || !op_row(step.op).entrywise()) return false;
    for (const int in : step.in)
      if (!collect(in, made, numbers, levels - 1)) return false;
    made.steps.push_back(step);
    return true;
  }

  long leaves(const Entries& made, Level level) const {
    return std::count_if(made.leaves.begin(), made.leaves.end(),
                         [&](int leaf) { return plan.slots[leaf].level == level; });
  }

  bool contracts(const Step& step) {
    if (!wanted_.long_vectors || int(plan.contractions.size()) >= crossover::most_contractions ||
        !op_row(step.op).additive || step.sizes[0] < long_enough(plan))
      return false;
    Entries made{step.out, step.sizes[0], {}, {}, {}};
    for (const int in : step.in)
      if (!collect(in, made)) return false;
    if (!leaves(made, Level::row) || !leaves(made, Level::column)) return false;
    made.steps.push_back(step);
    plan.contractions.push_back(made);
    return true;
  }

  // Marks a slot (a value of the plan) and all slots on which it depends. A loop replaces the recursion, which could
  // overflow the stack for a deep formula.
  void need(int needed) {
    std::vector<int> todo{needed};
    while (!todo.empty()) {
      const int slot = todo.back();
      todo.pop_back();
      if (used[slot]) continue;
      used[slot] = true;
      if (plan.slots[slot].level != Level::pair) continue;
      const Step step = *plan.maker(slot);
      if (contracts(step)) continue;
      computed.insert(slot);
      todo.insert(todo.end(), std::rbegin(step.in), std::rend(step.in));
    }
  }

  // Returns whether a contraction or a vector sum reads a slot as a vector, 16 bytes at a time. The steps of pairs may
  // read the same slot.
  bool is_leaf(int slot) const {
    const auto reads = [&](const Entries& made) { return contains(made.leaves, slot); };
    return reads(plan.vector_sum) || std::any_of(plan.contractions.begin(), plan.contractions.end(), reads);
  }

  // Orders the slots of each level (row, column, uniform): first the norms, then the slots that pairs read, and then
  // all other slots. Vectors that are read 16 bytes at a time start at multiples of 16 bytes.
  void reorder() {
    const Expansion& e = plan.expansion;
    const auto rank = [&](int slot) {
      if (slot == e.column_norm && (plan.weighted || e.root || e.rooted))
        return plan.weighted && !plan.column_weight() ? 1 : 2;
      return e.exponent && (slot == e.row_norm || slot == e.column_norm) ? 0 : used[slot] ? 1 : 2;
    };
    for (const Level level : {Level::uniform, Level::row, Level::column}) {
      int end = 0;
      for (const int now : {0, 1, 2}) {
        for (int n = 0; n < int(plan.slots.size()); ++n) {
          Slot& slot = plan.slots[n];
          if (slot.level != level || rank(n) != now) continue;
          if (is_leaf(n) || (now == 2 && slot.size >= crossover::contracted)) end = (end + 3) / 4 * 4;
          slot.offset = end;
          end += slot.size;
        }
        if (now == 1) plan.kept[int(level)] = end;
      }
      plan.entries[int(level)] = end;
    }
  }

  const Wanted wanted_;
};

}  // namespace

int long_enough(const Plan& plan) {
  return reduction_table()[plan.reduction.row].sums() ? crossover::contracted_by_sums : crossover::contracted;
}

bool TiledPlan::is_product(const Entries& made) const {
  return made.steps.size() == 1 && op_row(made.steps[0].op).is(OpId::Scalprod) && made.leaves.size() == 2 &&
         slots[made.leaves[0]].level != slots[made.leaves[1]].level;
}

// Returns the sign of the row's vector in the summed vector. The result is 0 unless the summed vector is the difference
// of the two vectors of an expanded exponent, possibly times the square roots of the weights.
int TiledPlan::row_in_vector_sum() const {
  const Expansion& e = expansion;
  const Entries& made = vector_sum;
  const size_t steps = e.weights ? 2 : 1;
  if (made.steps.size() != steps || !op_row(made.steps[0].op).is(OpId::Subtract) || !e.exponent || e.product ||
      (e.weights && !roots) || !reduction_table()[reduction.row].sums())
    return 0;
  const int* in = made.steps[0].in;
  return in[0] == e.row && in[1] == e.column ? 1 : in[0] == e.column && in[1] == e.row ? -1 : 0;
}

bool TiledPlan::adds_columns() const {
  return vector_sum.size > 0 && vector_sum.steps.empty() && slots[vector_sum.slot].level == Level::column;
}
bool TiledPlan::sums_columns_of_product() const {
  if (contractions.size() != 1 || !is_product(contractions[0]) || !adds_columns() ||
      !reduction_table()[reduction.row].sums())
    return false;
  return contains(contractions[0].leaves, vector_sum.slot);
}

TiledPlan tile(const Plan& plan, const Wanted& wanted) { return Tiler(plan, wanted).make(); }

}  // namespace kernops
