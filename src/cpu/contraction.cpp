#include "cpu/contraction.h"

#include <algorithm>

#include "cpu/vector_sum.h"
#include "formula/op_table.h"

namespace kernops {
namespace cpu {
namespace {

constexpr int shortest = 6;  // minimum length: for shorter vectors, packing takes as much time as it saves

}  // namespace

ContractedPlan::ContractedPlan(const Plan& plan, bool sums_by_tiles, bool single)
    : Plan(plan), kept(plan.entries[int(Level::row)]) {
  if (sums_by_tiles) sum = take_vector_sum(*this, single);
  if (sum.size == 0) factor = take_out_once(*this);
  if (factor) leave_out_unused(*this, {f, w});
  take_out();
  if (contractions.empty() && sum.size == 0) return;
  read_directly(Level::row);
  read_directly(Level::column);
  pair_footprint = footprint_of_pairs(*this);
}

// Moves contractions from the steps of the plan to `contractions`. The contractions are computed before the steps, so
// each contraction has a slot that no step overwrites.
void ContractedPlan::take_out() {
  std::vector<int> slot_of(slots.size());
  for (size_t n = 0; n < slot_of.size(); ++n) slot_of[n] = int(n);
  std::vector<Step> remaining;
  for (Step step : steps[int(Level::pair)]) {
    for (int& in : step.in) in = slot_of[in];
    slot_of[step.out] = step.out;
    if (contracts(step) || contracts_difference(step, remaining))
      slot_of[step.out] = contractions.back().out;
    else
      remaining.push_back(step);
  }
  steps[int(Level::pair)] = remaining;
  f = slot_of[f], w = slot_of[w], sum.number = slot_of[sum.number];
  const auto has_other = [](const Contraction& c) { return c.other.slot != 0; };
  if (std::any_of(contractions.begin(), contractions.end(), has_other)) leave_out_unused(*this, {f, w, sum.number});
}

// Returns whether a step is the contraction (x - y | h) or, with weights w, (w (x - y) | h). x belongs to the row and y
// to the column, or vice versa; h belongs to the row or to the column.
bool ContractedPlan::contracts_difference(const Step& step, const std::vector<Step>& before) {
  const int size = step.sizes[0];
  if (!op_row(step.op).is(OpId::Scalprod) || size < shortest) return false;
  const auto is_vector = [&](int slot, Level level) { return slots[slot].level == level && slots[slot].size == size; };
  // the last step before `read` that writes the slot; several steps may write a slot, because steps share buffers
  const auto maker = [&](int slot, auto read) {
    return std::find_if(read, before.rend(), [=](const Step& s) { return s.out == slot; });
  };
  const bool first = slots[step.in[0]].level != Level::pair;
  const int other = step.in[first ? 0 : 1];
  auto made = maker(step.in[first ? 1 : 0], before.rbegin());
  const auto is_made_by = [&](OpId op) { return made != before.rend() && op_row(made->op).is(op); };
  int weights = 0;
  if (is_made_by(OpId::Mult)) {
    const bool second = slots[made->in[1]].level == Level::uniform;
    weights = made->in[second];
    if (!is_vector(weights, Level::uniform)) return false;
    made = maker(made->in[!second], std::next(made));
  }
  if (!is_made_by(OpId::Subtract)) return false;
  int row = made->in[0], column = made->in[1];
  const bool opposite = slots[row].level == Level::column, of_row = is_vector(other, Level::row);
  if (opposite) std::swap(row, column);
  if (!is_vector(row, Level::row) || !is_vector(column, Level::column) || !(of_row || is_vector(other, Level::column)))
    return false;
  const int along = weights ? multiply(weights, other) : other;
  slots.push_back({Level::pair, 0, 1});
  contractions.push_back({of_row ? Contraction::along_row : Contraction::along_column, LongVector{row, false, {}},
                          LongVector{column, false, {}}, LongVector{along, false, {}}, 0, int(slots.size()) - 1, size,
                          opposite});
  return true;
}

// Adds a step that multiplies a vector by weights entry by entry, and returns the slot of the product.
int ContractedPlan::multiply(int weights, int vector) {
  const auto [level, offset, size] = slots[vector];
  const int out = int(slots.size());
  slots.push_back({level, 0, size});
  steps[int(level)].push_back({int(OpId::Mult), out, size, {weights, vector, 0}, {size, size, 1}, {0, 0}});
  return out;
}

bool ContractedPlan::contracts(const Step& step) {
  const auto term = op_row(step.op).contraction;
  if (!term) return false;
  const bool weighted = *term == Contraction::weighted_square;
  int row = step.in[weighted], column = step.in[weighted + 1];
  if (slots[row].level == Level::column) std::swap(row, column);
  if (slots[row].level != Level::row || slots[column].level != Level::column || slots[row].size < shortest)
    return false;
  if (weighted && slots[step.in[0]].level != Level::uniform) return false;
  slots.push_back({Level::pair, 0, 1});
  contractions.push_back({*term, LongVector{row, false, {}}, LongVector{column, false, {}}, LongVector{},
                          weighted ? step.in[0] : 0, int(slots.size()) - 1, slots[row].size, false});
  return true;
}

std::vector<bool> ContractedPlan::read_by(Level level) const {
  std::vector<bool> read(slots.size(), false);
  read[sum.factor] = true;
  if (level == Level::pair) read[f] = read[w] = read[sum.number] = true;
  for (const Step& step : steps[int(level)])
    for (const int in : step.in) read[in] = true;
  return read;
}

std::vector<LongVector*> ContractedPlan::long_vectors(Level level) {
  const bool of_row = level == Level::row;
  std::vector<LongVector*> all;
  for (Contraction& c : contractions) {
    all.push_back(of_row ? &c.row : &c.column);
    if (c.reads_other(of_row)) all.push_back(&c.other);
  }
  if (sum.size > 0) all.push_back(of_row ? &sum.row : &sum.column);
  if (sum.reads_other(of_row)) all.push_back(&sum.other);
  return all;
}

// Removes the slots of input vectors that only contractions read. These vectors are packed directly from the input.
void ContractedPlan::read_directly(Level level) {
  const std::vector<bool> by_pairs = read_by(Level::pair), by_level = read_by(level);
  std::vector<Load> remaining;
  for (const Load& load : loads[int(level)]) {
    const bool outside = load.kind == Load::variable || load.kind == Load::reduced;
    bool direct = false;
    for (LongVector* vector : long_vectors(level)) {
      if (vector->slot != load.slot || !outside || by_pairs[load.slot] || by_level[load.slot]) continue;
      direct = vector->direct = true;
      vector->source.load = load;
    }
    if (direct)
      slots[load.slot].size = 0;
    else
      remaining.push_back(load);
  }
  loads[int(level)] = remaining;
  reorder(level);
}

// Renumbers the slots so that the slots that pairs read come first; only these slots are kept after the steps of a row.
void ContractedPlan::reorder(Level level) {
  const std::vector<bool> by_pairs = read_by(Level::pair);
  int end = 0;
  for (const bool is_read : {true, false}) {
    for (size_t n = 0; n < slots.size(); ++n) {
      if (slots[n].level != level || by_pairs[n] != is_read) continue;
      slots[n].offset = end;
      end += slots[n].size;
    }
    if (is_read && level == Level::row) kept = end;
  }
  entries[int(level)] = end;
}

}  // namespace cpu
}  // namespace kernops
