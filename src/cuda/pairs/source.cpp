// Writes a Plan as CUDA text: a struct with the values of each level (row, column, uniform), and the entry points of
// the kernels.
#include <algorithm>

#include "cuda/pairs/text.h"
#include "formula/op_table.h"

namespace kernops {
namespace cuda {
namespace {

class Writer {
 public:
  explicit Writer(const Words& words)
      : words(words), plan(words.plan), settings(words.settings), recipe(words.recipe) {}

  Text text() {
    const bool wide = words.wide(), expands = words.expands();
    const bool panels = recipe.mainloop == Mainloop::panels, lists = recipe.mainloop == Mainloop::lists;
    std::string out = std::string("#include <kernops/") + header() +
                      ".cuh>\nusing namespace kernops;\nusing T = " + (settings.single ? "float" : "double") + ";\n\n";
    if (wide && !panels) out += long_vectors(words);
    if (lists) out += nearest();
    if (expands) out += "struct Near {\n" + pairs(words, true) + "};\n\n";
    out += "struct Formula {\n  using T = ::T;\n";
    out += std::string("  using Near = ::") + (expands ? "Near" : "Formula") +
           ";\n  static constexpr bool expands = " + yes_or_no(expands) +
           ", weighted = " + yes_or_no(expands && plan.weighted) + ";\n";
    out += "  static constexpr int once = " + number(plan.entries[0]) + ", kept_once = " + number(plan.kept[0]) +
           ", factor = " + number(offset(plan.factor)) + ", entry_factors = " + number(offset(plan.entry_factors)) +
           ";\n";
    if (wide)
      out += std::string("  static constexpr bool in_place = ") + yes_or_no(recipe.in_place) +
             ", products = " + yes_or_no(expands && plan.expansion.product) + ";\n";
    if (wide && plan.vector_sum.size > 0) out += "  using VectorSum = ::Summed;\n";
    if (panels) out += panel();
    if (recipe.operands == Operands::made_rows) out += row_data();
    if (recipe.sums_vectors() || panels) out += "  using Powers = " + powers() + ";\n";
    out += level("run_once(T* o)", Level::uniform, "o");
    out += level("run_row(const T* o, T* x)", Level::row, "x");
    out += level("run_column(const T* o, T* y)", Level::column, "y");
    out += pairs(words, false) + "};\n\n";
    if (!panels && !lists) out += row();
    return {out, entry_points(), "KERNOPS_LEVELS(Formula)\n" + merge()};
  }

 private:
  const char* header() const {
    switch (recipe.mainloop) {
      case Mainloop::narrow: return "cuda/map_reduce";
      case Mainloop::panels: return "cuda/wide/panels";
      case Mainloop::lists: return "cuda/wide/nearest";
      default: return recipe.sums_vectors() ? "cuda/wide/vector_sum" : "cuda/wide/map_reduce";
    }
  }
  int offset(int slot) const { return slot ? plan.slots[slot].offset : -1; }
  // Returns whether vectors are summed with exponential weights, which need a common shift of the exponents.
  bool shifts() const { return words.sums_vectors() && reduction_table()[plan.reduction.row].exponentiates(); }
  std::string powers() const {
    return shifts() ? "accumulators::" + reduction_table()[plan.reduction.row].accumulator_name +
                          "<T, 1, many_weights, 1>::Powers"
                    : "NoPowers";
  }
  // Writes the constants of a panel: the length of summed vectors, and the slot of a factor by which the sums are
  // multiplied. Three lists have an element for each number of a pair: whether the number multiplies a vector of the
  // column; the vector of the row by which the total of the number is multiplied; and the factor of this total.
  std::string panel() const {
    std::string columns, rows, factors;
    const auto add = [](std::string& list, int n) { list += (list.empty() ? "" : ", ") + number(n); };
    for (const PanelPlan::Term& term : plan.panels.terms)
      add(columns, term.column != 0), add(rows, offset(term.row)), add(factors, offset(term.factor));
    return "  static constexpr int width = " + number(plan.panels.width) +
           ", scale = " + number(offset(plan.panels.scale)) + ";\n  using Columns = At<" + columns +
           ">;\n  using Rows = At<" + rows + ">;\n  using Factors = At<" + factors + ">;\n";
  }
  // Writes the offsets and sizes of the data of a row.
  std::string row_data() const {
    std::string pieces;
    for (const Load& load : plan.loads[int(Level::row)]) {
      const Slot& slot = plan.slots[load.slot];
      pieces += (pieces.empty() ? "" : ", ") + ("Piece<" + number(slot.offset) + ", " + number(slot.size) + ">");
    }
    return "  using RowData = Data<" + pieces + ">;\n";
  }
  std::string engine(const ReductionRow& row) const {
    if (!row.sums() && !shifts()) return row.accumulator_name;
    return settings.scheme == SumScheme::direct  ? "DirectSum"
           : settings.scheme == SumScheme::kahan ? "KahanSum"
                                                 : "Sum";
  }

  std::string row() const {
    const bool sums_vectors = words.sums_vectors(), weighs = plan.w != 0 || plan.weighted;
    const int f = sums_vectors ? 1 : plan.f_size, w = sums_vectors ? 1 : weighs ? plan.w_size : 0;
    return "using Row = accumulators::" + engine(reduction_table()[plan.reduction.row]) + "<T, " + number(f) + ", " +
           number(w) + ", " + number(std::max(plan.reduction.k, 1)) +
           (settings.single && settings.accumulate_double ? ", double" : "") + ">;\n";
  }

