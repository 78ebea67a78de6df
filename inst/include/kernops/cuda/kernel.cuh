// The entry point of a kernel: the name that the host launches, after optional launch bounds.
#pragma once

#define KERNOPS_KERNEL(name, Job, ...) \
  extern "C" __global__ void name(Job job) { __VA_ARGS__(job); }
