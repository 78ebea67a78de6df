// Reductions of segments on the GPU compared with CUB, with data on the device. For an H200:
//
//   nvcc -std=c++17 -O3 -arch=sm_90 -cudart static -Iinst/include bench/segments.cu -o segments && ./segments
//
// Times are medians by CUDA events. TB/s counts each value, offset (4 bytes) and result once, for both libraries; in
// the columns for keys, it counts the keys, the values, and both results. The results of kernops are compared with the
// results of CUB, and bit by bit with the results of a second run.
#include <kernops/cuda/segments/by_key.cuh>

#include "device_arrays.h"

using kernops::segment_tile;
constexpr int lane_values = 32, key_values = 16;

using Sum = kernops::ReducedBy<kernops::DirectSum, float, false>;
KERNOPS_SEGMENTS(Sum, kernops::Contiguous<float>, float, lane_values)
KERNOPS_SEGMENT_PLAN
KERNOPS_KEYS_PLAN(int, key_values)
KERNOPS_BY_KEY(int, Sum, kernops::Contiguous<float>, float, lane_values)

struct Plan {
  Plan() : ends(count / 32), limits(tiles + 1), opens(tiles + 1), words(tiles + groups + 2 * groups) {}
  static constexpr int tiles = count / segment_tile, edges = tiles / 128 + 1, groups = tiles / kernops::word_group;
  Array<unsigned> ends;
  Array<int> limits, opens, words;
  kernops::SegmentPlan get() const { return {ends.data, limits.data, opens.data, count, tiles}; }

  void from_offsets(const Array<long long>& offsets) const {
    const kernops::OffsetsJob job{get(), offsets.data, 0, int(offsets.size) - 1};
    kernops_plan_limits<<<edges, 128>>>(job);
    kernops_plan_ends<<<tiles, 128>>>(job);
    kernops_plan_opens<<<edges, 128>>>(job);
  }
  void from_keys(const Array<int>& keys) const {
    const kernops::KeysJob job{get(), keys.data, nullptr, 0, 0, false};
    kernops_plan_keys<<<tiles, segment_tile / key_values>>>(job);
    kernops_plan_scan<<<1, 1024>>>(job);
    kernops_plan_opens<<<edges, 128>>>({get(), nullptr, 0, 0});
  }
  kernops::SegmentRun run(const Array<float>& x, const Array<float>& out, const Array<float>& states) const {
    kernops::SegmentRun job{};
    job.plan = get(), job.x = x.data, job.out = out.data;
    job.carries = states.data, job.heads = states.data + tiles;
    return job;
  }
  void apply(const Array<float>& x, const Array<float>& out, const Array<float>& states,
             const long long* rows = nullptr) const {
    kernops::SegmentRun job = run(x, out, states);
    job.rows = rows;
    kernops_segments<<<tiles, segment_tile / lane_values>>>(job);
    finish(job);
  }
  void by_key(const Array<int>& keys, const Array<float>& x, const Array<int>& firsts, const Array<float>& out,
              const Array<float>& states) const {
    const auto of_groups = reinterpret_cast<unsigned long long*>(words.data);
    int* const of_tiles = words.data + 2 * groups;
    const kernops::KeyedRun job{run(x, out, states), keys.data, firsts.data, of_tiles, of_groups, of_tiles + tiles};
    check(cudaMemsetAsync(words.data, 0, words.size * sizeof(int)));
    kernops_by_key<<<tiles, segment_tile / lane_values>>>(job);
    kernops_keyed_limits<<<edges, 128>>>(job);
    kernops_plan_opens<<<edges, 128>>>({get(), nullptr, 0, 0});
    finish(job.run);
  }
  static void finish(const kernops::SegmentRun& job) {
    kernops_spine<<<tiles / kernops::spine_threads + 1, kernops::spine_threads>>>(job);
  }
};

const char* compared(const std::vector<float>& ours, const std::vector<float>& theirs) {
  for (size_t n = 0; n < ours.size(); ++n)
    if (!(std::fabs(ours[n] - theirs[n]) <= 1e-3f * std::max(1.f, std::fabs(theirs[n])))) return "WRONG";
  return "";
}

__global__ void number_segments(const long long* offsets, int* keys) {
  for (long long n = offsets[blockIdx.x] + threadIdx.x; n < offsets[blockIdx.x + 1]; n += blockDim.x)
    keys[n] = blockIdx.x;
}

std::vector<long long> fixed_offsets(int length) {
  std::vector<long long> offsets(count / length + 1);
  for (size_t n = 0; n < offsets.size(); ++n) offsets[n] = (long long)n * length;
  return offsets;
}

