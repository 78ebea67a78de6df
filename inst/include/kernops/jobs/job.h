// One map-reduce on the CPU for its threads: plain pointers, so that code compiled for different instruction sets
// shares only this struct.
#pragma once
#include <kernops/jobs/blocks.h>
#include <kernops/tape.h>

#include <cstddef>
#include <cstdint>

namespace kernops {

// The source of the data of a Load: entry k of item n at data[k * entry + n * item]; an index is first + n + 1 instead.
struct Source {
  Load load;
  const double* data;
  Count entry, item, first;
};

struct LongVector {
  int slot;
  bool direct;  // read from its source: nothing else needs a copy
  Source source;
};

// The sum over the entries of a long vector of the row and one of the column, computed for all pairs of a block of rows
// and a tile before the steps of the pairs run: weighted_square has weights; the difference along another vector (of
// the row or of the column) sums that vector, or its negative, times (row - column).
struct Contraction {
  enum Term { product, square, weighted_square, along_row, along_column } term;
  LongVector row, column, other;
  int weights, out, size;  // slots, and entries
  bool opposite;
  bool reads_other(bool of_row) const { return term == (of_row ? along_row : along_column); }
};

// The summand of a vector sum: the number f of a pair times a vector of the column, times its difference from a vector
// of the row, or times the squares of the difference; plus another number of a pair, or its negative, times another
// vector of the row or of the column, if there is one. The sum is multiplied by a factor of the row, or a negative one.
struct VectorSum {
  enum Term { column_alone, difference, square } term;  // row - column
  LongVector row, column, other;
  int number;  // slot of the other number; 0 for none
  bool other_of_row, opposite;
  int factor;  // slot; 0 for none
  bool negative;
  int size;  // entries; 0 if there is no such sum
  bool reads_other(bool of_row) const { return number != 0 && other_of_row == of_row; }
};

template <class T> struct Span {
  const T* items;
  int count;
};

enum class SumScheme { automatic, direct, block, kahan };

struct Job {
  Span<Slot> slots;
  Span<Source> sources[3];  // indexed by Level; pairs load nothing
  Span<Step> steps[4];      // by Level
  Span<Contraction> contractions;
  int entries[4];            // how many entries each level holds
  int kept;                  // entries of a row that its pairs read; these come first
  int f, w, f_size, w_size;  // the reduced value and its weights: slot 0, the number 1, if there are none
  int factor;                // uniform slot that multiplies a sum entry by entry; 0 for none
  VectorSum sum;             // the sum of f times a vector; w is then not read
  int reduction, k;          // row of reductions.def, and its option K
  SumScheme scheme;
  bool accumulate_double;  // sums of floats are doubles
  bool rows_in_lanes;      // the job is transposed, see kernops/cpu/rows_in_lanes.h
  Count rows, columns;     // columns: the largest number of columns of a row
  const RowBlock* blocks;  // blocks of all rows, in order
  Count block_count;
  const Interval* intervals;
  int tile;       // columns of a tile
  int row_block;  // rows that use the tile while it is in the first-level cache
  // columns that are reduced as one split; depends only on the sizes, so that results do as well
  Count columns_per_split;
  char* partials;  // with several splits: the states to merge, row by row
  double* out;     // entry k of row n at out[k * out_entry + n * out_row]
  Count out_entry, out_row;
  // range of the entries of the result that are positions of columns, from 1: positions .. size - 1
  int positions, size;

  bool merges() const { return splits() > 1 && !rows_in_lanes; }
  Count splits() const { return columns == 0 ? 1 : (columns + columns_per_split - 1) / columns_per_split; }
};

// A unit of work: some rows of a block, with one split of its columns.
struct Unit {
  Count row_begin, row_end, split;
  const RowBlock* block;
};

// Distributes the units; returns false when none are left. keep_going is called before each tile.
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
  std::size_t (*partial_bytes)(const Job&, bool single);  // bytes of the state of one row
  void (*work)(const Job&, bool single, Units&);          // the loop of one thread
  void (*merge)(const Job&, bool single);                 // merges the splits of all rows into out
  SegmentEngine (*segments)(const SegmentJob&);           // jobs/segments.h
};
extern const Engine engine_baseline, engine_avx2, engine_avx512;

}  // namespace kernops
