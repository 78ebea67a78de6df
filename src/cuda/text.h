// Functions that write elements of CUDA texts. The writers of all kernels use these functions.
#pragma once
#include "cuda/cuda.h"

namespace kernops {
namespace cuda {

using Names = std::vector<std::string>;  // names of the variables for the slots (values) of a plan, indexed by slot

std::string number(int n);
std::string constant(double value);  // a number of type T
std::string part(int offset, int size, const std::string& of);
std::string operation(const Step& step);
std::string template_arguments(const Step& step, int size);  // lists operation, size of result, integer arguments
std::string arguments(const Step& step, const Names& names, std::string text);  // appends slots and a bracket to `text`
std::string applied(const Step& step, int size, const Names& names);            // the call of an operation on slots
inline const char* yes_or_no(bool yes) { return yes ? "true" : "false"; }
inline int at_least_one(int n) { return n > 0 ? n : 1; }

}  // namespace cuda
}  // namespace kernops
