#define KERNOPS_SIMD 3
#include "cpu/simd/pairs.h"
