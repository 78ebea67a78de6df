// libcufft.so of the emulator: Fourier transforms by sums over all frequencies, one coordinate after another.
#include <cmath>
#include <complex>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using Number = std::complex<double>;
struct Plan {
  std::vector<int> size;  // the last coordinate varies fastest
  int type;
};
std::vector<Plan> plans;
constexpr int to_modes = 0x6a, to_doubles = 0x6c;

// Transforms all lines of an array along one coordinate.
void transform(std::vector<Number>& all, const std::vector<int>& size, size_t along, int sign) {
  const size_t n = size_t(size[along]);
  size_t stride = 1;
  for (size_t a = along + 1; a < size.size(); ++a) stride *= size_t(size[a]);
  std::vector<Number> root(n), line(n);
  for (size_t k = 0; k < n; ++k) root[k] = std::polar(1.0, sign * 2 * M_PI * double(k) / double(n));
  for (size_t first = 0; first < all.size(); ++first) {
    if (first / stride % n != 0) continue;
    for (size_t k = 0; k < n; ++k) line[k] = all[first + k * stride];
    for (size_t f = 0; f < n; ++f) {
      Number sum = 0;
      for (size_t k = 0; k < n; ++k) sum += line[k] * root[f * k % n];
      all[first + f * stride] = sum;
    }
  }
}

size_t cells(const std::vector<int>& size) {
  size_t count = 1;
  for (const int n : size) count *= size_t(n);
  return count;
}

}  // namespace

EXPORT int cufftGetVersion(int* version) { return *version = 12000, 0; }

EXPORT int cufftPlanMany(int* plan, int rank, int* size, int* layout, int, int, int*, int, int, int type, int batch) {
  if (layout || batch != 1 || (type != to_modes && type != to_doubles)) return 5;  // CUFFT_INTERNAL_ERROR
  *plan = int(plans.size());
  plans.push_back({std::vector<int>(size, size + rank), type});
  return 0;
}

EXPORT int cufftDestroy(int) { return 0; }

EXPORT int cufftExecD2Z(int number, double* from, void* to) {
  const Plan& plan = plans[size_t(number)];
  std::vector<Number> all(from, from + cells(plan.size));
  for (size_t a = 0; a < plan.size.size(); ++a) transform(all, plan.size, a, -1);
  const size_t n = size_t(plan.size.back()), half = n / 2 + 1;
  for (size_t k = 0; k < all.size(); ++k)
    if (k % n < half) static_cast<Number*>(to)[k / n * half + k % n] = all[k];
  return 0;
}

// The modes at negative frequencies of the last coordinate are conjugates of the modes at the opposite frequencies.
EXPORT int cufftExecZ2D(int number, void* from, double* to) {
  const Plan& plan = plans[size_t(number)];
  const size_t n = size_t(plan.size.back()), half = n / 2 + 1;
  std::vector<Number> all(cells(plan.size));
  for (size_t k = 0; k < all.size(); ++k) {
    if (k % n < half) {
      all[k] = static_cast<const Number*>(from)[k / n * half + k % n];
      continue;
    }
    size_t opposite = n - k % n, stride = half, rest = k / n;
    for (size_t a = plan.size.size() - 1; a-- > 0; rest /= size_t(plan.size[a])) {
      const size_t m = size_t(plan.size[a]);
      opposite += (m - rest % m) % m * stride, stride *= m;
    }
    all[k] = std::conj(static_cast<const Number*>(from)[opposite]);
  }
  for (size_t a = 0; a < plan.size.size(); ++a) transform(all, plan.size, a, 1);
  for (size_t k = 0; k < all.size(); ++k) to[k] = all[k].real();
  return 0;
}
