// A Plan as CUDA text: names and order only. What they mean stands in the headers under inst/include.
#include "cuda.h"

#include <algorithm>
#include <set>

#include "op_table.h"

namespace kernops {
namespace cuda {
namespace {

std::string number(int n) { return std::to_string(n); }
std::string part(int offset, int size, const std::string& of) {
  return "part<" + number(offset) + ", " + number(size) + ">(" + of + ")";
}

class Writer {
 public:
  Writer(const TiledPlan& plan, const Settings& settings, const Shape& shape)
      : plan_(plan),
        settings_(settings),
        shape_(shape),
        type_(settings.single ? "float" : "double"),
        names_(plan.slots.size()) {
    const char* place_names[] = {"o", "x", "y"};
    for (size_t n = 1; n < plan.slots.size(); ++n) {
      const Slot& slot = plan.slots[n];
      if (slot.place != Place::pair) names_[n] = part(slot.offset, slot.size, place_names[int(slot.place)]);
    }
    names_[0] = "one<T>()";
    for (size_t n = 0; n < plan.contractions.size(); ++n)
      names_[plan.contractions[n].slot] = part(int(n), 1, "c");
  }

  std::string text() {
    const bool wide = shape_.kind != Shape::narrow;
    const char* headers[] = {"map_reduce", "map_reduce_wide", "spread"};
    const std::string rows = "#define KERNOPS_OWN_ROWS " + number(shape_.rows_per_thread) + "\n";
    std::string out = (wide ? rows : "") + "#include <kernops/" + headers[shape_.kind] +
                      ".cuh>\nusing namespace kernops;\nusing T = " + type_ + ";\n\n";
    if (wide) out += long_vectors();
    const bool expands = plan_.expansion.exponent > 0 && (!wide || plan_.tiled());
    if (expands) out += "struct Near {\n" + pairs(true) + "};\n\n";
    out += "struct Formula {\n  using T = ::T;\n";
    out += std::string("  using Near = ::") + (expands ? "Near" : "Formula") +
           ";\n  static constexpr bool expands = " + (expands ? "true" : "false") +
           ", weighted = " + (expands && plan_.weighted ? "true" : "false") + ";\n";
    out += "  static constexpr int once = " + number(plan_.entries[0]) +
           ", kept_once = " + number(plan_.kept[0]) +
           ", factor = " + number(plan_.factor ? plan_.slots[plan_.factor].offset : -1) + ";\n";
    const std::string places = in_place(plan_, settings_) ? "true" : "false";
    if (wide) out += "  static constexpr bool in_place = " + places + ";\n";
    if (wide && plan_.spread.size > 0) out += "  using Spread = ::Spread;\n";
    out += place("run_once(T* o)", Place::once, "o");
    out += place("run_row(const T* o, T* x)", Place::row, "x");
    out += place("run_lane(const T* o, T* y)", Place::lane, "y");
    out += pairs(false) + "};\n\n";
    return out + entry_points();
  }

 private:
  static int at_least_one(int n) { return n > 0 ? n : 1; }

  std::string engine(const ReductionRow& row) const {
    if (row.engine != "Sum") return row.engine;
    return settings_.scheme == SumScheme::direct  ? "DirectSum"
           : settings_.scheme == SumScheme::kahan ? "KahanSum"
                                                  : "Sum";
  }

  std::string entry_points() const {
    const bool spread = plan_.spread.size > 0;
    const bool weighs = plan_.w != 0 || plan_.weighted;
    const int f = spread ? 1 : plan_.f_size, w = spread ? 1 : weighs ? plan_.w_size : 0;
    const std::string row = "using Row = engines::" + engine(reduction_table()[plan_.reduction.row]) +
                            "<T, " + number(f) + ", " + number(w) + ", " +
                            number(std::max(plan_.reduction.k, 1)) +
                            (settings_.single && settings_.accumulate_double ? ", double" : "") + ">;\n";
    const std::string pairs = shape_.some ? "SomePairs" : "AllPairs";
    if (shape_.kind == Shape::narrow)
      return row + "KERNOPS_KERNELS(Formula, Row, " + number(shape_.rows_per_thread) + ", " +
             number(shape_.unrolled) + ", " + number(shape_.threads) + ", " + pairs +
             (shape_.makes_lanes ? ", MadeLanes)\n" : ", FilledLanes)\n");
    return row + (spread ? "KERNOPS_SPREAD_KERNELS" : "KERNOPS_WIDE_KERNELS") + "(Formula, Row, " +
           number(shape_.lanes / 8) + ", " + pairs + ")\n";
  }

