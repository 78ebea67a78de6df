// NVRTC and its messages.
#pragma once
#include <string>
#include <vector>

namespace kernops {
namespace cuda {

// Like compile() of driver.h, but the log lists registers and spills of each kernel. `quick` halves the compilation
// time. For code that is never run, a virtual architecture, such as compute_90 for sm_90, takes a third of the time.
std::vector<char> compile(const std::string& text, const std::string& architecture, const std::string& include,
                          std::string& log, bool quick = false);

}  // namespace cuda
}  // namespace kernops
