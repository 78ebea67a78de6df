// Reductions of segments on the GPU.
#include "cuda_driver.h"
#include "segments.h"

namespace kernops {
namespace cuda {

void seg_reduce(const SegmentRequest&) {
  throw CudaError("reductions of segments do not run on the GPU yet");
}

}  // namespace cuda
}  // namespace kernops
