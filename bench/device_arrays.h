// Common parts of the programs that compare kernels with CUB: arrays on the device, times, random segments.
#pragma once
#include <cub/cub.cuh>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

constexpr int count = 1 << 28;  // values

inline void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::printf("%s\n", cudaGetErrorString(error));
  std::exit(1);
}

template <class T> struct Array {
  explicit Array(size_t size) : size(size) { check(cudaMalloc(&data, size * sizeof(T) + 256)); }
  explicit Array(const std::vector<T>& from) : Array(from.size()) {
    check(cudaMemcpy(data, from.data(), size * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~Array() { cudaFree(data); }
  Array(const Array&) = delete;
  std::vector<T> host() const {
    std::vector<T> all(size);
    check(cudaMemcpy(all.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost));
    return all;
  }
  T* data;
  size_t size;
};

template <class F> float median_ms(F body, int runs = 15) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin), cudaEventCreate(&end);
  body();
  std::vector<float> times(runs);
  for (float& time : times) {
    cudaEventRecord(begin);
    body();
    cudaEventRecord(end);
    check(cudaEventSynchronize(end));
    cudaEventElapsedTime(&time, begin, end);
  }
  std::sort(times.begin(), times.end());
  return times[runs / 2];
}

// Measures a CUB function. If it is called with a null pointer, it returns the bytes of temporary memory that it needs.
template <class F> float cub_ms(F call, int runs) {
  size_t bytes = 0;
  call(nullptr, bytes);
  const Array<char> memory(bytes);
  return median_ms([&] { call(memory.data, bytes); }, runs);
}

inline std::vector<float> random_values() {
  std::mt19937 random(2);
  std::vector<float> values(count);
  for (float& value : values) value = float(random() >> 8) / 16777216.f;
  return values;
}

// Random lengths with this mean, uniform from 1 to twice the mean. A mean of 0 selects Pareto's distribution with
// exponent 0.8.
inline std::vector<long long> random_offsets(int mean) {
  std::mt19937 random(1);
  std::vector<long long> offsets{0};
  while (offsets.back() < count) {
    const double u = (random() + 0.5) / 4294967296.0;
    const double length = mean > 0 ? 1 + std::floor(u * (2.0 * mean - 1)) : std::floor(std::pow(u, -1 / 0.8));
    offsets.push_back(std::min<long long>(count, offsets.back() + (long long)std::min(length, 1e9)));
  }
  return offsets;
}
