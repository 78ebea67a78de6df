// The CUDA backend: generated text, compiled by NVRTC, launched through the driver. Neither is linked: both libraries
// are opened at run time, so the same build works where they are and where they are not.
#pragma once
#include "backend.h"
#include "cuda_driver.h"

namespace kernops {
namespace cuda {

// How a kernel is laid out: the part of it that is compiled in.
struct Shape {
  int rows_per_thread, threads;
};

// Numbers from one item of so many entries to the next, as padded() of map_reduce.cuh has it.
int padded(int entries, int bytes);

// The shapes a plan may run in, the one for many rows first.
std::vector<Shape> shapes(const Plan& plan, const Settings& settings);

std::string source(const Plan& plan, const Settings& settings, const Shape& shape);

// Where the engine's headers are, which kernels were compiled when the package was installed, and where others are
// kept; set when the package is loaded.
struct Paths {
  std::string include, catalogue, cache, version;
};
Paths& paths();

// The code of a text if it was compiled for this architecture, or one whose code runs there, when the package was
// installed; else empty.
std::vector<char> precompiled(const std::string& text, const std::string& architecture);
std::vector<std::string> cache_files();  // the names of those that are ours

// The compiled kernel of a text: of the catalogue, from the cache, or compiled and kept there.
std::vector<char> binary(const std::string& text, const std::string& architecture);

// Memory of a device. Freed memory is kept for the next one who asks.
class Buffer {
 public:
  explicit Buffer(size_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  DevicePointer pointer() const { return pointer_; }
  void* address() const { return reinterpret_cast<void*>(pointer_); }

 private:
  DevicePointer pointer_;
  size_t bytes_;
};
size_t memory_in_use();  // bytes that Buffers hold now
void release_memory();   // gives back what is kept

struct Kernels {
  void *module, *once, *rows, *lanes, *pairs, *merge;
  int partial_bytes;
};

struct Device {
  std::string name, architecture;
  int multiprocessors;
  size_t free_bytes, total_bytes;
};
const Device& use_device();  // makes the first device current for this thread
const Kernels& kernels(const std::string& text);

void launch(void* function, unsigned grid_x, unsigned grid_y, unsigned threads, void* job);

}  // namespace cuda
}  // namespace kernops
