// Packs of numbers that are used like numbers.
#pragma once
#include <kernops/simd/hardware.h>
#include <kernops/simd/lanes.h>
#include <kernops/simd/wide.h>
