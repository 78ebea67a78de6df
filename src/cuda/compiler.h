// NVRTC and its messages.
#pragma once
#include <string>
#include <vector>

namespace kernops {
namespace cuda {

// Like compile() of driver.h; the log lists registers and spills of each kernel. `quick` takes half the time, and a
// virtual architecture, such as compute_90 for sm_90, a third, for code that is never run.
std::vector<char> compile(const std::string& text, const std::string& architecture, const std::string& include,
                          std::string& log, bool quick = false);

}  // namespace cuda
}  // namespace kernops
