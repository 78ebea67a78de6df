// Exponentials on the GPU. scalar.h includes this file inside its namespace. For a float, 2^x takes one instruction,
// with an error of 2 ulp. For a double, 2^x = 2^(n + r) is computed by the minimax polynomial of 2^r on [-1/2, 1/2]
// (error 2.5e-16), and n is added to the exponent field of the result.

// The coefficients are in constant memory, from which an instruction can read its operands.
static __constant__ double exp2_coefficients[] = {0x1p0,
                                                  0x1.62e42fefa3a17p-1,
                                                  0x1.ebfbdff82c472p-3,
                                                  0x1.c6b08d703d59ep-5,
                                                  0x1.3b2ab6fbce392p-7,
                                                  0x1.5d87fe9cab4p-10,
                                                  0x1.43091283ef5fap-13,
                                                  0x1.ffcb56287b4a6p-17,
                                                  0x1.62c111ae257ccp-20,
                                                  0x1.b673da575f282p-24,
                                                  0x1.e3fe325ea109cp-28};

#ifdef __CUDA_ARCH__

KERNOPS_FN float exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
KERNOPS_FN float exp2_of_small(float x) { return exp2(x); }

#if __CUDA_ARCH__ >= 800
KERNOPS_FN float larger_or_nan(float x, float y) {
  float z;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}
KERNOPS_FN float smaller_or_nan(float x, float y) {
  float z;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}

// Computes 2^r for r in [-1/2, 1/2] by the minimax polynomial that is 1 at 0 (error 1e-7).
KERNOPS_FN float exp2_of_rest(float r) {
  float p = 1.326472718e-3f;
  p = ::fmaf(p, r, 9.671512641e-3f);
  p = ::fmaf(p, r, 5.550733743e-2f);
  p = ::fmaf(p, r, 2.402224209e-1f);
  p = ::fmaf(p, r, 6.931469776e-1f);
  return ::fmaf(p, r, 1.0f);
}
// Computes 2^x = 2^(n + r) without the special function unit. The result is Inf for x >= 127.5, 0 for x < -126.5, and
// NaN for NaN.
KERNOPS_FN float exp2_by_polynomial(float x) {
  const float within = smaller_or_nan(larger_or_nan(x, -127.0f), 128.0f);
  constexpr float to_biased = 12583039.0f;  // 1.5 * 2^23 + 127: the low bits of n are a biased exponent
  const float n = within + to_biased;
  return exp2_of_rest(within - (n - to_biased)) * __int_as_float(__float_as_int(n) << 23);
}
// Computes 2^x = 2^(n + r) for |x| <= 125: adds n to the exponent field of the polynomial of r.
KERNOPS_FN float exp2_of_small_by_polynomial(float x) {
  constexpr float to_integer = 12582912.0f;  // 1.5 * 2^23
  const float n = x + to_integer, p = exp2_of_rest(x - (n - to_integer));
  return __int_as_float(__float_as_int(p) + (__float_as_int(n) << 23));
}
#endif

// If a pair needs more than one exponential, the special function unit is the bottleneck: therefore every fourth pair
// uses the polynomial.
KERNOPS_FN float exp2_in_turn(float x, int turn) {
#if __CUDA_ARCH__ >= 860  // from sm_86 on, 8 additions take as long as one special function
  if (turn % 4 == 3) return exp2_by_polynomial(x);
#endif
  return exp2(x);
}
// Computes 2^-x for 0 <= x <= 125. One of `every` pairs uses the polynomial. The special function instruction negates
// its operand without extra cost.
template <int every> KERNOPS_FN float exp2_of_minus(float x, int turn) {
#if __CUDA_ARCH__ >= 860
  if (turn % every == every - 1) return exp2_of_small_by_polynomial(-x);
#endif
  float y;
  asm("{.reg .f32 minus;\n neg.f32 minus, %1;\n ex2.approx.ftz.f32 %0, minus;}" : "=f"(y) : "f"(x));
  return y;
}
KERNOPS_FN float exp(float x) { return exp2(x * 1.4426950408889634f); }

// 1.5 * 2^52: if this number is added to x, the low bits of the sum contain the integer nearest to x.
constexpr double to_integer = 6755399441055744.0;

KERNOPS_FN double exp2_sum(double r, double n_shifted) {
  double p = exp2_coefficients[10];
  KERNOPS_UNROLL
  for (int k = 9; k >= 0; --k) p = ::fma(p, r, exp2_coefficients[k]);
  return __hiloint2double(__double2hiint(p) + (__double2loint(n_shifted) << 20), __double2loint(p));
}

// Returns y, which is 2^x, if 2^x is a normal number. Returns 0 or Inf if 2^x is too small or too large, and NaN if x
// is NaN. The integer instructions of this function leave the double precision units free for other pairs. Without a
// branch, the compiler can interleave several pairs.
KERNOPS_FN double limited(double x, double y) {
  const long long bits = __double_as_longlong(x), size = bits & 0x7fffffffffffffff, infinite = 0x7ff0000000000000;
  const long long instead = size > infinite ? 0x7ff8000000000000 : bits < 0 ? 0 : infinite;
  return __longlong_as_double(size >= 0x408ff00000000000 ? instead : __double_as_longlong(y));  // 1022
}

// Computes 2^x for |x| < 1022.
KERNOPS_FN double exp2_of_small(double x) {
  const double n = x + to_integer;
  return exp2_sum(x - (n - to_integer), n);
}
KERNOPS_FN double exp2(double x) { return limited(x, exp2_of_small(x)); }
KERNOPS_FN double exp2_in_turn(double x, int) { return exp2(x); }
template <int> KERNOPS_FN double exp2_of_minus(double x, int) { return exp2_of_small(-x); }
KERNOPS_FN double exp(double x) {
  const double n = ::fma(x, 1.4426950408889634, to_integer), whole = n - to_integer;
  const double r = ::fma(whole, -0x1.62e42fefa39efp-1, x), rest = ::fma(whole, -0x1.abc9e3b39803fp-56, r);
  return limited(x * 1.4426950408889634, exp2_sum(rest * 1.4426950408889634, n));
}

// The larger of two numbers. If exactly one number is NaN, the result is the other number.
KERNOPS_FN float larger(float x, float y) { return ::fmaxf(x, y); }
KERNOPS_FN double larger(double x, double y) { return x > y ? x : y; }

#endif  // __CUDA_ARCH__
