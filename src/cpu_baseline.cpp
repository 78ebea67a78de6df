#define KERNOPS_SIMD 0
#include "cpu_engine.h"
