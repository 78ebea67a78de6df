// One reduction of segments as the CPU's threads see it: plain pointers, as in jobs/job.h.
#pragma once
#include <kernops/jobs/job.h>

namespace kernops {

// Values that are reduced in one go, from the first of their segment on: no result depends on how the work is
// distributed. A power of two, so that a block of a formula is a subtree of the whole segment.
constexpr Count segment_block = 4096;

// Groups of values in any order: value n is in the group code[n] - base, from 0 and below `span`, or in none.
struct GroupCodes {
  const int* code = nullptr;
  int base = 1;
  Count span = 0;
  const int* rows = nullptr;  // of the result, one for each group, or -1; null: the groups are the rows

  explicit operator bool() const { return code != nullptr; }
  __attribute__((always_inline)) Count number(Count n) const {
    const Count group = Count(code[n]) - base;
    return (unsigned long long)(group) < (unsigned long long)(span) ? group : -1;
  }
  __attribute__((always_inline)) Count row(Count group) const { return rows && group >= 0 ? rows[group] : group; }
  __attribute__((always_inline)) Count operator[](Count n) const { return row(number(n)); }
};

// The arguments of operations of segments.def come first, followed by those of a formula or a softmax.
struct SegmentJob {
  const Count* offsets;
  const Count *rows, *sources;  // null where there are none
  const std::uint32_t* order;   // likewise
  GroupCodes groups;            // of a scattered reduction
  Count count;                  // rows of the result

  const void* x;  // doubles, or int32 with the lowest one for NA
  bool integers;
  Count x_row, x_column;
  const double* weights;
  Count weights_row, weights_column;
  const int* weight_of;  // row n of x has weight weight_of[n], from 1; null: weight n
  const double* masses;  // of a weighted mean of groups, one for each row of x
  bool skip_missing;

  double* out;  // output o of column k for row n at out[(o * columns + k) * out_entry + n * out_row]
  Count columns, out_entry, out_row;

  int op;
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
  std::size_t state_bytes;  // of a block, or of a group of a scattered reduction
  std::size_t (*scratch_bytes)(const SegmentJob&, Count values, Count segments);
  // Segments first .. last - 1, none of them longer than a block.
  void (*segments)(const SegmentJob&, Count column, Count first, Count last, char* scratch);
  void (*block)(const SegmentJob&, Count column, Count segment, Count number, char* state, char* scratch);
  void (*join)(const SegmentJob&, Count column, Count segment, char* states, Count blocks);
  void (*map)(const SegmentJob&, Count column, Count segment, Count number, const char* joined, char* scratch);
  // Rows first .. last - 1 of x into the states of all groups and one more, from an address that is a multiple of 64.
  // The states of all splits, which are `split_bytes` apart, are then joined.
  void (*scatter)(const SegmentJob&, Count column, Count first, Count last, char* states, char* scratch);
  void (*join_scattered)(const SegmentJob&, Count column, char* states, Count splits, std::size_t split_bytes);
  double (*nothing)(int output);  // of an empty segment
};

}  // namespace kernops
