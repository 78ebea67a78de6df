// The entry point of a kernel, by the name that the host launches, after its launch bounds if it has some.
#pragma once

#define KERNOPS_KERNEL(name, Job, ...) \
  extern "C" __global__ void name(Job job) { __VA_ARGS__(job); }
