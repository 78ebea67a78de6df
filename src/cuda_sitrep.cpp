// What R asks about the CUDA backend.
#include <Rcpp.h>

#include "border.h"
#include "cuda.h"

using namespace kernops;

// [[Rcpp::export]]
void cuda_set_paths(std::string include, std::string cache, std::string version) {
  cuda::paths() = {include, cache, version};
  cuda::collect_garbage() = R_gc;
}

// An empty string where a GPU can be used, else why not.
// [[Rcpp::export]]
std::string cuda_problem() {
  try {
    cuda::use_device();
    return "";
  } catch (const cuda::CudaError& error) {
    return error.what();
  }
}

// [[Rcpp::export]]
Rcpp::List cuda_describe() {
  return guard([&] {
    const cuda::Device& device = cuda::use_device();
    size_t free_bytes, total_bytes;
    cuda::device_memory(free_bytes, total_bytes);
    return Rcpp::List::create(
        Rcpp::_["name"] = device.name, Rcpp::_["architecture"] = device.architecture,
        Rcpp::_["multiprocessors"] = device.multiprocessors, Rcpp::_["free_bytes"] = double(free_bytes),
        Rcpp::_["total_bytes"] = double(total_bytes), Rcpp::_["used_bytes"] = double(cuda::memory_in_use()));
  });
}

// [[Rcpp::export]]
std::string cuda_compiler() {
  try {
    return cuda::compiler_version();
  } catch (const cuda::CudaError& error) {
    return "";
  }
}

// The CUDA text of the last reduction of a kernel.
// [[Rcpp::export]]
std::string cuda_source(Rcpp::XPtr<kernops::Kernel> kernel, bool single, int scheme) {
  Settings settings;
  settings.single = single;
  settings.scheme = SumScheme(scheme);
  const TiledPlan plan = cuda::tiled(kernel->gpu_plans.back(), settings);
  return cuda::source(plan, settings, cuda::choose_shape(plan, settings, 1, 1));
}

// Compiles a text without a GPU: bytes of the binary.
// [[Rcpp::export]]
int cuda_compile(std::string text, std::string architecture) {
  return guard([&] { return int(cuda::compile(text, architecture, cuda::paths().include).size()); });
}