void compare(const char* name, const std::vector<long long>& edges, const Array<float>& x) {
  const Array<long long> offsets(edges);
  const Array<int> narrow(std::vector<int>(edges.begin(), edges.end())), keys(count);
  const int m = int(edges.size()) - 1;
  const Array<float> out(m), theirs(m), states(2 * Plan::tiles);
  const double gb = (4.0 * count + 8.0 * m) * 1e-9, keys_gb = (8.0 * count + 8.0 * m) * 1e-9;

  const float cub = cub_ms(
      [&](void* memory, size_t& bytes) {
        check(cub::DeviceSegmentedReduce::Sum(memory, bytes, x.data, theirs.data, m, narrow.data, narrow.data + 1));
      },
      3);
  const Plan plan;
  const float planned = median_ms([&] { plan.from_offsets(offsets); }, 5);
  const float applied = median_ms([&] { plan.apply(x, out, states); });
  const std::vector<float> first = out.host();
  const char* wrong = compared(first, theirs.host());
  check(cudaMemset(out.data, 255, m * sizeof(float)));
  plan.apply(x, out, states);
  const std::vector<float> again = out.host();
  const bool same = std::memcmp(again.data(), first.data(), m * sizeof(float)) == 0;

  number_segments<<<m, 32>>>(offsets.data, keys.data);
  const Array<int> firsts(m), their_firsts(m), runs(1);
  const float cub_keys = cub_ms(
      [&](void* memory, size_t& bytes) {
        check(cub::DeviceReduce::ReduceByKey(memory, bytes, keys.data, their_firsts.data, x.data, theirs.data,
                                             runs.data, ::cuda::std::plus<>{}, count));
      },
      7);
  const Plan by_keys;
  const auto is_the_plan = [&] {
    return by_keys.limits.host() == plan.limits.host() && by_keys.ends.host() == plan.ends.host() &&
           by_keys.opens.host() == plan.opens.host();
  };
  const float keys_planned = median_ms([&] { by_keys.from_keys(keys); });
  const bool planned_right = is_the_plan();
  check(cudaMemset(out.data, 255, m * sizeof(float)));
  const float by_key = median_ms([&] { by_keys.by_key(keys, x, firsts, out, states); });
  const bool right = firsts.host() == their_firsts.host() && is_the_plan() && out.host() == first;
  const char* wrong_keys = planned_right && right ? "" : "WRONG";
  std::printf("%9s %9d | %8.3f %5.2f | %6.3f %5.2f %6.3f %s%s | %6.3f %5.2f | %6.3f %5.2f %6.3f %s\n", name, m, cub,
              gb / cub, applied, gb / applied, planned, wrong, same ? "" : "OTHER BITS", cub_keys, keys_gb / cub_keys,
              by_key, keys_gb / by_key, keys_planned, wrong_keys);
}

// Measures reductions of segments, nine in ten of which are empty. The plan of kernops lists only the rows of the other
// segments. TB/s counts all segments.
void compare_empty(const Array<float>& x) {
  const std::vector<long long> edges = random_offsets(16);
  const int m = int(edges.size()) - 1, every = 10;
  std::vector<int> all(size_t(m) * every + 1, count);
  std::vector<long long> places(m);
  for (int s = 0; s < m; ++s) {
    places[s] = (long long)s * every;
    std::fill_n(all.begin() + places[s] + 1, every, int(edges[s + 1]));
  }
  all[0] = 0;
  const Array<long long> offsets(edges), rows(places);
  const Array<int> narrow(all);
  const size_t results = all.size() - 1;
  const Array<float> out(results), theirs(results), states(2 * Plan::tiles);
  const float cub = cub_ms(
      [&](void* memory, size_t& bytes) {
        check(
            cub::DeviceSegmentedReduce::Sum(memory, bytes, x.data, theirs.data, results, narrow.data, narrow.data + 1));
      },
      1);
  const Plan plan;
  plan.from_offsets(offsets);
  const float applied = median_ms([&] {
    check(cudaMemsetAsync(out.data, 0, results * sizeof(float)));
    plan.apply(x, out, states, rows.data);
  });
  const double gb = (4.0 * count + 8.0 * results) * 1e-9;
  std::printf("nine of ten empty, else mean length 16: CUB %.3f ms, %.2f TB/s; with a plan %.3f ms, %.2f TB/s %s\n",
              cub, gb / cub, applied, gb / applied, compared(out.host(), theirs.host()));
}

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const Array<float> x(random_values()), y(count);
  const float copy = median_ms([&] { cudaMemcpyAsync(y.data, x.data, 4ll * count, cudaMemcpyDeviceToDevice); });
  const float sum = cub_ms(
      [&](void* memory, size_t& bytes) { check(cub::DeviceReduce::Sum(memory, bytes, x.data, y.data, count)); }, 15);
  std::printf("%d floats; copy %.2f TB/s, sum by CUB %.2f TB/s; ms and TB/s\n", count, 8e-9 * count / copy,
              4e-9 * count / sum);
  std::printf(
      "   length  segments | CUB segmented  | with a plan         plan | CUB by key   | by key         "
      "plan\n");
  for (const int length : {4, 16, 64}) compare(("all " + std::to_string(length)).c_str(), fixed_offsets(length), x);
  for (const int mean : {4, 16, 64, 256, 1024, 65536, 1 << 24, 0})
    compare(std::to_string(mean).c_str(), random_offsets(mean), x);
  compare_empty(x);
  check(cudaGetLastError());
}
