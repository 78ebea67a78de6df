// The ways of reducing all pairs of many rows and columns at a time (cuda/pairs/bulk.cpp).
#pragma once
#include "cuda/cuda.h"

namespace kernops {
namespace cuda {

// Panels (cuda/pairs/panels.cpp), whose products are those of doubles or of digits.
bool gains_by_panels(const TiledPlan& plan, Count rows, Count columns);
Shape panel_shape(const TiledPlan& plan);

// Lists of the columns that may be nearest (cuda/pairs/nearest_lists.cpp): so many numbers of 16 bits make one.
bool gains_by_lists(const TiledPlan& plan, Count rows, Count columns);
Shape list_shape(int parts);

}  // namespace cuda
}  // namespace kernops
