// Factors the covariance matrices of some sets (a set is a point and its neighbours), with one set in each lane of a
// pack. All results are computed from the factors.
#pragma once
#include <kernops/cpu/sets/factor.h>
#include <kernops/cpu/sets/pair_values.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// The points of a set are at the end of its slots: the point itself is last, after its nearest neighbour. A slot
// without a neighbour contains the coordinates of the point, and its row of the covariance matrix is a row of the unit
// matrix.
class SetGroup {
  using V = Pack<double>;
  static constexpr int W = V::width, B = SetBlock::size;
  static int blocks_of(int points) { return (points + B - 1) / B; }

 public:
  explicit SetGroup(const SetJob& job)
      : job_(job),
        most_(blocks_of(job.m + 1) * B),
        values_(job.covariance, most_),
        coordinates_(std::size_t(job.d) * most_ * W),
        noise_(std::size_t(2) * most_ * W),
        factors_(job.factors ? std::size_t(factor_blocks) * (most_ / B) : 0),
        triangle_(SetTriangle::count(most_ / B)),
        columns_(std::size_t(SetColumns::rows(job.columns)) * (most_ / B)) {}

  // Loads `count` sets, beginning with set `first`, and factors K = L L'. `count` is at most the number of lanes, and
  // unused lanes repeat the last set.
  void take(Count first, int count) {
    count_ = count;
    int most = 0, least = job_.m;
    for (int lane = 0; lane < W; ++lane) {
      sets_[lane] = first + (lane < count ? lane : count - 1);
      const int* neighbours = job_.neighbours + sets_[lane] * job_.stride;
      int known = job_.m;
      while (known > 0 && neighbours[known - 1] == 0) --known;
      known_[lane] = known;
      most = most < known ? known : most, least = least < known ? least : known;
    }
    size_ = blocks_of(most + 1) * B;
    for (int lane = 0; lane < W; ++lane) begin_[lane] = size_ - 1 - known_[lane];
    some_begin_ = size_ - 1 - most, all_begin_ = size_ - 1 - least;
    gather();
    fill();
    subtract_factors();
    factor_sets(triangle());
    columns().solve(triangle(), job_.columns);
  }

  int size() const { return size_; }
  int count() const { return count_; }
  int most() const { return most_; }
  int known(int lane) const { return known_[lane]; }
  Count set(int lane) const { return sets_[lane]; }
  const double* coordinates() const { return coordinates_.data(); }
  SetTriangle triangle() const { return {triangle_.data(), size_ / B}; }
  SetColumns columns() const { return {columns_.data(), size_ / B}; }  // the columns of L^-1 [y X]
  V noise_slope(int a) const { return V::load(noise_.data() + (most_ + a) * W); }
  V inverse_sd() const { return triangle().element(size_ - 1, size_ - 1); }

  // everywhere() and nowhere() test whether the sets of all lanes, or of no lane, have a point in slot a. has() is the
  // mask of the lanes whose set has a point in slot a. active() is the mask of the lanes that hold a set.
  bool everywhere(int a) const { return a >= all_begin_; }
  bool nowhere(int a) const { return a < some_begin_; }
  Mask<double> has(int a) const { return V::load(begin_) <= V(a); }
  Mask<double> active() const { return IntPack<double>::iota() < IntPack<double>(count_); }

 private:
  void gather() {
    columns().clear(job_.columns);
    for (int lane = 0; lane < W; ++lane) {
      const int* neighbours = job_.neighbours + sets_[lane] * job_.stride;
      const double* own = record(job_.first + sets_[lane]);
      for (int a = 0; a < int(begin_[lane]); ++a) put_coordinates(own, a, lane);
      for (int k = 0; k < known_[lane]; ++k) put(record(neighbours[k] - 1), size_ - 2 - k, lane);
      put(own, size_ - 1, lane);
    }
  }
  const double* record(Count point) const { return job_.records + point * job_.record(); }

