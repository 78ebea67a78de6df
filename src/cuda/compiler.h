// Compiles CUDA texts by NVRTC, the run-time compiler of the CUDA toolkit, and returns the messages of the compiler.
#pragma once
#include <string>
#include <vector>

namespace kernops {
namespace cuda {

// Like compile() of driver.h, but also returns a log with the register use and the spills of each kernel. If `quick` is
// true, the compiler optimises less, which halves the compilation time. Code that is only checked and never run can be
// compiled for a virtual architecture: compute_90 instead of sm_90 takes a third of the time.
std::vector<char> compile(const std::string& text, const std::string& architecture, const std::string& include,
                          std::string& log, bool quick = false);

}  // namespace cuda
}  // namespace kernops
