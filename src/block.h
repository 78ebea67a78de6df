// Matrices of R and GPU matrices as blocks of dense linear algebra.
#pragma once
#include "dense/algebra.h"
#include "result.h"
#include "settings.h"

namespace kernops {

// The block of a matrix of doubles. If x is a gpu_matrix, its device becomes current. Throws InputError for matrices of
// other types.
Block block_of(SEXP x);
const Dense& dense_of(const Block& block);  // dense linear algebra on the device that stores the block

// A new block as an R matrix (device -1) or as a gpu_matrix on a device.
SEXP new_block(Count rows, Count columns, int device);
inline MemorySpace space_of(int device) { return device < 0 ? MemorySpace::host : MemorySpace::device_double; }
inline int device_of(const Block& block) { return block.space == MemorySpace::host ? -1 : block.device; }
SEXP beside(const Block& block, SEXP x);  // x as doubles where the block is stored: x itself, or a copy
SEXP to_host(SEXP x);                     // copied to an R matrix

}  // namespace kernops
