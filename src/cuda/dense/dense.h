// Dense linear algebra on a GPU for matrices of doubles: launches the kernels of cuda/dense/*.cuh and, if cuBLAS and
// cuSOLVER are installed, calls these libraries.
#pragma once
#include "cuda/cuda.h"
#include "dense/algebra.h"

namespace kernops {
namespace cuda {

// Operations on blocks of vectors that are stored on a device.
class DeviceVectors : public Dense {
 public:
  void axpby(const Numbers& a, const Block& x, const Numbers& b, const Block& y) const override;
  void add_rows(const Block& d, const Block& x, const Block& y) const override;
  void dots(const Block& x, const Block& y, double* to) const override;
  void put(const Block& x, const int* columns, const Block& y) const override;
  void inner(const Block& x, const Block& y, double* to, const Settings& settings) const override;
  void combine(const Block& x, const double* C, Count terms, const Block& out, const Settings& settings) const override;
  bool whiten(const Block& x, const Block& core, double more, const Settings& settings) const override;
  void orthogonal(const Block& q, int passes, double* R, const Settings& settings) const override;
  void sparse_inverse(const neighbours::SparseInverse& inverse, const Block& x, const Block& out,
                      std::shared_ptr<BackendCache>& kept, const Settings& settings) const override;
};

}  // namespace cuda
}  // namespace kernops
