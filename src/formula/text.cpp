#include "formula/text.h"

#include "formula/limits.h"
#include "formula/op_table.h"

namespace kernops {
namespace {

// The sign of an infix operator; empty for operations that are written as calls.
std::string infix_sign(const std::string& op) {
  static const std::map<std::string, std::string> signs = {{"Add", " + "},    {"Subtract", " - "}, {"Mult", " * "},
                                                           {"Divide", " / "}, {"^", "^"},          {"Scalprod", " | "}};
  const auto match = signs.find(op);
  return match == signs.end() ? "" : match->second;
}

std::string joined(const std::vector<std::string>& parts, const std::string& between) {
  std::string all;
  for (size_t n = 0; n < parts.size(); ++n) all += (n == 0 ? "" : between) + parts[n];
  return all;
}

// Writes a tree as text. A node is written at each of its uses, so the text can be exponentially longer than the graph.
// Therefore the writer prints "..." after a maximum number of characters.
class Writer {
 public:
  Writer(const Graph& graph, const std::vector<Variable>& variables) : graph_(graph), variables_(variables) {}

  std::string text(Tree tree) {
    const std::string whole = left_ > 0 && stack_is_left() ? written(graph_[tree]) : "...";
    left_ -= int(whole.size());
    return whole;
  }

 private:
  std::string written(const Node& node) {
    const auto of_variable = [&](const char* what) { return what + ("(" + variables_[node.id].name) + ")"; };
    if (node.kind == Node::variable) return variables_[node.id].name;
    if (node.kind == Node::centre) return of_variable("Centre");
    if (node.kind == Node::eigenvalues) return of_variable("Eigenvalues");
    if (node.kind == Node::eigenvectors) return of_variable("Eigenvectors");
    if (node.kind == Node::index) return node.id == axis_i ? "IndexI()" : "IndexJ()";
    if (node.kind == Node::reduced)
      return reduction_table()[graph_.reductions[node.id].row].name + "#" + std::to_string(node.id);
    if (node.kind == Node::constant) {
      char text[32];
      snprintf(text, sizeof text, "%.15g", node.value);
      return text;
    }
    return operation(node, op_table()[node.id]);
  }

  std::string operation(const Node& node, const OpRow& row) {
    std::vector<std::string> arguments;
    for (size_t n = 0; n < row.vectors.size(); ++n) arguments.push_back(text(node.args[n]));
    for (size_t n = 0; n < row.integers.size(); ++n) arguments.push_back(std::to_string(node.ints[n]));
    const std::string sign = infix_sign(row.name);
    return sign.empty() ? row.name + "(" + joined(arguments, ", ") + ")" : "(" + joined(arguments, sign) + ")";
  }

  const Graph& graph_;
  const std::vector<Variable>& variables_;
  int left_ = 20000;  // number of characters that may still be written
};

constexpr int longest = 40;  // maximum number of characters of a part of a formula in a message

// Writes an expression up to a depth of `levels`; each level has at least one character, so deeper levels would not be
// shown.
std::string text_of(const Expr& e, int levels) {
  if (e.kind == Expr::number || e.kind == Expr::name) return e.text;
  if (levels == 0) return "...";
  const std::string sign = infix_sign(e.text);
  std::vector<std::string> arguments;
  for (const Expr& arg : e.args) arguments.push_back(text_of(arg, levels - 1));
  std::string text = joined(arguments, sign.empty() ? ", " : sign);
  if (text.size() > longest) text = "...";
  if (e.text == "Minus" && e.args.size() == 1) return "-" + text;
  return sign.empty() ? e.text + "(" + text + ")" : text;
}

}  // namespace

std::string counted(long long n, const char* one, const char* many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

std::string text_of(const Expr& e) { return text_of(e, longest); }

std::string text_of(const Graph& graph, Tree tree, const std::vector<Variable>& variables) {
  return Writer(graph, variables).text(tree);
}

}  // namespace kernops
