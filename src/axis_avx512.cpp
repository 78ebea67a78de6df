#define KERNOPS_SIMD 3
#include "axis_engine.h"
