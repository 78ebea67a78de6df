// Device, memory and loaded kernels.
#include <map>
#include <mutex>

#include "cuda.h"

namespace kernops {
namespace cuda {
namespace {

struct Memory {
  std::multimap<size_t, DevicePointer> kept;
  size_t in_use = 0;
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
  d.check(d.cuMemGetInfo_v2(&device.free_bytes, &device.total_bytes), "asking the GPU about its memory");
  return device;
}

Buffer::Buffer(size_t bytes) : bytes_((bytes + 255) / 256 * 256 + 256) {
  Memory& all = memory();
  const auto kept = all.kept.lower_bound(bytes_);
  if (kept != all.kept.end() && kept->first <= 2 * bytes_) {
    bytes_ = kept->first;
    pointer_ = kept->second;
    all.kept.erase(kept);
  } else {
    int result = driver().cuMemAlloc_v2(&pointer_, bytes_);
    if (result != 0) {
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

const Kernels& kernels(const std::string& text) {
  static std::map<std::string, Kernels> loaded;
  const auto found = loaded.find(text);
  if (found != loaded.end()) return found->second;
  const Driver& d = driver();
  const std::vector<char> code = binary(text, use_device().architecture);
  Kernels k;
  d.check(d.cuModuleLoadData(&k.module, code.data()), "loading a compiled kernel");
  const auto get = [&](void*& function, const char* name) {
    d.check(d.cuModuleGetFunction(&function, k.module, name), "finding a compiled kernel");
  };
  get(k.once, "kernops_once"), get(k.rows, "kernops_rows"), get(k.lanes, "kernops_lanes");
  get(k.pairs, "kernops_pairs"), get(k.merge, "kernops_merge");
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
