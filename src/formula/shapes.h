// Matrices among the parameters. R stores a matrix by columns, and the operations of a formula read one by rows: their
// shapes determine which R matrix fits.
#pragma once
#include "formula/op_table.h"

namespace kernops {

// An operation reads t as a matrix: then the parameters that t consists of, entry by entry, are matrices as well.
void read_as_matrix(Graph& graph, Tree t, Shape shape);
// The same for the arguments of an operation, and of a composite one.
void read_matrices(Graph& graph, const OpRow& row, const std::vector<Tree>& args, const std::vector<int>& ints);
void read_tensors(Graph& graph, const std::vector<Tree>& args, const std::vector<std::vector<int>>& lists);

}  // namespace kernops
