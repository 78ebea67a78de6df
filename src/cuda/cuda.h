// The CUDA backend: it generates CUDA text, which NVRTC compiles, and launches kernels by the CUDA driver. NVRTC and
// the driver are opened at run time and not linked, so that the same build of the package runs with and without them.
//
// All work on a device is submitted to the default stream of its context, by any thread, and runs in the order of
// submission. Copies between devices use a separate stream, which waits for the earlier work of the default stream.
// Only the first thread loads kernels; other threads launch kernels that are already loaded.
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

// ---- operations (cuda/backend.cpp)

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
bool series(const SeriesRequest& request);
const Dense& dense();

// ---- text and code (cuda/pairs/source.cpp, cuda/cache.cpp)

// The CUDA texts of the kernels of a plan. The kernels of the text `pairs` reduce the pairs. The kernels of the text
// `levels` compute the values that belong to a row, to a column or to no item (the levels of the plan), and merge the
// states of splits (parts of the columns); several recipes of a plan share this text. The two texts are compiled in
// parallel.
struct Text {
  std::string formula, pairs, levels;
  std::string of_pairs() const { return formula + pairs; }
  std::string of_levels() const { return formula + levels; }
};
struct Recipe;  // cuda/pairs/choose.h
Text source(const TiledPlan& plan, const Settings& settings, const Recipe& recipe);

// The folders of the package's CUDA headers, of the kernels compiled at installation, and of the cache. The package
// sets these paths when it is loaded.
struct Paths {
  std::string include, catalogue, cache, version;
};
Paths& paths();

// Returns the code of a CUDA text if it was compiled at installation for this architecture or a compatible one. Returns
// an empty vector if there is no such code.
std::vector<char> precompiled(const std::string& text, const std::string& architecture);

// Returns the code of a text: reads the code from the cache folder, or compiles the text and stores the code in this
// folder.
std::vector<char> compiled(const std::string& text, const std::string& architecture);
// binary() returns the code of a text from the catalogue or, if the catalogue does not have the text, from compiled().
// binaries() does the same for several texts, and compiles missing texts in parallel.
std::vector<char> binary(const std::string& text, const std::string& architecture);
std::vector<std::vector<char>> binaries(const std::vector<std::string>& texts, const std::string& architecture);

// ---- devices (cuda/device.cpp)

struct Device {
  int number = 0;
  std::string name, architecture;
  int multiprocessors = 0;
  bool starts_early = false;  // true if kernels can begin before the previous kernel has ended
  bool fast_doubles = false;  // true if operations on doubles take at most four times as long as on floats
  size_t bytes = 0;
  int shared_bytes = 0;  // maximum for a block
  void* context = nullptr;
  void *copying = nullptr, *turn = nullptr;  // a stream for copies between devices; an event that orders streams
  int* arrivals = nullptr;                   // counters of blocks that have ended; initially 0, and reset by the blocks
  static constexpr Count most_arrivals = 1 << 16;
};
std::vector<Device> devices();                        // all devices of this machine, opened or not
void check_devices(const std::vector<int>& numbers);  // throws CudaError unless the devices exist
// Opens the device if necessary, and makes it current for this thread.
const Device& use_device(int number);
const Device& current_device();
void synchronize();  // waits until the current device has completed its work

void copy_in(DevicePointer to, const void* from, size_t bytes);
void copy_out(void* to, DevicePointer from, size_t bytes);
// Copies between two devices, one of which must be current. The copy runs after the earlier work of the current device.
// The caller must make sure that the second device has no pending work on the data.
void copy_across(DevicePointer to, int to_device, DevicePointer from, int from_device, size_t bytes);

// ---- loaded kernels (cuda/modules.cpp)

struct Kernels {
  void *once, *fill, *pairs, *merge;
  int partial_bytes;
  int shared_bytes;  // bytes of dynamic shared memory that a launch of `pairs` requests
  int resident;      // number of blocks of `pairs` that a multiprocessor runs at a time
};
const Kernels& kernels(const Text& text, int threads);      // on the current device
void* function(const std::string& text, const char* name);  // the kernel `name` of a text

// Launches a kernel. An `early` kernel may begin before the previous kernel has ended, and synchronises with the
// previous kernel itself (cuda/programmatic_launch.cuh).
void launch(void* function, unsigned grid_x, unsigned grid_y, unsigned threads, const void* job, bool early = false,
            unsigned shared_bytes = 0);
// Launches a kernel whose blocks have `shared_bytes` bytes of shared memory, at most Device::shared_bytes.
void launch_sharing(void* function, unsigned grid, unsigned threads, unsigned shared_bytes, const void* job);

// Returns the number of blocks with `threads` threads and `shared_bytes` of shared memory that the current device runs
// at a time. Also permits launches of the kernel with this amount of shared memory.
int resident_blocks(void* function, int threads, unsigned shared_bytes);

// Calls work(), which launches kernels. Returns the time in milliseconds that the current device takes for these
// kernels.
double device_milliseconds(const std::function<void()>& work);

// ---- memory (cuda/memory.cpp)

// Memory on the device that was current when the Buffer was constructed. Freed memory is kept for later allocations.
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
size_t memory_in_use(int device);     // bytes that Buffers have allocated
size_t memory_left();                 // bytes that Buffers can still allocate on the current device
void release_memory();                // frees the memory that is kept for reuse
std::atomic<size_t>& memory_limit();  // limit of the memory of Buffers on each device; 0 for no limit

// A function that runs the garbage collector of the host language, which destroys Buffers that no object refers to. The
// first thread calls this function when much memory is in use.
using Collector = void (*)();
Collector& garbage_collector();
void collect_garbage();

// ---- several devices (cuda/devices.cpp)

// A function that receives the completed fraction of a computation, and returns false to stop the computation.
using Watch = std::function<bool(double)>;

// Calls work(n, watch) for n = 0 .. count - 1, in a separate thread for each n. The calling thread waits for these
// threads, and checks for interrupts.
void in_threads(size_t count, const Watch& keep_going, const std::function<void(size_t, const Watch&)>& work);

}  // namespace cuda
}  // namespace kernops
