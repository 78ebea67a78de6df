// NVRTC and the messages of its compilations.
#pragma once
#include <string>
#include <vector>

namespace kernops {
namespace cuda {

// Like compile() of driver.h, but also returns a log with the registers and spills of each kernel. `quick` halves the
// compilation time. For code that will never run, a virtual architecture, such as compute_90 instead of sm_90, takes a
// third of the time.
std::vector<char> compile(const std::string& text, const std::string& architecture, const std::string& include,
                          std::string& log, bool quick = false);

}  // namespace cuda
}  // namespace kernops
