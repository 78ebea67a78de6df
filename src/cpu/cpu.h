// The operations of the CPU (src/cpu/backend.cpp), and the engines for the instruction sets of this machine.
#pragma once
#include "dense/dense.h"
#include "run/backend.h"
#include "run/pairs.h"
#include "sets/sets.h"

namespace kernops {
namespace cpu {

std::unique_ptr<Pairs> pairs();
void segments(const SegmentRequest& request);
void segment_gradient(const SegmentGradient& request);
void axes(const AxisRequest& request);
SetTotals set_sums(const SetRequest& request);
void set_weights(const SetRequest& request, double* weights, double* sd);
void multiply_columns(const ColumnJob& job, const Settings& settings);  // jobs/sets.h
// Computes the gradient of a function with respect to the parameters of the covariance, given the derivatives with
// respect to the weights and to the logarithms of the standard deviations. `solved` receives, for each set, the inverse
// covariance of the neighbours times the derivatives with respect to the weights of the neighbours.
std::vector<double> set_adjoint(const SetRequest& request, const double* weights, const double* log_sd, double* solved);
const Dense& dense();

// returns the engine of an instruction set, or the best engine if `isa` is empty; throws if the machine lacks this
// instruction set
const Engine& engine_for(const std::string& isa);
const dense::Tiles& dense_tiles(const std::string& isa);

}  // namespace cpu
}  // namespace kernops
