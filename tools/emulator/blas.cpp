// libcublas.so of the emulator: plain loops over matrices in column-major order. An operand is read in its effective
// form: transposed if requested, and with zeros outside its triangle if it is triangular.
#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct View {
  const double* at;
  long long down, right;
  double operator()(long long i, long long j) const { return at[i * down + j * right]; }
};

View view(const double* a, int lda, int transposed) { return transposed ? View{a, lda, 1} : View{a, 1, lda}; }

// Computes c(i, j) = scale sum_k a(i, k) b(k, j) + kept c(i, j) for the entries for which wanted(i, j) is true.
template <class A, class B, class Wanted>
int product(int m, int n, int k, double scale, A a, B b, double kept, double* c, int ldc, Wanted wanted) {
  for (long long j = 0; j < n; ++j)
    for (long long i = 0; i < m; ++i) {
      if (!wanted(i, j)) continue;
      double sum = 0;
      for (long long l = 0; l < k; ++l) sum += a(i, l) * b(l, j);
      double& to = c[j * ldc + i];
      to = scale * sum + (kept == 0 ? 0 : kept * to);
    }
  return 0;
}

const auto all = [](long long, long long) { return true; };

// Returns whether entry (i, j) is inside the triangle, after transposition.
bool within(int upper, int transposed, long long i, long long j) {
  return (upper != 0) != (transposed != 0) ? i <= j : i >= j;
}

}  // namespace

EXPORT int cublasCreate_v2(void** handle) {
  static int any;
  return *handle = &any, 0;
}

EXPORT int cublasDgemm_v2(void*, int transposed_a, int transposed_b, int m, int n, int k, const double* scale,
                          const double* a, int lda, const double* b, int ldb, const double* kept, double* c, int ldc) {
  return product(m, n, k, *scale, view(a, lda, transposed_a), view(b, ldb, transposed_b), *kept, c, ldc, all);
}

// Supports only products of 8-bit integers.
EXPORT int cublasGemmEx(void*, int transposed_a, int transposed_b, int m, int n, int k, const void* scale,
                        const void* a, int type_a, int lda, const void* b, int type_b, int ldb, const void* kept,
                        void* c, int type_c, int ldc, int computed, int) {
  const bool known = transposed_a && !transposed_b && type_a == 3 && type_b == 3 && type_c == 10 && computed == 72;
  if (!known || *static_cast<const int*>(scale) != 1 || *static_cast<const int*>(kept) != 0) return 15;
  const signed char *x = static_cast<const signed char*>(a), *y = static_cast<const signed char*>(b);
  for (long long j = 0; j < n; ++j)
    for (long long i = 0; i < m; ++i) {
      int sum = 0;
      for (long long l = 0; l < k; ++l) sum += x[i * lda + l] * y[j * ldb + l];
      static_cast<int*>(c)[j * ldc + i] = sum;
    }
  return 0;
}

EXPORT int cublasDsyrk_v2(void*, int upper, int transposed, int n, int k, const double* scale, const double* a, int lda,
                          const double* kept, double* c, int ldc) {
  return product(n, n, k, *scale, view(a, lda, transposed), view(a, lda, !transposed), *kept, c, ldc,
                 [=](long long i, long long j) { return within(upper, 0, i, j); });
}

EXPORT int cublasDtrmm_v2(void*, int right, int upper, int transposed, int unit, int m, int n, const double* scale,
                          const double* t, int ldt, const double* b, int ldb, double* c, int ldc) {
  if (unit || b == c) return 15;  // CUBLAS_STATUS_NOT_SUPPORTED
  const View all_of = view(t, ldt, transposed), x = view(b, ldb, 0);
  const auto triangle = [=](long long i, long long j) { return within(upper, transposed, i, j) ? all_of(i, j) : 0.0; };
  if (right) return product(m, n, n, *scale, x, triangle, 0, c, ldc, all);
  return product(m, n, m, *scale, triangle, x, 0, c, ldc, all);
}

// Solves T x = b, or x T = b, by substitution. The system x T = b is solved as T' x' = b', whose right-hand sides are
// the rows of b.
EXPORT int cublasDtrsm_v2(void*, int right, int upper, int transposed, int unit, int m, int n, const double* scale,
                          const double* t, int ldt, double* b, int ldb) {
  if (unit || *scale != 1) return 15;
  const bool turned = (transposed != 0) != (right != 0);
  const View triangle = view(t, ldt, turned);
  const long long size = right ? n : m, systems = right ? m : n, step = right ? ldb : 1, next = right ? 1 : ldb;
  const bool down = within(upper, turned, 1, 0);
  for (long long s = 0; s < systems; ++s)
    for (long long k = 0; k < size; ++k) {
      const long long i = down ? k : size - 1 - k;
      double& x = b[s * next + i * step];
      for (long long j = down ? 0 : i + 1; j < (down ? i : size); ++j) x -= triangle(i, j) * b[s * next + j * step];
      x /= triangle(i, i);
    }
  return 0;
}

EXPORT int cublasDgeam(void*, int transposed_a, int, int m, int n, const double* scale, const double* a, int lda,
                       const double* other, const double*, int, double* c, int ldc) {
  if (*other != 0) return 15;
  const View from = view(a, lda, transposed_a);
  for (long long j = 0; j < n; ++j)
    for (long long i = 0; i < m; ++i) c[j * ldc + i] = *scale * from(i, j);
  return 0;
}
