// Shapes of the parameters that are matrices. R stores a matrix by columns, and the operations of a formula read
// matrices by rows; the shapes determine which R matrix fits.
#pragma once
#include "formula/op_table.h"

namespace kernops {

// Records that an operation reads t as a matrix: the parameters that t consists of, entry by entry, are then matrices
// as well.
void read_as_matrix(Graph& graph, Tree t, Shape shape);
// Records the matrices among the arguments of an operation, and of a composite operation.
void read_matrices(Graph& graph, const OpRow& row, const std::vector<Tree>& args, const std::vector<int>& ints);
void read_tensors(Graph& graph, const std::vector<Tree>& args, const std::vector<std::vector<int>>& lists);

}  // namespace kernops
