// Scans of segments on the GPU compared with CUB, with data on the device. For an H200:
//
//   nvcc -std=c++17 -O3 -arch=sm_90 -cudart static -Iinst/include bench/scans.cu -o scans && ./scans
//
// Times are medians by CUDA events. TB/s counts each value and each result once, for both libraries. The sums of
// kernops are in double precision. Results are compared with a loop in doubles on the host, and bit by bit with the
// results of other runs; `./scans quick` measures fewer lengths and compares nothing.
#include <kernops/cuda/segments/plan.cuh>
#include <kernops/cuda/segments/scan.cuh>

#include <cstring>

#include "device_arrays.h"

#ifndef SCAN_LANE_VALUES
#define SCAN_LANE_VALUES 32
#endif
#ifndef SCAN_WARPS
#define SCAN_WARPS (kernops::segment_tile / 32 / SCAN_LANE_VALUES)
#endif
#ifndef SCAN_SOURCE
#define SCAN_SOURCE kernops::Contiguous<float>
#endif
using Sum = kernops::ReducedBy<kernops::DirectSum, double, false>;
using Tile = kernops::ScanTile<Sum, SCAN_SOURCE, float, SCAN_LANE_VALUES, SCAN_WARPS, false, false>;
KERNOPS_SCAN(Sum, Tile)
KERNOPS_SEGMENT_PLAN

struct Plan {
  Plan(const std::vector<long long>& edges) : offsets(edges), ends(count / 32), limits(tiles + 1), opens(tiles + 1) {
    const kernops::OffsetsJob job{get(), offsets.data, 0, int(offsets.size) - 1};
    kernops_plan_limits<<<tiles / 128 + 1, 128>>>(job);
    kernops_plan_ends<<<tiles, 128>>>(job);
  }
  static constexpr int tiles = count / kernops::segment_tile;
  Array<long long> offsets;
  Array<unsigned> ends;
  Array<int> limits, opens;
  kernops::SegmentPlan get() const { return {ends.data, limits.data, opens.data, count, tiles}; }
};

struct Scan {
  static constexpr int tiles = count / Tile::size;
  const Array<char> parts{size_t(kernops::scan_parts(tiles)) * kernops::most_part_bytes};
  void operator()(const Plan& plan, const Array<float>& x, const Array<float>& out) const {
    kernops::ScanRun job{};
    job.run.plan = plan.get(), job.run.x = x.data, job.run.out = out.data, job.run.carries = parts.data;
    job.run.x_row = 1, job.tiles = tiles, job.columns = 1;
    kernops_scan_clear<<<tiles / 256, 256>>>(job);
    kernops_scan<<<tiles, Tile::threads>>>(job);
  }
};

__global__ void number_segments(const long long* offsets, int* keys) {
  for (long long n = offsets[blockIdx.x] + threadIdx.x; n < offsets[blockIdx.x + 1]; n += blockDim.x)
    keys[n] = blockIdx.x;
}

const char* compared(const std::vector<float>& ours, const std::vector<float>& x, const std::vector<long long>& edges) {
  double sum = 0;
  size_t segment = 0;
  for (size_t n = 0; n < ours.size(); ++n) {
    if ((long long)n == edges[segment + 1]) sum = 0, ++segment;
    sum += x[n];
    if (!(std::fabs(ours[n] - sum) <= 2e-7 * sum)) return "WRONG";
  }
  return "";
}

void compare(const char* name, const std::vector<long long>& edges, const Array<float>& x,
             const std::vector<float>& values, bool quick) {
  const double gb = 8.0 * count * 1e-9;
  const Plan plan(edges);
  const Scan scan;
  const Array<float> out(count);
  const float ours = median_ms([&] { scan(plan, x, out); });
  if (quick) return void(std::printf("%9s %9zu | %6.3f %5.2f\n", name, edges.size() - 1, ours, gb / ours));
  const std::vector<float> first = out.host();
  bool same = true;
  for (int run = 0; run < 3; ++run) {
    check(cudaMemset(out.data, 255, count * sizeof(float)));
    scan(plan, x, out);
    same = same && std::memcmp(out.host().data(), first.data(), count * sizeof(float)) == 0;
  }
  const Array<int> keys(count);
  number_segments<<<int(edges.size()) - 1, 32>>>(plan.offsets.data, keys.data);
  const float by_key = cub_ms(
      [&](void* memory, size_t& bytes) {
        check(cub::DeviceScan::InclusiveSumByKey(memory, bytes, keys.data, x.data, out.data, count));
      },
      7);
  std::printf("%9s %9zu | %6.3f %5.2f | %6.3f %5.2f %s %s\n", name, edges.size() - 1, ours, gb / ours, by_key,
              gb / by_key, compared(first, values, edges), same ? "" : "OTHER BITS");
}

int main(int arguments, char**) {
  const bool quick = arguments > 1;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::vector<float> values = random_values();
  const Array<float> x(values), y(count);
  const float copy = median_ms([&] { cudaMemcpyAsync(y.data, x.data, 4ll * count, cudaMemcpyDeviceToDevice); });
  const float plain = cub_ms(
      [&](void* memory, size_t& bytes) { check(cub::DeviceScan::InclusiveSum(memory, bytes, x.data, y.data, count)); },
      15);
  std::printf("%d floats; copy %.3f ms, inclusive sum by CUB %.3f ms, tiles of %d values, %d a lane\n", count, copy,
              plain, Tile::size, SCAN_LANE_VALUES);
  std::printf("   length  segments | ours, TB/s  | CUB by key\n");
  compare("whole", {0, count}, x, values, quick);
  const std::vector<int> few{64, 1 << 24}, means{4, 64, 1024, 65536, 1 << 24, 0};
  for (const int mean : quick ? few : means)
    compare(mean ? std::to_string(mean).c_str() : "Pareto", random_offsets(mean), x, values, quick);
  check(cudaGetLastError());
}
