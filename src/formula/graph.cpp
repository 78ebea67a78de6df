// Graphs of nodes, where equal expressions share one node.
#include <cstring>

#include "formula/limits.h"
#include "formula/op_table.h"
#include "formula/simplify.h"

namespace kernops {

// A limit is needed, because each repeated derivative may double the number of nodes.
constexpr int most_nodes = 1 << 20;

Tree Graph::intern(const Node& node) {
  std::string key;
  const auto append = [&key](const auto& field) { key.append(reinterpret_cast<const char*>(&field), sizeof field); };
  append(node.kind), append(node.id), append(node.args), append(node.ints), append(node.value);
  const auto match = known_.find(key);
  if (match != known_.end()) return match->second;
  if (count() == most_nodes)
    throw FormulaError("with its derivatives, the formula has more than " + std::to_string(most_nodes) + " parts", -1);
  nodes_.push_back(node);
  return known_[key] = count() - 1;
}

Tree Graph::constant(double value) { return intern({Node::constant, 0, {-1, -1, -1}, {}, value, 1, none}); }

Tree Graph::variable(int number, int size, unsigned axes) {
  return intern({Node::variable, number, {-1, -1, -1}, {}, 0, size, axes});
}

Tree Graph::of_variable(Node::Kind kind, int number, int size) {
  return intern({kind, number, {-1, -1, -1}, {}, 0, size, none});
}

Tree Graph::index(unsigned axis) { return intern({Node::index, int(axis), {-1, -1, -1}, {}, 0, 1, axis}); }

Tree Graph::reduced(const Reduction& r) {
  int id = 0;
  for (; id < int(reductions.size()); ++id) {
    const Reduction& known = reductions[id];
    if (known.row == r.row && known.k == r.k && known.f == r.f && known.w == r.w && known.over == r.over) break;
  }
  if (id == int(reductions.size())) reductions.push_back(r);
  return intern({Node::reduced, id, {-1, -1, -1}, {}, 0, r.size, r.axes()});
}

bool Graph::is_constant(Tree t, double value) const {
  return nodes_[t].kind == Node::constant && nodes_[t].value == value;
}

// Returns a node for the operation: a constant if all arguments are constants, the simplified expression if a rewriting
// rule applies, or a node of the operation.
Tree Graph::operation(int op, const std::vector<Tree>& args, const std::vector<int>& ints) {
  look_up();
  const OpRow& row = op_table()[op];
  const int size = size_of(row, *this, args, ints);
  if (size <= 0) throw std::logic_error("sizes do not fit in " + row.name);
  Node node{Node::operation, op, {-1, -1, -1}, {}, 0, size, none};
  double values[3] = {0, 0, 0};
  bool foldable = size == 1 && !args.empty();
  for (size_t n = 0; n < args.size(); ++n) {
    const Node& arg = nodes_[args[n]];
    node.args[n] = args[n];
    node.axes |= arg.axes;
    values[n] = arg.value;
    foldable = foldable && arg.kind == Node::constant;
  }
  for (size_t n = 0; n < ints.size(); ++n) node.ints[n] = ints[n];
  if (foldable) return constant(row.value(values, values + 1, values + 2, 1, 1, 1, node.ints[0], node.ints[1]));
  const Tree simpler = rewrite(*this, op, args, ints, size);
  return simpler >= 0 ? simpler : intern(node);
}

Tree Graph::operation(OpId op, const std::vector<Tree>& args, const std::vector<int>& ints) {
  return operation(find_op(op), args, ints);
}

}  // namespace kernops