  std::string operation(const Step& step) const { return "ops::" + op_row(step.op).name; }
  std::string arguments(const Step& step, const std::vector<std::string>& names, std::string text) const {
    for (size_t n = 0; n < op_row(step.op).vectors.size(); ++n)
      text += (text.empty() ? "" : ", ") + names[step.in[n]];
    return text + ")";
  }
  // What a unit of its own computes, slowly; division and powers take it several times.
  static bool is_special(const Step& step) {
    static const std::set<std::string> special = {"Sqrt", "Rsqrt", "Inv", "Divide", "Log", "Log2"};
    return special.count(op_row(step.op).name) > 0;
  }
  bool takes_turns(const Step& step) const {
    const auto& steps = plan_.steps[int(Place::pair)];
    return op_row(step.op).name == "Exp2" && shape_.kind == Shape::narrow &&
           std::any_of(steps.begin(), steps.end(), is_special);
  }
  std::string call(const Step& step, int size, const std::vector<std::string>& names) const {
    if (takes_turns(step)) return "exp2_in_turn(" + names[step.in[0]] + ", turn)";
    const bool empty = op_row(step.op).vectors.empty();
    return "apply<" + operation(step) + ", " + number(size) + ", " + number(step.ints[0]) + ", " +
           number(step.ints[1]) + (empty ? ", T>(" : ">(") + arguments(step, names, "");
  }

  std::string place(const std::string& head, Place where, const std::string& target) const {
    std::string out = "  KERNOPS_FN static void " + head + " {\n";
    if (where == Place::once) out += "    o[0] = 1;\n";
    for (const Step& step : plan_.steps[int(where)]) {
      out += "    put<" + operation(step) + ", " + number(plan_.slots[step.out].offset) + ", " +
             number(step.size) + ", " + number(step.ints[0]) + ", " + number(step.ints[1]) + ">(" +
             arguments(step, names_, target) + ";\n";
    }
    return out + scaled(where, target) + "  }\n";
  }

  // The vectors of an expansion's inner product.
  std::string scaled(Place where, const std::string& target) const {
    const Expansion& e = plan_.expansion;
    if (plan_.inner_product.size == 0 || where == Place::once) return "";
    const bool row = where == Place::row;
    const Slot& slot = plan_.slots[row ? e.row_vector : e.lane_vector];
    const Slot& norm = plan_.slots[row ? e.row_norm : e.lane_norm];
    return "    put_scaled<" + number(slot.offset) + ", " + number(norm.offset) + (row ? ", -1, " : ", 1, ") +
           number(slot.size) + (settings_.single && !row && row_in_spread() ? ", true>(" : ", false>(") + target +
           ", " + names_[row ? e.row : e.lane] + ", " + names_[e.factor] +
           (e.centre ? ", " + names_[e.centre] : "") + ");\n";
  }

