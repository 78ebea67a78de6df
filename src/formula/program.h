// A compiled formula with its variables.
#pragma once
#include "formula/graph.h"

namespace kernops {

struct Variable {
  std::string name;
  int position, size;
  Axes axes;
  std::set<Shape> matrices = {};  // the shapes in which the formula reads a parameter as a matrix
};

struct Program {
  Graph graph;
  std::vector<Variable> variables;  // in the order of the arguments
  int result;                       // the reduction that is the result; it follows the reductions that it needs
  std::vector<std::string> unused;  // names of variables that do not occur in the formula
};
Program compile(const std::string& formula, const std::vector<std::string>& declarations);

// Changes a program such that its result is the terms of a sum instead of the sum: a matrix in column-major order. The
// rows of the matrix are the points of the result of the sum, and the columns are the points over which the sum runs.
void store_terms(Program& program);

}  // namespace kernops
