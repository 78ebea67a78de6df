// Formulas as nodes, each stored once.
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

// The axes on which a value depends. Parameters and constants depend on no axis.
enum Axes : unsigned { none = 0, axis_i = 1, axis_j = 2, both = 3 };

using Shape = std::pair<int, int>;  // rows and columns
using Tree = int;                   // a node of a Graph: arguments always precede the nodes that use them

struct Node {
  // derived from a variable: a point that is subtracted from its items; from a matrix: its eigenvalues, and
  // eigenvectors row by row
  enum Kind { constant, variable, index, reduced, centre, eigenvalues, eigenvectors, operation } kind;
  int id;  // number of the variable, axis, reduction or row of the operation table
  std::array<Tree, 3> args;
  std::array<int, 2> ints;
  double value;
  int size;
  unsigned axes;
};

struct Reduction {
  int row;        // row of the table of reductions
  int k;          // the option K, or 0
  Tree f, w;      // w is -1 if there are no weights
  unsigned over;  // the axes summed over
  int size;
  unsigned axes() const { return both & ~over; }
};

// Stores every expression once: an equal expression returns the same Tree, so that derivatives share their parts.
class Graph {
 public:
  const Node& operator[](Tree t) const { return nodes_[t]; }
  int count() const { return int(nodes_.size()); }
  Tree constant(double value);
  Tree variable(int number, int size, unsigned axes);
  Tree of_variable(Node::Kind kind, int number, int size);
  Tree index(unsigned axis);
  Tree reduced(const Reduction& reduction);
  Tree operation(int op, const std::vector<Tree>& args, const std::vector<int>& ints);  // simplified
  Tree operation(OpId op, const std::vector<Tree>& args, const std::vector<int>& ints = {});
  bool is_constant(Tree t, double value) const;

  std::vector<Reduction> reductions;
  // Composite operations built so far, by row and arguments, because some contain the same operation several times.
  std::map<std::tuple<int, std::vector<Tree>, std::vector<int>>, Tree> composites;

  // The matrix shapes in which operations read a parameter.
  std::map<Tree, std::set<Shape>> matrices;

 private:
  Tree intern(const Node& node);
  std::vector<Node> nodes_;
  std::unordered_map<std::string, Tree> known_;
};

}  // namespace kernops
