// Which pair values of a Plan a GPU computes for a whole tile of pairs at a time: sums over the entries of
// long vectors, such as SqDist(x, y), and sums of long vectors over the pairs, such as the gradient Sum(k *
// (x - y)).
#include <algorithm>
#include <set>

#include "op_table.h"
#include "tiled_plan.h"

namespace kernops {
namespace {

constexpr int shortest_sum = 8; // below, it keeps their sums there
constexpr int most = 4;         // contractions at a time
constexpr int most_leaves = 2;  // vectors of each place that one of them reads

// The value for a vector is the sum of the values for its entries.
bool adds_up(const OpRow& op) {
  static const std::set<std::string> names = {"Sum",    "Scalprod",   "SqNorm2",
                                              "SqDist", "DiagSqNorm", "DiagSqDist"};
  return names.count(op.name) > 0;
}
bool entrywise(const OpRow& op) {
  return (op.group == "arithmetic" || op.group == "elementwise") && !op.vectors.empty();
}

class Tiler {
 public:
  Tiler(const Plan& plan, bool long_vectors) : long_vectors_(long_vectors) {
    static_cast<Plan&>(plan_) = plan;
  }

  TiledPlan make() {
    own_slots();
    take_out_factor();
    plan_.expansion = find_expansion(plan_, long_vectors_);
    used_.assign(plan_.slots.size(), false);
    used_[0] = true;
    if (long_vectors_) find_spread();
    need(plan_.f), need(plan_.w);
    place_expansion();
    plan_.weighted = can_weight_lanes();
    auto& steps = plan_.steps[int(Place::pair)];
    steps.erase(std::remove_if(steps.begin(), steps.end(),
                               [&](const Step& step) { return !computed_.count(step.out); }),
                steps.end());
    reorder();
    return plan_;
  }

 private:
  // Each pair step gets a slot of its own, so that a slot has one meaning.
  void own_slots() {
    std::vector<int> now(plan_.slots.size());
    for (size_t n = 0; n < now.size(); ++n) now[n] = int(n);
    for (Step& step : plan_.steps[int(Place::pair)]) {
      for (int& in : step.in) in = now[in];
      plan_.slots.push_back({Place::pair, 0, step.size});
      now[step.out] = int(plan_.slots.size()) - 1;
      step.out = now[step.out];
    }
    plan_.f = now[plan_.f], plan_.w = now[plan_.w];
  }

  // What depends on the row alone multiplies the sum, not each of its terms.
  void take_out_factor() {
    if (reduction_table()[plan_.reduction.row].name != "Sum") return;
    for (int* product : {&plan_.f, &plan_.w}) {
      if (plan_.slots[*product].place != Place::pair || op_row(maker(*product).op).name != "Mult") continue;
      const Step& step = maker(*product);
      for (const int n : {0, 1}) {
        if (plan_.slots[step.in[n]].place != Place::row || step.sizes[n] != 1) continue;
        plan_.factor = step.in[n];
        *product = step.in[1 - n];
        return;
      }
    }
  }

  const Step& maker(int slot) const {
    const auto& steps = plan_.steps[int(Place::pair)];
    return *std::find_if(steps.begin(), steps.end(), [=](const Step& step) { return step.out == slot; });
  }

  // Number times vector, where the vector is made entry by entry, as a product of two vectors is.
  void find_spread() {
    if (reduction_table()[plan_.reduction.row].name != "Sum" || plan_.f_size < shortest_sum) return;
    std::vector<std::pair<int, int>> choices{{plan_.f, plan_.w}, {plan_.w, plan_.f}};
    if (plan_.slots[plan_.f].size > 1 && plan_.slots[plan_.w].size > 1)
      choices = {{add(Place::pair, "Mult", plan_.f_size, plan_.f, plan_.w), 0}};
    for (const auto& [made, number] : choices) {
      Entries vector{made, plan_.f_size, {}, {}};
      if (plan_.slots[number].size != 1 || !collect(made, vector)) continue;
      plan_.spread = vector;
      plan_.f = number, plan_.w = 0;
      return;
    }
  }

