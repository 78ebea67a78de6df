// Gauss quadrature from Lanczos' tridiagonal matrices: eigenvalues, and the first entries of the eigenvectors.
#include <cmath>

#include "border.h"

namespace {

// Implicit QL steps (Golub and Welsch 1969) on a symmetric tridiagonal matrix. The eigenvalues replace the diagonal.
// Only the first entry of each eigenvector is updated, so that a matrix of n rows takes n^2 operations.
struct Tridiagonal {
  std::vector<double> diagonal, below, first;  // below[k] is entry (k + 1, k)

  Tridiagonal(const Rcpp::NumericVector& d, const Rcpp::NumericVector& e)
      : diagonal(d.begin(), d.end()), below(e.begin(), e.end()), first(d.size(), 0.0) {
    below.resize(diagonal.size(), 0.0);
    if (!first.empty()) first[0] = 1;
    for (size_t k = 0; k < diagonal.size(); ++k)
      for (int step = 0; block_end(k) > k; ++step) {
        if (step == 60) throw std::runtime_error("the eigenvalues of a tridiagonal matrix were not found");
        ql_step(k, block_end(k));
      }
  }

 private:
  // Returns the last row of the block that starts at row k. A block ends where the off-diagonal entry is negligible.
  size_t block_end(size_t k) const {
    size_t end = k;
    while (end + 1 < diagonal.size() &&
           std::fabs(below[end]) > 1e-16 * (std::fabs(diagonal[end]) + std::fabs(diagonal[end + 1])))
      ++end;
    return end;
  }

  // One QL step, with the eigenvalue of the upper 2 x 2 block as the shift. A rotation creates a bulge at the end of
  // the block, and further rotations move the bulge up to row k.
  void ql_step(size_t k, size_t end) {
    const double half = (diagonal[k + 1] - diagonal[k]) / (2 * below[k]);
    const double shift = diagonal[k] - below[k] / (half + std::copysign(std::hypot(half, 1), half));
    double corner = diagonal[end] - shift, sine = 1, cosine = 1, carried = 0;
    for (size_t row = end; row-- > k;) {
      const double bulge = sine * below[row], beside = cosine * below[row];
      const double length = std::hypot(bulge, corner);
      below[row + 1] = length;
      if (length == 0) {  // an off-diagonal entry became 0, which splits the block
        diagonal[row + 1] -= carried;
        below[end] = 0;
        return;
      }
      sine = bulge / length, cosine = corner / length;
      corner = diagonal[row + 1] - carried;
      const double turned = (diagonal[row] - corner) * sine + 2 * cosine * beside;
      carried = sine * turned;
      diagonal[row + 1] = corner + carried;
      corner = cosine * turned - beside;
      const double next = first[row + 1];
      first[row + 1] = sine * first[row] + cosine * next;
      first[row] = cosine * first[row] - sine * next;
    }
    diagonal[k] -= carried;
    below[k] = corner, below[end] = 0;
  }
};

}  // namespace

// The nodes and weights of the Gauss quadrature that belongs to a symmetric tridiagonal matrix.
// [[Rcpp::export(rng = false)]]
Rcpp::List lanczos_quadrature(Rcpp::NumericVector diagonal, Rcpp::NumericVector below) {
  return guard([&] {
    const Tridiagonal solved(diagonal, below);
    Rcpp::NumericVector nodes = numbers_of(solved.diagonal), weights = numbers_of(solved.first);
    for (double& weight : weights) weight *= weight;
    return named_list({{"nodes", nodes}, {"weights", weights}});
  });
}
