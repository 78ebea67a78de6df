// NVRTC, with what it says.
#pragma once
#include <string>
#include <vector>

namespace kernops {
namespace cuda {

// As compile() of driver.h; the log has the registers and spills of each kernel. `quick` takes half the time, and a
// virtual architecture, compute_90 for sm_90, a third, for code that nobody runs.
std::vector<char> compile(const std::string& text, const std::string& architecture, const std::string& include,
                          std::string& log, bool quick = false);

}  // namespace cuda
}  // namespace kernops