  // What makes entry k of a vector: steps on entries k of vectors from outside the pairs; false where it
  // takes more.
  bool collect(int slot, Entries& made) {
    const Slot& s = plan_.slots[slot];
    if (s.place == Place::once && s.size == 1) return used_[slot] = true;
    if (s.size != made.size) return false;
    if (s.place != Place::pair) {
      if (std::find(made.leaves.begin(), made.leaves.end(), slot) == made.leaves.end())
        made.leaves.push_back(slot);
      return leaves(made, s.place) <= most_leaves;
    }
    const Step& step = maker(slot);
    if (!entrywise(op_row(step.op))) return false;
    for (const int in : step.in)
      if (!collect(in, made)) return false;
    const auto same = [&](const Step& other) { return other.out == step.out; };
    if (std::none_of(made.steps.begin(), made.steps.end(), same)) made.steps.push_back(step);
    return true;
  }

  long leaves(const Entries& made, Place place) const {
    return std::count_if(made.leaves.begin(), made.leaves.end(),
                         [&](int leaf) { return plan_.slots[leaf].place == place; });
  }

  bool contracts(const Step& step) {
    if (!long_vectors_ || int(plan_.contractions.size()) >= most || !adds_up(op_row(step.op)) ||
        step.sizes[0] < long_vector)
      return false;
    Entries made{step.out, step.sizes[0], {}, {}};
    for (const int in : step.in)
      if (!collect(in, made)) return false;
    if (!leaves(made, Place::row) || !leaves(made, Place::lane)) return false;
    made.steps.push_back(step);
    plan_.contractions.push_back(made);
    return true;
  }

  void need(int slot) {
    if (used_[slot]) return;
    used_[slot] = true;
    if (plan_.slots[slot].place != Place::pair) return;
    const Step step = maker(slot);
    if (contracts(step)) return;
    computed_.insert(slot);
    for (const int in : step.in) need(in);
  }

  // In one thread, -2 c x takes the place of x, and under a root, -c x and -c y that of both. Contracted, the inner product of two scaled vectors takes
  // that of the distance; they end with zeros where the chunks of tensor cores do.
  void place_expansion() {
    Expansion& e = plan_.expansion;
    if (!e.exponent) return;
    const auto contracted = std::any_of(plan_.contractions.begin(), plan_.contractions.end(),
                                        [&](const Entries& made) { return made.slot == e.distance; });
    if (long_vectors_ && !contracted) {
      e = {};
      return;
    }
    const int size = plan_.slots[e.row].size, padded = (size + 15) / 16 * 16;
    if (contracted) {
      e.centre = first_row(e.row);
      e.row_norm = new_slot(Place::row, 1), e.lane_norm = new_slot(Place::lane, 1);
      e.row_vector = new_slot(Place::row, padded), e.lane_vector = new_slot(Place::lane, padded);
      const Step product = step("Scalprod", {e.distance, 1}, {e.row_vector, size}, {e.lane_vector, size});
      plan_.inner_product = {e.distance, size, {e.row_vector, e.lane_vector}, {product}};
    } else if (e.root) {
      scale_vectors();
    } else {
      e.row_norm = norm(Place::row, e.row), e.lane_norm = norm(Place::lane, e.lane);
      const int twice = add(Place::once, "Add", 1, e.factor, e.factor);
      e.row_vector = add(Place::row, "Mult", size, add(Place::once, "Minus", 1, twice, 0), e.row);
      e.lane_vector = e.lane;
      used_[e.row] = false, used_[e.row_vector] = true;
    }
    used_[e.row_norm] = used_[e.lane_norm] = true;
  }

  void scale_vectors() {
    Expansion& e = plan_.expansion;
    const int scale = add(Place::once, "Minus", 1, e.factor, 0), square = add(Place::once, "Square", 1, scale, 0);
    const int positive = add(Place::once, "ReLU", 1, add(Place::once, "Sign", 1, scale, 0), 0);
    scale_vector(Place::row, e.row, scale, positive, e.row_vector, e.row_norm);
    scale_vector(Place::lane, e.lane, scale, positive, e.lane_vector, e.lane_norm);
    for (const Step& product : plan_.steps[int(Place::pair)]) {
      if (product.out == e.exponent || op_row(product.op).name != "Mult") continue;
      for (const int n : {0, 1}) {
        if (product.in[n] != e.root && product.in[n] != e.distance) continue;
        const int by = product.in[n] == e.root ? scale : square;
        const int factor = add(Place::once, "Divide", 1, product.in[1 - n], by);
        used_[factor] = true;
        e.factors[product.out] = factor;
      }
    }
  }
  // The norm, which nobody reads but to see whether it is small, is divided by 1 or 0.
  void scale_vector(Place place, int from, int scale, int positive, int& vector, int& norm) {
    vector = add(place, "Mult", plan_.slots[from].size, scale, from);
    norm = add(place, "Divide", 1, add(place, "Sqrt", 1, add(place, "SqNorm2", 1, vector, 0), 0), positive);
    used_[from] = false, used_[vector] = true;
  }

