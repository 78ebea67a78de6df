#define KERNOPS_SIMD 3
#include "cpu/simd/scans.h"
