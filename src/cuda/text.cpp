#include "cuda/text.h"

#include <cmath>
#include <cstdio>

#include "formula/op_table.h"

namespace kernops {
namespace cuda {

std::string number(int n) { return std::to_string(n); }
std::string constant(double value) {
  if (std::isnan(value)) return "not_a_number<T>()";
  if (std::isinf(value)) return value > 0 ? "infinity<T>()" : "-infinity<T>()";
  char text[40];
  snprintf(text, sizeof text, "T(%.17g)", value);
  return text;
}
std::string part(int offset, int size, const std::string& of) {
  return "part<" + number(offset) + ", " + number(size) + ">(" + of + ")";
}
std::string operation(const Step& step) { return "ops::" + op_row(step.op).name; }
std::string template_arguments(const Step& step, int size) {
  return operation(step) + ", " + number(size) + ", " + number(step.ints[0]) + ", " + number(step.ints[1]);
}
std::string arguments(const Step& step, const Names& names, std::string text) {
  for (size_t n = 0; n < op_row(step.op).vectors.size(); ++n) text += (text.empty() ? "" : ", ") + names[step.in[n]];
  return text + ")";
}
std::string applied(const Step& step, int size, const Names& names) {
  const bool empty = op_row(step.op).vectors.empty();
  return "apply<" + template_arguments(step, size) + (empty ? ", T>(" : ">(") + arguments(step, names, "");
}

}  // namespace cuda
}  // namespace kernops
