// Finds and opens CUDA devices, and copies data to devices, from devices and between devices.
#include <deque>
#include <mutex>
#include <set>

#include "cuda/cuda.h"

namespace kernops {
namespace cuda {
namespace {

struct Slot {
  Device device;
  std::set<int> peers;  // devices whose memory this device can read directly
};

thread_local Slot* current = nullptr;

// Values of CUdevice_attribute.
constexpr int multiprocessor_count = 16, compute_major = 75, compute_minor = 76, block_shared_bytes = 97,
              floats_per_double = 87;  // the attribute "single to double precision performance ratio"

constexpr unsigned non_blocking = 1, without_time = 2;  // CU_STREAM_NON_BLOCKING, CU_EVENT_DISABLE_TIMING

void check_asking(int result) { driver().check(result, "asking the GPU about itself"); }

int attribute(int handle, int which) {
  int value = 0;
  check_asking(driver().cuDeviceGetAttribute(&value, which, handle));
  return value;
}

int handle_of(int number) {
  int handle = 0;
  driver().check(driver().cuDeviceGet(&handle, number), "opening the GPU");
  return handle;
}

Device describe(int number) {
  const int handle = handle_of(number);
  char name[256] = "";
  Device device;
  device.number = number;
  check_asking(driver().cuDeviceGetName(name, sizeof name, handle));
  check_asking(driver().cuDeviceTotalMem_v2(&device.bytes, handle));
  device.name = name;
  const int major = attribute(handle, compute_major);
  device.architecture = "sm_" + std::to_string(major) + std::to_string(attribute(handle, compute_minor));
  device.starts_early = major >= 9;
  device.fast_doubles = attribute(handle, floats_per_double) <= 4;
  device.multiprocessors = attribute(handle, multiprocessor_count);
  device.shared_bytes = attribute(handle, block_shared_bytes);
  return device;
}

std::deque<Slot> find_slots() {
  int count = 0;
  driver().check(driver().cuDeviceGetCount(&count), "counting the GPUs");
  std::deque<Slot> devices(count);
  for (int n = 0; n < count; ++n) devices[n].device = describe(n);
  return devices;
}

std::deque<Slot>& slots() {
  static auto* const all = new std::deque<Slot>(find_slots());
  return *all;
}

Slot& slot(int number) {
  if (number >= 0 && number < int(slots().size())) return slots()[number];
  std::string known;
  for (const Slot& one : slots())
    known += (known.empty() ? "" : ", ") + std::to_string(one.device.number) + " (" + one.device.name + ")";
  throw CudaError("there is no GPU " + std::to_string(number) + "; this machine has " + known);
}

// Opens the device and makes its context current. If one step of the opening fails, the next call repeats this step,
// but not the steps that succeeded.
void open(Device& device) {
  const Driver& d = driver();
  const auto check = [&d](int result) { d.check(result, "opening the GPU"); };
  void* context = nullptr;
  check(d.cuDevicePrimaryCtxRetain(&context, handle_of(device.number)));
  d.check(d.cuCtxSetCurrent(context), "choosing the GPU");
  if (!device.copying) check(d.cuStreamCreate(&device.copying, non_blocking));
  if (!device.turn) check(d.cuEventCreate(&device.turn, without_time));
  if (!device.arrivals) {
    DevicePointer zeros = 0;
    check(d.cuMemAlloc_v2(&zeros, Device::most_arrivals * sizeof(int)));
    device.arrivals = reinterpret_cast<int*>(zeros);
  }
  check(d.cuMemsetD32_v2(address(device.arrivals), 0, Device::most_arrivals));
  device.context = context;
}

// Makes `stream` wait for all work that has been submitted to the stream `other`.
void wait_for(void* other, void* stream) {
  const Driver& d = driver();
  void* const turn = current->device.turn;
  d.check(d.cuEventRecord(turn, other), "ordering copies");
  d.check(d.cuStreamWaitEvent(stream, turn, 0), "ordering copies");
}

}  // namespace

Paths& paths() {
  static Paths set;
  return set;
}

std::vector<Device> devices() {
  std::vector<Device> all;
  for (const Slot& one : slots()) all.push_back(one.device);
  return all;
}

void check_devices(const std::vector<int>& numbers) {
  for (const int number : numbers) slot(number);
}

const Device& use_device(int number) {
  static std::mutex opening;
  Slot& chosen = slot(number);
  {
    const std::lock_guard<std::mutex> lock(opening);
    if (!chosen.device.context) open(chosen.device);
  }
  driver().check(driver().cuCtxSetCurrent(chosen.device.context), "choosing the GPU");
  current = &chosen;
  return chosen.device;
}

const Device& current_device() {
  if (!current) use_device(0);
  return current->device;
}

void synchronize() { driver().check(driver().cuCtxSynchronize(), "running a kernel"); }

void copy_in(DevicePointer to, const void* from, size_t bytes) {
  if (bytes) driver().check(driver().cuMemcpyHtoD_v2(to, from, bytes), "copying to the GPU");
}

void copy_out(void* to, DevicePointer from, size_t bytes) {
  if (bytes) driver().check(driver().cuMemcpyDtoH_v2(to, from, bytes), "copying from the GPU");
}

// In the default stream, a copy between devices would wait for the work of both devices. All later work of both devices
// would wait for the copy, so that the devices would not run at the same time. Therefore copies use a separate stream,
// which waits only for the earlier work of the current device.
void copy_across(DevicePointer to, int to_device, DevicePointer from, int from_device, size_t bytes) {
  if (bytes == 0) return;
  const Driver& d = driver();
  if (to_device == from_device) {
    d.check(d.cuMemcpyDtoD_v2(to, from, bytes), "copying on the GPU");
    return;
  }
  Device &target = slot(to_device).device, &source = slot(from_device).device;
  const Device& other = current->device.number == to_device ? source : target;
  // the call fails if the devices are not linked; in this case, the driver copies through host memory
  if (current->peers.insert(other.number).second) d.cuCtxEnablePeerAccess(other.context, 0);
  void* const copying = current->device.copying;
  wait_for(nullptr, copying);
  d.check(d.cuMemcpyPeerAsync(to, target.context, from, source.context, bytes, copying), "copying from GPU to GPU");
  wait_for(copying, nullptr);
}

}  // namespace cuda
}  // namespace kernops
