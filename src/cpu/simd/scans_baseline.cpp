#define KERNOPS_SIMD 0
#include "cpu/simd/scans.h"
