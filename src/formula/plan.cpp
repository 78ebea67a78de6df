// Converts a graph of nodes to straight-line code. Each value is computed at the lowest possible level: once, per row,
// per SIMD lane, or per pair. The values of pairs share buffers: a buffer is reused as soon as its value is no longer
// needed.
#include "formula/plan.h"

#include <algorithm>

#include "formula/limits.h"
#include "formula/op_table.h"

namespace kernops {
namespace {

class Planner {
 public:
  Planner(const Graph& graph, const Reduction& reduction, const std::vector<SummandTrees>& summands)
      : graph_(graph), summands_(summands) {
    plan_.reduction = reduction;
    plan_.rows = reduction.over == axis_i ? axis_j : axis_i;
    plan_.stores = reduction_table()[reduction.row].stores();
    plan_.slots.push_back({Level::uniform, 0, 1});  // slot 0 stands for missing arguments
    plan_.entries[0] = 1;
  }

  Plan make() {
    const auto [f, w] = outputs_ = outputs();
    mark_needed();
    for (Tree t = 0; t < int(needed_.size()); ++t)
      if (needed_[t] && (summands_.empty() || of_summands_[t])) emit(t);
    add_summands();
    plan_.f = slot_[f];
    plan_.w = w < 0 ? 0 : slot_[w];
    plan_.f_size = graph_[plan_.reduction.f].size;
    plan_.w_size = w < 0 ? 1 : graph_[w].size;
    plan_.pair_footprint = footprint_of_pairs(plan_);
    return plan_;
  }

 private:
  // Returns the values that the reduction reads, and their weights. For a sum of products, these are the two factors of
  // the product, so that the sum is computed by multiply-add.
  std::array<Tree, 2> outputs() const {
    const Node& f = graph_[plan_.reduction.f];
    const bool product = is(f, OpId::Mult) && f.axes == both;
    if (product && reduction_table()[plan_.reduction.row].sums()) return {f.args[0], f.args[1]};
    return {plan_.reduction.f, plan_.reduction.w};
  }

  // Keeps the buffers of the summands until the last steps compute f from them.
  void add_summands() {
    if (summands_.empty()) return;
    const auto slot = [this](Tree t) { return t < 0 ? 0 : slot_[t]; };
    for (const SummandTrees& term : summands_)
      plan_.summands.push_back({slot(term.value), slot(term.times), slot(term.factor), term.at, term.size});
    const size_t before = plan_.steps[int(Level::pair)].size();
    for (Tree t = 0; t < int(needed_.size()); ++t)
      if (needed_[t] && !of_summands_[t]) emit(t);
    plan_.joins = int(plan_.steps[int(Level::pair)].size() - before);
  }

  void mark_summands() {
    of_summands_.assign(needed_.size(), false);
    for (const SummandTrees& term : summands_)
      for (const Tree t : {term.value, term.times, term.factor})
        if (t >= 0) of_summands_[t] = needed_[t] = true;
    for (Tree t = Tree(of_summands_.size()) - 1; t >= 0; --t)
      for (const Tree arg : graph_[t].args)
        if (of_summands_[t] && arg >= 0) of_summands_[arg] = true;
  }

  Tree last_output() const {
    Tree last = *std::max_element(outputs_.begin(), outputs_.end());
    for (const SummandTrees& term : summands_) last = std::max({last, term.value, term.times, term.factor});
    return last;
  }

  void mark_needed() {
    const Tree last = last_output();
    needed_.assign(last + 1, false);
    last_use_.assign(last + 1, last + 1);
    slot_.assign(last + 1, 0);
    for (const Tree output : outputs_)
      if (output >= 0) needed_[output] = true;
    mark_summands();
    for (Tree t = last; t >= 0; --t) {
      if (!needed_[t]) continue;
      for (const Tree arg : graph_[t].args) {
        if (arg < 0) continue;
        if (!needed_[arg]) last_use_[arg] = t;  // backwards: the first use found is the last use
        needed_[arg] = true;
      }
    }
    for (const Tree output : outputs_)
      if (output >= 0) last_use_[output] = last + 1;
    for (const SummandTrees& term : summands_)
      for (const Tree t : {term.value, term.times})
        if (t >= 0) last_use_[t] = last + 1;
    for (Tree t = 0; !summands_.empty() && t <= last; ++t)
      for (const Tree arg : graph_[t].args)
        if (needed_[t] && !of_summands_[t] && arg >= 0 && of_summands_[arg]) last_use_[arg] = last + 1;
  }

  Level level_of(unsigned axes) const {
    if (axes == none) return Level::uniform;
    if (axes == both) return Level::pair;
    return axes == plan_.rows ? Level::row : Level::column;
  }