  // What is done for each pair: `near` where exponents may be expanded.
  std::string pairs(bool near) const {
    const bool wide = shape_.kind != Shape::narrow, spread = plan_.spread.size > 0;
    const bool all = !near;
    const auto entries = [&](Place where) {
      return number(at_least_one(all ? plan_.entries[int(where)] : plan_.kept[int(where)]));
    };
    std::string out =
        "  static constexpr int row = " + entries(Place::row) + ", lane = " + entries(Place::lane) +
        ";\n  static constexpr bool much_work = " + (much_work(plan_) ? "true" : "false") + ";\n";
    if (wide) out += contractions(near);
    if (near && !wide) out += norm();
    out += "  using F = Vec<T, " + number(spread ? 1 : plan_.slots[plan_.f].size) + ">;\n";
    out += "  using W = Vec<T, " + number(spread ? 1 : plan_.w_size) + ">;\n";
    out += "  template <class O, class X, class Y" + std::string(wide ? ", class C" : "") +
           "> KERNOPS_FN static void pair(const O& o, const X& x, const Y& y, " +
           (wide ? "const C& c, F& f, W& w) {\n" : "F& f, W& w, int turn) {\n");
    std::vector<std::string> names = names_;
    int count = 0;
    for (const Step& step : plan_.steps[int(Place::pair)]) {
      if (near && step.out == plan_.expansion.distance && !plan_.expansion.root) continue;
      const std::string name = "t" + number(count++);
      out += "    const auto " + name + " = " +
             (near ? near_call(step, names) : call(step, step.size, names)) + ";\n";
      names[step.out] = name;  // buffers that the CPU reuses are new names here
    }
    if (near && plan_.weighted && !plan_.lane_weight()) names[0] = names[plan_.expansion.lane_norm];
    return out + "    f = " + names[plan_.f] + ";\n    w = " + names[plan_.w] + ";\n  }\n";
  }

  // Where a lane has the norm of its vector, and the weight that takes it; the same where there is no other weight.
  std::string norm() const {
    const int norm = plan_.expansion.lane_norm, weight = plan_.weighted ? plan_.lane_weight() : 0;
    return "  static constexpr int norm = " + number(plan_.slots[norm].offset) +
           ", weight = " + number(plan_.slots[weight ? weight : norm].offset) + ";\n";
  }

  std::string near_call(const Step& step, const std::vector<std::string>& names) const {
    return plan_.expansion.root ? scaled_call(step, names) : expanded_call(step, names);
  }
  std::string scaled_call(const Step& step, const std::vector<std::string>& names) const {
    const Expansion& e = plan_.expansion;
    if (step.out == e.distance)
      return "apply<ops::SqDist, 1, 0, 0>(" + names[e.row_vector] + ", " + names[e.lane_vector] + ")";
    if (step.out == e.exponent) return "apply<ops::Minus, 1, 0, 0>(" + names[e.root] + ")";
    const char* every = e.factors.empty() ? "2" : "3";  // with more to do besides, the special functions are waited for less
    if (step.in[0] == e.exponent) return std::string("exp2_of_minus<") + every + ">(" + names[e.root] + ", turn)";
    const auto factor = e.factors.find(step.out);
    if (factor == e.factors.end()) return call(step, step.size, names);
    const int read = step.in[0] == e.root || step.in[0] == e.distance ? step.in[0] : step.in[1];
    return "apply<ops::Mult, 1, 0, 0>(" + names[factor->second] + ", " + names[read] + ")";
  }
  std::string expanded_call(const Step& step, const std::vector<std::string>& names) const {
    const Expansion& e = plan_.expansion;
    if (step.out == e.exponent) {
      const bool contracted = plan_.inner_product.size > 0;
      return "expanded(" + names[e.row_norm] + ", " + (plan_.weighted ? "" : names[e.lane_norm] + ", ") +
             (contracted ? names[e.distance] + ", unscaled<T>()"
                         : names[e.row_vector] + ", " + names[e.lane_vector]) +
             ")";
    }
    if (step.in[0] == e.exponent) return "exp2_of_small(" + names[e.exponent] + ")";
    return call(step, step.size, names);
  }

