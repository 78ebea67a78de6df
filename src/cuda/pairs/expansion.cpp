// Computes the exponent c |x - y|^2 of an exponential by the norm expansion c |x|^2 + c |y|^2 + (-2 c x | y), where (a
// | b) is an inner product. The norms and the scaled vectors are computed once per row or column, so that a pair takes
// one multiply-add for each entry. Cancellation loses digits in proportion to the norms, and the absolute error of the
// exponent is the relative error of the exponential. Kernels therefore use the expansion only if both norms are small
// (cuda/values.cuh).
//
// An exponent c |x - y| with c < 0 is -|x' - y'|, where x' = -c x and y' = -c y. This form has no cancellation, but its
// rounding errors grow with the norms of the vectors. Therefore kernels use this form only for short vectors. Scaling
// saves a multiplication and the clamping of the exponent. The polynomial in front of the exponential of a Matern
// function, 1 + a |x - y| + ..., is computed from |x' - y'|, too.
//
// Weights of the coordinates are included in the scaled vectors, and thus cause no additional work for a pair.
#include <kernops/reductions.h>

#include <algorithm>

#include "formula/op_table.h"
#include "cuda/pairs/crossovers.h"
#include "cuda/pairs/tiled_plan.h"

namespace kernops {
namespace {

constexpr int most_shifts = 4;  // limits the recursion

class Expander {
 public:
  Expander(const Plan& plan, bool long_vectors)
      : plan_(plan), steps_(plan.steps[int(Level::pair)]), long_vectors_(long_vectors) {}

  Expansion make() const {
    for (const Step& product : steps_) {
      if (!op_row(product.op).is(OpId::Mult) || !only_exponentiated(product.out, most_shifts)) continue;
      for (const int n : {0, 1}) {
        const int factor = product.in[n];
        if (!is_once(factor)) continue;
        const Expansion expansion = of_distance(product.out, factor, product.in[1 - n]);
        if (expansion.exponent) return expansion;
      }
    }
    return {};
  }

 private:
  Expansion of_distance(int exponent, int factor, int slot) const {
    const Step* made = plan_.maker(slot);
    const int root = made && op_row(made->op).is(OpId::Sqrt) ? slot : 0;
    if (root && !only_exponentiated(exponent, 0)) return {};
    if (root) made = plan_.maker(made->in[0]);
    const bool weighted = made && op_row(made->op).is(OpId::DiagSqDist);
    if (!made || !(weighted || op_row(made->op).is(OpId::SqDist))) return {};
    const int weights = weighted ? made->in[0] : 0;
    if (weighted && plan_.slots[weights].level != Level::uniform) return {};
    int row = made->in[weighted], column = made->in[1 + weighted];
    if (plan_.slots[row].level == Level::column) std::swap(row, column);
    if (plan_.slots[row].level != Level::row || plan_.slots[column].level != Level::column || !may_replace(row))
      return {};
    if (root ? !may_scale(made->out, root, exponent) || !may_replace(column) : readers(slot) != 1) return {};
    // long vectors are not scaled, because the scaled vectors would take shared memory in addition to the originals
    if (root && (long_vectors_ || plan_.slots[row].size >= crossover::contracted)) return {};
    Expansion expansion{};
    expansion.exponent = exponent, expansion.distance = made->out, expansion.root = root, expansion.factor = factor;
    expansion.row = row, expansion.column = column, expansion.weights = weights;
    return expansion;
  }

  // Returns whether the slots `distance` (|x - y|^2) and `root` (|x - y|) can be computed from the scaled vectors.
  // Apart from the exponent, only polynomials with a constant term may read these slots, because rounding errors are
  // small compared with the constant.
  bool may_scale(int distance, int root, int exponent) const {
    return std::all_of(steps_.begin(), steps_.end(),
                       [&](const Step& step) {
                         const bool reads_one = reads(step, root) || (reads(step, distance) && step.out != root);
                         return !reads_one || step.out == exponent ||
                                (multiplies_once(step) && joins_constant(step.out));
                       }) &&
           plan_.f != root && plan_.w != root && plan_.f != distance && plan_.w != distance;
  }
  bool is_once(int slot) const { return plan_.slots[slot].level == Level::uniform && plan_.slots[slot].size == 1; }
  bool multiplies_once(const Step& step) const {
    return op_row(step.op).is(OpId::Mult) && (is_once(step.in[0]) || is_once(step.in[1]));
  }
  bool joins_constant(int slot) const {
    const auto sum = std::find_if(steps_.begin(), steps_.end(), [=](const Step& step) { return reads(step, slot); });
    if (readers(slot) != 1 || sum == steps_.end() || !op_row(sum->op).is(OpId::Add)) return false;
    const int other = sum->in[sum->in[0] == slot ? 1 : 0];
    const Step* made = plan_.maker(other);
    return is_once(other) || (made && op_row(made->op).is(OpId::Add) && (is_once(made->in[0]) || is_once(made->in[1])));
  }

  // Returns whether the scaled vector can replace the original vector: a vector in the registers of a thread if only
  // one step reads the vector, and a long vector if it has at least long_enough() entries.
  bool may_replace(int vector) const {
    return long_vectors_ ? plan_.slots[vector].size >= long_enough(plan_) : readers(vector) == 1;
  }

  long readers(int slot) const {
    return std::count_if(steps_.begin(), steps_.end(), [=](const Step& step) { return reads(step, slot); }) +
           (plan_.f == slot) + (plan_.w == slot);
  }

  // Returns whether a number occurs only in exponents of exponentials. An exponent may be a sum or a difference of this
  // number and up to `shifts` other numbers.
  bool only_exponentiated(int slot, int shifts) const {
    if (plan_.f == slot) return reduction_table()[plan_.reduction.row].exponentiates() && readers(slot) == 1;
    return plan_.w != slot && std::all_of(steps_.begin(), steps_.end(), [&](const Step& step) {
             const OpRow& op = op_row(step.op);
             const bool shifted = (op.is(OpId::Add) || op.is(OpId::Subtract)) && step.size == 1;
             return !reads(step, slot) || op.is(OpId::Exp2) ||
                    (shifted && shifts > 0 && only_exponentiated(step.out, shifts - 1));
           });
  }

  const Plan& plan_;
  const std::vector<Step>& steps_;
  const bool long_vectors_;
};

}  // namespace

Expansion find_expansion(const Plan& plan, bool long_vectors) { return Expander(plan, long_vectors).make(); }

// Finds the inner product of a long vector of the row and a long vector of the column. If f or w has several entries,
// the narrow main loop is faster up to a greater length of the vectors.
Expansion find_product(const Plan& plan) {
  const bool weighs = reduction_table()[plan.reduction.row].exponentiates();
  const bool some = weighs ? plan.w_size < many_weights : plan.f_size > 1 && plan.f_size < many_weights;
  const int shortest = some ? crossover::product_beside_states : crossover::contracted;
  for (const Step& step : plan.steps[int(Level::pair)]) {
    if (!op_row(step.op).is(OpId::Scalprod) || step.sizes[0] < shortest || step.sizes[0] != step.sizes[1]) continue;
    int row = step.in[0], column = step.in[1];
    if (plan.slots[row].level == Level::column) std::swap(row, column);
    if (plan.slots[row].level != Level::row || plan.slots[column].level != Level::column) continue;
    Expansion expansion{};
    expansion.exponent = expansion.distance = step.out, expansion.row = row, expansion.column = column,
    expansion.product = true;
    return expansion;
  }
  return {};
}

}  // namespace kernops