  std::string merge() const {
    switch (recipe.mainloop) {
      case Mainloop::lists: return "KERNOPS_NEAREST_MERGE(Formula, Nearest)\n";
      case Mainloop::panels: return "KERNOPS_PANEL_MERGE(Formula)\n";
      default: return recipe.sums_vectors() ? "KERNOPS_VECTOR_SUM_MERGE(Formula, Row)\n" : "KERNOPS_MERGE(Row)\n";
    }
  }

  std::string entry_points() const {
    const std::string digits = yes_or_no(recipe.atom == Atom::digits);
    switch (recipe.mainloop) {
      case Mainloop::lists: return "KERNOPS_NEAREST_KERNELS(Formula, Nearest)\n";
      case Mainloop::panels:
        return "KERNOPS_PANEL_KERNELS(Formula, " + number(recipe.rows_per_thread) + ", " + number(recipe.columns) +
               ", " + digits + ")\n" + (recipe.atom == Atom::digits ? "KERNOPS_DIGIT_KERNELS\n" : "");
      default:
        return "using Kernel = PairKernel<Formula, " + mainloop() + ", " + consumer() + ", " +
               (recipe.ranges ? "SomePairs" : "AllPairs") + ">;\nKERNOPS_PAIR_KERNEL(Kernel, " +
               (recipe.mainloop == Mainloop::narrow ? "const __grid_constant__ PairJob)\n" : "PairJob)\n");
    }
  }
  std::string mainloop() const {
    const char* operands[] = {"FilledColumns", "MadeColumns", "MadeRows"};
    const std::string rows = number(recipe.rows_per_thread);
    if (recipe.mainloop == Mainloop::narrow)
      return "Narrow<" + rows + ", " + number(recipe.unrolled) + ", " + number(recipe.threads) + ", " +
             operands[int(recipe.operands)] + ">";
    const std::string groups = recipe.warpgroups ? ", " + number(recipe.warpgroups) : "";
    return std::string("Wide<") + text_of(recipe.atom) + ", " + rows + ", " + number(recipe.columns / 8) + groups + ">";
  }
  std::string consumer() const {
    const char* batching[] = {"", "ByEntries", "OfColumns", "Whole", "ByTiles"};
    return recipe.sums_vectors() ? std::string("VectorSum<Row, ") + batching[int(recipe.batching)] + ">"
                                 : "States<Row>";
  }

  std::string nearest() const {
    const Nearest& n = plan.nearest;
    const Result result = reduction_table()[plan.reduction.row].result;
    return "struct Nearest {\n  static constexpr int size = " + number(plan.slots[n.row].size) +
           ", k = " + number(n.k) + ", listed = " + number(n.listed) + ", product = " + number(n.product) +
           ", parts = " + number(recipe.parts) + ", row = " + number(plan.slots[n.row].offset) +
           ", column = " + number(plan.slots[n.column].offset) +
           ";\n  static constexpr bool root = " + yes_or_no(n.root) + ", negated = " + yes_or_no(n.negated) +
           ", values = " + yes_or_no(result != Result::Positions) +
           ", positions = " + yes_or_no(result != Result::Values) + ";\n};\n\n";
  }

  std::string level(const std::string& head, Level where, const std::string& target) const {
    std::string out = "  KERNOPS_FN static void " + head + " {\n";
    if (where == Level::uniform) out += "    o[0] = 1;\n";
    for (const Step& step : plan.steps[int(where)]) {
      out += "    put<" + operation(step) + ", " + number(plan.slots[step.out].offset) + ", " + number(step.size) +
             ", " + number(step.ints[0]) + ", " + number(step.ints[1]) + ">(" + arguments(step, words.names, target) +
             ";\n";
    }
    return out + scaled(where, target) + "  }\n";
  }

  // Writes the code that scales the vector of the row or of the column in the inner product of an expanded exponent.
  std::string scaled(Level where, const std::string& target) const {
    const Expansion& e = plan.expansion;
    if (plan.inner_product.size == 0 || where == Level::uniform) return "";
    const bool row = where == Level::row;
    const Slot& slot = plan.slots[row ? e.row_vector : e.column_vector];
    const Slot& norm = plan.slots[row ? e.row_norm : e.column_norm];
    const std::string as_matrices = yes_or_no(!row || recipe.warpgroups);
    if (e.product)
      return "    put_product<" + number(slot.offset) + ", " + number(norm.offset) + ", " +
             number(plan.slots[row ? e.row_power : e.column_power].offset) + ", " + as_matrices + ", " +
             number(slot.size) + ", " + yes_or_no(!row && plan.sums_columns_of_product()) + ">(" + target + ", " +
             words.names[row ? e.row : e.column] + ");\n";
    const bool summed =
        !row && (plan.panels.adds(e.column_vector) || (settings.single && plan.row_in_vector_sum() != 0));
    return "    put_scaled<" + number(slot.offset) + ", " + number(norm.offset) + (row ? ", -1, " : ", 1, ") +
           number(slot.size) + ", " + as_matrices + ", " + yes_or_no(summed) + ">(" + target + ", " +
           words.names[row ? e.row : e.column] + ", " + words.names[e.factor] +
           (e.centre    ? ", " + words.names[e.centre]
            : e.weights ? ", {}"
                        : "") +
           (e.weights ? ", " + words.names[e.weights] : "") + ");\n";
  }

  const Words& words;
  const TiledPlan& plan;
  const Settings& settings;
  const Recipe& recipe;
};

}  // namespace

Text source(const TiledPlan& plan, const Settings& settings, const Recipe& recipe) {
  return Writer(Words(plan, settings, recipe)).text();
}

}  // namespace cuda
}  // namespace kernops
