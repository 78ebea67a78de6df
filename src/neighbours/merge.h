// Merges two lists of neighbours of a new point by distance: the nearest base points, which precede all new points, and
// the nearest earlier new points.
#pragma once
#include <algorithm>
#include <cmath>

#include <kernops/jobs/blocks.h>

namespace kernops::neighbours {

// A column-major matrix whose rows are counted from 1.
struct Coordinates {
  const double* data;
  Count rows;
  double of(int row, int k) const { return data[k * rows + row - 1]; }
};

// Merges the two lists of a point by distance, and returns the positions of the nearest points of both lists.
// Coordinates are multiplied by `unit` before distances are computed.
class Merge {
 public:
  Merge(Coordinates base, Coordinates points, int d, const int* order, int m, double unit)
      : base_(base), points_(points), d_(d), order_(order), m_(m), unit_(unit) {}

  void run(Count position, const int* of_base, const int* of_new, int* to) const {
    const int* const end = to + m_;
    for (int b = 0, n = 0; to < end;) {
      const double to_base = b < m_ && of_base[b] > 0 ? distance(position, base_, of_base[b]) : HUGE_VAL;
      const double to_new = n < m_ && of_new[n] > 0 ? distance(position, points_, order_[of_new[n] - 1]) : HUGE_VAL;
      if (std::min(to_base, to_new) == HUGE_VAL) return std::fill(to, to + (end - to), 0);
      *to++ = to_base <= to_new ? of_base[b++] : int(base_.rows) + of_new[n++];
    }
  }

 private:
  double distance(Count position, const Coordinates& to, int row) const {
    double sum = 0;
    for (int k = 0; k < d_; ++k) {
      const double gap = unit_ * points_.of(order_[position], k) - unit_ * to.of(row, k);
      sum += gap * gap;
    }
    return sum;
  }

  const Coordinates base_, points_;
  const int d_;
  const int* order_;
  const int m_;
  const double unit_;
};

}  // namespace kernops::neighbours
