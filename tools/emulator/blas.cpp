// libcublas.so of the emulator: products of matrices by plain loops.
#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int cublasCreate_v2(void** handle) {
  static int any;
  return *handle = &any, 0;
}
EXPORT int cublasDgemm_v2(void*, int transposed_a, int transposed_b, int m, int n, int k, const double* scale,
                          const double* a, int lda, const double* b, int ldb, const double* kept, double* c, int ldc) {
  if (transposed_b) return 15;  // CUBLAS_STATUS_NOT_SUPPORTED
  const long long along = transposed_a ? 1 : lda, across = transposed_a ? lda : 1;
  for (long long j = 0; j < n; ++j)
    for (long long i = 0; i < m; ++i) {
      double sum = 0;
      for (long long l = 0; l < k; ++l) sum += a[i * across + l * along] * b[j * ldb + l];
      double& to = c[j * ldc + i];
      to = *scale * sum + (*kept == 0 ? 0 : *kept * to);
    }
  return 0;
}
