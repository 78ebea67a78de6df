// Shared memory of the size that the launch requests.
#pragma once

#ifndef KERNOPS_DYNAMIC_SHARED
#define KERNOPS_DYNAMIC_SHARED(name)                       \
  extern __shared__ __align__(512) double2 kernops_room[]; \
  double* const name = reinterpret_cast<double*>(kernops_room)
#endif
