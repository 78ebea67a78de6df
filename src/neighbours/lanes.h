// Templates over `Number` process either one column, where `Number` is double, or several columns in SIMD lanes, where
// `Number` is Lanes. With lanes, the indices and weights of a row are read only once for all columns.
#pragma once
#include <Eigen/Dense>
#include <type_traits>

namespace kernops::neighbours {

constexpr int lanes = 8;
using Lanes = Eigen::Array<double, lanes, 1>;

template <class Number> constexpr int width = std::is_same_v<Number, double> ? 1 : lanes;
template <class Number> double* lanes_of(Number& x) {
  if constexpr (width<Number> == 1)
    return &x;
  else
    return x.data();
}
template <class Number> Number constant(double value) {
  if constexpr (width<Number> == 1)
    return value;
  else
    return Number::Constant(value);
}

}  // namespace kernops::neighbours
