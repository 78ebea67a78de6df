// Writes the CUDA text that evaluates the entries of long vectors.
#include "cuda/pairs/text.h"

#include <algorithm>

#include "formula/op_table.h"

namespace kernops {
namespace cuda {
namespace {

// Writes the signs of the row's and the column's vector in the summed vector, which is the vector of the column or a
// difference. If an expanded exponent has changed these vectors, also writes their centre and scale.
std::string parts_of_vector_sum(const Words& words) {
  const Expansion& e = words.plan.expansion;
  const int of_row = words.plan.row_in_vector_sum();
  const auto at = [&](int slot) { return number(slot ? words.plan.slots[slot].offset : -1); };
  return ", of_row = " + number(of_row) + ", of_column = " + number(words.plan.adds_columns() ? 1 : -of_row) +
         ", centre = " + number(of_row && e.centre ? words.plan.slots[e.centre].offset : -1) +
         ", factor = " + number(of_row ? words.plan.slots[e.factor].offset : -1) + ", roots = " + at(words.plan.roots) +
         ", numbers = " + number(int(words.plan.vector_sum.numbers.size())) +
         ", power = " + number(!of_row && words.sums_scaled() ? words.plan.slots[e.column_power].offset : -1);
}

// Returns the atom (the hardware that multiplies) of a contraction. In the scaled product, floats are split into 16-bit
// numbers, because values that cannot be scaled to 16 bits are rare.
const char* atom_of(const Words& words, const Entries& made) {
  const TiledPlan& plan = words.plan;
  if (&made == &plan.vector_sum) return text_of(words.recipe.summed);
  if (&made == &plan.inner_product) return text_of(words.recipe.scaled);
  return text_of(plan.is_product(made) && !plan.expansion.product ? words.recipe.product : Atom::terms);
}

// Writes the code that computes one entry of a vector. In this code, element n of x is the entry of the n-th vector of
// the row. In the same way, y has entries of the vectors of the column, and z has entries of the uniform vectors.
std::string entries(const Words& words, const std::string& name, const Entries& made) {
  const char* letters[] = {"z", "x", "y"};
  Names names = words.names;
  std::string offsets[3];
  int count[3] = {};
  for (const int leaf : made.leaves) {
    const Slot& slot = words.plan.slots[leaf];
    const int at = int(slot.level);
    names[leaf] = part(count[at], 1, letters[at]);
    offsets[at] += (count[at]++ ? ", " : "") + number(slot.offset);
  }
  const bool numbers = !made.numbers.empty();
  for (size_t n = 0; n < made.numbers.size(); ++n) names[made.numbers[n]] = part(int(n), 1, "n");
  const bool scaled = &made == &words.plan.inner_product;
  std::string out =
      "struct " + name + " {\n  static constexpr int size = " + number(made.size) + ";\n  using Rows = At<" +
      offsets[1] + ">;\n  using Columns = At<" + offsets[2] + ">;\n  using Once = At<" + offsets[0] +
      ">;\n  using Atom = " + atom_of(words, made) + ";\n  static constexpr bool scaled = " + yes_or_no(scaled) +
      ", summed = " + yes_or_no(scaled && words.sums_scaled()) +
      (&made == &words.plan.vector_sum ? ";\n  static constexpr int" + parts_of_vector_sum(words).substr(1) : "") +
      ";\n  template <" + (numbers ? "class N, " : "") + "class X, class Y, class Z, class O>\n" +
      "  KERNOPS_FN static Vec<T, 1> entry(" + (numbers ? "const N& n, " : "") +
      "const X& x, const Y& y, const Z& z, const O& o) {\n";
  const auto turns = [&](const Step& step) { return words.has_own_call(step); };
  if (std::any_of(made.steps.begin(), made.steps.end(), turns)) out += "    AnyTurns turns;\n";
  int steps = 0;
  for (const Step& step : made.steps) {
    const std::string result = "t" + number(steps++);
    out += "    const auto " + result + " = " + words.call(step, 1, names) + ";\n";
    names[step.out] = result;
  }
  return out + "    return " + names[made.slot] + ";\n  }\n};\n\n";
}

}  // namespace

std::string long_vectors(const Words& words) {
  std::string out;
  for (size_t n = 0; n < words.plan.contractions.size(); ++n)
    out += entries(words, "Contraction" + number(int(n)), words.plan.contractions[n]);
  if (words.plan.inner_product.size > 0) out += entries(words, "InnerProduct", words.plan.inner_product);
  if (words.plan.vector_sum.size > 0) out += entries(words, "Summed", words.plan.vector_sum);
  return out;
}

std::string contractions(const Words& words, bool near) {
  const std::string kept = "  static constexpr int kept_row = " + number(at_least_one(words.plan.kept[1])) +
                           ", kept_column = " + number(at_least_one(words.plan.kept[2]));
  if (words.recipe.mainloop == Mainloop::panels)
    return kept + ", contracted = " + number(int(words.plan.contractions.size())) + ";\n";
  std::string list;
  for (size_t n = 0; n < words.plan.contractions.size(); ++n) {
    const bool expanded = near && words.plan.contractions[n].slot == words.plan.expansion.distance;
    list += (n ? ", " : "") + (expanded ? "InnerProduct" : "Contraction" + number(int(n)));
  }
  return kept + ";\n  using Contractions = List<" + list + ">;\n";
}

}  // namespace cuda
}  // namespace kernops
