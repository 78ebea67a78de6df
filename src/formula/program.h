// A complete formula with its declarations.
#pragma once
#include "formula/graph.h"

namespace kernops {

struct Variable {
  std::string name;
  int position, size;
  Axes axes;
  std::set<Shape> matrices = {};  // the matrix shape in which the formula reads a parameter
};

struct Program {
  Graph graph;
  std::vector<Variable> variables;  // in the order of the arguments
  int result;                       // the last reduction; it follows the reductions that must be computed first
  std::vector<std::string> unused;  // variables that the formula does not contain
};
Program compile(const std::string& formula, const std::vector<std::string>& declarations);

// Returns the terms of a sum instead of the sum, as a matrix in column-major order with one row per row of the sum: the
// points of the other axis become the columns of the result.
void store_terms(Program& program);

}  // namespace kernops
