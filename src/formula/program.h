// A formula with its declarations as a whole.
#pragma once
#include "formula/graph.h"

namespace kernops {

struct Variable {
  std::string name;
  int position, size;
  Axes axes;
  std::set<Shape> matrices = {};  // the matrix that the formula reads a parameter as
};

struct Program {
  Graph graph;
  std::vector<Variable> variables;  // in the order of the arguments
  int result;                       // the last reduction; the reductions that it needs come before it
  std::vector<std::string> unused;  // variables that the formula does not contain
};
Program compile(const std::string& formula, const std::vector<std::string>& declarations);

// The terms of a sum instead of the sum: a matrix, column by column, with a row for each row of the sum. The points of
// the other axis thus become the columns of the result.
void store_terms(Program& program);

}  // namespace kernops
