// Softmax of segments: exp(x) divided by the sum of exp(x) over the segment. The largest value is subtracted from x
// first.
#pragma once
#include <kernops/cpu/segments/run.h>
#include <kernops/cpu/segments/values.h>

namespace kernops {
inline namespace KERNOPS_ISA {

struct Softmax {
  // The state of a block: the largest x, and the sum of exp(x - largest).
  struct Mass {
    double shift, sum;
  };
  static constexpr int W = Pack<double>::width;

  static std::size_t scratch_bytes(const SegmentJob&, Count values, Count) { return 2 * (values + W) * sizeof(double); }

  template <class Reduction> static double reduce(const SegmentJob& job, const double* x, Count length) {
    using R = typename Accumulate<Reduction>::Block;
    return (job.skip_missing ? reduce_run<R, true>(x, length, 0) : reduce_run<R, false>(x, length, 0)).v[0];
  }
  static double largest(const SegmentJob& job, const double* x, Count length) {
    return reduce<Extreme<-1>>(job, x, length);
  }
  static double sum(const SegmentJob& job, const double* t, Count length) { return reduce<BlockSum>(job, t, length); }

  // Replaces each t by exp(t). The memory at t must have space for one more pack after the last value.
  static void exponentials(double* t, Count count) {
    for (Count k = 0; k < count; k += W) exp(Pack<double>::load(t + k)).store(t + k);
  }

  static void store(const SegmentJob& job, Count column, Count segment, Count first, const double* t, Count length,
                    double mass) {
    const Count from = (job.sources ? job.sources[segment] : job.offsets[segment]) + first;
    const double share = 1 / mass;
    if (job.order || job.out_row != 1) {
      for (Count k = 0; k < length; ++k)
        job.result(0, column, job.order ? Count(job.order[from + k]) : from + k) = t[k] * share;
      return;
    }
    double* out = &job.result(0, column, from);
    Count k = 0;
    for (; k + W <= length; k += W) (Pack<double>::load(t + k) * share).store(out + k);
    for (; k < length; ++k) out[k] = t[k] * share;
  }

  static void segments(const SegmentJob& job, Count column, Count first, Count last, char* scratch) {
    const Count begin = job.offsets[first], count = job.offsets[last] - begin;
    double *t = reinterpret_cast<double*>(scratch), *memory = t + count + W;
    const double* x = values_at(job, column, first, last, memory);
    for (Count s = first; s < last; ++s) {
      const Count at = job.offsets[s] - begin, length = job.offsets[s + 1] - job.offsets[s];
      const double top = largest(job, x + at, length);
      for (Count k = at; k < at + length; ++k) t[k] = x[k] - top;
    }
    exponentials(t, count);
    for (Count s = first; s < last; ++s) {
      const Count at = job.offsets[s] - begin, length = job.offsets[s + 1] - job.offsets[s];
      store(job, column, s, 0, t + at, length, sum(job, t + at, length));
    }
  }

  static const double* shifted(const SegmentJob& job, Count column, Count segment, Count number, char* scratch,
                               const double* shift, double* top) {
    const Count length = block_length(job, segment, number);
    double *t = reinterpret_cast<double*>(scratch), *memory = t + length + W;
    const double* x = values_of(job, column, segment, number * segment_block, length, memory);
    *top = shift ? *shift : largest(job, x, length);
    for (Count k = 0; k < length; ++k) t[k] = x[k] - *top;
    exponentials(t, length);
    return t;
  }

  static void block(const SegmentJob& job, Count column, Count segment, Count number, char* state, char* scratch) {
    Mass& mass = *reinterpret_cast<Mass*>(state);
    const double* t = shifted(job, column, segment, number, scratch, nullptr, &mass.shift);
    // If all values of a block are -Inf, the sum is set to 0, so that the block adds 0 to the sum of another block with
    // finite values.
    mass.sum = mass.shift == -infinity<double>() ? 0 : sum(job, t, block_length(job, segment, number));
  }

  static void join(const SegmentJob&, Count, Count, char* states, Count blocks) {
    Mass* all = reinterpret_cast<Mass*>(states);
    double top = all[0].shift, sum = 0;
    for (Count n = 1; n < blocks; ++n) top = max(top, all[n].shift);
    for (Count n = 0; n < blocks; ++n)
      sum += all[n].sum == 0 ? 0 : all[n].sum * (all[n].shift == top ? 1 : std::exp(all[n].shift - top));
    all[0] = {top, sum};
  }

  static void map(const SegmentJob& job, Count column, Count segment, Count number, const char* joined, char* scratch) {
    const Mass& mass = *reinterpret_cast<const Mass*>(joined);
    double top;
    const double* t = shifted(job, column, segment, number, scratch, &mass.shift, &top);
    store(job, column, segment, number * segment_block, t, block_length(job, segment, number), mass.sum);
  }

  static double nothing(int) { return not_a_number<double>(); }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
