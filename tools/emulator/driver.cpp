// libcuda.so.1 of an emulated GPU: kernels, which compiler.cpp has compiled to shared libraries, run on the CPU, block
// after block. The threads of a block are contexts that run in turn: each runs until it waits at a barrier. The driver
// detects threads that wait at different barriers.
#include <dlfcn.h>
#include <elf.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

struct Index3 {
  unsigned x, y, z;
};
struct Job {
  char bytes[4096];
};  // a copy of the argument of a kernel; no argument is larger
using Kernel = void (*)(Job);

namespace {

constexpr size_t stack_bytes = 1 << 17;
constexpr size_t memory = size_t(4) << 30;
constexpr int gpus = 2, multiprocessors = 4, shared_bytes = 1 << 17;

// A group of threads that wait for each other at barriers: the threads of a block, or of a warp.
struct Together {
  int members = 0, arrived = 0;
  unsigned phase = 0;
  void settle() {
    if (members > 0 && arrived == members) ++phase, arrived = 0;
  }
};

struct Warp : Together {
  char shown[32][16];
  unsigned lanes = 0;
};

struct Thread {
  ucontext_t context;
  std::unique_ptr<char[]> stack{new char[stack_bytes]};
  bool ended;
};

struct Block : Together {
  std::vector<Warp> warps;
  int count = 0;
};

std::vector<std::unique_ptr<Thread>> threads;
ucontext_t scheduler;
Block block;
std::vector<double> shared;  // parameters of a launch
unsigned now;
bool moved;  // whether a thread of the block has advanced since the last check
Kernel kernel;
const Job* argument;
size_t used;
std::map<void*, size_t> allocated;
std::mutex one_at_a_time;  // a session with several GPUs has a host thread for each GPU
using Alone = std::lock_guard<std::mutex>;

void run_thread() {
  kernel(*argument);
  threads[now]->ended = true;
  Warp& warp = block.warps[now / 32];
  warp.lanes &= ~(1u << now % 32);
  --warp.members, --block.members;
  warp.settle(), block.settle();
  moved = true;
}

void wait(Together& others) {
  const unsigned phase = others.phase;
  ++others.arrived;
  others.settle();
  while (phase == others.phase) swapcontext(&threads[now]->context, &scheduler);
  moved = true;
}

void resume(unsigned n);

// Every second round begins with the last thread, to detect kernels that rely on an order of the threads.
void run_block(unsigned size) {
  block.members = int(size), block.arrived = block.count = 0;
  block.warps.assign((size + 31) / 32, Warp());
  for (unsigned n = 0; n < size; ++n) {
    ++block.warps[n / 32].members, block.warps[n / 32].lanes |= 1u << n % 32;
    if (threads.size() <= n) threads.emplace_back(new Thread);
    Thread& thread = *threads[n];
    thread.ended = false;
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = thread.stack.get();
    thread.context.uc_stack.ss_size = stack_bytes;
    thread.context.uc_link = &scheduler;
    makecontext(&thread.context, run_thread, 0);
  }
  for (bool forward = true; block.members > 0; forward = !forward) {
    moved = false;
    for (unsigned n = 0; n < size; ++n) resume(forward ? n : size - 1 - n);
    if (moved || block.members == 0) continue;
    std::fprintf(stderr, "emulator: the threads of a block wait for each other in different places\n");
    std::abort();
  }
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT Index3 threadIdx, blockIdx, blockDim, gridDim;
Index3 threadIdx, blockIdx, blockDim, gridDim;

namespace {
void resume(unsigned n) {
  if (threads[n]->ended) return;
  now = n, threadIdx = {n, 0, 0};
  swapcontext(&scheduler, &threads[n]->context);
}
}  // namespace

// After a wait, resume() restores threadIdx.
EXPORT void emulator_wait_for_block() { wait(block); }
EXPORT void emulator_wait_for_warp() { wait(block.warps[now / 32]); }
EXPORT int emulator_count(int yes) {
  block.count += yes;
  wait(block);
  const int count = block.count;
  wait(block);
  block.count = 0;
  wait(block);
  return count;
}
EXPORT void* emulator_shared() { return shared.data(); }
EXPORT void* emulator_of_lane(unsigned lane) { return block.warps[now / 32].shown[lane]; }
EXPORT unsigned emulator_lanes() { return block.warps[now / 32].lanes; }

using Result = int;
using Address = unsigned long long;

// ---- faults: the calls of one kind with numbers from `first` to `last` fail

#include "faults.h"

namespace {
std::atomic<int> calls[fault_kinds], events;
std::atomic<int> failing{-1}, first, last;
}  // namespace

EXPORT int emulator_fails(int kind) {
  const int n = ++calls[kind];
  return kind == failing && first <= n && n <= last;
}
// For R's .C(): resets the counts; a kind of -1 lets all calls succeed.
EXPORT void emulator_fail(const int* kind, const int* k, const int* times) {
  for (auto& count : calls) count = 0;
  failing = *kind, first = *k, last = *k + *times - 1;
}
EXPORT void emulator_calls(int* counts) {
  for (int kind = 0; kind < fault_kinds; ++kind) counts[kind] = calls[kind];
}
EXPORT void emulator_held(int* blocks_and_events) {
  const Alone alone(one_at_a_time);
  blocks_and_events[0] = int(allocated.size()), blocks_and_events[1] = events;
}
static bool fails(FaultKind kind) { return emulator_fails(kind); }
constexpr Result broken = 719;  // CUDA_ERROR_LAUNCH_FAILED

static void* at(Address address) { return reinterpret_cast<void*>(address); }
static double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

EXPORT Result cuInit(unsigned) { return 0; }
EXPORT Result cuDriverGetVersion(int* version) { return *version = 13000, 0; }
EXPORT Result cuGetErrorString(Result result, const char** text) {
  return *text = result == 2 ? "out of memory" : "an error of the emulator", 0;
}
EXPORT Result cuDeviceGetCount(int* count) { return *count = gpus, 0; }
EXPORT Result cuDeviceGet(int* handle, int number) { return *handle = number, 0; }
EXPORT Result cuDeviceGetName(char* name, int size, int) { return std::snprintf(name, size_t(size), "emulator"), 0; }
EXPORT Result cuDeviceGetAttribute(int* value, int which, int) {
  return *value = which == 16 ? multiprocessors : which == 75 ? 7 : which == 76 ? 5 : which == 97 ? shared_bytes : 0, 0;
}
EXPORT Result cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = memory, 0; }
EXPORT Result cuDevicePrimaryCtxRetain(void** context, int number) {
  if (fails(fault_other)) return broken;
  return *context = reinterpret_cast<void*>(size_t(number) + 1), 0;
}
EXPORT Result cuCtxSetCurrent(void*) { return fails(fault_other) ? broken : 0; }
EXPORT Result cuCtxSynchronize() { return fails(fault_other) ? broken : 0; }
EXPORT Result cuCtxEnablePeerAccess(void*, unsigned) { return 0; }
EXPORT Result cuMemGetInfo_v2(size_t* free, size_t* total) {
  return *free = memory - used, *total = memory, fails(fault_other) ? broken : 0;
}

// New memory contains NaN, so that reads of uninitialised memory change results.
EXPORT Result cuMemAlloc_v2(Address* address, size_t bytes) {
  const Alone alone(one_at_a_time);
  if (fails(fault_allocation) || bytes > memory - used) return 2;
  void* fresh = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!fresh) return 2;
  std::memset(fresh, 0xff, bytes);
  allocated[fresh] = bytes, used += bytes;
  return *address = reinterpret_cast<Address>(fresh), 0;
}
EXPORT Result cuMemFree_v2(Address address) {
  const Alone alone(one_at_a_time);
  used -= allocated[at(address)];
  allocated.erase(at(address));
  return std::free(at(address)), 0;
}
EXPORT Result cuMemcpyHtoD_v2(Address to, const void* from, size_t bytes) {
  if (fails(fault_copy)) return broken;
  return std::memcpy(at(to), from, bytes), 0;
}
EXPORT Result cuMemcpyDtoH_v2(void* to, Address from, size_t bytes) {
  if (fails(fault_copy)) return broken;
  return std::memcpy(to, at(from), bytes), 0;
}
EXPORT Result cuMemcpyDtoD_v2(Address to, Address from, size_t bytes) {
  if (fails(fault_copy)) return broken;
  return std::memmove(at(to), at(from), bytes), 0;
}
EXPORT Result cuMemcpyPeerAsync(Address to, void*, Address from, void*, size_t bytes, void*) {
  if (fails(fault_copy)) return broken;
  return std::memmove(at(to), at(from), bytes), 0;
}
EXPORT Result cuMemsetD32_v2(Address to, unsigned value, size_t count) {
  if (fails(fault_copy)) return broken;
  for (size_t n = 0; n < count; ++n) static_cast<unsigned*>(at(to))[n] = value;
  return 0;
}

