// The CUDA texts of reductions of segments. A text names the operation and the type of the values; cuda/segments/*.cuh
// defines the kernels.
#include "cuda/segments/roll.h"
#include "cuda/text.h"

namespace kernops {
namespace cuda {
namespace {

const char* type_of(const SegmentValues& values) {
  const char* names[] = {"double", "float", "int"};
  return names[values.type];
}
const char* number_type(const SegmentRequest& work) { return single(work) ? "float" : "double"; }

std::string where(const SegmentRequest& work, bool staged) {
  return staged || in_order(work) ? "Where::in_order" : work.segments.groups ? "Where::ordered" : "Where::shifted";
}

// Returns the name of the struct that segments.def lists for the operation of a request. Sums are merged pairwise, so
// they need no compensation. If `whole` is true, sums of integers are exact, even beyond 2^53.
std::string reduction(const SegmentRequest& work, bool whole) {
  const std::string& name = statistics()[size_t(work.op)].structure;
  if (work.op == int(StatisticId::mean)) return "MeanOf<DirectSum>";
  if (work.op != int(StatisticId::sum)) return name;
  return whole && work.x.type == SegmentValues::integers && !work.weights.data ? "WholeSum" : "DirectSum";
}

}  // namespace

// Writes a struct with a function that evaluates the steps of a formula.
std::string join_function(const std::string& name, const Plan& plan) {
  Names names(plan.slots.size());
  names[0] = "one<T>()";
  for (const Load& load : plan.loads[int(Level::uniform)])
    names[load.slot] = "(Vec<T, 1>{" + constant(load.value) + "})";
  for (const Load& load : plan.loads[int(Level::column)]) names[load.slot] = load.id == 0 ? "a" : "b";
  std::string out = "struct " + name + " {\n  KERNOPS_FN static T join(T x, T y) {\n    const Vec<T, 1> a{x}, b{y};\n";
  int count = 0;
  for (const Level place : {Level::uniform, Level::column})
    for (const Step& step : plan.steps[int(place)]) {
      const std::string name = "t" + number(count++);
      out += "    const auto " + name + " = " + applied(step, step.size, names) + ";\n";
      names[step.out] = name;
    }
  return out + "    return " + names[plan.f] + ".v[0];\n  }\n" +
         "  template <class G> KERNOPS_FN static T of(const G&, T x, T y) { return join(x, y); }\n};\n";
}

namespace {

// Returns the name of the struct that combines a value and its weight.
std::string term(const SegmentRequest& work) {
  const std::string V = type_of(work.x), W = type_of(work.weights), T = ", T";
  const TermRow& row = term_row(work.term);
  if (!work.weights.data) return "Mapped<" + V + T + ", " + row.name + (row.given ? ", true>" : ">");
  if (!work.x.data) return "PartnerAlone<" + W + T + ">";
  return "Paired<" + V + ", " + W + T + ", " + (work.product ? "Multiply" : row.name) + (row.given ? ", true>" : ">");
}

// Writes the includes and types that the terms of values and weights need.
std::string preamble(const SegmentRequest& work) {
  std::string text;
  if (work.formula || work.product) text += "#include <kernops/cuda/values.cuh>\n";
  text += "using namespace kernops;\nusing T = " + std::string(number_type(work)) + ";\n";
  if (work.product) text += join_function("Multiply", work.product->plan);
  return text;
}

std::string values_of_lane() { return number(lane_values(false)); }

std::string operator_of(const SegmentRequest& work, int output, bool whole = true) {
  const std::string skip = work.skip_missing ? "true" : "false";
  if (work.formula)
    return join_function("Join", work.formula->plan) + "using Op = ReducedByFormula<Join, T, " + skip + ">;\n";
  return "using Op = ReducedBy<" + reduction(work, whole) + ", T, " + skip + ", " + number(output) + ">;\n";
}

}  // namespace

const SegmentValues& foremost(const SegmentRequest& work) { return work.x.data ? work.x : work.weights; }

std::string segment_text(const SegmentRequest& work, int output, bool staged) {
  const bool plain = plain_values(work) && (staged || in_order(work));
  std::string text = "#include <kernops/cuda/segments/reduce.cuh>\n";
  if (!plain) text += "#include <kernops/cuda/segments/anywhere.cuh>\n";
  text += preamble(work) + operator_of(work, output);
  text += plain ? "using Values = Contiguous<" + std::string(type_of(work.x)) + ">;\n"
                : "using Values = Anywhere<" + term(work) + ", " + where(work, staged) + ">;\n";
  return text + "KERNOPS_SEGMENTS(Op, Values, double, " + number(lane_values(single(work))) + ")\n";
}

std::string scan_text(const SegmentRequest& work, int output) {
  const bool backward = work.reverse && work.formula;  // other operations need no change for reversed scans
  const auto flag = [](bool value) { return value ? ", true" : ", false"; };
  const int lane = scan_lane_values(work);
  std::string text = "#include <kernops/cuda/segments/scan.cuh>\n" + preamble(work) + operator_of(work, output);
  text += std::string("using ScanOp = ") + (backward ? "Backward<Op>" : "Op") + ";\n";
  text += std::string("using Tile = ScanTile<ScanOp, ") + (in_order(work) ? "Contiguous<" : "Grouped<") +
          type_of(work.x) + ">, " + (work.out.space == MemorySpace::device_float ? "float, " : "double, ") +
          number(lane) + ", " + number(segment_tile / 32 / lane) + flag(work.scan == SegmentScan::exclusive) +
          flag(work.reverse) + ">;\n";
  return text + "KERNOPS_SCAN(ScanOp, Tile)\n";
}

std::string roll_text(const SegmentRequest& work, int output, int each) {
  SegmentRequest sums = work;
  const bool by_count = work.op == int(StatisticId::mean) && !work.skip_missing && !work.formula;
  if (by_count) sums.op = int(StatisticId::sum);
  std::string text = "#include <kernops/cuda/segments/roll.cuh>\n" + preamble(work) + operator_of(sums, output, false);
  text += std::string("using Late = ") + (work.formula ? "Backward<Op>" : "Op") + ";\nusing Place = Stored<" +
          (work.out.space == MemorySpace::device_float ? "float" : "double") + ">;\n";
  return text + "KERNOPS_ROLL(Op, Late, " + type_of(work.x) + ", Place, " + number(each) + ", " +
         (by_count ? "true" : "false") + ")\n";
}

std::string roll_gaps_text(const SegmentRequest& work, int each) {
  return std::string(
             "#include <kernops/cuda/segments/roll.cuh>\nusing namespace kernops;\n"
             "KERNOPS_ROLL(Gaps, Gaps, ") +
         type_of(work.x) + ", Marked, " + number(each) + ", false)\n";
}

std::string by_key_text(const SegmentRequest& work) {
  return "#include <kernops/cuda/segments/by_key.cuh>\n" + preamble(work) + operator_of(work, 0) +
         "KERNOPS_BY_KEY(float, Op, Contiguous<float>, double, " + number(lane_values(true)) +
         ")\nKERNOPS_SPINE(Op, double)\n";
}

std::string gaps_text(const SegmentRequest& work, bool staged) {
  return "#include <kernops/cuda/segments/map.cuh>\n" + preamble(work) + "using Term = " + term(work) +
         ";\nKERNOPS_GAPS(Term, " + where(work, staged) + ", " + values_of_lane() + ")\n";
}

std::string map_text(const SegmentRequest& work, SegmentMap what, bool in_place, bool staged) {
  return "#include <kernops/cuda/segments/map.cuh>\nusing namespace kernops;\nKERNOPS_SEGMENT_MAP(" + map_name(what) +
         ", " + type_of(work.x) + ", " + type_of(work.weights) + ", " +
         (work.out.space == MemorySpace::device_float ? "float, " : "double, ") + where(work, staged) + ", " +
         (in_place && !staged ? "true, " : "false, ") + values_of_lane() + ")\n";
}

std::string results_text() { return "#include <kernops/cuda/segments/results.cuh>\nKERNOPS_SEGMENT_RESULTS\n"; }

std::string plan_text() { return "#include <kernops/cuda/segments/plan.cuh>\nKERNOPS_SEGMENT_PLAN\n"; }

std::string keys_text(bool single) {
  return std::string("#include <kernops/cuda/segments/plan.cuh>\nKERNOPS_KEYS_PLAN(") + (single ? "float" : "double") +
         ", " + number(lane_values(false)) + ")\n";
}

std::vector<std::string> usual_segment_texts() {
  Segments segments;
  SegmentRequest work{segments};
  const double somewhere = 0;
  std::vector<std::string> texts = {plan_text(), keys_text(false), keys_text(true), results_text()};
  work.x.data = &somewhere;
  for (const auto type : {SegmentValues::doubles, SegmentValues::floats, SegmentValues::integers}) {
    work.x.type = type;
    for (const auto op : {StatisticId::sum, StatisticId::prod, StatisticId::min, StatisticId::max, StatisticId::mean,
                          StatisticId::logsumexp}) {
      work.op = int(op);
      texts.push_back(segment_text(work, 0, false));
    }
    texts.push_back(map_text(work, SegmentMap::SoftmaxValue, true, false));
  }
  return texts;
}

// A list that contains each operation, each type of values and each type of weights at least once.
// long: a list
std::vector<std::string> all_segment_texts() {
  std::vector<std::string> texts = usual_segment_texts();
  Segments plain, ordered, shifted;
  int group = 0;
  ordered.groups.code = &group, shifted.sources = {0};
  SegmentRequest work{plain};
  work.x.data = &group;
  for (size_t op = 0; op < statistics().size(); ++op) {
    work.op = int(op), work.skip_missing = op % 2;
    for (int output = 0; output < statistics()[op].outputs; ++output)
      texts.push_back(segment_text(work, output, false));
  }
  work.precise = true;
  for (const auto scan : {SegmentScan::inclusive, SegmentScan::exclusive}) {
    for (const auto op : {StatisticId::sum, StatisticId::prod, StatisticId::var, StatisticId::logsumexp,
                          StatisticId::last, StatisticId::bit_xor}) {
      work.op = int(op), work.scan = scan, work.skip_missing = false;
      work.reverse = scan == SegmentScan::exclusive;
      texts.push_back(scan_text(work, 0));
    }
  }
  for (const auto op : {StatisticId::sum, StatisticId::mean, StatisticId::range, StatisticId::argmax, StatisticId::var})
    work.op = int(op), texts.push_back(roll_text(work, 0, op == StatisticId::sum ? 15 : 5));
  texts.push_back(roll_gaps_text(work, 15));
  texts.push_back(roll_quantiles_text(work));
  for (const std::string& text : all_sort_texts()) texts.push_back(text);
  work.precise = work.reverse = false, work.scan = SegmentScan::none;
  work.x.type = SegmentValues::floats;
  for (const auto op : {StatisticId::sum, StatisticId::mean, StatisticId::var, StatisticId::logsumexp, StatisticId::any,
                        StatisticId::last}) {
    work.op = int(op);
    texts.push_back(by_key_text(work));
  }
  work.x.type = SegmentValues::doubles;
  const SegmentFormula formula = segment_formula("IfElse(a, b, Max2(a, 2 * b))");
  work.formula = &formula;
  texts.push_back(segment_text(work, 0, false));
  for (Segments* segments : {&ordered, &shifted}) {
    SegmentRequest placed{*segments};
    placed.x.data = &group;
    for (const auto type : {SegmentValues::doubles, SegmentValues::floats, SegmentValues::integers}) {
      placed.x.type = type;
      texts.push_back(segment_text(placed, 0, false));
      texts.push_back(gaps_text(placed, false));
    }
    placed.weights.data = &group;
    for (int term = 0; term < int(SegmentTerm::Moments); ++term) {
      placed.term = SegmentTerm(term);
      if (term_row(placed.term).weight) texts.push_back(segment_text(placed, 0, false));
    }
    placed.term = SegmentTerm::Times;
    placed.product = &formula;
    texts.push_back(segment_text(placed, 0, false));
    texts.push_back(gaps_text(placed, false));
    placed.x.data = nullptr;
    texts.push_back(segment_text(placed, 0, false));
    for (int what = 0; what < int(SegmentMap::none); ++what)
      texts.push_back(map_text(placed, SegmentMap(what), segments == &ordered, false));
  }
  return texts;
}

}  // namespace cuda
}  // namespace kernops
