// Compares the functions of baseline SIMD packs with <cmath> in higher precision, for a processor on which R does not
// run: tools/cross compiles this program and runs it in an emulator. Prints `ok NAME` or `failed NAME ...` for each
// function and type.
#include <kernops/simd/math.h>

#include <cstdio>
#include <initializer_list>
#include <limits>
#include <random>
#include <vector>

namespace {

using kernops::Pack;

template <class T> std::vector<T> arguments() {
  std::vector<T> x;
  for (double edge :
       {0., 1e-320, 1e-40, 0.5, 1., 1.5, 2.5, 88.75, 104., 709.78, 745.25, 4194304.5, 1e8, 1e15, 1e300, HUGE_VAL})
    for (double sign : {1., -1.}) x.push_back(T(sign * edge));
  x.push_back(T(NAN));
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int i = 0; i < 20000; ++i) {
    x.push_back(T(normal(random) * std::exp2(40 * uniform(random))));
    x.push_back(T(750 * uniform(random)));
    x.push_back(T(1 + normal(random) * std::exp2(25 * uniform(random) - 25)));
  }
  while (x.size() % Pack<T>::width) x.push_back(1);
  return x;
}

// The error in units in the last place (ulp) of the exact value.
template <class T> double ulps(T actual, long double exact) {
  const T expected = T(exact);
  if (actual == expected || (std::isnan(actual) && std::isnan(expected))) return 0;
  if (!std::isfinite(expected) || !std::isfinite(actual)) return INFINITY;
  return double(std::fabs(actual - exact) /
                (std::nextafter(std::fabs(expected), std::numeric_limits<T>::infinity()) - std::fabs(expected)));
}

template <class T, class F, class G> bool compare(const char* name, double most, F packs, G exact) {
  const std::vector<T> x = arguments<T>();
  double worst = 0;
  T where = 0;
  for (size_t i = 0; i < x.size(); i += Pack<T>::width) {
    const Pack<T> value = packs(Pack<T>::load(&x[i]));
    for (int lane = 0; lane < Pack<T>::width; ++lane) {
      const double far = ulps<T>(value.lane(lane), exact(x[i + lane]));
      if (far > worst) worst = far, where = x[i + lane];
    }
  }
  const char* type = sizeof(T) == 8 ? "double" : "float";
  if (worst <= most) return std::printf("ok %s %s: %.2f\n", name, type, worst), true;
  return std::printf("failed %s %s: %.2f units of the last place at %.17g\n", name, type, worst, double(where)), false;
}

#define COMPARE(name, most, packs, exact)                                                     \
  fine &= compare<double>(                                                                    \
      name, most, [](Pack<double> x) { return packs; }, [](long double x) { return exact; }); \
  fine &= compare<float>(                                                                     \
      name, most, [](Pack<float> x) { return packs; }, [](long double x) { return exact; });

}  // namespace

int main() {
  bool fine = true;
  COMPARE("exp", 2, exp(x), std::exp(x))
  COMPARE("expm1", 2, expm1(x), std::expm1(x))
  COMPARE("log", 2, log(x), std::log(x))
  COMPARE("log1p", 2, log1p(x), std::log1p(x))
  COMPARE("sin", 2, sin(x), std::sin(x))
  COMPARE("cos", 2, cos(x), std::cos(x))
  COMPARE("tanh", 2, tanh(x), std::tanh(x))
  COMPARE("pow", 2, pow(x, 1.75), std::pow(x, 1.75L))
  COMPARE("sqrt", 0.5, sqrt(x), std::sqrt(x))
  COMPARE("rint", 0, rint(x), std::nearbyint(x))
  COMPARE("floor", 0, floor(x), std::floor(x))
  COMPARE("ceil", 0, ceil(x), std::ceil(x))
  COMPARE("trunc", 0, trunc(x), std::trunc(x))
  COMPARE("fma", 0.5, fma(x, x, Pack<typename decltype(x)::Scalar>(-1)), x * x - 1)
  COMPARE("max", 0, max(x, Pack<typename decltype(x)::Scalar>(1)), std::isnan(x) ? x : std::fmax(x, 1.0L))
  COMPARE("min", 0, min(Pack<typename decltype(x)::Scalar>(1), x), std::isnan(x) ? x : std::fmin(x, 1.0L))
  return !fine;
}