  void emit(Tree t) {
    look_up();
    const Node& node = graph_[t];
    const Level level = level_of(node.axes);
    slot_[t] = allocate(level, node.size);
    if (node.kind != Node::operation) {
      static const Load::Kind kinds[] = {Load::constant, Load::variable,    Load::index,       Load::reduced,
                                         Load::centre,   Load::eigenvalues, Load::eigenvectors};
      plan_.loads[int(level)].push_back({kinds[node.kind], node.id, slot_[t], node.value});
      plan_.counts_indices = plan_.counts_indices || node.kind == Node::index;
      return;
    }
    const OpRow& row = op_table()[node.id];
    Step step{row.id, slot_[t], node.size, {0, 0, 0}, {1, 1, 1}, {node.ints[0], node.ints[1]}};
    for (size_t n = 0; n < row.vectors.size(); ++n) {
      step.in[n] = slot_[node.args[n]];
      step.sizes[n] = graph_[node.args[n]].size;
    }
    // adding 32 marks a function whose order, such as v in K_v(x), is the same for all pairs: see kernops/special.h
    if (row.has_order && plan_.slots[step.in[0]].level == Level::uniform) step.ints[1] += 32;
    plan_.steps[int(level)].push_back(step);
    if (level == Level::pair) release_arguments(t);
  }

  int allocate(Level level, int size) {
    if (level == Level::pair) {
      for (auto free = free_.begin(); free != free_.end(); ++free) {
        if (plan_.slots[*free].size != size) continue;
        const int slot = *free;
        free_.erase(free);
        return slot;
      }
    }
    int& end = plan_.entries[int(level)];
    plan_.slots.push_back({level, end, size});
    end += size;
    return int(plan_.slots.size()) - 1;
  }

  void release_arguments(Tree t) {
    std::array<Tree, 3> args = graph_[t].args;
    std::sort(args.begin(), args.end());
    const auto end = std::unique(args.begin(), args.end());
    for (auto arg = args.begin(); arg != end; ++arg)
      if (*arg >= 0 && last_use_[*arg] == t && plan_.slots[slot_[*arg]].level == Level::pair)
        free_.push_back(slot_[*arg]);
  }

  const Graph& graph_;
  const std::vector<SummandTrees>& summands_;
  Plan plan_;
  std::array<Tree, 2> outputs_;
  std::vector<bool> needed_, of_summands_;
  std::vector<Tree> last_use_;
  std::vector<int> slot_;  // slot of each node
  std::vector<int> free_;  // free buffers of pairs
};

}  // namespace

const Step* Plan::maker(int slot) const {
  for (const Step& step : steps[int(Level::pair)])
    if (step.out == slot) return &step;
  return nullptr;
}

void give_own_slots(Plan& plan) {
  std::vector<int> now(plan.slots.size());
  for (size_t n = 0; n < now.size(); ++n) now[n] = int(n);
  for (Step& step : plan.steps[int(Level::pair)]) {
    for (int& in : step.in) in = now[in];
    plan.slots.push_back({Level::pair, 0, step.size});
    step.out = now[step.out] = int(plan.slots.size()) - 1;
  }
  plan.f = now[plan.f], plan.w = now[plan.w];
}

// If a factor is removed, the remaining factor replaces the product. Therefore a factor is removed only if no step
// after the product overwrites the slot of the remaining factor.
int take_out_once(Plan& plan) {
  const std::vector<Step>& pairs = plan.steps[int(Level::pair)];
  if (!reduction_table()[plan.reduction.row].sums()) return 0;
  for (int* product : {&plan.f, &plan.w}) {
    const auto made = std::find_if(pairs.rbegin(), pairs.rend(), [&](const Step& s) { return s.out == *product; });
    if (made == pairs.rend() || !op_row(made->op).is(OpId::Mult) || made->size == 1) continue;
    for (const int n : {0, 1}) {
      const int once = made->in[n], left = made->in[1 - n];
      const bool vectors = plan.slots[once].size == made->size && plan.slots[left].size == made->size;
      const bool kept = std::none_of(pairs.rbegin(), made, [&](const Step& s) { return s.out == left; });
      if (plan.slots[once].level != Level::uniform || !vectors || !kept) continue;
      *product = left;
      return once;
    }
  }
  return 0;
}

// Counts the entries per lane that the loop over pairs reads or writes. These entries should fit into the first-level
// cache.
int footprint_of_pairs(const Plan& plan) {
  std::vector<bool> touched(plan.slots.size(), false);
  touched[plan.f] = touched[plan.w] = true;
  for (const Step& step : plan.steps[int(Level::pair)]) {
    touched[step.out] = true;
    for (const int in : step.in) touched[in] = true;
  }
  int footprint = 0;
  for (size_t n = 0; n < touched.size(); ++n)
    if (touched[n] && plan.slots[n].level >= Level::column) footprint += plan.slots[n].size;
  return footprint;
}

Plan plan(const Graph& graph, const Reduction& reduction, const std::vector<SummandTrees>& summands) {
  static long made = 0;
  Plan plan = Planner(graph, reduction, summands).make();
  plan.id = ++made;
  return plan;
}

}  // namespace kernops
