// Device, memory and loaded kernels.
#include <map>
#include <mutex>

#include "cuda.h"

namespace kernops {
namespace cuda {
namespace {

constexpr size_t patience = size_t(1) << 30;

struct Memory {
  std::multimap<size_t, DevicePointer> kept;
  size_t in_use = 0;
  size_t collect_at = patience;  // in use, before garbage is looked for

  bool take(size_t& bytes, DevicePointer& pointer) {
    const auto block = kept.lower_bound(bytes);
    if (block == kept.end() || block->first > 2 * bytes) return false;
    bytes = block->first, pointer = block->second;
    kept.erase(block);
    return true;
  }

  void collect() {
    if (collect_garbage()) collect_garbage()();
    collect_at = 2 * in_use + patience;
  }
};
Memory& memory() {
  static Memory all;
  return all;
}

// Attributes of CUdevice_attribute.
constexpr int multiprocessor_count = 16, compute_major = 75, compute_minor = 76;

int attribute(int device, int which) {
  int value = 0;
  driver().check(driver().cuDeviceGetAttribute(&value, which, device), "asking the GPU about itself");
  return value;
}

}  // namespace

Collector& collect_garbage() {
  static Collector set = nullptr;
  return set;
}

Paths& paths() {
  static Paths set;
  return set;
}

const Device& use_device() {
  const Driver& d = driver();
  static void* context = nullptr;
  static Device device;
  if (!context) {
    int handle = 0;
    char name[256] = "";
    d.check(d.cuDeviceGet(&handle, 0), "opening the GPU");
    d.check(d.cuDevicePrimaryCtxRetain(&context, handle), "opening the GPU");
    d.check(d.cuDeviceGetName(name, sizeof name, handle), "asking the GPU about itself");
    device.name = name;
    device.architecture = "sm_" + std::to_string(attribute(handle, compute_major)) +
                          std::to_string(attribute(handle, compute_minor));
    device.multiprocessors = attribute(handle, multiprocessor_count);
  }
  d.check(d.cuCtxSetCurrent(context), "choosing the GPU");
  return device;
}

void device_memory(size_t& free_bytes, size_t& total_bytes) {
  driver().check(driver().cuMemGetInfo_v2(&free_bytes, &total_bytes), "asking the GPU about its memory");
}

Buffer::Buffer(size_t bytes) : bytes_((bytes + 255) / 256 * 256 + 256) {
  Memory& all = memory();
  bool taken = all.take(bytes_, pointer_);
  if (!taken && all.in_use > all.collect_at) {
    all.collect();
    taken = all.take(bytes_, pointer_);
  }
  if (!taken) {
    int result = driver().cuMemAlloc_v2(&pointer_, bytes_);
    if (result != 0) {
      all.collect();
      release_memory();
      result = driver().cuMemAlloc_v2(&pointer_, bytes_);
    }
    driver().check(result, ("taking " + std::to_string(bytes_ >> 20) + " MiB of GPU memory").c_str());
  }
  all.in_use += bytes_;
}

Buffer::~Buffer() {
  memory().in_use -= bytes_;
  memory().kept.emplace(bytes_, pointer_);
}

size_t memory_in_use() { return memory().in_use; }

void release_memory() {
  for (const auto& block : memory().kept) driver().cuMemFree_v2(block.second);
  memory().kept.clear();
}

void copy_in(DevicePointer to, const void* from, size_t bytes) {
  if (bytes) driver().check(driver().cuMemcpyHtoD_v2(to, from, bytes), "copying to the GPU");
}

void copy_out(void* to, DevicePointer from, size_t bytes) {
  if (bytes) driver().check(driver().cuMemcpyDtoH_v2(to, from, bytes), "copying from the GPU");
}

namespace {

void* load_module(const std::string& text) {
  static std::map<std::string, void*> loaded;
  const auto found = loaded.find(text);
  if (found != loaded.end()) return found->second;
  const std::vector<char> code = binary(text, use_device().architecture);
  void* module;
  driver().check(driver().cuModuleLoadData(&module, code.data()), "loading a compiled kernel");
  return loaded[text] = module;
}

}  // namespace

void* function(const std::string& text, const char* name) {
  void* found;
  driver().check(driver().cuModuleGetFunction(&found, load_module(text), name), "finding a compiled kernel");
  return found;
}

const Kernels& kernels(const std::string& text) {
  static std::map<std::string, Kernels> loaded;
  const auto found = loaded.find(text);
  if (found != loaded.end()) return found->second;
  const Driver& d = driver();
  Kernels k;
  k.module = load_module(text);
  k.once = function(text, "kernops_once"), k.rows = function(text, "kernops_rows");
  k.lanes = function(text, "kernops_lanes"), k.pairs = function(text, "kernops_pairs");
  k.merge = function(text, "kernops_merge");
  DevicePointer bytes;
  size_t size;
  d.check(d.cuModuleGetGlobal_v2(&bytes, &size, k.module, "kernops_partial_bytes"),
          "finding a compiled kernel");
  d.check(d.cuMemcpyDtoH_v2(&k.partial_bytes, bytes, sizeof(int)), "reading from the GPU");
  return loaded[text] = k;
}

void launch(void* function, unsigned grid_x, unsigned grid_y, unsigned threads, void* job) {
  void* arguments[] = {job};
  driver().check(
      driver().cuLaunchKernel(function, grid_x, grid_y, 1, threads, 1, 1, 0, nullptr, arguments, nullptr),
      "launching a kernel");
}

}  // namespace cuda
}  // namespace kernops
