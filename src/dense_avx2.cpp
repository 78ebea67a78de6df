#define KERNOPS_SIMD 2
#include "dense_engine.h"
