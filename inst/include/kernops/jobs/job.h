// One map-reduce on the CPU as its threads see it: plain pointers, so that code compiled for different
// instruction sets shares nothing but this.
#pragma once
#include <kernops/jobs/blocks.h>
#include <kernops/tape.h>

#include <cstddef>
#include <cstdint>

namespace kernops {

// Where a Load finds its data: entry k of item n at data[k * entry + n * item]; an index is first + n + 1
// instead.
struct Source {
  Load load;
  const double* data;
  Count entry, item, first;
};

struct LongVector {
  int slot;
  bool direct;  // read where it comes from: nothing else needs it
  Source source;
};

// The sum over the entries of a long vector of the row and one of the column, and for weighted_square of weights, for a
// difference along another vector, of the row or of the column, of that or its opposite times (row - column): for all
// pairs of a block of rows and a tile, before its steps run.
struct Contraction {
  enum Term { product, square, weighted_square, along_row, along_column } term;
  LongVector row, column, other;
  int weights, out, size;  // slots, and entries
  bool opposite;
  bool reads_other(bool of_row) const { return term == (of_row ? along_row : along_column); }
};

// The summand of a vector sum: the number f of a pair times a vector of the column, its difference to a vector of the
// row, or the squares of the difference; plus another number of a pair, or its opposite, times another vector of the
// row or of the column, if there is one. The sum is multiplied by a factor of the row, or a negative one.
struct VectorSum {
  enum Term { column_alone, difference, square } term;  // row - column
  LongVector row, column, other;
  int number;  // slot of the other number; 0 for none
  bool other_of_row, opposite;
  int factor;  // slot; 0 for none
  bool negative;
  int size;  // entries; 0 where there is no such sum
  bool reads_other(bool of_row) const { return number != 0 && other_of_row == of_row; }
};

template <class T> struct Span {
  const T* items;
  int count;
};

enum class SumScheme { automatic, direct, block, kahan };

struct Job {
  Span<Slot> slots;
  Span<Source> sources[3];  // by Level; pairs load nothing
  Span<Step> steps[4];      // by Level
  Span<Contraction> contractions;
  int entries[4];            // how many entries each level holds
  int kept;                  // those of a row that its pairs read, which come first
  int f, w, f_size, w_size;  // what is reduced, and its weights: slot 0, the number 1, where there are none
  int factor;                // what is there once, to multiply a sum entry by entry; slot 0 for nothing
  VectorSum sum;             // of f times that; then w is not read
  int reduction, k;          // row of reductions.def, and its option K
  SumScheme scheme;
  bool accumulate_double;  // sums of floats are doubles
  bool rows_in_lanes;      // the job is transposed, see kernops/cpu/rows_in_lanes.h
  Count rows, columns;     // columns: the most that a row meets
  const RowBlock* blocks;  // of all rows, in order
  Count block_count;
  const Interval* intervals;
  int tile;                 // columns of a tile
  int row_block;            // rows that share the tile in the first-level cache
  Count columns_per_split;  // that are reduced in one go; a function of the sizes alone, so that results are too
  char* partials;           // where there are several splits: the states to merge, row by row
  double* out;              // entry k of row n at out[k * out_entry + n * out_row]
  Count out_entry, out_row;
  int positions, size;  // which entries of the result are positions of columns, from 1: positions .. size - 1

  bool merges() const { return splits() > 1 && !rows_in_lanes; }
  Count splits() const { return columns == 0 ? 1 : (columns + columns_per_split - 1) / columns_per_split; }
};

// A part of the work: some rows of a block, one split of its columns.
struct Unit {
  Count row_begin, row_end, split;
  const RowBlock* block;
};

// Hands out the units, false when there are none left; keep_going is asked before each tile.
struct Units {
  bool (*next)(Units*, Unit*);
  bool (*keep_going)(Units*);
};

struct SegmentJob;
struct SegmentEngine;

// The functions of one instruction set.
struct Engine {
  const char* name;
  int pack_bytes;
  std::size_t (*partial_bytes)(const Job&, bool single);  // the state of one row
  void (*work)(const Job&, bool single, Units&);          // one thread's loop
  void (*merge)(const Job&, bool single);                 // the splits of all rows, into out
  SegmentEngine (*segments)(const SegmentJob&);           // jobs/segments.h
};
extern const Engine engine_baseline, engine_avx2, engine_avx512;

}  // namespace kernops
