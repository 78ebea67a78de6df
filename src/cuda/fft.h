// cuFFT of the CUDA toolkit, opened at run time like cuBLAS.
#pragma once
#include <string>
#include <vector>

namespace kernops {
namespace cuda {

bool has_fft();             // true if cuFFT can be opened
std::string fft_version();  // such as "12.0.0"; throws CudaError if cuFFT cannot be opened

// The Fourier transforms of a real grid on the current device. The first coordinate varies fastest. The transform has
// the nonnegative frequencies of the first coordinate and all frequencies of the others, as complex numbers.
class RealTransforms {
 public:
  explicit RealTransforms(const std::vector<int>& size);
  ~RealTransforms();
  RealTransforms(const RealTransforms&) = delete;
  RealTransforms& operator=(const RealTransforms&) = delete;
  void forward(double* grid, void* modes) const;
  void inverse(void* modes, double* grid) const;  // overwrites `modes`; does not divide by the number of cells

 private:
  int forward_ = -1, inverse_ = -1;
};

}  // namespace cuda
}  // namespace kernops
