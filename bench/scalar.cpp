// Handwritten C++ for comparison: a scalar double loop over all pairs, with the exponential of the C library. Points
// are the rows of column-major n x 3 matrices, as in R. The functions are called by .C(), so no header of R is needed.
#include <cmath>
#include <vector>

template <class T> static T sq_dist(const T* x, int i, int n, const T* y, int j, int m) {
  T sum = 0;
  for (int k = 0; k < 3; ++k) sum += (x[i + k * n] - y[j + k * m]) * (x[i + k * n] - y[j + k * m]);
  return sum;
}

// v[i] = sum over j of exp(-s |x_i - y_j|^2) b[j]
template <class T> static void gauss(const T* x, const T* y, const T* b, T s, int n, int m, T* v) {
  for (int i = 0; i < n; ++i) {
    T sum = 0;
    for (int j = 0; j < m; ++j) sum += std::exp(-s * sq_dist(x, i, n, y, j, m)) * b[j];
    v[i] = sum;
  }
}

extern "C" void scalar_gauss(const double* x, const double* y, const double* b, const double* s, const int* n,
                             const int* m, double* v) {
  gauss(x, y, b, *s, *n, *m, v);
}

// The same sum in float; arguments and results are converted from and to double.
extern "C" void scalar_gauss_float(const double* x, const double* y, const double* b, const double* s, const int* n,
                                   const int* m, double* v) {
  std::vector<float> xf(x, x + 3 * *n), yf(y, y + 3 * *m), bf(b, b + *m), vf(*n);
  gauss(xf.data(), yf.data(), bf.data(), float(*s), *n, *m, vf.data());
  for (int i = 0; i < *n; ++i) v[i] = vf[i];
}

// g[i, ] = gradient of v[i] with respect to x_i
extern "C" void scalar_gauss_grad(const double* x, const double* y, const double* b, const double* s, const int* n,
                                  const int* m, double* g) {
  for (int i = 0; i < *n; ++i) {
    double sum[3] = {0, 0, 0};
    for (int j = 0; j < *m; ++j) {
      double e = -2 * *s * std::exp(-*s * sq_dist(x, i, *n, y, j, *m)) * b[j];
      for (int k = 0; k < 3; ++k) sum[k] += e * (x[i + k * *n] - y[j + k * *m]);
    }
    for (int k = 0; k < 3; ++k) g[i + k * *n] = sum[k];
  }
}
