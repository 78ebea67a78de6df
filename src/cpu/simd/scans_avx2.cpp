#define KERNOPS_SIMD 2
#include "cpu/simd/scans.h"
