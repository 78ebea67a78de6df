// The CUDA backend: generated text, compiled by NVRTC, launched through the driver. Neither library is linked: both are
// opened at run time, so the same build runs with and without them.
//
// All work of a device goes to the default stream of its context, from whichever thread, and is done in order; copies
// between devices use a separate stream, ordered after this work. Only the first thread loads kernels; other threads
// launch loaded kernels.
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

// The kernels of a plan in two texts that are compiled in parallel. One text reduces the pairs. The other
// text fills the levels and merges splits; plans of other shapes share it.
struct Text {
  std::string formula, pairs, levels;
  std::string of_pairs() const { return formula + pairs; }
  std::string of_levels() const { return formula + levels; }
};
struct Recipe;  // cuda/pairs/choose.h
Text source(const TiledPlan& plan, const Settings& settings, const Recipe& recipe);

// The folders of the engine's headers, of the kernels compiled at installation, and of the cache; set when the package
// is loaded.
struct Paths {
  std::string include, catalogue, cache, version;
};
Paths& paths();

// The code of a text if it was compiled at installation for this architecture or a compatible one; otherwise empty.
std::vector<char> precompiled(const std::string& text, const std::string& architecture);

// The compiled kernel of a text: read from the cache, or compiled and stored there.
std::vector<char> compiled(const std::string& text, const std::string& architecture);
// The compiled kernels of several texts, from the catalogue if it contains them; missing texts are compiled in
// parallel.
std::vector<char> binary(const std::string& text, const std::string& architecture);
std::vector<std::vector<char>> binaries(const std::vector<std::string>& texts, const std::string& architecture);

// ---- devices (cuda/device.cpp)

struct Device {
  int number = 0;
  std::string name, architecture;
  int multiprocessors = 0;
  bool starts_early = false;  // kernels can begin before the previous kernel has ended
  bool fast_doubles = false;  // doubles take at most four times as long as floats
  size_t bytes = 0;
  int shared_bytes = 0;  // maximum for a block
  void* context = nullptr;
  void *copying = nullptr, *turn = nullptr;  // a stream for copies between devices, and an event
  int* arrivals = nullptr;                   // counters of blocks that merge, initially zero; the blocks reset them
  static constexpr Count most_arrivals = 1 << 16;
};
std::vector<Device> devices();                        // all devices of this machine, opened or not
void check_devices(const std::vector<int>& numbers);  // throws CudaError if the device does not exist
// opens the device if necessary and makes it current for this thread
const Device& use_device(int number);
const Device& current_device();
void synchronize();  // waits for the current device

void copy_in(DevicePointer to, const void* from, size_t bytes);
void copy_out(void* to, DevicePointer from, size_t bytes);
// Copies between two devices, one of which is current, in the order of the current device; the other device must have
// no pending work on the data.
void copy_across(DevicePointer to, int to_device, DevicePointer from, int from_device, size_t bytes);

// ---- loaded kernels (cuda/modules.cpp)

struct Kernels {
  void *once, *fill, *pairs, *merge;
  int partial_bytes;
  int shared_bytes;  // bytes that a launch of `pairs` requests beyond the default of a block
  int resident;      // number of blocks of `pairs` that a multiprocessor runs at a time
};
const Kernels& kernels(const Text& text, int threads);      // on the current device
void* function(const std::string& text, const char* name);  // one entry point of a text

// An early kernel may begin before the previous kernel has ended, and synchronises with it
// (cuda/programmatic_launch.cuh).
void launch(void* function, unsigned grid_x, unsigned grid_y, unsigned threads, const void* job, bool early = false,
            unsigned shared_bytes = 0);
// `bytes` is the shared memory of each block, at most Device::shared_bytes.
void launch_sharing(void* function, unsigned grid, unsigned threads, unsigned shared_bytes, const void* job);

// The number of blocks of this size and shared memory that the current device runs at a time; enables such launches.
int resident_blocks(void* function, int threads, unsigned shared_bytes);

// The milliseconds that the current device takes for the launches of `work`.
double device_milliseconds(const std::function<void()>& work);

// ---- memory (cuda/memory.cpp)

// Memory of the device that is current at construction. Freed memory is kept for later allocations.
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
size_t memory_in_use(int device);     // bytes that Buffers hold at present
size_t memory_left();                 // bytes that Buffers may still allocate on the current device
void release_memory();                // returns the kept memory to the device
std::atomic<size_t>& memory_limit();  // limit of the memory of Buffers on each device, 0 for no limit

// Destroys the Buffers that are no longer reachable, which only the host language can determine. The first thread calls
// this function when much memory is in use.
using Collector = void (*)();
Collector& garbage_collector();
void collect_garbage();

// ---- several devices (cuda/devices.cpp)

// Receives the fraction done; returns false to stop.
using Watch = std::function<bool(double)>;

// Calls work(n, watch) for n < count, each in its own thread, while this thread waits and checks for interrupts.
void in_threads(size_t count, const Watch& keep_going, const std::function<void(size_t, const Watch&)>& work);

}  // namespace cuda
}  // namespace kernops
