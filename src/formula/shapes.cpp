#include "formula/shapes.h"

namespace kernops {

void read_as_matrix(Graph& graph, Tree t, Shape shape) {
  const int size = shape.first * shape.second;
  std::vector<Tree> todo{t};
  std::set<Tree> seen;
  while (!todo.empty()) {
    const Tree now = todo.back();
    todo.pop_back();
    const Node& node = graph[now];
    if (node.size != size || node.axes != none || !seen.insert(now).second) continue;
    if (node.kind == Node::variable) graph.matrices[now].insert(shape);
    if (node.kind != Node::operation || !op_table()[node.id].entrywise()) continue;
    for (const Tree arg : node.args)
      if (arg >= 0) todo.push_back(arg);
  }
}

void read_matrices(Graph& graph, const OpRow& row, const std::vector<Tree>& args, const std::vector<int>& ints) {
  const auto of = [&](SizeFunction f) { return int(evaluate(f, graph, args, ints)); };
  for (const MatrixArgument& m : row.matrices) read_as_matrix(graph, args[m.number], {of(m.rows), of(m.columns)});
}

void read_tensors(Graph& graph, const std::vector<Tree>& args, const std::vector<std::vector<int>>& lists) {
  for (size_t n = 0; n < args.size() && n < lists.size(); ++n)
    if (lists[n].size() == 2) read_as_matrix(graph, args[n], {lists[n][0], lists[n][1]});
}

}  // namespace kernops
