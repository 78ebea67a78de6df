// Device memory. A freed block can be reused immediately, even while kernels that use it are still running, because
// later work on the same device runs after these kernels.
#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "cuda/cuda.h"

namespace kernops {
namespace cuda {
namespace {

constexpr int out_of_memory = 2;  // CUDA_ERROR_OUT_OF_MEMORY
constexpr size_t patience = size_t(1) << 30;
const std::thread::id first_thread = std::this_thread::get_id();

// The pool of freed blocks of one device, which are kept for reuse. Threads of several devices, and finalizers that the
// first thread runs, may use a pool at the same time.
class Pool {
 public:
  // Takes a kept block whose size is between `bytes` bytes and 9/8 of `bytes` plus 4096 bytes. Returns false if the
  // pool has no such block.
  bool take(size_t& bytes, DevicePointer& pointer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto block = kept_.lower_bound(bytes);
    if (block == kept_.end() || block->first > bytes + bytes / 8 + 4096) return false;
    if (memory_limit() && in_use_ + block->first > memory_limit()) return false;
    bytes = block->first, pointer = block->second;
    kept_.erase(block);
    kept_bytes_ -= bytes, in_use_ += bytes;
    return true;
  }

  int allocate(size_t bytes, DevicePointer& pointer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (memory_limit() && in_use_ + kept_bytes_ + bytes > memory_limit()) return out_of_memory;
    const int result = driver().cuMemAlloc_v2(&pointer, bytes);
    if (result == 0) in_use_ += bytes;
    return result;
  }

  void give_back(size_t bytes, DevicePointer pointer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    in_use_ -= bytes, kept_bytes_ += bytes;
    kept_.emplace(bytes, pointer);
  }

  void release() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& block : kept_) driver().cuMemFree_v2(block.second);
    kept_.clear();
    kept_bytes_ = 0;
  }

  // True if the use of device memory has grown much since the last garbage collection of R. A garbage collection takes
  // some tens of milliseconds.
  bool is_crowded() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return in_use_ > collect_at_ + current_device().bytes / 16;
  }
  void has_been_cleaned() {
    const std::lock_guard<std::mutex> lock(mutex_);
    collect_at_ = 2 * in_use_ + patience;
  }

  size_t in_use() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return in_use_;
  }
  size_t left(size_t free_bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const size_t limit = memory_limit(), there = free_bytes + kept_bytes_;
    return limit == 0 ? there : std::min(there, limit - std::min(limit, in_use_));
  }

 private:
  std::mutex mutex_;
  std::multimap<size_t, DevicePointer> kept_;
  size_t kept_bytes_ = 0, in_use_ = 0, collect_at_ = patience;
};

// The pools are never destroyed, because R may still hold matrices when the process ends.
Pool& pool(int device) {
  static auto* const all = new std::deque<Pool>(devices().size());
  return (*all)[size_t(device)];
}

void clean(Pool& crowded) {
  collect_garbage();
  crowded.has_been_cleaned();
}

}  // namespace

std::atomic<size_t>& memory_limit() {
  static std::atomic<size_t> set{0};
  return set;
}

Collector& garbage_collector() {
  static Collector set = nullptr;
  return set;
}

void collect_garbage() {
  if (garbage_collector() && std::this_thread::get_id() == first_thread) garbage_collector()();
}

Buffer::Buffer(size_t bytes) : device_(current_device().number), bytes_((bytes + 255) / 256 * 256 + 256) {
  Pool& here = pool(device_);
  if (here.take(bytes_, pointer_)) return;
  if (here.is_crowded()) {
    clean(here);
    if (here.take(bytes_, pointer_)) return;
  }
  int result = here.allocate(bytes_, pointer_);
  if (result == out_of_memory) {
    clean(here);
    here.release();
    result = here.allocate(bytes_, pointer_);
  }
  if (result == 0) return;
  std::string what = "taking " + std::to_string(bytes_ >> 20) + " MiB of the memory of GPU " + std::to_string(device_);
  if (memory_limit()) what += ", where kernops.gpu_memory allows " + std::to_string(memory_limit() >> 20) + " MiB,";
  driver().check(result, what.c_str());
}

Buffer::~Buffer() { pool(device_).give_back(bytes_, pointer_); }

size_t memory_in_use(int device) { return pool(device).in_use(); }

size_t memory_left() {
  size_t free_bytes, total_bytes;
  driver().check(driver().cuMemGetInfo_v2(&free_bytes, &total_bytes), "asking the GPU about its memory");
  return pool(current_device().number).left(free_bytes);
}

void release_memory() { pool(current_device().number).release(); }

}  // namespace cuda
}  // namespace kernops
