#include "cpu/simd/dense.h"
