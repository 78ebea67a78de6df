// Arrays that are computed from whole variables (formula/per_item.h): the eigenvalues and eigenvectors of parameters,
// and the centre of the points of an axis.
#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <limits>

#include "run/pairs.h"

namespace kernops {
namespace {

using Numbers = std::vector<double>;

// Returns the eigenvalues and eigenvectors of the symmetric part of a matrix. If a number is not finite, the
// eigenvalues are NaN. Eigenvalues below the rounding error are set to 0, so that a semidefinite matrix yields no
// negative squared distances.
std::pair<Numbers, Numbers> decompose(const Numbers& matrix, int size) {
  std::pair<Numbers, Numbers> made{Numbers(size_t(size), std::numeric_limits<double>::quiet_NaN()), matrix};
  const Eigen::MatrixXd square = Eigen::Map<const Eigen::MatrixXd>(matrix.data(), size, size);
  if (!square.allFinite()) return made;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver((square + square.transpose()) / 2);
  const double least = size * std::numeric_limits<double>::epsilon() * solver.eigenvalues().cwiseAbs().maxCoeff();
  for (int k = 0; k < size; ++k) {
    const double value = solver.eigenvalues()[k];
    made.first[size_t(k)] = std::abs(value) <= least ? 0 : value;
    for (int m = 0; m < size; ++m) made.second[size_t(k * size + m)] = solver.eigenvectors()(m, k);
  }
  return made;
}

// Returns the median of each coordinate over a sample of points; medians are robust against outliers and missing
// numbers. In a host array, the sampled points are evenly spaced; in a device array they are contiguous, because each
// separate copy from the device takes time.
Numbers centre(const Pairs& pairs, const ArrayRef& points, Count count, int size) {
  const Count some = std::min<Count>(count, 9), near = points.space == MemorySpace::host ? 1 : some;
  std::vector<Numbers> coordinates(static_cast<size_t>(size));
  for (Count n = 0; n < some; n += near) {
    const Count first = near > 1 ? (count - near) / 2 : some > 1 ? n * (count - 1) / (some - 1) : 0;
    const Numbers read = pairs.read(points, first, near, size);
    for (size_t k = 0; k < read.size(); ++k)
      if (std::isfinite(read[k])) coordinates[k % size_t(size)].push_back(read[k]);
  }
  Numbers made(size_t(size), 0.0);
  for (int k = 0; k < size; ++k) {
    Numbers& all = coordinates[size_t(k)];
    if (all.empty()) continue;
    const auto middle = all.begin() + Count(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    made[size_t(k)] = *middle;
  }
  return made;
}

}  // namespace

Numbers Pairs::read(const ArrayRef& array, Count first, Count items, Count entries) const {
  Numbers numbers;
  for (Count n = first; n < first + items; ++n)
    for (Count k = 0; k < entries; ++k)
      numbers.push_back(static_cast<const double*>(array.data)[n * array.item + k * array.entry]);
  return numbers;
}

void derive(const Pairs& pairs, const std::vector<Plan>& plans, Data& data) {
  const auto keep = [&](Load::Kind kind, int variable, Numbers numbers) {
    Derived& made = data.derived[{kind, variable}];
    made.numbers = std::move(numbers);
    made.array = {made.numbers.data(), 1, 0};
  };
  for (const Plan& plan : plans) {
    for (const Load& load : plan.loads[int(Level::uniform)]) {
      if (data.derived.count({load.kind, load.id})) continue;
      const int size = plan.slots[load.slot].size;
      if (load.kind == Load::eigenvalues) {
        auto [values, vectors] = decompose(pairs.read(data.variables[size_t(load.id)], 0, 1, size * size), size);
        keep(Load::eigenvalues, load.id, std::move(values)), keep(Load::eigenvectors, load.id, std::move(vectors));
      } else if (load.kind == Load::centre) {
        const Count count = data.length(plan.rows);
        keep(Load::centre, load.id, centre(pairs, data.variables[size_t(load.id)], count, size));
      }
    }
  }
}

}  // namespace kernops
