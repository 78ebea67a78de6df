// Sorting of segments on the GPU beside CUB, device-resident. For an H200:
//
//   nvcc -std=c++17 -O3 -arch=sm_90 -cudart static -Iinst/include bench/sorts.cu -o sorts && ./sorts
//
// Medians by CUDA events, of floats out of place. Our results are compared with CUB's bit by bit.
#include <kernops/cuda/segments/plan.cuh>
#include <kernops/cuda/segments/sorted_values.cuh>

#include <cstring>

#include "device_arrays.h"

KERNOPS_SEGMENT_PLAN
KERNOPS_SEGMENT_SORT(float, SortedValues<float>)

// As DeviceSegments and seg_sort() of src/cuda/segments do.
struct Sort {
  static constexpr int capacity = kernops::sort_capacity(sizeof(float)), tiles = count / kernops::segment_tile;

  explicit Sort(const std::vector<long long>& edges)
      : offsets(edges),
        ends(count / 32),
        limits(tiles + 1),
        pieces(whole_pieces(edges, longest)),
        parts(part_pieces(edges)) {
    const kernops::OffsetsJob job{
        {ends.data, limits.data, nullptr, count, tiles}, offsets.data, 0, int(edges.size()) - 1};
    kernops_plan_limits<<<tiles / 128 + 1, 128>>>(job);
    kernops_plan_ends<<<tiles, 128>>>(job);
  }

  static std::vector<kernops::SortPiece> whole_pieces(const std::vector<long long>& edges, long long& longest) {
    std::vector<kernops::SortPiece> list;
    longest = 0;
    for (size_t s = 0; s + 1 < edges.size(); ++s) {
      const long long begin = edges[s], end = edges[s + 1];
      longest = std::max(longest, end - begin);
      if (end - begin > capacity) continue;
      if (!list.empty() && list.back().first + list.back().count == begin && end - list.back().first <= capacity)
        list.back().count = int(end - list.back().first), ++list.back().segments;
      else
        list.push_back({begin, (long long)s, 0, int(end - begin), 1});
    }
    return list;
  }
  static std::vector<kernops::SortPiece> part_pieces(const std::vector<long long>& edges) {
    std::vector<kernops::SortPiece> list;
    for (size_t s = 0; s + 1 < edges.size(); ++s)
      for (long long first = edges[s]; edges[s + 1] - edges[s] > capacity && first < edges[s + 1]; first += capacity)
        list.push_back({first, edges[s], edges[s + 1], int(std::min<long long>(capacity, edges[s + 1] - first)), 0});
    return list;
  }

  void operator()(const Array<float>& x, const Array<float>& out, const Array<unsigned> (&keys)[2]) const {
    kernops::SortRun job{};
    job.run.plan = {ends.data, limits.data, nullptr, count, tiles};
    job.run.x = x.data, job.run.x_row = 1, job.run.out = out.data, job.missing_last = 1, job.pieces = pieces.data;
    if (pieces.size > 0) kernops_sort_pieces<<<int(pieces.size), kernops::sort_threads>>>(job);
    if (parts.size == 0) return;
    job.pieces = parts.data, job.to = keys[0].data;
    kernops_sort_pieces<<<int(parts.size), kernops::sort_threads>>>(job);
    int from = 0;
    for (job.width = capacity; job.width < longest; job.width *= 2) {
      job.from = keys[from].data, from = 1 - from;
      job.to = 2 * job.width < longest ? keys[from].data : nullptr;
      kernops_sort_merge<<<int(parts.size), kernops::sort_threads>>>(job);
    }
  }

  long long longest;
  const Array<long long> offsets;
  const Array<unsigned> ends;
  const Array<int> limits;
  const Array<kernops::SortPiece> pieces, parts;
};

void compare(const char* name, const std::vector<long long>& edges, const Array<float>& x,
             const Array<unsigned> (&keys)[2]) {
  const Sort sort(edges);
  const Array<float> out(count), theirs(count);
  const Array<int> narrow(std::vector<int>(edges.begin(), edges.end()));
  const float ours = median_ms([&] { sort(x, out, keys); }, 5);
  const int segments = int(edges.size()) - 1;
  const float cub = cub_ms(
      [&](void* memory, size_t& bytes) {
        check(cub::DeviceSegmentedSort::SortKeys(memory, bytes, x.data, theirs.data, count, segments, narrow.data,
                                                 narrow.data + 1));
      },
      3);
  const bool same = std::memcmp(out.host().data(), theirs.host().data(), count * sizeof(float)) == 0;
  std::printf("%9s %9d | %7.3f | %7.3f %s\n", name, segments, ours, cub, same ? "" : "WRONG");
}

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const Array<float> x(random_values()), y(count);
  const Array<unsigned> keys[2] = {Array<unsigned>(count), Array<unsigned>(count)};
  const float copy = median_ms([&] { cudaMemcpyAsync(y.data, x.data, 4ll * count, cudaMemcpyDeviceToDevice); });
  const float whole = cub_ms(
      [&](void* memory, size_t& bytes) { check(cub::DeviceRadixSort::SortKeys(memory, bytes, x.data, y.data, count)); },
      5);
  std::printf("%d floats; copy %.3f ms, radix sort of the whole by CUB %.3f ms; ms\n", count, copy, whole);
  std::printf("   length  segments |    ours | CUB segmented\n");
  for (const int mean : {4, 16, 64, 256, 1024, 16384, 1 << 20, 0})
    compare(mean ? std::to_string(mean).c_str() : "Pareto", random_offsets(mean), x, keys);
  check(cudaGetLastError());
}
