// Sorting of segments on the GPU compared with CUB, with data on the device. For an H200:
//
//   nvcc -std=c++17 -O3 -arch=sm_90 -cudart static -Iinst/include bench/sorts.cu -o sorts && ./sorts
//
// Prints median times, by CUDA events, of sorts that write floats to a second array. The results of kernops are
// compared with the results of CUB bit by bit.
#include <kernops/cuda/segments/plan.cuh>
#include <kernops/cuda/segments/sorted_values.cuh>
#include <kernops/jobs/sort_pieces.h>

#include <cstring>

#include "device_arrays.h"

KERNOPS_SEGMENT_PLAN
KERNOPS_SEGMENT_SORT(float, SortedValues<float>)

// Launches the sort in the same steps as DeviceSegments and seg_sort() of src/cuda/segments.
struct Sort {
  static constexpr int capacity = kernops::sort_capacity(sizeof(float));
  static constexpr int tiles = count / kernops::segment_tile;
  using Pieces = Array<kernops::SortPiece>;

  explicit Sort(const std::vector<long long>& edges)
      : lists(edges, 4, 4),
        offsets(edges),
        ends(count / 32),
        limits(tiles + 1),
        of_short(lists.of_short),
        of_medium(lists.of_medium),
        parts(lists.parts),
        digit_tiles(lists.tiles),
        counts(size_t(lists.by_digits) * 4 * kernops::digit_count),
        published(2 * lists.tiles.size() * kernops::digit_count) {
    const kernops::OffsetsJob job{
        {ends.data, limits.data, nullptr, count, tiles}, offsets.data, 0, int(edges.size()) - 1};
    kernops_plan_limits<<<tiles / 128 + 1, 128>>>(job);
    kernops_plan_ends<<<tiles, 128>>>(job);
  }

  void operator()(const Array<float>& x, const Array<float>& out, const Array<unsigned> (&keys)[2]) const {
    kernops::SortRun job{};
    job.run.plan = {ends.data, limits.data, nullptr, count, tiles};
    job.run.x = x.data, job.run.x_row = 1, job.run.out = out.data, job.missing_last = 1;
    job.run.offsets = offsets.data;
    const auto run = [&](void (*kernel)(kernops::SortRun), size_t blocks, int threads) {
      if (blocks > 0) kernel<<<int(blocks), threads>>>(job);
    };
    const auto run_pieces = [&](void (*kernel)(kernops::SortRun), const Pieces& pieces) {
      job.pieces = pieces.data;
      run(kernel, pieces.size, kernops::sort_threads);
    };
    run_pieces(kernops_sort_short, of_short);
    run_pieces(kernops_sort_medium, of_medium);
    job.to = keys[0].data;
    run_pieces(kernops_sort_parts, parts);
    int from = 0;
    for (job.width = capacity; job.width < lists.longest; job.width *= 2) {
      job.from = keys[from].data, from = 1 - from;
      job.to = 2 * job.width < lists.longest ? keys[from].data : nullptr;
      run_pieces(kernops_sort_merge, parts);
    }
    if (digit_tiles.size == 0) return;
    check(cudaMemsetAsync(counts.data, 0, counts.size * sizeof(unsigned)));
    job.digits = {
        digit_tiles.data, int(digit_tiles.size), 0, counts.data, {published.data, published.data + published.size / 2}};
    job.to = keys[1].data;
    run(kernops_sort_count, digit_tiles.size / kernops::digit_tiles_counted + 1, kernops::digit_threads);
    run(kernops_sort_begins, size_t(lists.by_digits) * 4, kernops::digit_count);
    for (int& pass = job.digits.pass; pass < 4; ++pass) {
      job.from = keys[(pass + 1) % 2].data, job.to = pass < 3 ? keys[pass % 2].data : nullptr;
      run(kernops_sort_digit, digit_tiles.size, kernops::digit_threads);
    }
  }

  const kernops::PieceLists lists;
  const Array<long long> offsets;
  const Array<unsigned> ends;
  const Array<int> limits;
  const Pieces of_short, of_medium, parts;
  const Array<kernops::DigitTile> digit_tiles;
  const Array<unsigned> counts, published;
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
