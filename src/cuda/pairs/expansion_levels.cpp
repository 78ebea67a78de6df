// Adds the slots and steps that the expansion of an exponent needs to a plan (cuda/pairs/expansion.cpp).
//
// There are three cases. If a thread holds the vectors in registers, -2 c x replaces x in an exponent c |x - y|^2, and
// -c x and -c y replace x and y in an exponent c |x - y|. If tiles contract the vectors, the inner product of two
// scaled vectors replaces |x - y|^2. The scaled vectors are padded with zeros to a multiple of 16 entries, which tensor
// cores require.
#include <algorithm>

#include "formula/op_table.h"
#include "cuda/pairs/tiling.h"

namespace kernops {
namespace {

class Placing {
 public:
  Placing(Tiling& tiling, bool long_vectors)
      : tiling_(tiling), plan_(tiling.plan), e_(tiling.plan.expansion), long_vectors_(long_vectors) {}

  void run() {
    if (!e_.exponent) return;
    const bool contracted = std::any_of(plan_.contractions.begin(), plan_.contractions.end(),
                                        [&](const Entries& made) { return made.slot == e_.distance; });
    if (long_vectors_ && (!contracted || (e_.product && plan_.contractions.size() > 1))) {
      e_ = {};
      return;
    }
    if (e_.rooted)
      take_roots();
    else if (contracted)
      take_inner_product();
    else if (e_.root)
      scale_both();
    else
      multiply_row();
    tiling_.used[e_.row_norm] = tiling_.used[e_.column_norm] = true;
  }

 private:
  int add(Level level, OpId op, int size, int a, int b = 0) { return tiling_.add(level, op, size, a, b); }

  void take_inner_product() {
    const int size = plan_.slots[e_.row].size, padded = (size + 15) / 16 * 16;
    // Distances do not depend on the origin, so any point near the data can be the centre.
    if (!e_.product) e_.centre = tiling_.first_row(e_.row);
    e_.row_norm = tiling_.new_slot(Level::row, 1), e_.column_norm = tiling_.new_slot(Level::column, 1);
    e_.row_vector = tiling_.new_slot(Level::row, padded), e_.column_vector = tiling_.new_slot(Level::column, padded);
    const Step product = make_step(OpId::Scalprod, {e_.distance, 1}, {e_.row_vector, size}, {e_.column_vector, size});
    plan_.inner_product = {e_.distance, size, {e_.row_vector, e_.column_vector}, {product}};
    if (!e_.product) return;
    e_.row_power = tiling_.new_slot(Level::row, 1), e_.column_power = tiling_.new_slot(Level::column, 1);
    tiling_.used[e_.row_power] = tiling_.used[e_.column_power] = true;
  }

  // Returns the slot of a number that is 0 if a weight is negative, and otherwise 1.
  int valid_weights() { return add(Level::uniform, OpId::Step, 1, add(Level::uniform, OpId::Min, 1, e_.weights)); }

  void take_roots() {
    const int size = plan_.slots[e_.row].size;
    // Norms are squared lengths of the vectors r x, divided by this number. The limit 32 of norms then allows lengths
    // up to 46,000, at which the rounding errors of r x are 5e-12.
    const double room = 1 << 26;
    const int most = add(Level::uniform, OpId::Mult, 1, valid_weights(), tiling_.constant(room));
    const auto take = [&](Level level, int from, int& vector, int& norm) {
      vector = add(level, OpId::Mult, size, plan_.roots, from);
      norm = add(level, OpId::Divide, 1, add(level, OpId::SqNorm2, 1, vector), most);
      tiling_.used[from] = false, tiling_.used[vector] = true;
    };
    take(Level::row, e_.row, e_.row_vector, e_.row_norm);
    take(Level::column, e_.column, e_.column_vector, e_.column_norm);
  }

  void multiply_row() {
    const int valid = e_.weights ? valid_weights() : 0;
    const auto norm = [&](Level level, int vector) {
      const int product = add(level, OpId::Mult, 1, e_.factor, square(level, vector));
      return valid ? add(level, OpId::Divide, 1, product, valid) : product;
    };
    e_.row_norm = norm(Level::row, e_.row), e_.column_norm = norm(Level::column, e_.column);
    const int size = plan_.slots[e_.row].size, twice = add(Level::uniform, OpId::Add, 1, e_.factor, e_.factor);
    int scale = add(Level::uniform, OpId::Minus, 1, twice);
    if (e_.weights) scale = add(Level::uniform, OpId::Mult, size, scale, e_.weights);
    e_.row_vector = add(Level::row, OpId::Mult, size, scale, e_.row);
    e_.column_vector = e_.column;
    tiling_.used[e_.row] = false, tiling_.used[e_.row_vector] = true;
  }
  int square(Level level, int vector) {
    return e_.weights ? add(level, OpId::DiagSqNorm, 1, e_.weights, vector) : add(level, OpId::SqNorm2, 1, vector);
  }

