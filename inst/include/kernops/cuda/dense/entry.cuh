// Entry points of dense kernels: KERNOPS_ENTRY(threads, name, Job, <arguments>) defines kernops_name(job), which calls
// kernops::name<arguments>(job).
#pragma once
#include <kernops/cuda/kernel.cuh>

#define KERNOPS_ENTRY(threads, name, Job, ...) \
  KERNOPS_KERNEL(__launch_bounds__(threads) kernops_##name, kernops::Job, kernops::name __VA_ARGS__)
