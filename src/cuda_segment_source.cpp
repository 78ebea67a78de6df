// Reductions of segments as CUDA text: which operation, on which values. What they mean stands in the
// headers.
#include <cmath>
#include <cstdio>
#include <set>

#include "cuda_segments.h"

namespace kernops {
namespace cuda {
namespace {

const char* value_type(const SegmentRequest& request) {
  const char* names[] = {"double", "float", "int"};
  return names[request.x.type];
}
const char* number_type(const SegmentRequest& request) { return single(request) ? "float" : "double"; }

const char* where(const SegmentRequest& request) {
  return request.segments.groups             ? "Where::ordered"
         : !request.segments.sources.empty() ? "Where::shifted"
                                             : "Where::in_order";
}

// The struct of a row of segments.def; sums are joined pairwise, so that they need no compensation.
std::string reduction(const SegmentRequest& request) {
  static const std::vector<std::string> structs = {
#define SEGMENT_OP(name, reduction, kind, meaning) #reduction,
#include <kernops/segments.def>
#undef SEGMENT_OP
  };
  if (request.softmax) return "OnlineLogSumExp";
  const std::string& name = structs[request.op];
  if (name == "Mean") return "MeanOf<DirectSum>";
  if (name != "BlockSum") return name;
  return request.x.type == SegmentValues::integers && !request.weights.data ? "WholeSum" : "DirectSum";
}

std::string constant(double value) {
  if (std::isnan(value)) return "not_a_number<T>()";
  if (std::isinf(value)) return value > 0 ? "infinity<T>()" : "-infinity<T>()";
  char text[40];
  snprintf(text, sizeof text, "T(%.17g)", value);
  return text;
}

// The formula's steps, one after another.
std::string join_function(const Plan& plan) {
  std::vector<std::string> names(plan.slots.size());
  names[0] = "one<T>()";
  for (const Load& load : plan.loads[int(Place::once)])
    names[load.slot] = "(Vec<T, 1>{" + constant(load.value) + "})";
  for (const Load& load : plan.loads[int(Place::lane)]) names[load.slot] = load.id == 0 ? "a" : "b";
  std::string out =
      "struct Join {\n  KERNOPS_FN static T join(T x, T y) {\n    const Vec<T, 1> a{x}, b{y};\n";
  int count = 0;
  for (const Place place : {Place::once, Place::lane})
    for (const Step& step : plan.steps[int(place)]) {
      const OpRow& row = op_row(step.op);
      std::string arguments;
      for (size_t n = 0; n < row.vectors.size(); ++n) arguments += (n ? ", " : "") + names[step.in[n]];
      const std::string name = "t" + std::to_string(count++);
      out += "    const auto " + name + " = apply<ops::" + row.name + ", " + std::to_string(step.size) +
             ", " + std::to_string(step.ints[0]) + ", " + std::to_string(step.ints[1]) +
             (row.vectors.empty() ? ", T>(" : ">(") + arguments + ");\n";
      names[step.out] = name;
    }
  return out + "    return " + names[plan.f] + ".v[0];\n  }\n};\n";
}

SegmentRequest empty_request(const Segments& segments) {
  return {segments, 0, nullptr, false, nullptr, false, 1, {}, {}, 1, {}};
}

}  // namespace

bool in_order(const SegmentRequest& request) {
  return request.x.row == 1 && !request.segments.groups && request.segments.sources.empty();
}

bool plain(const SegmentRequest& request) {
  return in_order(request) && !request.weights.data;
}

std::string segment_text(const SegmentRequest& request, int output) {
  const std::string T = number_type(request), skip = request.skip_missing ? "true" : "false",
                    V = value_type(request), VT = std::to_string(lane_values(single(request)));
  std::string text = "#include <kernops/seg_reduce.cuh>\n";
  if (request.formula) text += "#include <kernops/values.cuh>\n";
  text += "using namespace kernops;\nusing T = " + T + ";\n";
  if (request.formula)
    text += join_function(request.formula->plan) + "using Op = ReducedByFormula<Join, T, " + skip + ">;\n";
  else
    text += "using Op = ReducedBy<" + reduction(request) + ", T, " + skip + ", " + std::to_string(output) +
            ">;\n";
  text += plain(request) ? "using Values = Contiguous<" + V + ">;\n"
                         : "using Values = Anywhere<" + V + ", T, " + where(request) + ", " +
                               (request.weights.data ? "true" : "false") + ">;\n";
  return text + "KERNOPS_SEGMENTS(Op, Values, double, " + VT + ")\n";
}

std::string plan_text() { return "#include <kernops/seg_plan.cuh>\nKERNOPS_SEGMENT_PLAN\n"; }

std::string keys_text(bool single) {
  return std::string("#include <kernops/seg_plan.cuh>\nKERNOPS_KEYS_PLAN(") +
         (single ? "float" : "double") + ", " + std::to_string(lane_values(false)) + ")\n";
}

std::string softmax_text(const SegmentRequest& request) {
  return "#include <kernops/seg_softmax.cuh>\nusing namespace kernops;\nKERNOPS_SOFTMAX(" +
         std::string(value_type(request)) + ", " + where(request) + ", " +
         std::to_string(lane_values(false)) + ")\n";
}

std::vector<std::string> usual_segment_texts() {
  const std::set<std::string> usual = {"sum", "prod", "min", "max", "mean", "logsumexp"};
  const Segments segments;
  SegmentRequest request = empty_request(segments);
  std::vector<std::string> texts = {plan_text(), keys_text(false), keys_text(true), softmax_text(request)};
  const auto& ops = segment_ops();
  for (const auto type : {SegmentValues::doubles, SegmentValues::floats, SegmentValues::integers})
    for (size_t op = 0; op < ops.size(); ++op)
      if (usual.count(ops[op].name)) {
        request.op = int(op), request.x.type = type;
        texts.push_back(segment_text(request, 0));
      }
  return texts;
}

// Each operation once, each kind of values once.
std::vector<std::string> all_segment_texts() {
  std::vector<std::string> texts = usual_segment_texts();
  const Segments plain;
  Segments ordered, shifted;
  int group = 0;
  ordered.groups = &group, shifted.sources = {0};
  SegmentRequest request = empty_request(plain);
  for (size_t op = 0; op < segment_ops().size(); ++op) {
    request.op = int(op), request.skip_missing = op % 2;
    for (int output = 0; output < segment_ops()[op].outputs; ++output)
      texts.push_back(segment_text(request, output));
  }
  const SegmentFormula formula = segment_formula("IfElse(a, b, Max2(a, 2 * b))");
  request.formula = &formula;
  texts.push_back(segment_text(request, 0));
  for (const Segments* segments : {&ordered, &shifted}) {
    SegmentRequest placed = empty_request(*segments);
    for (const auto type : {SegmentValues::doubles, SegmentValues::floats, SegmentValues::integers}) {
      placed.x.type = type;
      texts.push_back(segment_text(placed, 0));
      texts.push_back(softmax_text(placed));
    }
    placed.weights.data = &group;
    texts.push_back(segment_text(placed, 0));
  }
  return texts;
}

}  // namespace cuda
}  // namespace kernops