// The image is a shared library, with its section headers at the end.
EXPORT Result cuModuleLoadData(void** module, const void* image) {
  if (fails(fault_loading)) return broken;
  const auto* elf = static_cast<const Elf64_Ehdr*>(image);
  const size_t bytes = elf->e_shoff + size_t(elf->e_shnum) * elf->e_shentsize;
  char name[] = "/tmp/kernops-emulator-XXXXXX";
  const int file = mkstemp(name);
  const bool written = write(file, image, bytes) == ssize_t(bytes);
  close(file);
  *module = written ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!*module) std::fprintf(stderr, "emulator: %s\n", dlerror());
  unlink(name);
  return *module ? 0 : 200;  // CUDA_ERROR_INVALID_IMAGE
}
EXPORT Result cuModuleGetFunction(void** function, void* module, const char* name) {
  if (fails(fault_loading)) return broken;
  return (*function = dlsym(module, name)) ? 0 : 500;  // CUDA_ERROR_NOT_FOUND
}
EXPORT Result cuModuleGetGlobal_v2(Address* address, size_t* bytes, void* module, const char* name) {
  void* found = dlsym(module, name);
  *address = reinterpret_cast<Address>(found), *bytes = sizeof(int);
  return found ? 0 : 500;
}
EXPORT Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, size_t) {
  return *blocks = 2, fails(fault_other) ? broken : 0;
}

