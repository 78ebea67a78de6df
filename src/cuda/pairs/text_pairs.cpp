// Writes the CUDA text that evaluates a pair.
#include "cuda/pairs/text.h"

#include "formula/op_table.h"

namespace kernops {
namespace cuda {
namespace {

constexpr int longest_copied = 256;  // values with more entries are stored directly at their destination

class Pairs {
 public:
  explicit Pairs(const Words& words) : words(words), plan(words.plan) {}

  std::string text(bool near) const {
    const bool wide = words.wide(), sums_vectors = words.sums_vectors();
    const auto entries = [&](Level where) {
      return number(at_least_one(near ? plan.kept[int(where)] : plan.entries[int(where)]));
    };
    std::string out = "  static constexpr int row = " + entries(Level::row) + ", column = " + entries(Level::column) +
                      ";\n  static constexpr bool much_work = " + yes_or_no(words.recipe.much_work) +
                      ", turns = " + yes_or_no(words.watches_turns()) + ";\n";
    if (wide) out += contractions(words, near);
    if (near && !wide) out += norm();
    out += "  using F = Vec<T, " + number(plan.slots[plan.f].size) + ">;\n";
    out += "  using W = Vec<T, " + number(sums_vectors ? 1 : plan.w_size) + ">;\n";
    out += "  template <class O, class X, class Y, " + std::string(wide ? "class C, " : "") +
           "class A> KERNOPS_FN static void pair(const O& o, const X& x, const Y& y, " +
           (wide ? "const C& c, F& f, W& w, A& turns) {\n" : "F& f, W& w, int turn, A& turns) {\n");
    Names names = words.names;
    int count = 0;
    if (near && plan.expansion.product) {
      const Expansion& e = plan.expansion;
      out += "    const auto product = rescaled(" + names[e.distance] + ", " + names[e.row_power] + ", " +
             names[e.column_power] + ");\n";
      names[e.distance] = "product";
    }
    for (const Step& step : plan.steps[int(Level::pair)]) {
      if (near && is_replaced(step)) continue;
      const std::string name = "t" + number(count++);
      const bool moved = step.size > longest_copied && !words.has_own_call(step);
      out +=
          moved ? "    Vec<T, " + number(step.size) + "> " + name + ";\n    " + words.call_to(name, step, names) + ";\n"
                : "    const auto " + name + " = " +
                      (near ? near_call(step, names) : words.call(step, step.size, names)) + ";\n";
      names[step.out] = name;  // the CPU reuses slots; in CUDA text, each value has a new name
    }
    if (near && plan.weighted && !plan.column_weight()) names[0] = names[plan.expansion.column_norm];
    return out + "    assign(f, " + names[plan.f] + ");\n    assign(w, " + names[plan.w] + ");\n  }\n";
  }

 private:
  // True if the text with the expanded exponent omits a step, because another slot replaces the step's result.
  bool is_replaced(const Step& step) const {
    const Expansion& e = plan.expansion;
    return e.rooted ? op_row(step.op).is(OpId::Subtract) && reads(step, e.row) : step.out == e.distance && !e.root;
  }
  // Writes two slots of a column: the norm of its vector; and its weight, which includes the norm. If the column has no
  // weight, the second slot is also the norm.
  std::string norm() const {
    const int norm = plan.expansion.column_norm, weight = plan.weighted ? plan.column_weight() : 0;
    return "  static constexpr int norm = " + number(plan.slots[norm].offset) +
           ", weight = " + number(plan.slots[weight ? weight : norm].offset) + ";\n";
  }

  std::string near_call(const Step& step, const Names& names) const {
    if (plan.expansion.rooted) return rooted_call(step, names);
    if (plan.expansion.product) return words.call(step, step.size, names);
    return plan.expansion.root ? scaled_call(step, names) : expanded_call(step, names);
  }
  std::string rooted_call(const Step& step, const Names& names) const {
    const Expansion& e = plan.expansion;
    if (step.out == e.distance)
      return "apply<ops::SqDist, 1, 0, 0>(" + names[e.row_vector] + ", " + names[e.column_vector] + ")";
    if (step.in[0] != plan.roots) return words.call(step, step.size, names);
    const bool opposite = plan.maker(step.in[1])->in[0] == e.column;
    return "apply<ops::Subtract, " + number(step.size) + ", 0, 0>(" + names[opposite ? e.column_vector : e.row_vector] +
           ", " + names[opposite ? e.row_vector : e.column_vector] + ")";
  }
  std::string scaled_call(const Step& step, const Names& names) const {
    const Expansion& e = plan.expansion;
    if (step.out == e.distance)
      return "apply<ops::SqDist, 1, 0, 0>(" + names[e.row_vector] + ", " + names[e.column_vector] + ")";
    if (step.out == e.exponent) return "apply<ops::Minus, 1, 0, 0>(" + names[e.root] + ")";
    // One of `every` pairs does not use the special function unit. If there are factors, more pairs use this unit,
    // because other instructions hide some of the time of the unit.
    const char* every = e.factors.empty() ? "2" : "3";
    if (step.in[0] == e.exponent) return std::string("exp2_of_minus<") + every + ">(" + names[e.root] + ", turn)";
    const auto factor = e.factors.find(step.out);
    if (factor == e.factors.end()) return words.call(step, step.size, names);
    const int read = step.in[0] == e.root || step.in[0] == e.distance ? step.in[0] : step.in[1];
    return "apply<ops::Mult, 1, 0, 0>(" + names[factor->second] + ", " + names[read] + ")";
  }
  std::string expanded_call(const Step& step, const Names& names) const {
    const Expansion& e = plan.expansion;
    if (step.out == e.exponent) {
      const bool contracted = plan.inner_product.size > 0;
      return "expanded(" + names[e.row_norm] + ", " + (plan.weighted ? "" : names[e.column_norm] + ", ") +
             (contracted ? names[e.distance] + ", unscaled<T>()"
                         : names[e.row_vector] + ", " + names[e.column_vector]) +
             ")";
    }
    if (step.in[0] == e.exponent && op_row(step.op).is(OpId::Exp2)) return "exp2_of_small(" + names[e.exponent] + ")";
    return words.call(step, step.size, names);
  }

  const Words& words;
  const TiledPlan& plan;
};

}  // namespace

std::string pairs(const Words& words, bool near) { return Pairs(words).text(near); }

}  // namespace cuda
}  // namespace kernops
