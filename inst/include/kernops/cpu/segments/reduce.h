// Reductions of segments on the CPU, for one instruction set. cpu/segments/engine.h includes this file.
//
//   up to 16 values       cpu/segments/short.h    one segment per lane of a pack
//   up to a block         cpu/segments/run.h      packs of the values of one segment; one state per lane
//   more than a block     cpu/segments/reduce.h   block by block; the states of blocks are joined in order
//   groups in any order   cpu/segments/scatter.h  value by value into the states of all groups, if the states are small
//
// The choice between the first three methods depends only on the length of the segment, and not on the division of the
// work between threads.
#pragma once
#include <kernops/cpu/segments/run.h>
#include <kernops/cpu/segments/scatter.h>
#include <kernops/cpu/segments/short.h>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class Reduction> struct SegmentReduction {
  using R = typename Accumulate<Reduction>::Block;
  using Whole = OneState<Reduction>;

  static std::size_t scratch_bytes(const SegmentJob&, Count values, Count) {
    return (values + Pack<double>::width) * sizeof(double);
  }

  static void segments(const SegmentJob& job, Count column, Count first, Count last, char* scratch) {
    const double* x = values_at(job, column, first, last, reinterpret_cast<double*>(scratch)) - job.offsets[first];
    job.skip_missing ? segments<true>(job, column, first, last, x) : segments<false>(job, column, first, last, x);
  }

  template <bool skip>
  static void segments(const SegmentJob& job, Count column, Count first, Count last, const double* x) {
    using Short = ShortSegments<R, skip>;
    constexpr int W = Pack<double>::width;
    Short held(job, column, x, x + job.offsets[last]);
    for (Count s = first; s < last; ++s) {
      if (s + W <= last && held.take_pack(s)) {
        s += W - 1;
        continue;
      }
      const Count begin = job.offsets[s], length = job.offsets[s + 1] - begin;
      if (length <= Short::most)
        held.take(s);
      else
        give<R>(job, column, job.row(s), reduce_run<R, skip>(x + begin, length, 0));
    }
  }

  static void block(const SegmentJob& job, Count column, Count segment, Count number, char* state, char* scratch) {
    const Count first = number * segment_block, length = block_length(job, segment, number);
    const double* x = values_of(job, column, segment, first, length, reinterpret_cast<double*>(scratch));
    widen(job.skip_missing ? reduce_run<R, true>(x, length, first) : reduce_run<R, false>(x, length, first),
          *reinterpret_cast<Whole*>(state));
  }

  static void join(const SegmentJob& job, Count column, Count segment, char* states, Count blocks) {
    Whole* all = reinterpret_cast<Whole*>(states);
    for (Count n = 1; n < blocks; ++n) Reduction::merge(all[0], all[n]);
    give<Reduction>(job, column, job.row(segment), all[0]);
  }

  static double nothing(int output) {
    Whole s;
    Reduction::start(s);
    return Reduction::finish(s, output);
  }
};

template <class Reduction> SegmentEngine segment_reduction(const SegmentJob& job) {
  using S = SegmentReduction<Reduction>;
  SegmentEngine engine = {sizeof(typename S::Whole),
                          S::scratch_bytes,
                          S::segments,
                          S::block,
                          S::join,
                          nullptr,
                          nullptr,
                          nullptr,
                          S::nothing};
  add_scatter<Reduction>(job, engine);
  return engine;
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
