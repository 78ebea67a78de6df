// Folds segments by a formula of a and b. The values of a segment are joined in a balanced tree. Each level of the tree
// is computed for many segments at once.
#pragma once
#include <kernops/cpu/segments/values.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// Computes f(a[n], b[n]) for many pairs (a[n], b[n]); the counterpart of Worker for formulas without rows and columns.
class PairMap {
  static constexpr int W = Pack<double>::width, tile = 256;

 public:
  explicit PairMap(const SegmentJob& job)
      : job_(job),
        slots_(job.slots.count),
        once_(std::size_t(job.entries[0]) * W),
        values_(std::size_t(job.entries[2]) * tile) {
    place(Level::uniform, once_.data(), W, 0);
    place(Level::column, values_.data(), tile, ~std::ptrdiff_t(0));
    Pack<double>(1).store(slots_.data()[0].p);
    for (int n = 0; n < job.loads[0].count; ++n)
      Pack<double>(job.loads[0].items[n].value).store(slots_.data()[job.loads[0].items[n].slot].p);
    run(Level::uniform, W);
  }

  // The function reads and writes memory up to one pack after the last value.
  void operator()(double* a, double* b, Count count, double* out) {
    for (Count first = 0; first < count; first += tile) {
      for (int n = 0; n < job_.loads[2].count; ++n) {
        const Load& load = job_.loads[2].items[n];
        slots_.data()[load.slot].p = (load.id == 0 ? a : b) + first;
      }
      const int lanes = int(count - first < tile ? (count - first + W - 1) / W * W : tile);
      run(Level::column, lanes);
      const Operand<double>& f = slots_.data()[job_.f];
      for (int lane = 0; lane < lanes; lane += W) LaneView<double>(f, lane)[0].store(out + first + lane);
    }
  }

 private:
  void place(Level level, double* base, std::ptrdiff_t entry, std::ptrdiff_t lanes) {
    place_slots(job_.slots, level, base, entry, lanes, slots_.data());
  }
  void run(Level level, int lanes) { run_steps(job_.steps[int(level)], slots_.data(), lanes); }

  const SegmentJob& job_;
  Buffer<Operand<double>> slots_;
  Buffer<double> once_, values_;
};

// The state of a block: the folded value, and the number of values (0 if the block has no value).
struct Folded {
  double value;
  Count any;
};

struct SegmentFold {
  static constexpr Count pad = 16;
  static Count room(Count values) { return values + pad; }

  static std::size_t scratch_bytes(const SegmentJob&, Count values, Count segments) {
    return 4 * room(values) * sizeof(double) + segments * sizeof(Count);
  }

  // Folds `count` segments, which are contiguous in x and have the given `lengths`. On return, x starts with the
  // results of the nonempty segments, and `lengths` are 1, or 0 for empty segments. a, b and f must have space for half
  // as many values as x.
  static void fold(PairMap& map, double* x, Count* lengths, Count count, double* a, double* b, double* f) {
    for (bool more = true; more;) {
      more = false;
      Count pairs = 0, at = 0;
      for (Count s = 0; s < count; at += lengths[s++])
        for (Count k = 0; k + 1 < lengths[s]; k += 2, ++pairs) a[pairs] = x[at + k], b[pairs] = x[at + k + 1];
      map(a, b, pairs, f);
      Count from = 0, to = 0, pair = 0;
      for (Count s = 0; s < count; ++s) {
        const Count length = lengths[s], half = length / 2;
        const double last = length > 0 ? x[from + length - 1] : 0;  // the next loop may overwrite this element
        for (Count k = 0; k < half; ++k) x[to++] = f[pair++];
        if (length % 2) x[to++] = last;
        from += length;
        lengths[s] = half + length % 2;
        more = more || lengths[s] > 1;
      }
    }
  }

  // Copies the values that are not skipped, and returns the number of copied values.
  static Count keep(const SegmentJob& job, const double* from, Count length, double* to) {
    if (!job.skip_missing) {
      std::memmove(to, from, length * sizeof(double));
      return length;
    }
    Count kept = 0;
    for (Count k = 0; k < length; ++k) {
      const double x = from[k];
      to[kept] = x;
      kept += x == x;
    }
    return kept;
  }

  static void segments(const SegmentJob& job, Count column, Count first, Count last, char* scratch) {
    const Count values = job.offsets[last] - job.offsets[first], count = last - first;
    double *x = reinterpret_cast<double*>(scratch), *a = x + room(values), *b = a + room(values), *f = b + room(values);
    Count* lengths = reinterpret_cast<Count*>(f + room(values));
    const double* from = values_at(job, column, first, last, a);
    double* to = x;
    for (Count s = 0; s < count; ++s) {
      const Count length = job.offsets[first + s + 1] - job.offsets[first + s];
      lengths[s] = keep(job, from, length, to);
      from += length, to += lengths[s];
    }
    PairMap map(job);
    fold(map, x, lengths, count, a, b, f);
    for (Count s = 0; s < count; ++s)
      job.result(0, column, job.row(first + s)) = lengths[s] > 0 ? *x++ : not_a_number<double>();
  }

  static void block(const SegmentJob& job, Count column, Count segment, Count number, char* state, char* scratch) {
    constexpr Count size = segment_block;
    double *x = reinterpret_cast<double*>(scratch), *a = x + room(size), *b = a + room(size), *f = b + room(size);
    const Count length = block_length(job, segment, number);
    Count kept = keep(job, values_of(job, column, segment, number * size, length, a), length, x);
    PairMap map(job);
    fold(map, x, &kept, 1, a, b, f);
    *reinterpret_cast<Folded*>(state) = {x[0], kept};
  }

  static void join(const SegmentJob& job, Count column, Count segment, char* states, Count blocks) {
    const Folded* all = reinterpret_cast<const Folded*>(states);
    Buffer<double> memory(std::size_t(4 * room(blocks)));
    double *x = memory.data(), *a = x + room(blocks), *b = a + room(blocks), *f = b + room(blocks);
    Count kept = 0;
    for (Count n = 0; n < blocks; ++n)
      if (all[n].any) x[kept++] = all[n].value;
    PairMap map(job);
    fold(map, x, &kept, 1, a, b, f);
    job.result(0, column, job.row(segment)) = kept > 0 ? x[0] : not_a_number<double>();
  }

  static double nothing(int) { return not_a_number<double>(); }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
