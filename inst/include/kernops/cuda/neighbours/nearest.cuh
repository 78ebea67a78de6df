// Finds the nearest points in a k-d tree, with one warp for each query:
//
//     enter the root
//     while a node is open
//       enter the nearest open node, or close all nodes if the list is full of nearer points
//         if it is an inner node:  32 nodes, five levels below this node, become open, one for each lane
//         if it is a leaf:         the points of the leaf, one for each lane, join the list
//
// Distances are summed as on the CPU, without fused multiply-adds, so the GPU and the CPU find the same points.
#pragma once
#include <kernops/cuda/wide/nearest_list.cuh>
#include <kernops/jobs/neighbours.h>

namespace kernops {
inline namespace KERNOPS_ISA {

__device__ __forceinline__ double plus_square(double sum, double x) { return __dadd_rn(sum, __dmul_rn(x, x)); }

template <int D, int listed> class TreeSearch {
 public:
  static constexpr int deepest = 7;  // maximum number of steps (five levels each) from the root to a leaf

  __device__ __forceinline__ TreeSearch(const TreeJob& tree, const double* query, int limit, int most)
      : tree_(tree), query_(query), limit_(limit), most_(most), lane_(lane_of_warp()) {
    list_.clear();
    last_ = Point::none();
  }

  __device__ __forceinline__ void run() {
    if (tree_.levels == 0) return visit_leaf(0);
    const int upper = (tree_.levels - 1) % 5 + 1;  // number of levels of the first step
    int depth = 0;
    long long node = 1;
    // The distance from the query to the open node of this lane, for each step. With an array as a member of the class,
    // the list would not stay in registers.
    double distance[deepest];
    distance[0] = open(node, upper);
    while (depth >= 0) {
      const int step = depth == 0 ? upper : 5, nearest = nearest_open(distance[depth]);
      if (nearest < 0) {
        node >>= depth-- > 1 ? 5 : upper;
        continue;
      }
      const long long child = (node << step) + nearest;
      if (child >> tree_.levels) {
        visit_leaf(child - (1ll << tree_.levels));
      } else {
        node = child;
        distance[++depth] = open(node, 5);
      }
    }
  }

  __device__ __forceinline__ void write(int* to) const {
    KERNOPS_EACH(n, NearestOfWarp<double, listed>::parts) {
      const int k = 32 * n + lane_;
      if (k < most_) to[k] = list_.part[n].number < infinity<double>() ? list_.part[n].column + 1 : 0;
    }
  }

 private:
  using Point = OfLane<double>;

  __device__ __forceinline__ int d() const { return D ? D : tree_.d; }

  // Opens the nodes `step` levels below `node`, one for each lane, and returns the distance from the query to this
  // lane's node. Only points whose position is below the limit are candidates. The distance is infinite if this lane's
  // node has no such point.
  __device__ __forceinline__ double open(long long node, int step) const {
    const long long child = (node << step) + lane_;
    const bool exists = lane_ < 1 << step;
    return exists && tree_.least[child] < limit_ ? distance_to_box(child) : infinity<double>();
  }

  // Closes the nearest open node and returns the lane of this node. Returns -1 if no open node can contain points for
  // the list.
  __device__ __forceinline__ int nearest_open(double& distance) const {
    Point nearest{distance, lane_};
    KERNOPS_UNROLL
    for (int step = 16; step > 0; step /= 2) {
      const Point other = nearest.of(lane_ ^ step);
      if (other < nearest) nearest = other;
    }
    if (nearest.number == infinity<double>() || nearest.number > last_.number) return -1;
    if (lane_ == nearest.column) distance = infinity<double>();
    return nearest.column;
  }

  __device__ __forceinline__ double distance_to_box(long long node) const {
    const double *low = tree_.boxes + 2 * d() * node, *high = low + d();
    double sum = 0;
    for (int k = 0; k < d(); ++k) {
      const double below = low[k] - query_[k], above = query_[k] - high[k], outside = below > above ? below : above;
      if (outside > 0) sum = plus_square(sum, outside);
    }
    return sum;
  }

  __device__ __forceinline__ double distance_to(long long point) const {
    double sum = 0;
    for (int k = 0; k < d(); ++k) sum = plus_square(sum, query_[k] - tree_.points[point * d() + k]);
    return sum;
  }

  __device__ __forceinline__ void visit_leaf(long long leaf) {
    const long long point = (tree_.n * leaf >> tree_.levels) + lane_, end = tree_.n * (leaf + 1) >> tree_.levels;
    Point some = Point::none();
    if (point < end && tree_.position[point] < limit_) some = {distance_to(point), tree_.position[point]};
    if (!(some < last_)) some = Point::none();
    if (!__any_sync(~0u, some.number < infinity<double>())) return;
    list_.join(some);
    KERNOPS_EACH(n, NearestOfWarp<double, listed>::parts)
      if (n == (most_ - 1) / 32) last_ = list_.part[n].of((most_ - 1) % 32);
  }

  const TreeJob& tree_;
  const double* query_;
  const int limit_, most_, lane_;
  NearestOfWarp<double, listed> list_;
  Point last_;  // the farthest point of a full list
};

template <int D, int listed> __device__ void nearest_points(const NearestPointsJob& job) {
  const long long query = job.first + blockIdx.x * nearest_points_warps + threadIdx.x / 32;
  if (query >= job.end) return;
  const int d = D ? D : job.tree.d, limit = job.limits ? job.limits[query] : int(job.tree.n);
  TreeSearch<D, listed> search(job.tree, job.queries + query * d, limit, job.most);
  search.run();
  search.write(job.to + (job.places ? job.places[query] : query) * job.most);
}

#define KERNOPS_NEAREST_POINTS(D, listed)                                                      \
  KERNOPS_KERNEL(__launch_bounds__(32 * kernops::nearest_points_warps) kernops_nearest_points, \
                 kernops::NearestPointsJob, kernops::nearest_points<D, listed>)

}  // namespace KERNOPS_ISA
}  // namespace kernops
