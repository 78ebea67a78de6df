// Searches for nearest points on the first device. The k-d tree stays on the device between calls.
#include "neighbours/neighbours.h"

#include <kernops/jobs/neighbours.h>

#include "cuda/copied.h"
#include "cuda/text.h"

namespace kernops {
namespace cuda {
namespace {

constexpr int most_listed = 1024;
constexpr Count points_for_query = 64;   // with more points per query, a search on the CPU is faster
constexpr Count batch = Count(1) << 19;  // number of queries per launch; R can interrupt between launches

// The k-d tree on the device. Its leaves have at most 32 points, whereas the leaves of the CPU's tree have at most 8
// points.
struct DeviceTree : BackendCache {
  explicit DeviceTree(const neighbours::KdTree& tree)
      : levels(levels_of(tree)),
        device(current_device().number),
        points(tree.points.at.data(), tree.points.at.size()),
        boxes(tree.boxes.data(), size_t(2 * tree.points.d) << (levels + 1)) {}

  static int levels_of(const neighbours::KdTree& tree) {
    static_assert(neighbours::leaf_size <= 8, "four leaves have at most 32 points");
    int levels = 0;
    while (Count(4) << levels < tree.leaves) ++levels;
    return levels;
  }
  static size_t bytes(const neighbours::KdTree& tree) {
    return sizeof(double) * (tree.points.at.size() + (size_t(2 * tree.points.d) << (levels_of(tree) + 1)));
  }

  const int levels, device;
  const Copied<double> points, boxes;
};

// Returns whether the tree, the queries and their results fit into half of the free memory. If they do not fit, the CPU
// searches.
bool fits(const neighbours::Request& request) {
  const neighbours::KdTree& tree = request.tree;
  const size_t each = size_t(tree.points.d) * sizeof(double) + size_t(request.most + 2) * sizeof(int);
  const size_t bytes = DeviceTree::bytes(tree) + size_t(request.count) * each + 2 * size_t(tree.points.n) * sizeof(int);
  if (bytes > memory_left() / 2) collect_garbage();
  return bytes <= memory_left() / 2;
}

std::shared_ptr<const DeviceTree> device_tree(const neighbours::Request& request) {
  std::shared_ptr<DeviceTree> tree = std::dynamic_pointer_cast<DeviceTree>(*request.kept);
  if (tree && tree->device == current_device().number) return tree;
  tree = std::make_shared<DeviceTree>(request.tree);
  *request.kept = tree;
  return tree;
}

std::string text_of(int d, int most) {
  int listed = 32;
  while (listed < most) listed *= 2;
  return "#include <kernops/cuda/neighbours/nearest.cuh>\nusing namespace kernops;\nKERNOPS_NEAREST_POINTS(" +
         number(d <= 3 ? d : 0) + ", " + number(listed) + ")\n";
}

}  // namespace

void nearest(const neighbours::Request& request, int* to) {
  const neighbours::Points& points = request.tree.points;
  if (request.count == 0 || points.n == 0 || request.most == 0 || request.most > most_listed)
    return cpu_backend().nearest(request, to);
  const bool few = !*request.kept && request.count * points_for_query < points.n;
  use_device(request.settings.devices.at(0));
  if (few || !fits(request)) return cpu_backend().nearest(request, to);
  void* const kernel = function(text_of(points.d, request.most), "kernops_nearest_points");
  const std::shared_ptr<const DeviceTree> tree = device_tree(request);
  const size_t count = size_t(request.count), nodes = size_t(2) << tree->levels;
  const bool of_tree = request.queries == points.at.data(), same = request.places == request.limits;
  const Copied<int> position(request.positions.point.data(), size_t(points.n));
  const Copied<int> least(request.positions.least.data(), nodes);
  const Copied<double> queries(request.queries, of_tree ? 0 : count * size_t(points.d));
  const Copied<int> limits(request.limits, request.limits ? count : 0);
  const Copied<int> places(request.places, request.places && !same ? count : 0);
  const Copied<int> result(count * size_t(request.most));
  NearestPointsJob job{};
  job.tree = {tree->points.data(), tree->boxes.data(), position.data(), least.data(), points.n, points.d, tree->levels};
  job.queries = of_tree ? tree->points.data() : queries.data();
  job.limits = limits.data(), job.places = same ? limits.data() : places.data();
  job.most = request.most, job.to = result.data();
  for (job.first = 0; job.first < request.count; job.first = job.end) {
    job.end = std::min<Count>(request.count, job.first + batch);
    const Count blocks = ceil_div(job.end - job.first, nearest_points_warps);
    launch(kernel, unsigned(blocks), 1, 32 * nearest_points_warps, &job);
    synchronize();
    if (request.settings.keep_going && !request.settings.keep_going(double(job.end) / double(request.count)))
      throw Interrupted();
  }
  result.copy_to(to);
}

}  // namespace cuda
}  // namespace kernops
