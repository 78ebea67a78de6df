// Scans of segments by the structs of segments.def: each value is added to the running state, and the result at this
// value is computed from the state.
//
//   segments up to a block        value by value
//   longer segments               the states of the blocks, reduced as in cpu/segments/run.h, are carried from block to
//                                 block; each block is then scanned from the carried state
//   groups in any order           value by value into the state of its group
//
// The result of a value depends only on its segment, and not on the division of the work between threads.
#pragma once
#include <kernops/cpu/segments/run.h>
#include <kernops/cpu/segments/values.h>
#include <kernops/jobs/scans.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// The reduction of a scan. Every running sum is a result. Therefore each addition is compensated, so that sums of
// positive numbers never decrease at the border of two blocks.
template <class R> struct Scanned { using type = R; };
template <> struct Scanned<BlockSum> { using type = KahanSum; };
template <> struct Scanned<Mean> { using type = MeanOf<KahanSum>; };

template <class Reduction> struct SegmentScan {
  using R = typename Scanned<Reduction>::type;
  using One = OneState<R>;
  static constexpr bool counts = R::indices > 0;

  static std::size_t scratch_bytes(Count values, Count) { return (values + Pack<double>::width) * sizeof(double); }

  // Calls f(skip_missing, exclusive) with both flags as compile-time constants.
  template <class F> static void with_flags(const ScanJob& job, F f) {
    const auto choose = [&](auto skip) { job.exclusive ? f(skip, std::true_type()) : f(skip, std::false_type()); };
    job.skip_missing ? choose(std::true_type()) : choose(std::false_type());
  }

  // Writes the results of one column.
  struct Writer {
    const ScanJob& job;
    const Count column;
    double* const out = &job.result(0, column, 0);
    template <class S> KERNOPS_INLINE void operator()(Count row, const S& s) const {
      out[row * job.out_row] = R::finish(s, 0);
      for (int o = 1; o < R::outputs; ++o) job.result(o, column, row) = R::finish(s, o);
    }
  };

  // Scans values that are contiguous at x. The value x[0] is number `begin` of its segment, and the result at x[0] is
  // in row `row`.
  static void run(const ScanJob& job, Count column, const double* x, Count length, Count begin, Count row, One s) {
    const Writer write{job, column};
    with_flags(job, [&](auto skip, auto exclusive) {
      for (Count k = 0; k < length; ++k) {
        const Count m = job.reverse ? length - 1 - k : k;
        if (exclusive) write(row + m, s);
        if (!skip || x[m] == x[m]) R::add(s, x[m], begin + m);
        if (!exclusive) write(row + m, s);
      }
    });
  }

  static void segments(const ScanJob& job, Count column, Count first, Count last, char* scratch) {
    const Count from = job.offsets[first];
    const double* x = values_at(job, column, first, last, reinterpret_cast<double*>(scratch));
    One fresh;
    R::start(fresh);
    for (Count s = first; s < last; ++s)
      run(job, column, x + (job.offsets[s] - from), job.offsets[s + 1] - job.offsets[s], 0, job.offsets[s], fresh);
  }

  static void start(char* carry) { R::start(*reinterpret_cast<One*>(carry)); }

  static const double* values(const ScanJob& job, Count column, Count segment, Count number, char* scratch) {
    return values_of(job, column, segment, number * segment_block, block_length(job, segment, number),
                     reinterpret_cast<double*>(scratch));
  }
  static void block(const ScanJob& job, Count column, Count segment, Count number, char* state, char* scratch) {
    const double* x = values(job, column, segment, number, scratch);
    const Count first = number * segment_block, length = block_length(job, segment, number);
    *reinterpret_cast<One*>(state) =
        job.skip_missing ? reduce_run<R, true>(x, length, first) : reduce_run<R, false>(x, length, first);
  }
  static void advance(const ScanJob&, char* carry, const char* state) {
    R::merge(*reinterpret_cast<One*>(carry), *reinterpret_cast<const One*>(state));
  }
  static void map(const ScanJob& job, Count column, Count segment, Count number, const char* carry, char* scratch) {
    const Count first = number * segment_block;
    run(job, column, values(job, column, segment, number, scratch), block_length(job, segment, number), first,
        job.offsets[segment] + first, *reinterpret_cast<const One*>(carry));
  }

  // The running state of a group and, if results are positions, the position of the group's next value.
  struct Plain {
    struct {
      double v[R::values];
    } state;
  };
  struct Counted {
    One state;
    Count next;
  };
  using Group = std::conditional_t<counts, Counted, Plain>;

  static void groups(const ScanJob& job, Count column, Count rows, Count first, Count last, char* memory,
                     char* scratch) {
    constexpr Count tile = 2048, ahead = 24;
    Group* all = reinterpret_cast<Group*>(memory);
    for (Count g = first; g < last; ++g) R::start(all[g].state);
    if constexpr (counts) set_positions(job, all, first, last);
    const Count tiles = (rows + tile - 1) / tile;
    const Writer write{job, column};
    with_flags(job, [&](auto skip, auto exclusive) {
      for (Count t = 0; t < tiles; ++t) {
        const Count begin = (job.reverse ? tiles - 1 - t : t) * tile, count = rows - begin < tile ? rows - begin : tile;
        const double* x = rows_at(job, column, begin, count, reinterpret_cast<double*>(scratch));
        for (Count k = 0; k < count; ++k) {
          const Count m = job.reverse ? count - 1 - k : k, row = begin + m, g = job.groups[row];
          const Count later = job.reverse ? row - ahead : row + ahead;
          __builtin_prefetch(all + job.groups[later < 0 || later >= rows ? row : later]);
          if (g < first || g >= last) continue;
          if (exclusive) write(row, all[g].state);
          if (!skip || x[m] == x[m]) R::add(all[g].state, x[m], next_position(all[g]));
          step(job, all[g]);
          R::settle(all[g].state);
          if (!exclusive) write(row, all[g].state);
        }
      }
    });
  }

 private:
  static void set_positions(const ScanJob& job, Group* all, Count first, Count last) {
    for (Count g = first; g < last; ++g) all[g].next = 0;
    for (Count s = 0; job.reverse && s < job.segments; ++s)
      if (const Count g = job.row(s); g >= first && g < last) all[g].next = job.offsets[s + 1] - job.offsets[s] - 1;
  }
  static KERNOPS_INLINE Count next_position(const Plain&) { return 0; }
  static KERNOPS_INLINE Count next_position(const Counted& group) { return group.next; }
  static KERNOPS_INLINE void step(const ScanJob&, Plain&) {}
  static KERNOPS_INLINE void step(const ScanJob& job, Counted& group) { group.next += job.reverse ? -1 : 1; }
};

template <class Reduction> ScanEngine segment_scan() {
  using S = SegmentScan<Reduction>;
  return {sizeof(typename S::One),  S::scratch_bytes, S::segments, S::start, S::block, S::advance, S::map, S::groups,
          sizeof(typename S::Group)};
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