struct LaunchConfig {
  Index3 grid, block;
  unsigned shared_bytes;
};  // its first bytes
EXPORT Result cuFuncSetAttribute(void*, int, int value) { return value > shared_bytes ? 1 : 0; }
EXPORT Result cuLaunchKernelEx(const LaunchConfig* config, void* function, void** arguments, void**) {
  if (fails(fault_launch)) return broken;
  const Alone alone(one_at_a_time);
  kernel = reinterpret_cast<Kernel>(function), argument = static_cast<const Job*>(arguments[0]);
  gridDim = config->grid, blockDim = config->block;
  for (unsigned y = 0; y < gridDim.y; ++y)
    for (unsigned x = 0; x < gridDim.x; ++x) {
      shared.assign(config->shared_bytes / sizeof(double), NAN);
      blockIdx = {x, y, 0}, run_block(blockDim.x);
    }
  return 0;
}

EXPORT Result cuEventCreate(void** event, unsigned) {
  if (fails(fault_other)) return broken;
  return *event = new double(0), ++events, 0;
}
EXPORT Result cuEventRecord(void* event, void*) {
  return *static_cast<double*>(event) = seconds(), fails(fault_other) ? broken : 0;
}
EXPORT Result cuEventSynchronize(void*) { return fails(fault_other) ? broken : 0; }
EXPORT Result cuEventElapsedTime(float* ms, void* from, void* to) {
  return *ms = float(1e3 * (*static_cast<double*>(to) - *static_cast<double*>(from))), 0;
}
EXPORT Result cuEventDestroy_v2(void* event) { return delete static_cast<double*>(event), --events, 0; }
EXPORT Result cuStreamCreate(void** stream, unsigned) { return *stream = nullptr, fails(fault_other) ? broken : 0; }
EXPORT Result cuStreamWaitEvent(void*, void*, unsigned) { return fails(fault_other) ? broken : 0; }
