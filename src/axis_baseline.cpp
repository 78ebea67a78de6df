#define KERNOPS_SIMD 0
#include "axis_engine.h"
