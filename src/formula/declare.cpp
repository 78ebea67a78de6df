#include "formula/declare.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "formula/op_table.h"

namespace kernops {
namespace {

bool is_name(const std::string& text) {
  if (text.empty() || std::isdigit((unsigned char)text[0]) || text[0] == '_') return false;
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.' || c >= 0x80; });
}

const std::map<std::string, Axes>& kinds_of_variables() {
  static const std::map<std::string, Axes> kinds = {{"Vi", axis_i}, {"Vj", axis_j}, {"Pm", none}};
  return kinds;
}

// Parses a declaration such as "x = Vi(3)" or "x = Vi(0, 3)". If a declaration has two numbers, the first number is the
// position among the arguments; otherwise the position is set to -1.
Variable declared(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == text.npos)
    throw FormulaError("a declaration must have the form `name = Vi(size)`, with Vi, Vj or Pm", text.empty() ? -1 : 0);
  std::string name = text.substr(0, equals), value = text.substr(equals + 1);
  name.erase(0, name.find_first_not_of(" \t\n"));
  name.erase(name.find_last_not_of(" \t\n") + 1);
  if (!is_name(name)) throw FormulaError("`" + name + "` is not a valid variable name", 0);
  const int shift = int(equals) + 1;
  try {
    const Expr e = parse(value);
    const auto kind = kinds_of_variables().find(e.text);
    if (e.kind != Expr::call || kind == kinds_of_variables().end() || e.args.empty() || e.args.size() > 2)
      throw FormulaError("expected `Vi(size)`, `Vj(size)` or `Pm(size)`", e.position);
    const int position = e.args.size() == 2 ? whole_number(e.args[0], "the position", 0) : -1;
    return {name, position, whole_number(e.args.back(), "the size", 1), kind->second};
  } catch (FormulaError& error) {
    error.position += shift;
    throw;
  }
}

// The axes of a variable that the formula itself declares as Var(position, size, category). Category 0 is axis i,
// category 1 is axis j, and category 2 is a parameter.
Axes inline_axes(const Expr& e) {
  if (e.text != "Var") {
    if (e.args.size() != 2)
      throw FormulaError("within a formula `" + e.text + "(position, size)` takes 2 arguments", e.position);
    return kinds_of_variables().at(e.text);
  }
  if (e.args.size() != 3) throw FormulaError("`Var(position, size, category)` takes 3 arguments", e.position);
  const int category = whole_number(e.args[2], "the category", 0);
  if (category > 2) throw FormulaError("the category is 0 (Vi), 1 (Vj) or 2 (Pm)", e.args[2].position);
  return category == 0 ? axis_i : category == 1 ? axis_j : none;
}

// Adds the variables that the formula itself declares to `variables`, except variables that `variables` already
// contains.
void declare_inline(const Expr& e, std::vector<Variable>& variables) {
  for (const Expr& arg : e.args) declare_inline(arg, variables);
  if (!is_inline_variable(e)) return;
  const Axes axes = inline_axes(e);
  const int position = whole_number(e.args[0], "the position", 0), size = whole_number(e.args[1], "the size", 1);
  for (const Variable& known : variables) {
    if (known.position != position) continue;
    if (known.size != size || known.axes != axes)
      throw FormulaError(
          "position " + std::to_string(position) + " is already `" + known.name + "`, of another size or category",
          e.position);
    return;
  }
  const std::string name = "var" + std::to_string(position);
  for (const Variable& known : variables)
    if (known.name == name)
      throw FormulaError(
          "variable " + std::to_string(position) + " is called `" + name + "`: rename the declared variable",
          e.position);
  variables.push_back({name, position, size, axes});
}

// Sorts the variables by position. If no declaration has a position, positions are the order of the declarations.
void place(std::vector<Variable>& variables) {
  const auto placed =
      std::count_if(variables.begin(), variables.end(), [](const Variable& v) { return v.position >= 0; });
  if (placed == 0)
    for (size_t n = 0; n < variables.size(); ++n) variables[n].position = int(n);
  else if (size_t(placed) < variables.size())
    throw FormulaError("either all declarations or none must give a position, as in `Vi(0, 3)`", -1);
}

void sort_by_position(std::vector<Variable>& variables) {
  std::stable_sort(variables.begin(), variables.end(),
                   [](const Variable& a, const Variable& b) { return a.position < b.position; });
  for (size_t n = 0; n < variables.size(); ++n)
    if (variables[n].position != int(n))
      throw FormulaError("the positions of the variables must be 0, 1, 2, ... without gaps or duplicates", -1);
}

void collect_used(const Expr& e, std::set<std::string>& names, std::set<double>& positions) {
  for (const Expr& arg : e.args) collect_used(arg, names, positions);
  if (e.kind == Expr::name) names.insert(e.text);
  if (is_inline_variable(e)) positions.insert(e.args.at(0).value);
}

}  // namespace

int whole_number(const Expr& e, const char* what, int least) {
  if (e.kind != Expr::number || e.value != std::floor(e.value) || e.value < least || e.value > most_entries)
    throw FormulaError(std::string(what) + " must be a whole number from " + std::to_string(least) +
                           (e.value > most_entries ? " to " + std::to_string(most_entries) : ""),
                       e.position);
  return int(e.value);
}

std::vector<Variable> declare(const std::vector<std::string>& declarations, const Expr& formula) {
  std::vector<Variable> variables;
  std::set<std::string> names;
  for (const std::string& text : declarations) {
    try {
      variables.push_back(declared(text));
      if (!names.insert(variables.back().name).second)
        throw FormulaError("the variable `" + variables.back().name + "` is declared twice", 0);
    } catch (FormulaError& error) {
      error.text = text;
      throw;
    }
  }
  place(variables);
  declare_inline(formula, variables);
  sort_by_position(variables);
  return variables;
}

bool is_inline_variable(const Expr& e) {
  return e.kind == Expr::call && (e.text == "Var" || kinds_of_variables().count(e.text));
}

std::vector<std::string> unused_variables(const std::vector<Variable>& variables, const Expr& formula) {
  std::set<std::string> names;
  std::set<double> positions;
  collect_used(formula, names, positions);
  std::vector<std::string> unused;
  for (const Variable& v : variables)
    if (!names.count(v.name) && !positions.count(v.position)) unused.push_back(v.name);
  return unused;
}

}  // namespace kernops
