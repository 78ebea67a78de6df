// Matrices of R and of the GPU as blocks of dense linear algebra.
#pragma once
#include "dense/algebra.h"
#include "result.h"
#include "settings.h"

namespace kernops {

// The block of a matrix of doubles; the device of a gpu_matrix becomes current. Throws InputError for other matrices.
Block block_of(SEXP x);
const Dense& dense_of(const Block& block);  // the algebra of the device that stores it

// A new block of R, or on a device; -1 is the host.
SEXP new_block(Count rows, Count columns, int device);
inline MemorySpace space_of(int device) { return device < 0 ? MemorySpace::host : MemorySpace::device_double; }
inline int device_of(const Block& block) { return block.space == MemorySpace::host ? -1 : block.device; }
SEXP beside(const Block& block, SEXP x);  // x as doubles in the memory of the block: x itself, or a copy
SEXP to_host(SEXP x);                     // as a matrix of R

}  // namespace kernops
