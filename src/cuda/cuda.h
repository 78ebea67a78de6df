// The CUDA backend: generated text, compiled by NVRTC, launched through the driver. Neither is linked: both
// libraries are opened at run time, so the same build works where they are and where they are not.
//
// All work of a device goes to the one default stream of its context, whichever thread hands it over, and so
// is done in order; copies between devices have a stream of their own, in that order, too. Kernels are loaded by the
// first thread alone; other threads launch what it has loaded.
#pragma once
#include <atomic>
#include <functional>
#include <tuple>

#include "run/backend.h"
#include "run/pairs.h"
#include "cuda/driver.h"
#include "cuda/pairs/tiled_plan.h"

namespace kernops {
namespace cuda {

// ---- the verbs (cuda/backend.cpp)

std::unique_ptr<Pairs> pairs(const std::vector<int>& devices);
void segments(const SegmentRequest& request);
void segment_gradient(const SegmentGradient& request);
void sort(const SortRequest& request);
bool roll(const RollRequest& request);
void order_statistics(const OrderRequest& request);
void axes(const AxisRequest& request);
SetTotals set_sums(const SetRequest& request);
void set_weights(const SetRequest& request, double* weights, double* sd);
void nearest(const neighbours::Request& request, int* to);
const Dense& dense();

// ---- text and code (cuda/pairs/source.cpp, cuda/cache.cpp)

// The kernels of a plan in two texts, compiled side by side: the pairs, and what fills the levels and merges splits,
// which other shapes have as well.
struct Text {
  std::string formula, pairs, levels;
  std::string of_pairs() const { return formula + pairs; }
  std::string of_levels() const { return formula + levels; }
};
struct Recipe;  // cuda/pairs/choose.h
Text source(const TiledPlan& plan, const Settings& settings, const Recipe& recipe);

// Where the engine's headers are, which kernels were compiled when the package was installed, and where
// others are kept; set when the package is loaded.
struct Paths {
  std::string include, catalogue, cache, version;
};
Paths& paths();

// The code of a text if it was compiled for this architecture, or one whose code runs there, when the package
// was installed; else empty.
std::vector<char> precompiled(const std::string& text, const std::string& architecture);

// The compiled kernel of a text: from the cache, or compiled and kept there.
std::vector<char> compiled(const std::string& text, const std::string& architecture);
// The same, but of the catalogue where it has one; several texts are compiled side by side.
std::vector<char> binary(const std::string& text, const std::string& architecture);
std::vector<std::vector<char>> binaries(const std::vector<std::string>& texts, const std::string& architecture);

// ---- devices (cuda/device.cpp)

struct Device {
  int number = 0;
  std::string name, architecture;
  int multiprocessors = 0;
  bool starts_early = false;  // kernels can, before the one before them has ended
  bool fast_doubles = false;  // half as many a second as floats
  size_t bytes = 0;
  int shared_bytes = 0;  // that a block may have
  void* context = nullptr;
  void *copying = nullptr, *turn = nullptr;  // a stream for copies to and from other devices, and an event
  int* arrivals = nullptr;                   // of blocks that merge: so many zeros, which they leave as they were
  static constexpr Count most_arrivals = 1 << 16;
};
std::vector<Device> devices();                        // all of this machine, opened or not
void check_devices(const std::vector<int>& numbers);  // throws CudaError where one does not exist
const Device& use_device(int number);                 // opens it if need be and makes it current for this thread
const Device& current_device();
void synchronize();  // waits for the current device

void copy_in(DevicePointer to, const void* from, size_t bytes);
void copy_out(void* to, DevicePointer from, size_t bytes);
// From device to device, of which one is the current one: in its order, the other must have nothing to do with it.
void copy_across(DevicePointer to, int to_device, DevicePointer from, int from_device, size_t bytes);

// ---- loaded kernels (cuda/modules.cpp)

struct Kernels {
  void *once, *fill, *pairs, *merge;
  int partial_bytes;
  int shared_bytes;  // that a launch of `pairs` asks for, beside what every GPU has for a block
  int resident;      // blocks of `pairs` that a multiprocessor runs at a time
};
const Kernels& kernels(const Text& text, int threads);      // of the current device
void* function(const std::string& text, const char* name);  // one entry point of a text

// An early one may begin before the kernel before it has ended, and waits for that itself
// (cuda/programmatic_launch.cuh).
void launch(void* function, unsigned grid_x, unsigned grid_y, unsigned threads, const void* job, bool early = false,
            unsigned shared_bytes = 0);
// With so many bytes of shared memory for each block, at most Device::shared_bytes.
void launch_sharing(void* function, unsigned grid, unsigned threads, unsigned shared_bytes, const void* job);

// How many blocks of so many threads and bytes of shared memory the current device runs at a time; allows a launch of
// them.
int resident_blocks(void* function, int threads, unsigned shared_bytes);

// Milliseconds that the current device takes for what `work` hands it.
double device_milliseconds(const std::function<void()>& work);

// ---- memory (cuda/memory.cpp)

// Memory of the device that is current when it is made. Freed memory is kept for the next one who asks.
class Buffer {
 public:
  explicit Buffer(size_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  DevicePointer pointer() const { return pointer_; }
  void* address() const { return reinterpret_cast<void*>(pointer_); }

 private:
  int device_;
  size_t bytes_;
  DevicePointer pointer_;
};
inline DevicePointer address(const void* at) { return reinterpret_cast<DevicePointer>(at); }
size_t memory_in_use(int device);     // bytes that Buffers hold now
size_t memory_left();                 // what they may still take of the current device
void release_memory();                // gives back what is kept for it
std::atomic<size_t>& memory_limit();  // what Buffers may hold on each device, 0 for all there is

// Destroys the Buffers that nobody can reach any more: the host language knows which. Called where much is in
// use, by the first thread alone.
using Collector = void (*)();
Collector& garbage_collector();
void collect_garbage();

// ---- several devices (cuda/devices.cpp)

// Told the fraction done; false stops.
using Watch = std::function<bool(double)>;

// work(n, watch) for n < count, each in a thread of its own, while this one waits and asks whether to go on.
void in_threads(size_t count, const Watch& keep_going, const std::function<void(size_t, const Watch&)>& work);

}  // namespace cuda
}  // namespace kernops