  std::string long_vectors() const {
    std::string out;
    for (size_t n = 0; n < plan_.contractions.size(); ++n)
      out += entries("Contraction" + number(int(n)), plan_.contractions[n]);
    if (plan_.inner_product.size > 0) out += entries("InnerProduct", plan_.inner_product);
    if (plan_.spread.size > 0) out += entries("Spread", plan_.spread);
    return out;
  }
  std::string contractions(bool near) const {
    std::string list;
    for (size_t n = 0; n < plan_.contractions.size(); ++n) {
      const bool expanded = near && plan_.contractions[n].slot == plan_.expansion.distance;
      list += (n ? ", " : "") + (expanded ? "InnerProduct" : "Contraction" + number(int(n)));
    }
    return "  static constexpr int kept_row = " + number(at_least_one(plan_.kept[1])) +
           ", kept_lane = " + number(at_least_one(plan_.kept[2])) + ";\n  using Contractions = List<" + list +
           ">;\n";
  }

  // The sign that the row's vector has in that of a sum, where it is the difference of the two that an expanded
  // exponent has; else 0.
  int row_in_spread() const {
    const Expansion& e = plan_.expansion;
    const Entries& made = plan_.spread;
    if (made.steps.size() != 1 || op_row(made.steps[0].op).name != "Subtract" || !e.exponent) return 0;
    const int* in = made.steps[0].in;
    return in[0] == e.row && in[1] == e.lane ? 1 : in[0] == e.lane && in[1] == e.row ? -1 : 0;
  }

  // How the vector of a sum is made of those of row and lane, where it is a lane's, or such a difference: then they are
  // near each other where the exponent is expanded, and there seen from a centre and scaled.
  std::string parts_of_spread() const {
    const Expansion& e = plan_.expansion;
    const Entries& made = plan_.spread;
    const int of_row = row_in_spread();
    const bool of_lane = made.steps.empty() && plan_.slots[made.slot].place == Place::lane;
    return ", of_row = " + number(of_row) + ", of_lane = " + number(of_lane ? 1 : -of_row) +
           ", centre = " + number(of_row && e.centre ? plan_.slots[e.centre].offset : -1) +
           ", factor = " + number(of_row ? plan_.slots[e.factor].offset : -1);
  }

  // One entry of long vectors: x, y and z hold that of each vector of the rows, of the lanes and of what is
  // there once.
  std::string entries(const std::string& name, const Entries& made) const {
    const char* letters[] = {"z", "x", "y"};
    std::vector<std::string> names = names_;
    std::string offsets[3];
    int count[3] = {};
    for (const int leaf : made.leaves) {
      const Slot& slot = plan_.slots[leaf];
      const int at = int(slot.place);
      names[leaf] = part(count[at], 1, letters[at]);
      offsets[at] += (count[at]++ ? ", " : "") + number(slot.offset);
    }
    std::string out =
        "struct " + name + " {\n  static constexpr int size = " + number(made.size) +
        ";\n  using Rows = At<" + offsets[1] + ">;\n  using Lanes = At<" + offsets[2] +
        ">;\n  using Once = At<" + offsets[0] +
        ">;\n  static constexpr bool is_product = " + (plan_.is_product(made) ? "true" : "false") +
        ", scaled = " + (&made == &plan_.inner_product ? "true" : "false") +
        (&made == &plan_.spread ? ";\n  static constexpr int" + parts_of_spread().substr(1) : "") +
        ";\n  template <class X, class Y, class Z, class O>\n" +
        "  KERNOPS_FN static Vec<T, 1> entry(const X& x, const Y& y, const Z& z, const O& o) {\n";
    int steps = 0;
    for (const Step& step : made.steps) {
      const std::string result = "t" + number(steps++);
      out += "    const auto " + result + " = " + call(step, 1, names) + ";\n";
      names[step.out] = result;
    }
    return out + "    return " + names[made.slot] + ";\n  }\n};\n\n";
  }

  const TiledPlan& plan_;
  const Settings& settings_;
  const Shape& shape_;
  const std::string type_;
  std::vector<std::string> names_;
};

}  // namespace

std::string source(const TiledPlan& plan, const Settings& settings, const Shape& shape) {
  return Writer(plan, settings, shape).text();
}

}  // namespace cuda
}  // namespace kernops