  KERNOPS_INLINE void put_coordinates(const double* from, int a, int lane) {
    for (int k = 0; k < job_.d; ++k) coordinates_.data()[(std::ptrdiff_t(k) * most_ + a) * W + lane] = from[k];
  }
  KERNOPS_INLINE void put(const double* from, int a, int lane) {
    put_coordinates(from, a, lane);
    noise_.data()[a * W + lane] = from[job_.d];
    noise_.data()[(most_ + a) * W + lane] = from[job_.d + 1];
    double* value = reinterpret_cast<double*>(&columns().element(a, 0)) + lane;
    if (job_.columns <= B) {
      for (int c = 0; c < job_.columns; ++c) value[c * W] = from[job_.d + 2 + c];
    } else {
      for (int c = 0; c < job_.columns; ++c)
        reinterpret_cast<double*>(&columns().element(a, c))[lane] = from[job_.d + 2 + c];
    }
  }

  // While the current sets are processed, prefetches neighbour k of each of the next sets, because neighbours are
  // scattered in memory.
  KERNOPS_INLINE void prefetch(int k) const {
    if (k >= job_.m) return;
    for (Count set = sets_[0] + W; set < sets_[0] + 2 * W && set < job_.sets; ++set) {
      const int point = job_.neighbours[set * job_.stride + k];
      if (point == 0) continue;
      __builtin_prefetch(record(point - 1));
      __builtin_prefetch(record(point) - 1);
    }
  }

  void fill() {
    const SetTriangle k = triangle();
    values_.take_points(coordinates_.data(), size_);
    for (int a = 0; a < size_; ++a) {
      prefetch(a);
      if (nowhere(a)) {
        for (int b = 0; b < a; ++b) k.element(a, b) = 0;
        k.element(a, a) = 1;
        continue;
      }
      const Operand<double>& row = values_.row(a);
      for (int b = 0; b < a; ++b) k.element(a, b) = PairValues::at(row, 0, b);
      k.element(a, a) = fma(V(job_.diagonal), PairValues::at(row, 0, a), V::load(noise_.data() + a * W));
      for (int b = 0; b < all_begin_ && b < a; ++b) k.element(a, b) = select(has(b), k.element(a, b), V(0));
      if (!everywhere(a)) k.element(a, a) = select(has(a), k.element(a, a), V(1));
    }
  }

  // Computes K -= F F', where F has the low-rank factors of the points of each set. A few columns of blocks of F are
  // processed at a time, so that these columns and K fit the cache.
  void subtract_factors() {
    constexpr int width = factor_blocks * B;
    for (int from = 0; from < job_.rank; from += width) {
      gather_factors(from, job_.rank - from < width ? job_.rank - from : width);
      const SetTriangle k = triangle();
      for (int i = 0; i < k.blocks; ++i)
        for (int j = 0; j <= i; ++j) {
          SetBlock sum = k.row(i)[j];
          for (int e = 0; e < factor_blocks; ++e) sum.subtract_product(factor_row(i)[e], factor_row(j)[e]);
          k.row(i)[j] = sum;
        }
    }
  }

  // Gathers the entries `from` .. `from` + count - 1 of the factors of all points. If a set has no point in a slot, the
  // entries are 0.
  void gather_factors(int from, int count) {
    std::memset(static_cast<void*>(factors_.data()), 0, sizeof(SetBlock) * factor_blocks * triangle().blocks);
    for (int lane = 0; lane < W; ++lane) {
      const int* neighbours = job_.neighbours + sets_[lane] * job_.stride;
      for (int k = 0; k < known_[lane]; ++k) put_factor(neighbours[k] - 1, size_ - 2 - k, lane, from, count);
      put_factor(job_.first + sets_[lane], size_ - 1, lane, from, count);
    }
  }
  KERNOPS_INLINE void put_factor(Count point, int a, int lane, int from, int count) {
    const double* entry = job_.factors + point * job_.rank + from;
    for (int e = 0; e < count; ++e)
      reinterpret_cast<double*>(&factor_row(a / B)[e / B].at[e % B][a % B])[lane] = entry[e];
  }
  SetBlock* factor_row(int i) const { return factors_.data() + std::ptrdiff_t(i) * factor_blocks; }

  static constexpr int factor_blocks = 16 / B;  // number of blocks of a row that are processed at a time

  const SetJob& job_;
  const int most_;
  PairValues values_;
  Buffer<double> coordinates_, noise_;
  Buffer<SetBlock> factors_, triangle_, columns_;
  int size_ = 0, count_ = 0, some_begin_ = 0, all_begin_ = 0, known_[W];
  Count sets_[W];
  double begin_[W];
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
