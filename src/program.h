// A formula with its declarations as a whole.
#pragma once
#include "graph.h"

namespace kernops {

struct Variable {
  std::string name;
  int position, size;
  Axes axes;
};

struct Program {
  Graph graph;
  std::vector<Variable> variables;  // in the order of the arguments
  int result;                       // the last reduction; those it needs come before it
};
Program compile(const std::string& formula, const std::vector<std::string>& declarations);

}  // namespace kernops
