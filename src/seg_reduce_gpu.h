// What the GPU's sides of seg_reduce(), seg_grad() and spmv() have in common.
#pragma once
#include "gpu_matrix.h"
#include "segments/segments.h"

kernops::Output target_of(const kernops::cuda::Matrix& matrix);
// A matrix of the current device, of floats if the model is.
std::unique_ptr<kernops::cuda::Matrix> like(const kernops::cuda::Matrix* model, kernops::Count rows,
                                            kernops::Count columns);
SEXP hand_over(std::unique_ptr<kernops::cuda::Matrix> matrix, bool stay);  // as a gpu_matrix, or as numbers of R
// Of values that are on a device, which becomes the current one, or on the host; `x` may be NULL.
kernops::SegmentRequest request_of(const kernops::Segments& segments, SEXP x, double columns, int device, double tile);
