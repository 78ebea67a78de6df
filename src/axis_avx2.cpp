#define KERNOPS_SIMD 2
#include "axis_engine.h"