  void scale_both() {
    const int scale = add(Level::uniform, OpId::Minus, 1, e_.factor);
    int square = 0;
    const int positive = add(Level::uniform, OpId::ReLU, 1, add(Level::uniform, OpId::Sign, 1, scale));
    const int size = plan_.slots[e_.row].size;
    const int roots = e_.weights ? add(Level::uniform, OpId::Sqrt, size, e_.weights) : 0;
    const int scales = roots ? add(Level::uniform, OpId::Mult, size, scale, roots) : scale;
    scale_vector(Level::row, e_.row, scales, positive, e_.row_vector, e_.row_norm);
    scale_vector(Level::column, e_.column, scales, positive, e_.column_vector, e_.column_norm);
    for (const Step& product : plan_.steps[int(Level::pair)]) {
      if (product.out == e_.exponent || !op_row(product.op).is(OpId::Mult)) continue;
      for (const int n : {0, 1}) {
        if (product.in[n] != e_.root && product.in[n] != e_.distance) continue;
        const bool squared = product.in[n] == e_.distance;
        if (squared && !square) square = add(Level::uniform, OpId::Square, 1, scale);
        const int factor = add(Level::uniform, OpId::Divide, 1, product.in[1 - n], squared ? square : scale);
        tiling_.used[factor] = true;
        e_.factors[product.out] = factor;
      }
    }
  }

  // Multiplies a vector by `scale` and computes the norm of the product. Kernels only compare this norm with a limit.
  // The norm is divided by `positive`, which is 0 if the scale is invalid, and otherwise 1. After a division by 0, the
  // norm is infinite or NaN, and exceeds the limit.
  void scale_vector(Level level, int from, int scale, int positive, int& vector, int& norm) {
    vector = add(level, OpId::Mult, plan_.slots[from].size, scale, from);
    norm = add(level, OpId::Divide, 1, add(level, OpId::Sqrt, 1, add(level, OpId::SqNorm2, 1, vector)), positive);
    tiling_.used[from] = false, tiling_.used[vector] = true;
  }

  Tiling& tiling_;
  TiledPlan& plan_;
  Expansion& e_;
  const bool long_vectors_;
};

}  // namespace

void place_expansion(Tiling& tiling, bool long_vectors) { Placing(tiling, long_vectors).run(); }

// Finds a weighted distance and a sum with the same weights. The two vectors of the distance are multiplied by the
// square roots of the weights. The sum is multiplied by these roots and by the signs of the weights.
void find_roots(Tiling& tiling) {
  TiledPlan& plan = tiling.plan;
  std::vector<Step>& steps = plan.steps[int(Level::pair)];
  const int weights = plan.entry_factors;
  const auto distance = std::find_if(steps.begin(), steps.end(), [=](const Step& step) {
    return op_row(step.op).is(OpId::DiagSqDist) && step.in[0] == weights;
  });
  int* const sum = plan.slots[plan.f].size > 1 ? &plan.f : &plan.w;
  const Step* const difference = plan.maker(*sum);
  if (distance == steps.end() || !difference || !op_row(difference->op).is(OpId::Subtract)) return;
  Expansion expansion{};
  expansion.exponent = expansion.distance = distance->out, expansion.weights = weights, expansion.rooted = true;
  expansion.row = distance->in[1], expansion.column = distance->in[2];
  if (plan.slots[expansion.row].level == Level::column) std::swap(expansion.row, expansion.column);
  const auto is_read = [&](int slot) {
    const auto reads_it = [=](const Step& step) { return reads(step, slot); };
    return slot == plan.f || slot == plan.w || std::any_of(steps.begin(), steps.end(), reads_it);
  };
  const auto may_read = [&](const Step& step) {
    if (!is_read(step.out)) return true;  // a later pass removes steps with unused results
    const bool row = reads(step, expansion.row), column = reads(step, expansion.column);
    return row == column && (!row || step.out == distance->out || step.out == difference->out) &&
           !reads(step, difference->out);
  };
  if (plan.slots[expansion.row].level != Level::row || plan.slots[expansion.column].level != Level::column ||
      !reads(*difference, expansion.row) || !std::all_of(steps.begin(), steps.end(), may_read))
    return;
  plan.expansion = expansion;
  tiling.add_roots(weights);
  *sum = tiling.add(Level::pair, OpId::Mult, plan.slots[*sum].size, plan.roots, *sum);
}

bool can_weight_columns(const Tiling& tiling) {
  const TiledPlan& plan = tiling.plan;
  const Expansion& e = plan.expansion;
  const bool sums = reduction_table()[plan.reduction.row].sums();
  if (!e.exponent || e.root || !plan.contractions.empty() || !sums) return false;
  const auto is_power = [&](int slot) {
    return plan.slots[slot].level == Level::pair && op_row(plan.maker(slot)->op).is(OpId::Exp2) &&
           plan.maker(slot)->in[0] == e.exponent;
  };
  const auto is_weight = [&](int slot) {
    const Slot& weight = plan.slots[slot];
    return slot == 0 || (weight.level == Level::column && weight.size == 1 && slot != e.column_vector);
  };
  const long readers = std::count_if(tiling.computed.begin(), tiling.computed.end(), [&](int slot) {
    const auto& in = plan.maker(slot)->in;
    return std::any_of(std::begin(in), std::end(in), [&](int read) { return read == e.exponent || is_power(read); });
  });
  return readers == 1 && ((is_power(plan.f) && is_weight(plan.w)) || (is_power(plan.w) && is_weight(plan.f)));
}

}  // namespace kernops
