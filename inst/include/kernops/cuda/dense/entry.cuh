// How dense kernels are entered: kernops_<name>(job) runs kernops::<name>, with template arguments in <> where it has
// any.
#pragma once

#define KERNOPS_ENTRY(threads, name, Job, ...)                                             \
  extern "C" __global__ void __launch_bounds__(threads) kernops_##name(kernops::Job job) { \
    kernops::name __VA_ARGS__(job);                                                        \
  }
