#define KERNOPS_SIMD 2
#include "cpu_engine.h"