  // Any point would do as the centre, as long as it is among the others: distances do not depend on the
  // origin.
  int first_row(int vector) {
    for (Load load : plan_.loads[int(Place::row)]) {
      if (load.slot != vector) continue;
      load.slot = new_slot(Place::once, plan_.slots[vector].size);
      plan_.loads[int(Place::once)].push_back(load);
      return load.slot;
    }
    return 0;
  }
  int norm(Place place, int vector) {
    return add(place, "Mult", 1, plan_.expansion.factor, add(place, "SqNorm2", 1, vector, 0));
  }
  int new_slot(Place place, int size) {
    plan_.slots.push_back({place, 0, size});
    used_.push_back(false);
    return int(plan_.slots.size()) - 1;
  }
  struct Sized {
    int slot, size;
  };
  static Step step(const char* op, Sized out, Sized a, Sized b) {
    return {op_table()[find_op(op)].id, out.slot, out.size, {a.slot, b.slot, 0}, {a.size, b.size, 1}, {0, 0}};
  }
  int add(Place place, const char* op, int size, int a, int b) {
    const int out = new_slot(place, size);
    const auto sized = [&](int slot) { return Sized{slot, plan_.slots[slot].size}; };
    plan_.steps[int(place)].push_back(step(op, {out, size}, sized(a), sized(b)));
    return out;
  }

  // A sum of exponentials, or of their products with one number of the lane that nothing else reads; where there are
  // several numbers, it is not faster.
  bool can_weight_lanes() const {
    const Expansion& e = plan_.expansion;
    const bool sums = reduction_table()[plan_.reduction.row].name == "Sum";
    if (!e.exponent || e.root || !plan_.contractions.empty() || !sums) return false;
    const auto is_power = [&](int slot) {
      return plan_.slots[slot].place == Place::pair && op_row(maker(slot).op).name == "Exp2" &&
             maker(slot).in[0] == e.exponent;
    };
    const auto is_weight = [&](int slot) {
      const Slot& weight = plan_.slots[slot];
      return slot == 0 || (weight.place == Place::lane && weight.size == 1 && slot != e.lane_vector);
    };
    const long readers = std::count_if(computed_.begin(), computed_.end(), [&](int slot) {
      const auto& in = maker(slot).in;
      return std::any_of(std::begin(in), std::end(in), [&](int read) { return read == e.exponent || is_power(read); });
    });
    return readers == 1 && ((is_power(plan_.f) && is_weight(plan_.w)) || (is_power(plan_.w) && is_weight(plan_.f)));
  }

  // Norms come first within a place, then what pairs read; long vectors after it, and those of a sum of vectors, start
  // at multiples of 16 bytes.
  void reorder() {
    const Expansion& e = plan_.expansion;
    const auto rank = [&](int slot) {
      if (slot == e.lane_norm && (plan_.weighted || e.root)) return plan_.weighted && !plan_.lane_weight() ? 1 : 2;
      return e.exponent && (slot == e.row_norm || slot == e.lane_norm) ? 0 : used_[slot] ? 1 : 2;
    };
    for (const Place place : {Place::once, Place::row, Place::lane}) {
      int end = 0;
      for (const int now : {0, 1, 2}) {
        for (int n = 0; n < int(plan_.slots.size()); ++n) {
          Slot& slot = plan_.slots[n];
          if (slot.place != place || rank(n) != now) continue;
          const auto& sums = plan_.spread.leaves;
          const bool spread = std::find(sums.begin(), sums.end(), n) != sums.end();
          if (spread || (now == 2 && slot.size >= long_vector)) end = (end + 3) / 4 * 4;
          slot.offset = end;
          end += slot.size;
        }
        if (now == 1) plan_.kept[int(place)] = end;
      }
      plan_.entries[int(place)] = end;
    }
  }

  const bool long_vectors_;
  TiledPlan plan_;
  std::vector<bool> used_;  // by the pair steps that are left
  std::set<int> computed_;  // by them
};

}  // namespace

bool TiledPlan::is_product(const Entries& made) const {
  return made.steps.size() == 1 && op_row(made.steps[0].op).name == "Scalprod" && made.leaves.size() == 2 &&
         slots[made.leaves[0]].place != slots[made.leaves[1]].place;
}

TiledPlan tile(const Plan& plan, bool long_vectors) {
  return Tiler(plan, long_vectors).make();
}

}  // namespace kernops
