// One reduction of segments as the CPU's threads see it: plain pointers, as in jobs/job.h.
#pragma once
#include <kernops/jobs/job.h>

namespace kernops {

// Values that are reduced in one go, from the first of their segment on: no result depends on how the work is
// distributed. A power of two, so that a block of a formula is a subtree of the whole segment.
constexpr Count segment_block = 4096;

// How the terms of a sum by groups in any order are added: plainly where they are few, by tiles where the
// states of all rows are so few that they can be settled often, else with compensation of every term.
enum class Scatter { plain, tiles, careful };

// So many values are added before the states of all rows are settled, about 64 for each row.
constexpr Count scatter_window(Count rows) { return rows < 32 ? 64 * (rows < 1 ? 1 : rows) : rows / 32 * 2048; }

// The arguments of operations of segments.def come first, followed by those of a formula or a softmax.
struct SegmentJob {
  const Count* offsets;
  const Count *rows, *sources;  // null where there are none
  const std::uint32_t* order;   // likewise
  const int* groups;            // of a scattered reduction
  Count count;                  // rows of the result

  const void* x;  // doubles, or int32 with the lowest one for NA
  bool integers;
  Count x_row, x_column;
  const double* weights;
  Count weights_row, weights_column;
  const int* weight_of;  // row n of x has weight weight_of[n], from 1; null: weight n
  bool skip_missing;

  double* out;  // output o of column k for row n at out[(o * columns + k) * out_entry + n * out_row]
  Count columns, out_entry, out_row;

  int op;
  Scatter scatter;
  bool softmax;
  Span<Slot> slots;  // of a formula of the variables 0 and 1
  Span<Load> loads[3];
  Span<Step> steps[4];
  int entries[4];
  int f;

  double& result(int output, Count column, Count row) const {
    return out[(output * columns + column) * out_entry + row * out_row];
  }
  Count row(Count segment) const { return rows ? rows[segment] : segment; }
};

// How one instruction set does one operation. Scratch is memory of a thread, of the bytes that
// scratch_bytes() says.
struct SegmentEngine {
  std::size_t state_bytes;  // of a block, or of a row of a scattered reduction
  std::size_t (*scratch_bytes)(const SegmentJob&, Count values, Count segments);
  // Segments first .. last - 1, none of them longer than a block.
  void (*segments)(const SegmentJob&, Count column, Count first, Count last, char* scratch);
  void (*block)(const SegmentJob&, Count column, Count segment, Count number, char* state, char* scratch);
  void (*join)(const SegmentJob&, Count column, Count segment, char* states, Count blocks);
  void (*map)(const SegmentJob&, Count column, Count segment, Count number, const char* joined, char* scratch);
  // Rows first .. last - 1 of x into the states of all rows of the result, which are then joined.
  void (*scatter)(const SegmentJob&, Count column, Count first, Count last, char* states, char* scratch);
  void (*join_scattered)(const SegmentJob&, Count column, char* states, Count splits);
  double (*nothing)(int output);  // of an empty segment
};

}  // namespace kernops
