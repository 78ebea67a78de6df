#define KERNOPS_SIMD 0
#include "cpu/simd/sets.h"
