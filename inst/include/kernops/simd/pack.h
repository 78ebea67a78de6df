// SIMD packs of numbers, with the operators and functions of numbers.
#pragma once
#include <kernops/simd/hardware.h>
#include <kernops/simd/lanes.h>
#include <kernops/simd/wide.h>
