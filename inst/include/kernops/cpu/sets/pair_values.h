// The values of a formula for the pairs of points of a set (a point and its neighbours), row by row, with one set in
// each lane of a pack.
#pragma once
#include <kernops/cpu/buffer.h>
#include <kernops/cpu/tiles.h>
#include <kernops/jobs/sets.h>

namespace kernops {
inline namespace KERNOPS_ISA {

class PairValues {
  using V = Pack<double>;
  static constexpr int W = V::width;

 public:
  // Allocates memory for sets of at most `most` points. Summands are computed for a limited number of pairs at a time,
  // which fit the first-level cache.
  PairValues(const PairFormula& formula, int most)
      : formula_(formula),
        most_(most),
        chunk_(formula.summands.count ? chunk(formula.entries[3], most) : most),
        slots_(formula.slots.count),
        uniform_(formula.entries[0] * W),
        rows_(std::size_t(formula.entries[1]) * most * W),
        columns_(std::size_t(formula.entries[2]) * most * W),
        pairs_(std::size_t(formula.entries[3]) * chunk_ * W) {
    place(Level::uniform, uniform_.data(), W, 0);
    place(Level::pair, pairs_.data(), std::ptrdiff_t(chunk_) * W, ~std::ptrdiff_t(0));
    V(1).store(slots_.data()[0].p);
    for (int s = 0; s < formula.uniform.count; ++s) load_uniform(formula.uniform.items[s]);
    run(Level::uniform, W);
  }

  // Pack k * most + a contains coordinate k of point a of all sets.
  void take_points(const double* coordinates, int points) {
    point_to_column(0);
    for (int k = 0; k < formula_.points[1].count; ++k) {
      const int slot = formula_.points[1].items[k].slot;
      for (int e = 0; e < formula_.slots.items[slot].size; ++e)
        copy(coordinates + std::ptrdiff_t(e) * most_ * W, points,
             slots_.data()[slot].p + std::ptrdiff_t(e) * most_ * W);
    }
    run(Level::column, points * W);
    for (int a = 0; a < points; ++a) take_row(coordinates, a);
  }

  // Returns the values for the pairs of point a and the points 0 .. a. Pack b of entry k of the operand contains entry
  // k of the pair (a, b).
  const Operand<double>& row(int a) {
    point_to_row(a);
    run(Level::pair, (a + 1) * W);
    return slots_.data()[formula_.f];
  }

  // summands() returns the slots with the values for the pairs (a, from + b), where b < count, and `count` is at most
  // pairs().
  int pairs() const { return chunk_; }
  const Operand<double>* summands(int a, int from, int count) {
    point_to_row(a), point_to_column(from);
    run(Level::pair, count * W);
    return slots_.data();
  }

  V uniform(int slot, int k) const { return at(slots_.data()[slot], k, 0); }

  static KERNOPS_INLINE V at(const Operand<double>& values, int k, int b) {
    return V::load(values.p + k * values.entry + ((std::ptrdiff_t(b) * W) & values.lanes));
  }

 private:
  static void copy(const double* from, int packs, double* to) { std::memcpy(to, from, sizeof(V) * packs); }

  void place(Level level, double* base, std::ptrdiff_t entry, std::ptrdiff_t lanes) {
    place_slots(formula_.slots, level, base, entry, lanes, slots_.data());
  }
  void run(Level level, int lanes) { run_steps(formula_.steps[int(level)], slots_.data(), lanes); }
  static int chunk(int entries, int most) {
    const int room = 16384 / (entries * W * int(sizeof(double)) + 1);
    return room < 8 ? 8 : room < most ? room : most;
  }
  void point_to_column(int b) {
    place(Level::column, columns_.data() + std::ptrdiff_t(b) * W, std::ptrdiff_t(most_) * W, ~std::ptrdiff_t(0));
  }
  void point_to_row(int a) { place(Level::row, rows_.data() + std::size_t(a) * formula_.entries[1] * W, W, 0); }

  void load_uniform(const Source& from) {
    double* to = slots_.data()[from.load.slot].p;
    for (int k = 0; k < formula_.slots.items[from.load.slot].size; ++k)
      V(from.load.kind == Load::constant ? from.load.value : from.data[k * from.entry]).store(to + k * W);
  }

  void take_row(const double* coordinates, int a) {
    point_to_row(a);
    for (int k = 0; k < formula_.points[0].count; ++k) {
      const int slot = formula_.points[0].items[k].slot;
      for (int e = 0; e < formula_.slots.items[slot].size; ++e)
        copy(coordinates + (std::ptrdiff_t(e) * most_ + a) * W, 1, slots_.data()[slot].p + e * W);
    }
    run(Level::row, W);
  }

  const PairFormula& formula_;
  const int most_, chunk_;
  Buffer<Operand<double>> slots_;
  Buffer<double> uniform_, rows_, columns_, pairs_;
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
