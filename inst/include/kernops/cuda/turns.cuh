// Sines and cosines of floats for pairs. The range reduction subtracts a multiple of pi in two fused multiply-adds; the
// first of them is exact. Then a minimax polynomial on [-pi/2, pi/2] is evaluated. For all floats up to `few_turns`,
// the absolute error is at most 1.9e-7. The special function unit would be faster by a fifth, but has an error of
// 4.9e-7.
#pragma once
#include <kernops/cuda/values.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

constexpr float few_turns = 65536;  // radians

// The reduced argument is x - n pi. The number n is computed by adding n units of 2^-23 to `centre`, a number near -2.
// For |n| up to 2^15, the upper bits of this sum do not change. Most of these bits are 1; for larger |n|, at least one
// of them becomes 0.
constexpr unsigned upper_bits = 0xbfff0000;
KERNOPS_FN float less_half_turns(float x, int& half_turns) {
  constexpr float centre = -0x1.ffp0f;
  const float shifted = fma(x, 0x1.45f306p-25f, centre), count = shifted - centre;
  half_turns = __float_as_int(shifted);
  return fma(count, 0x1.777a5cp-1f, fma(count, -0x1.921fb6p24f, x));
}
// Negates x if the number of half turns is odd, by one addition to the sign bit.
KERNOPS_FN float with_sign(float x, int half_turns) {
  return __int_as_float(__float_as_int(x) + int(unsigned(half_turns) << 31));
}

KERNOPS_FN float cos_of_few_turns(float x, int& half_turns) {
  const float r = less_half_turns(x, half_turns), z = r * r;
  float p = 2.3153931659e-5f;
  p = fma(p, z, -1.3853704308e-3f);
  p = fma(p, z, 4.1663584693e-2f);
  p = fma(p, z, -4.9999905347e-1f);
  return with_sign(fma(p, z, 9.9999995347e-1f), half_turns);
}
KERNOPS_FN float sin_of_few_turns(float x, int& half_turns) {
  const float r = less_half_turns(x, half_turns), z = r * r;
  float p = 2.5904885006e-6f;
  p = fma(p, z, -1.9800897763e-4f);
  p = fma(p, z, 8.3328998234e-3f);
  p = fma(p, z, -1.6666647635e-1f);
  return fma(p, z, 9.9999997659e-1f) * with_sign(r, half_turns);
}

// The code for large arguments reads many digits of pi. This code is in functions that are not inlined, so that the
// code is not repeated for each pair.
template <class T> KERNOPS_CALL T cos_of_any(T x) { return cos(x); }
template <class T> KERNOPS_CALL T sin_of_any(T x) { return sin(x); }

// Treats all arguments as small, and collects the bits that are set for every argument. These bits show afterwards
// whether all arguments were small. This test takes half an instruction per argument; a branch for each pair would take
// 1.5 times as much time.
struct FewTurns {
  unsigned common = ~0u;
  KERNOPS_FN bool enough() const { return (common & upper_bits) == upper_bits; }
  KERNOPS_FN float saw(float result, int half_turns) { return common &= unsigned(half_turns), result; }
  KERNOPS_FN float cos(float x) {
    int half_turns;
    const float result = cos_of_few_turns(x, half_turns);
    return saw(result, half_turns);
  }
  KERNOPS_FN float sin(float x) {
    int half_turns;
    const float result = sin_of_few_turns(x, half_turns);
    return saw(result, half_turns);
  }
};
// Tests each argument by a branch.
struct AnyTurns {
  int half_turns;
  KERNOPS_FN float cos(float x) { return abs(x) <= few_turns ? cos_of_few_turns(x, half_turns) : cos_of_any(x); }
  KERNOPS_FN float sin(float x) { return abs(x) <= few_turns ? sin_of_few_turns(x, half_turns) : sin_of_any(x); }
};

template <class Turns, int D> KERNOPS_FN Vec<float, D> cos_by(Turns& turns, const Vec<float, D>& x) {
  Vec<float, D> result;
  KERNOPS_EACH_FEW(k, D) result.v[k] = turns.cos(x.v[k]);
  return result;
}
template <class Turns, int D> KERNOPS_FN Vec<float, D> sin_by(Turns& turns, const Vec<float, D>& x) {
  Vec<float, D> result;
  KERNOPS_EACH_FEW(k, D) result.v[k] = turns.sin(x.v[k]);
  return result;
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
