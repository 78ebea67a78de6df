// Packs of numbers that read like numbers.
#pragma once
#include <kernops/pack_hardware.h>
#include <kernops/pack_lanes.h>
#include <kernops/pack_wide.h>
