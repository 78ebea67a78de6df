// A formula as a graph of nodes, where equal expressions share one node.
#pragma once
#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "formula/op_id.h"

namespace kernops {

// The axes along which a value varies. Parameters and constants vary along no axis.
enum Axes : unsigned { none = 0, axis_i = 1, axis_j = 2, both = 3 };

using Shape = std::pair<int, int>;  // rows and columns
using Tree = int;                   // index of a node in a Graph; arguments of a node have lower indices

struct Node {
  // Nodes of the kinds centre, eigenvalues and eigenvectors are computed from a whole variable. A `centre` is a point
  // that is subtracted from all points of the variable. `eigenvalues` and `eigenvectors` (stored by rows) belong to a
  // parameter that is a matrix.
  enum Kind { constant, variable, index, reduced, centre, eigenvalues, eigenvectors, operation } kind;
  int id;  // depends on the kind: number of a variable, of a reduction or of a row of op_table(), or an axis
  std::array<Tree, 3> args;
  std::array<int, 2> ints;
  double value;
  int size;
  unsigned axes;
};

struct Reduction {
  int row;        // row of reduction_table()
  int k;          // the option K, or 0 for reductions without it
  Tree f, w;      // w is -1 if there are no weights
  unsigned over;  // the axes that are reduced
  int size;
  unsigned axes() const { return both & ~over; }
};

// Stores each expression once: equal expressions have the same Tree. Derivatives therefore reuse nodes of the formula.
class Graph {
 public:
  const Node& operator[](Tree t) const { return nodes_[t]; }
  int count() const { return int(nodes_.size()); }
  Tree constant(double value);
  Tree variable(int number, int size, unsigned axes);
  Tree of_variable(Node::Kind kind, int number, int size);
  Tree index(unsigned axis);
  Tree reduced(const Reduction& reduction);
  Tree operation(int op, const std::vector<Tree>& args, const std::vector<int>& ints);  // applies the rewriting rules
  Tree operation(OpId op, const std::vector<Tree>& args, const std::vector<int>& ints = {});
  bool is_constant(Tree t, double value) const;

  std::vector<Reduction> reductions;
  // The composite operations built so far, by row of op_table(), arguments and integers. A composite operation that
  // occurs several times within another one is then built only once.
  std::map<std::tuple<int, std::vector<Tree>, std::vector<int>>, Tree> composites;

  // For each parameter, the shapes in which operations read it as a matrix.
  std::map<Tree, std::set<Shape>> matrices;

 private:
  Tree intern(const Node& node);
  std::vector<Node> nodes_;
  std::unordered_map<std::string, Tree> known_;
};

}  // namespace kernops
