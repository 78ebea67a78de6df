// How dense kernels are entered: kernops_<name>(job) runs kernops::<name>, with template arguments in <> where it has
// any.
#pragma once
#include <kernops/cuda/kernel.cuh>

#define KERNOPS_ENTRY(threads, name, Job, ...) \
  KERNOPS_KERNEL(__launch_bounds__(threads) kernops_##name, kernops::Job, kernops::name __VA_ARGS__)
