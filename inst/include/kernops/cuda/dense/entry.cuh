// Entry points of dense kernels: kernops_<name>(job) runs kernops::<name>, with its template arguments in <>.
#pragma once
#include <kernops/cuda/kernel.cuh>

#define KERNOPS_ENTRY(threads, name, Job, ...) \
  KERNOPS_KERNEL(__launch_bounds__(threads) kernops_##name, kernops::Job, kernops::name __VA_ARGS__)
