// libcusolver.so of the emulator: the Cholesky decomposition of a lower triangle, column by column.
#include <cmath>
#include <cstddef>
#include <cstdint>

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int cusolverGetVersion(int* version) { return *version = 12000, 0; }

EXPORT int cusolverDnCreate(void** handle) {
  static int any;
  return *handle = &any, 0;
}
EXPORT int cusolverDnCreateParams(void** parameters) { return cusolverDnCreate(parameters); }

EXPORT int cusolverDnXpotrf_bufferSize(void*, void*, int, int64_t, int, const void*, int64_t, int, size_t* device,
                                       size_t* host) {
  return *device = 64, *host = 64, 0;
}

EXPORT int cusolverDnXpotrf(void*, void*, int upper, int64_t n, int, void* matrix, int64_t stride, int, void*, size_t,
                            void*, size_t, int* info) {
  if (upper) return 15;
  double* const a = static_cast<double*>(matrix);
  *info = 0;
  for (int64_t k = 0; k < n; ++k) {
    double* const column = a + k * stride;
    for (int64_t j = 0; j < k; ++j) {
      const double factor = a[j * stride + k];
      for (int64_t i = k; i < n; ++i) column[i] -= factor * a[j * stride + i];
    }
    if (!(column[k] > 0)) return *info = int(k) + 1, 0;
    const double pivot = std::sqrt(column[k]);
    for (int64_t i = k; i < n; ++i) column[i] /= pivot;
  }
  return 0;
}
