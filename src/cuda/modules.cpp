// Finds, loads, launches and times kernels.
#include <algorithm>
#include <cstdlib>
#include <map>

#include "cuda/cuda.h"

namespace kernops {
namespace cuda {
namespace {

// The loaded modules and their kernels, indexed by device and CUDA text. Only the first thread adds entries.
struct Loaded {
  std::map<std::pair<int, std::string>, void*> modules;
  std::map<std::pair<int, std::string>, Kernels> kernels;
};
Loaded& loaded() {
  static auto* const all = new Loaded;
  return *all;
}

// The code of each text, as last loaded on any device. Other devices of the same architecture load this code without a
// new search.
std::map<std::string, std::vector<char>>& last_codes() {
  static std::map<std::string, std::vector<char>> codes;
  return codes;
}
void make_codes(const std::vector<std::string>& texts) {
  const std::string& architecture = current_device().architecture;
  auto& codes = last_codes();
  if (std::all_of(texts.begin(), texts.end(), [&](auto& text) { return codes.count(architecture + "\n" + text); }))
    return;
  codes.clear();
  std::vector<std::vector<char>> made = binaries(texts, architecture);
  for (size_t n = 0; n < texts.size(); ++n) codes[architecture + "\n" + texts[n]] = std::move(made[n]);
}
const std::vector<char>& code_of(const std::string& text) {
  make_codes({text});
  return last_codes()[current_device().architecture + "\n" + text];
}

std::string remedy() {
  const std::string compiler = compiler_version();
  const int major = driver_version() / 1000;
  if (std::atoi(compiler.c_str()) <= major) return "";
  return " (the NVIDIA driver knows CUDA " + std::to_string(major) + ", the compiler found (NVRTC) is of CUDA " +
         compiler + "; update the driver, or set CUDA_HOME to a CUDA " + std::to_string(major) + " toolkit)";
}

void* load_module(const std::string& text) {
  const Device& device = current_device();
  void*& known = loaded().modules[{device.number, text}];
  if (known) return known;
  const Driver& d = driver();
  void* module = nullptr;
  if (d.cuModuleLoadData(&module, code_of(text).data()) != 0) {
    // a precompiled kernel may require a newer driver; in this case, the text is compiled
    const std::vector<char> code = compiled(text, device.architecture);
    const int result = d.cuModuleLoadData(&module, code.data());
    if (result != 0) d.check(result, ("loading a compiled kernel" + remedy()).c_str());
  }
  return known = module;
}

}  // namespace

void* function(const std::string& text, const char* name) {
  void* kernel;
  driver().check(driver().cuModuleGetFunction(&kernel, load_module(text), name), "finding a compiled kernel");
  return kernel;
}

namespace {

// Returns the value of a constant that the compiled text defines.
int constant(const std::string& text, const char* name) {
  DevicePointer at;
  size_t size;
  driver().check(driver().cuModuleGetGlobal_v2(&at, &size, load_module(text), name), "finding a compiled kernel");
  int number;
  copy_out(&number, at, sizeof number);
  return number;
}

void allow_shared(void* function, int bytes) {
  constexpr int max_dynamic_shared_bytes = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
  driver().check(driver().cuFuncSetAttribute(function, max_dynamic_shared_bytes, bytes), "asking for shared memory");
}

int blocks_of_multiprocessor(void* function, int threads, int shared_bytes) {
  int blocks = 0;
  allow_shared(function, shared_bytes);
  driver().check(driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads, size_t(shared_bytes)),
                 "asking about occupancy");
  return std::max(blocks, 1);
}

}  // namespace

int resident_blocks(void* function, int threads, unsigned shared_bytes) {
  return current_device().multiprocessors * blocks_of_multiprocessor(function, threads, int(shared_bytes));
}

const Kernels& kernels(const Text& text, int threads) {
  auto& all = loaded().kernels;
  const std::string pairs = text.of_pairs(), levels = text.of_levels();
  const std::pair<int, std::string> key{current_device().number, pairs};
  const auto match = all.find(key);
  if (match != all.end()) return match->second;
  make_codes({pairs, levels});
  Kernels k{function(levels, "kernops_once"),
            function(levels, "kernops_fill"),
            function(pairs, "kernops_pairs"),
            function(levels, "kernops_merge"),
            constant(pairs, "kernops_partial_bytes"),
            constant(pairs, "kernops_shared_bytes"),
            0};
  k.resident = blocks_of_multiprocessor(k.pairs, threads, k.shared_bytes);
  return all[key] = k;
}

void launch(void* function, unsigned grid_x, unsigned grid_y, unsigned threads, const void* job, bool early,
            unsigned shared_bytes) {
  // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
  static constexpr LaunchAttribute serialization{6, {1}};
  const bool can = early && current_device().starts_early;
  const LaunchConfig config{{grid_x, grid_y, 1}, {threads, 1, 1}, shared_bytes, nullptr, &serialization, can ? 1u : 0u};
  void* arguments[] = {const_cast<void*>(job)};
  driver().check(driver().cuLaunchKernelEx(&config, function, arguments, nullptr), "launching a kernel");
}

void launch_sharing(void* function, unsigned grid, unsigned threads, unsigned shared_bytes, const void* job) {
  allow_shared(function, int(shared_bytes));
  launch(function, grid, 1, threads, job, false, shared_bytes);
}

namespace {

struct Event {
  Event() { driver().check(driver().cuEventCreate(&handle, 0), "timing the GPU"); }
  ~Event() { driver().cuEventDestroy_v2(handle); }
  void record() { driver().check(driver().cuEventRecord(handle, nullptr), "timing the GPU"); }
  void* handle = nullptr;
};

}  // namespace

double device_milliseconds(const std::function<void()>& work) {
  const Driver& d = driver();
  Event begin, end;
  begin.record();
  work();
  end.record();
  float milliseconds = 0;
  d.check(d.cuEventSynchronize(end.handle), "running a kernel");
  d.check(d.cuEventElapsedTime(&milliseconds, begin.handle, end.handle), "timing the GPU");
  return milliseconds;
}

}  // namespace cuda
}  // namespace kernops
