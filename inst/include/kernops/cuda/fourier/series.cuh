// The kernels of a sum by a Fourier series, except for the Fourier transforms.
#pragma once
#include <kernops/cuda/fourier/interpolate.cuh>
#include <kernops/cuda/fourier/places.cuh>
#include <kernops/cuda/fourier/spread.cuh>

#define KERNOPS_FOURIER(D)                                                                                    \
  KERNOPS_KERNEL(__launch_bounds__(kernops::fourier_threads) kernops_place_points, kernops::PlaceJob,         \
                 kernops::place_points<D>)                                                                    \
  KERNOPS_KERNEL(__launch_bounds__(kernops::fourier_threads) kernops_sort_points, kernops::PlaceJob,          \
                 kernops::sort_points<D>)                                                                     \
  KERNOPS_KERNEL(__launch_bounds__(kernops::fourier_tile_threads(D)) kernops_spread, kernops::SpreadJob,      \
                 kernops::TileSpread<D>::run)                                                                 \
  KERNOPS_KERNEL(__launch_bounds__(kernops::fourier_tile_threads(D)) kernops_merge_tiles, kernops::SpreadJob, \
                 kernops::TileSpread<D>::merge)                                                               \
  KERNOPS_KERNEL(__launch_bounds__(kernops::fourier_threads) kernops_multiply_modes, kernops::FactorJob,      \
                 kernops::multiply_modes)                                                                     \
  KERNOPS_KERNEL(__launch_bounds__(kernops::fourier_threads) kernops_interpolate, kernops::InterpolateJob,    \
                 kernops::interpolate_points<D>)
