// Matrices among the parameters. R keeps a matrix by columns, the operations of a formula read one by rows:
// what they read says which matrix of R fits.
#pragma once
#include "formula/op_table.h"

namespace kernops {

// An operation reads t as a matrix: so are the parameters that it is made of entry by entry.
void read_as_matrix(Graph& graph, Tree t, Shape shape);
// The same for the arguments of an operation, and of one that is made of others.
void read_matrices(Graph& graph, const OpRow& row, const std::vector<Tree>& args, const std::vector<int>& ints);
void read_tensors(Graph& graph, const std::vector<Tree>& args, const std::vector<std::vector<int>>& lists);

}  // namespace kernops
