// Reads ops.def and reductions.def into tables for the parser, the differentiation and R.
#include "formula/op_table.h"

#include <kernops/ops.h>

#include <algorithm>
#include <utility>

namespace kernops {
namespace {

// Splits text at commas that are not in brackets.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  for (const char c : text) {
    depth += (c == '(') - (c == ')');
    if (c == ',' && depth == 0) {
      parts.push_back(part);
      part.clear();
    } else if (c != ' ' || !part.empty()) {
      part += c;
    }
  }
  if (!part.empty()) parts.push_back(part);
  return parts;
}

std::vector<Expr> parse_all(const std::string& text) {
  std::vector<Expr> all;
  for (const std::string& part : split(text)) all.push_back(parse(part));
  return all;
}

template <class Op> double value(const double* a, const double* b, const double* c, int A, int B, int C, int p, int q) {
  return Op::template entry<double>(0, a, b, c, A, B, C, p, q);
}

// The size of a result if arguments of size 1 are recycled; 0 if the sizes do not fit.
Count same(Count A, Count B) { return A == B || B == 1 ? A : A == 1 ? B : 0; }
Count same(Count A, Count B, Count C) { return same(same(A, B), C); }

OpRow row(const OpRow& group, const std::string& rule, const char* name, const char* arguments, const char* size,
          const char* meaning) {
  OpRow row = group;
  row.name = name, row.size = size, row.meaning = meaning;
  if (!rule.empty()) row.rule = rule;
  row.arguments = std::string(arguments).substr(1, std::string(arguments).size() - 2);
  for (const char c : row.arguments) {
    if (c >= 'a' && c <= 'c') row.vectors += c;
    if (c >= 'p' && c <= 'q') row.integers += c;
  }
  return row;
}

