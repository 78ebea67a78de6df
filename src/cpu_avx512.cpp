#define KERNOPS_SIMD 3
#include "cpu_engine.h"
