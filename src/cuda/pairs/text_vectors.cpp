// What is done for the entries of long vectors, as CUDA text.
#include "cuda/pairs/text.h"

#include <algorithm>

#include "formula/op_table.h"

namespace kernops {
namespace cuda {
namespace {

// Whether the sums are those of cuda/wide/vector_sum_scaled.cuh.
bool sums_scaled(const Words& words) {
  const TiledPlan& plan = words.plan;
  const bool products = plan.expansion.product && plan.sums_columns_of_product() &&
                        (words.shape.warpgroups || plan.inner_product.size <= 256);  // whose totals stay in registers
  return (products || plan.row_in_vector_sum() != 0) && plan.contractions.size() == 1 &&
         adds_by_tiles(words.settings) && in_place(plan, words.settings);
}

// How the vector of a sum is made of those of row and column, where it is a column's, or such a difference: then they
// are near each other where the exponent is expanded, and there seen from a centre and scaled.
std::string parts_of_vector_sum(const Words& words) {
  const Expansion& e = words.plan.expansion;
  const int of_row = words.plan.row_in_vector_sum();
  const auto at = [&](int slot) { return number(slot ? words.plan.slots[slot].offset : -1); };
  return ", of_row = " + number(of_row) + ", of_column = " + number(words.plan.adds_columns() ? 1 : -of_row) +
         ", centre = " + number(of_row && e.centre ? words.plan.slots[e.centre].offset : -1) +
         ", factor = " + number(of_row ? words.plan.slots[e.factor].offset : -1) + ", roots = " + at(words.plan.roots) +
         ", numbers = " + number(int(words.plan.vector_sum.numbers.size())) +
         ", power = " + number(!of_row && sums_scaled(words) ? words.plan.slots[e.column_power].offset : -1);
}

// One entry of long vectors: x, y and z hold that of each vector of the rows, of the columns and of what is there once.
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
  // whatever tensor cores cannot take as numbers of 16 bits is rare
  const bool scaled = &made == &words.plan.inner_product, rare = words.plan.expansion.product && !scaled;
  std::string out =
      "struct " + name + " {\n  static constexpr int size = " + number(made.size) + ";\n  using Rows = At<" +
      offsets[1] + ">;\n  using Columns = At<" + offsets[2] + ">;\n  using Once = At<" + offsets[0] +
      ">;\n  static constexpr bool is_product = " + yes_or_no(words.plan.is_product(made) && !rare) +
      ", scaled = " + yes_or_no(scaled) + ", summed = " + yes_or_no(scaled && sums_scaled(words)) +
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
  if (words.plan.vector_sum.size > 0) out += entries(words, "VectorSum", words.plan.vector_sum);
  return out;
}

std::string contractions(const Words& words, bool near) {
  const std::string kept = "  static constexpr int kept_row = " + number(at_least_one(words.plan.kept[1])) +
                           ", kept_column = " + number(at_least_one(words.plan.kept[2]));
  if (words.shape.kind == Shape::panels)
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