// long: defines the macros that ops.def uses; each row of ops.def then becomes one call
std::vector<OpRow> make_op_table() {
  std::vector<OpRow> table;
  OpRow group;  // attributes that are shared by all rows of a group
  std::string rule;
  int id = 0;
  const auto add = [&](const char* name, const char* arguments, const char* size, const char* meaning) -> OpRow& {
    table.push_back(row(group, std::exchange(rule, ""), name, arguments, size, meaning));
    return table.back();
  };
  const auto add_op = [&](OpRow& op, SizeFunction size_of, decltype(OpRow::value) value, const char* gradient) {
    op.id = id++, op.size_of = size_of, op.value = value, op.gradient = gradient, op.gradients = parse_all(gradient);
  };
  const auto add_formula = [&](OpRow& op, SizeFunction size_of, const char* formula) {
    op.composite = true, op.size_of = size_of, op.formula = formula, op.body = parse(formula);
  };
  const auto add_built = [&](OpRow& op) { op.vectors.clear(), op.integers.clear(); };
#define GROUP(name_, cost_, by_entry_, rule_) \
  group.group = name_, group.cost = cost_, group.by_entry = by_entry_, group.rule = rule_;
#define RULE(words_) rule = words_;
#define MATRIX(number_, rows_, columns_) table.back().matrices.push_back({number_, SIZE((rows_)), SIZE((columns_))});
#define STEEP(regular_) table.back().steep = parse(#regular_);
#define FINITE(condition_) table.back().finite = [](int p) { return (void)p, condition_; };
#define FLAT(condition_)                                          \
  table.back().flat = [](bool a, bool b, bool c, int p) -> bool { \
    return (void)a, (void)b, (void)c, (void)p, condition_;        \
  };
#define MASK(rule_) table.back().mask = MaskRule::rule_;
#define CONTRACTION(term_) table.back().contraction = Contraction::term_;
#define ORDER() table.back().has_order = true;
#define ADDITIVE() table.back().additive = true;
#define SPECIAL_UNIT() table.back().special_unit = true;
#define WORK(entries_) table.back().work = SIZE((entries_));
#define SIZE(expression)                                            \
  [](Count A, Count B, Count C, Count p, Count q) -> Count {        \
    return (void)A, (void)B, (void)C, (void)p, (void)q, expression; \
  }
#define OP(name_, arguments_, size_, entry_, meaning_, ...) \
  add_op(add(#name_, #arguments_, #size_, meaning_), SIZE((size_)), value<ops::name_>, #__VA_ARGS__);
#define FORMULA(name_, arguments_, condition_, formula_, meaning_) \
  add_formula(add(#name_, #arguments_, #condition_, meaning_), SIZE((condition_)), #formula_);
#define LEAF(name_, meaning_) add(#name_, "()", "1", meaning_).leaf = true;
#define BUILT(name_, arguments_, meaning_) add_built(add(#name_, #arguments_, "", meaning_));
#include <kernops/ops.def>
#undef SIZE
  return table;
}

std::vector<ReductionRow> make_reduction_table() {
  std::vector<ReductionRow> table;
#define REDUCTION(name_, arguments_, size_, accumulator_, result_, meaning_, ...)                                   \
  {                                                                                                                 \
    const std::string arguments = #arguments_;                                                                      \
    table.push_back({#name_, arguments.substr(1, arguments.size() - 2), #size_, Accumulator::accumulator_,          \
                     #accumulator_, Result::result_, meaning_, #__VA_ARGS__, arguments.find('w') != arguments.npos, \
                     arguments.find('p') != arguments.npos,                                                         \
                     [](Count F, Count W, Count p) -> Count { return (void)F, (void)W, (void)p, size_; },           \
                     parse_all(#__VA_ARGS__)});                                                                     \
  }
#include <kernops/reductions.def>
  return table;
}

}  // namespace

const std::vector<OpRow>& op_table() {
  static const std::vector<OpRow> table = make_op_table();
  return table;
}

int find_op(const std::string& name) {
  static const std::map<std::string, int> places = [] {
    std::map<std::string, int> first;
    for (size_t n = 0; n < op_table().size(); ++n) first.emplace(op_table()[n].name, int(n));
    return first;
  }();
  const auto match = places.find(name);
  return match == places.end() ? -1 : match->second;
}

int find_op(OpId op) {
  static const std::vector<int> places = [] {
    std::vector<int> by_id;
    for (size_t n = 0; n < op_table().size(); ++n)
      if (op_table()[n].id >= 0) by_id.push_back(int(n));
    return by_id;
  }();
  return places[int(op)];
}

const OpRow& op_row(int id) { return op_table()[find_op(OpId(id))]; }

bool is(const Node& node, OpId op) { return node.kind == Node::operation && op_table()[node.id].is(op); }

namespace {

int checked_size(const std::string& name, Count size) {
  if (size <= most_entries) return int(size);
  throw FormulaError(
      "`" + name + "` would have " + std::to_string(size) + " entries, more than " + std::to_string(most_entries), -1);
}

}  // namespace

Count evaluate(SizeFunction f, const Graph& graph, const std::vector<Tree>& args, const std::vector<int>& ints) {
  int sizes[3] = {1, 1, 1}, p[2] = {0, 0};
  for (size_t n = 0; n < args.size(); ++n) sizes[n] = graph[args[n]].size;
  std::copy(ints.begin(), ints.end(), p);
  return f(sizes[0], sizes[1], sizes[2], p[0], p[1]);
}

int size_of(const OpRow& row, const Graph& graph, const std::vector<Tree>& args, const std::vector<int>& ints) {
  return checked_size(row.name, evaluate(row.size_of, graph, args, ints));
}

int size_of(const ReductionRow& row, const Graph& graph, Tree f, Tree w, int k) {
  return checked_size(row.name + "_Reduction", row.size_of(graph[f].size, w < 0 ? 0 : graph[w].size, k));
}

const std::vector<ReductionRow>& reduction_table() {
  static const std::vector<ReductionRow> table = make_reduction_table();
  return table;
}

int find_reduction(const std::string& name, bool weighted) {
  const auto& table = reduction_table();
  for (size_t n = 0; n < table.size(); ++n)
    if (table[n].name == name && table[n].weighted == weighted && !table[n].stores()) return int(n);
  return -1;
}

bool ReductionRow::exponentiates() const {
  switch (accumulator) {
#define ENTRYWISE(...)
#define SHIFTED_EXP(name, ...) case Accumulator::name:
#define K_EXTREME(...)
#define STORE(...)
#include <kernops/accumulators.def>
    return true;
    default: return false;
  }
}

int store_row() {
  const auto& table = reduction_table();
  return int(std::find_if(table.begin(), table.end(), [](const ReductionRow& row) { return row.stores(); }) -
             table.begin());
}

int first_position(const ReductionRow& row, int size) {
  return row.result == Result::Positions ? 0 : row.result == Result::Both ? size / 2 : size;
}

}  // namespace kernops
