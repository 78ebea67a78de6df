// Defines the entry point of a kernel, with the name by which the host launches the kernel. Launch bounds may precede
// the name.
#pragma once

#define KERNOPS_KERNEL(name, Job, ...) \
  extern "C" __global__ void name(Job job) { __VA_ARGS__(job); }
