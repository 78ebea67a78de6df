// R's NA among doubles, which is a NaN whose low word is 1954.
#pragma once
#include <kernops/portable.h>

#ifndef __CUDACC_RTC__
#include <cstring>
#endif

namespace kernops {
inline namespace KERNOPS_ISA {

#ifdef __CUDA_ARCH__
KERNOPS_FN double missing() { return __longlong_as_double(0x7ff00000000007a2); }
KERNOPS_FN bool is_missing(double x) { return x != x && __double2loint(x) == 1954; }
#else
KERNOPS_FN double missing() {
  const unsigned long long bits = 0x7ff00000000007a2;
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
KERNOPS_FN bool is_missing(double x) {
  unsigned long long bits;
  std::memcpy(&bits, &x, sizeof x);
  return x != x && unsigned(bits) == 1954;
}
#endif

}  // namespace KERNOPS_ISA
}  // namespace kernops
