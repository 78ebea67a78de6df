// Scans of segments by a formula of a and b, which is computed for many pairs at once (Blelloch 1990). Neighbouring
// values are joined in pairs, and the joined values are scanned recursively. Then each remaining value is joined with
// the preceding result. The shape of the tree depends only on the length of a segment.
#pragma once
#include <kernops/cpu/segments/formula.h>
#include <kernops/cpu/segments/scan.h>

namespace kernops {
inline namespace KERNOPS_ISA {

struct FormulaScan {
  static constexpr Count pad = SegmentFold::pad;

  static std::size_t scratch_bytes(Count values, Count) { return (values + pad) * sizeof(double); }

  // Computes f(before, after); a reversed scan meets the later value first.
  static void join(PairMap& map, bool reverse, double* first, double* second, Count count, double* out) {
    reverse ? map(second, first, count, out) : map(first, second, count, out);
  }

  // Scans `count` segments, which are contiguous in x and have the given `lengths`. The results replace the values.
  static void scan(PairMap& map, bool reverse, double* x, const Count* lengths, Count count) {
    Count total = 0, longest = 0;
    for (Count s = 0; s < count; ++s) total += lengths[s], longest = lengths[s] > longest ? lengths[s] : longest;
    if (longest < 2) return;
    const Buffer<double> a(std::size_t(total + pad)), b(std::size_t(total + pad)), f(std::size_t(total + pad));
    const Buffer<Count> halves{std::size_t(count)};
    Count n = 0;
    each(lengths, count, [&](Count first, Count length) {
      for (Count k = 0; k + 1 < length; k += 2, ++n) a.data()[n] = x[first + k], b.data()[n] = x[first + k + 1];
    });
    join(map, reverse, a.data(), b.data(), n, f.data());
    for (Count s = 0; s < count; ++s) halves.data()[s] = lengths[s] / 2;
    scan(map, reverse, f.data(), halves.data(), count);

    n = 0;
    Count pair = 0;
    each(lengths, count, [&](Count first, Count length) {
      for (Count k = 2; k < length; k += 2, ++n) a.data()[n] = f.data()[pair + k / 2 - 1], b.data()[n] = x[first + k];
      for (Count k = 1; k < length; k += 2) x[first + k] = f.data()[pair++];
    });
    join(map, reverse, a.data(), b.data(), n, f.data());
    n = 0;
    each(lengths, count, [&](Count first, Count length) {
      for (Count k = 2; k < length; k += 2) x[first + k] = f.data()[n++];
    });
  }

  // Copies the values of a segment that are not skipped, in the order of the scan.
  static Count keep(const ScanJob& job, const double* from, Count length, double* to) {
    Count kept = 0;
    for (Count k = 0; k < length; ++k) {
      const double x = from[job.reverse ? length - 1 - k : k];
      if (!job.skip_missing || x == x) to[kept++] = x;
    }
    return kept;
  }

  // Writes the results of `length` values x of a segment. `scanned` contains the results of the values that are not
  // skipped; `before` is the result before the first value.
  static void write(const ScanJob& job, Count column, const double* x, Count length, Count position,
                    const double* scanned, double before) {
    for (Count k = 0; k < length; ++k) {
      const Count m = job.reverse ? length - 1 - k : k;
      const double after = !job.skip_missing || x[m] == x[m] ? *scanned++ : before;
      const Count row = job.order ? Count(job.order[position + m]) : position + m;
      job.result(0, column, row) = job.exclusive ? before : after;
      before = after;
    }
  }

  static void segments(const ScanJob& job, Count column, Count first, Count last, char* scratch) {
    const Count from = job.offsets[first], values = job.offsets[last] - from, count = last - first;
    const double* x = values_at(job, column, first, last, reinterpret_cast<double*>(scratch));
    const Buffer<double> kept(std::size_t(values + pad));
    const Buffer<Count> lengths{std::size_t(count)};
    double* to = kept.data();
    for (Count s = first; s < last; ++s)
      to += lengths.data()[s - first] = keep(job, x + (job.offsets[s] - from), job.offsets[s + 1] - job.offsets[s], to);
    PairMap map(job);
    scan(map, job.reverse, kept.data(), lengths.data(), count);
    const double* scanned = kept.data();
    for (Count s = first; s < last; scanned += lengths.data()[s++ - first])
      write(job, column, x + (job.offsets[s] - from), job.offsets[s + 1] - job.offsets[s], job.offsets[s], scanned,
            job.nothing);
  }

  static void start(char* carry) { *reinterpret_cast<Folded*>(carry) = {0, 0}; }

  static void block(const ScanJob& job, Count column, Count segment, Count number, char* state, char*) {
    const Buffer<char> scratch(SegmentFold::scratch_bytes(job, segment_block, 1));
    SegmentFold::block(job, column, segment, number, state, scratch.data());
  }

  static void advance(const ScanJob& job, char* carry, const char* state) {
    Folded& all = *reinterpret_cast<Folded*>(carry);
    const Folded& next = *reinterpret_cast<const Folded*>(state);
    if (next.any && all.any) {
      Buffer<double> pair(3 * pad);
      double *a = pair.data(), *b = a + pad, *f = b + pad;
      a[0] = all.value, b[0] = next.value;
      PairMap map(job);
      join(map, job.reverse, a, b, 1, f);
      all.value = f[0];
    } else if (next.any) {
      all = next;
    }
  }

  static void map(const ScanJob& job, Count column, Count segment, Count number, const char* carry, char* scratch) {
    const Folded before = *reinterpret_cast<const Folded*>(carry);
    const Count first = number * segment_block, length = block_length(job, segment, number);
    const double* x = values_of(job, column, segment, first, length, reinterpret_cast<double*>(scratch));
    const std::size_t room = std::size_t(length + pad);
    const Buffer<double> kept(room), a(room), f(room);
    const Count count = keep(job, x, length, kept.data());
    PairMap map(job);
    scan(map, job.reverse, kept.data(), &count, 1);
    for (Count k = 0; k < count; ++k) a.data()[k] = before.value;
    if (before.any) join(map, job.reverse, a.data(), kept.data(), count, f.data());
    write(job, column, x, length, job.offsets[segment] + first, before.any ? f.data() : kept.data(),
          before.any ? before.value : job.nothing);
  }

 private:
  template <class F> static void each(const Count* lengths, Count count, F f) {
    Count first = 0;
    for (Count s = 0; s < count; first += lengths[s++]) f(first, lengths[s]);
  }
};

inline ScanEngine find_scan_engine(const ScanJob& job) {
  using F = FormulaScan;
  if (job.slots.count > 0)
    return {sizeof(Folded), F::scratch_bytes, F::segments, F::start, F::block, F::advance, F::map, nullptr, 0};
  using Make = ScanEngine (*)();
  static const Make table[] = {
#define STATISTIC(name, reduction, ...) segment_scan<reduction>,
#include <kernops/segments.def>
  };
  return table[job.op]();
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
