// The shapes of parameters that are matrices. R stores matrices by columns, and operations of formulas read them by
// rows; with these shapes, an R matrix can be checked and converted.
#pragma once
#include "formula/op_table.h"

namespace kernops {

// Records that an operation reads t as a matrix of this shape. If t is an entry-by-entry expression of parameters, the
// same shape is recorded for these parameters.
void read_as_matrix(Graph& graph, Tree t, Shape shape);
// Records the shapes of all matrices among the arguments of an operation, or of a composite operation.
void read_matrices(Graph& graph, const OpRow& row, const std::vector<Tree>& args, const std::vector<int>& ints);
void read_tensors(Graph& graph, const std::vector<Tree>& args, const std::vector<std::vector<int>>& lists);

}  // namespace kernops
