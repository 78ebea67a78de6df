#define KERNOPS_SIMD 3
#include "cpu/simd/sets.h"
