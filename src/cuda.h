// The CUDA backend: generated text, compiled by NVRTC, launched through the driver. Neither is linked: both
// libraries are opened at run time, so the same build works where they are and where they are not.
#pragma once
#include "backend.h"
#include "cuda_driver.h"

namespace kernops {
namespace cuda {

// How a kernel is laid out: the part of it that is compiled in. `lanes` is how many a block takes at a time.
struct Shape {
  enum Kind {
    narrow,
    wide,
    spread
  } kind;  // map_reduce.cuh, map_reduce_wide.cuh, the same for sums of long vectors
  int rows_per_thread, threads, lanes;
};
TiledPlan tiled(const Plan& plan);
Shape choose_shape(const TiledPlan& plan, const Settings& settings, Count rows, int multiprocessors);

// The shapes a plan may run in, the one for many rows first.
std::vector<Shape> shapes(const TiledPlan& plan, const Settings& settings);

std::string source(const TiledPlan& plan, const Settings& settings, const Shape& shape);

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

// Destroys the Buffers that nobody can reach any more: the host language knows which. Called where much is in
// use.
using Collector = void (*)();
Collector& collect_garbage();

void copy_in(DevicePointer to, const void* from, size_t bytes);
void copy_out(void* to, DevicePointer from, size_t bytes);

struct Kernels {
  void *module, *once, *rows, *lanes, *pairs, *merge;
  int partial_bytes;
};

struct Device {
  std::string name, architecture;
  int multiprocessors;
};
const Device& use_device();  // makes the first device current for this thread
void device_memory(size_t& free_bytes, size_t& total_bytes);

const Kernels& kernels(const std::string& text);
void* function(const std::string& text, const char* name);  // one entry point of a text

void launch(void* function, unsigned grid_x, unsigned grid_y, unsigned threads, void* job);

}  // namespace cuda
}  // namespace kernops
