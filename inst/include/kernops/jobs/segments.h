// The arguments of one reduction of segments on the CPU: plain pointers, as in jobs/job.h.
#pragma once
#include <kernops/jobs/job.h>

namespace kernops {

// The number of values that are reduced as one block. Blocks are counted from the first value of their segment, so that
// results do not depend on the distribution of the work. The number is a power of two: a formula joins values in a
// tree, and a block is a subtree of the segment's tree.
constexpr Count segment_block = 4096;

// Groups whose values come in any order. Value n is in group code[n] - base, if this number is at least 0 and less than
// `span`. If not, value n is in no group.
struct GroupCodes {
  const int* code = nullptr;
  int base = 1;
  Count span = 0;
  const int* rows = nullptr;  // row of the result for each group, or -1; null: group n is row n
  bool unchecked = false;     // true if the first pass must check that all codes belong to groups

  explicit operator bool() const { return code != nullptr; }
  __attribute__((always_inline)) Count number(Count n) const {
    const Count group = Count(code[n]) - base;
    return (unsigned long long)(group) < (unsigned long long)(span) ? group : -1;
  }
  // Returns true if one of the first `count` codes is neither NA nor the code of a group. If `unchecked` is false, the
  // codes are not tested.
  __attribute__((always_inline)) bool has_strays(Count count) const {
    if (!unchecked) return false;
    constexpr int lanes = 64;  // a loop of constant length is compiled to vector instructions
    const int low = base, high = span < INT32_MAX - base ? int(base + span) : INT32_MAX;
    int any = 0;
    Count n = 0;
    for (; n + lanes <= count; n += lanes)
      for (int k = 0; k < lanes; ++k) any |= is_stray(code[n + k], low, high);
    for (; n < count; ++n) any |= is_stray(code[n], low, high);
    return any;
  }
  __attribute__((always_inline)) static int is_stray(int code, int low, int high) {
    return int(code >= high) | (int(code < low) & int(code != INT32_MIN));
  }
  __attribute__((always_inline)) Count row(Count group) const { return rows && group >= 0 ? rows[group] : group; }
  __attribute__((always_inline)) Count operator[](Count n) const { return row(number(n)); }
};

// The arguments of a reduction. The members after `softmax` are only for formulas.
struct SegmentJob {
  const Count* offsets;
  const Count *rows, *sources;  // rows null: segment s has row s; sources null: values are in order
  const std::uint32_t* order;   // null: values are in order
  GroupCodes groups;            // groups in any order, for a scattered reduction
  Count count;                  // number of rows of the result

  const void* x;  // doubles, or int32 numbers, of which the smallest is NA
  bool integers;
  Count x_row, x_column;
  const double* weights;
  Count weights_row, weights_column;
  const int* weight_of;  // the weight of row n of x is in row weight_of[n], from 1, of `weights`; null: row n
  const double* masses;  // for weighted means of groups: one mass per row of x
  bool skip_missing;

  double* out;  // output o of column k for row n at out[(o * columns + k) * out_entry + n * out_row]
  Count columns, out_entry, out_row;

  int op;
  bool softmax;
  Span<Slot> slots;  // slots of a formula of the variables 0 and 1
  Span<Load> loads[3];
  Span<Step> steps[4];
  int entries[4];
  int f;

  double& result(int output, Count column, Count row) const {
    return out[(output * columns + column) * out_entry + row * out_row];
  }
  Count row(Count segment) const { return rows ? rows[segment] : segment; }
};

// The memory of a split of a scattered reduction (a part of the rows), in two arrays. Every split writes its bytes of
// `near`; only groups with many values use its bytes of `far`. The arrays are aligned to 64 bytes. Successive splits of
// a column are `near_step` and `far_step` bytes apart.
struct ScatterMemory {
  char *near, *far;
  std::size_t near_step, far_step;
  __attribute__((always_inline)) ScatterMemory split(Count n) const {
    return {near + std::size_t(n) * near_step, far + std::size_t(n) * far_step, near_step, far_step};
  }
};

// The functions of one instruction set for one operation. `scratch` is the memory of a thread; scratch_bytes() returns
// the size of this memory.
struct SegmentEngine {
  std::size_t state_bytes;  // bytes of the state of a block
  std::size_t (*scratch_bytes)(const SegmentJob&, Count values, Count segments);
  // Reduces the segments `first` .. `last` - 1, which are not longer than a block.
  void (*segments)(const SegmentJob&, Count column, Count first, Count last, char* scratch);
  void (*block)(const SegmentJob&, Count column, Count segment, Count number, char* state, char* scratch);
  void (*join)(const SegmentJob&, Count column, Count segment, char* states, Count blocks);
  void (*map)(const SegmentJob&, Count column, Count segment, Count number, const char* joined, char* scratch);
  // `scatter` adds the rows `first` .. `last` - 1 of x to the states of their groups; an additional group collects rows
  // that are in no group. `scatter` returns whether a code is neither NA nor the code of a group. `join_scattered`
  // joins the states of all splits, and returns whether the result of a nonempty group may be NaN.
  bool (*scatter)(const SegmentJob&, Count column, Count first, Count last, ScatterMemory memory, char* scratch);
  bool (*join_scattered)(const SegmentJob&, Count column, ScatterMemory memory, Count splits);
  double (*nothing)(int output);              // result of an empty segment
  std::size_t near_bytes = 0, far_bytes = 0;  // bytes per group in ScatterMemory
};

}  // namespace kernops
