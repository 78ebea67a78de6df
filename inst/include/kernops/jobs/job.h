// The arguments of one map-reduce on the CPU: structs of plain pointers. Code that is compiled for different
// instruction sets shares only these structs.
#pragma once
#include <kernops/jobs/blocks.h>
#include <kernops/tape.h>

#include <cstddef>
#include <cstdint>

namespace kernops {

// The source of the data of a Load (a value of a row or column that is read from input). Entry k of item n (a row or
// column) is data[k * entry + n * item]. A Load of kind `index` has no data, but the value first + n + 1.
struct Source {
  Load load;
  const double* data;
  Count entry, item, first;
};

struct LongVector {
  int slot;
  bool direct;  // true if the vector is read from its source, without a copy
  Source source;
};

// A contraction of a long vector of the row and a long vector of the column: the sum of a term over the entries.
// Contractions are computed for all pairs of a block of rows and a tile, before the steps of the pairs run. The term
// `weighted_square` has weights. The terms `along_row` and `along_column` are (row - column) times another vector of
// the row or of the column, or times the negative of this vector.
struct Contraction {
  enum Term { product, square, weighted_square, along_row, along_column } term;
  LongVector row, column, other;
  int weights, out, size;  // slots of the weights and of the result; number of entries
  bool opposite;
  bool reads_other(bool of_row) const { return term == (of_row ? along_row : along_column); }
};

// A vector sum over the columns. The summand is a scalar f of the pair times one of three vectors: a vector of the
// column; the difference between a vector of the row and a vector of the column; or the squares of this difference. A
// second product may be added to the summand: another scalar of the pair, or its negative, times another vector of the
// row or of the column. The sum is multiplied by a factor of the row, possibly with a negative sign.
struct VectorSum {
  enum Term { column_alone, difference, square } term;  // difference: row - column
  LongVector row, column, other;
  int number;  // slot of the second scalar; 0 for none
  bool other_of_row, opposite;
  int factor;  // slot of the factor of the row; 0 for none
  bool negative;
  int size;  // number of entries; 0 if the job has no vector sum
  bool reads_other(bool of_row) const { return number != 0 && other_of_row == of_row; }
};

template <class T> struct Span {
  const T* items;
  int count;
};

enum class SumScheme { automatic, direct, block, kahan };

struct Job {
  Span<Slot> slots;
  Span<Source> sources[3];  // indexed by Level; pairs have no sources
  Span<Step> steps[4];      // indexed by Level
  Span<Contraction> contractions;
  int entries[4];            // number of entries at each level
  int kept;                  // number of entries of a row that pairs read; these entries come first
  int f, w, f_size, w_size;  // slots of the reduced value and its weights; slot 0 is the number 1
  int factor;                // slot of a uniform vector that multiplies a sum entry by entry; 0 for none
  VectorSum sum;             // a sum of f times a vector; such a sum does not read w
  int reduction, k;          // row of reductions.def, and its option K
  SumScheme scheme;
  bool accumulate_double;  // true if sums of floats are computed in doubles
  bool rows_in_lanes;      // true if the job is transposed (kernops/cpu/rows_in_lanes.h)
  Count rows, columns;     // columns: maximum number of columns of a row
  const RowBlock* blocks;  // blocks of all rows, in order
  Count block_count;
  const Interval* intervals;
  int tile;       // number of columns of a tile
  int row_block;  // number of rows that use a tile while it is in the first-level cache
  // number of columns that are reduced as one split; depends only on the sizes, so that results do not depend on
  // threads
  Count columns_per_split;
  char* partials;  // states to merge, row by row, if there are several splits
  double* out;     // entry k of row n at out[k * out_entry + n * out_row]
  Count out_entry, out_row;
  // the entries `positions` .. `size` - 1 of the result are positions of columns, from 1
  int positions, size;

  bool merges() const { return splits() > 1 && !rows_in_lanes; }
  Count splits() const { return columns == 0 ? 1 : (columns + columns_per_split - 1) / columns_per_split; }
};

// A unit of work: some rows of a block, with one split of the block's columns.
struct Unit {
  Count row_begin, row_end, split;
  const RowBlock* block;
};

// Distributes the units of work: next() stores the next unit, or returns false if no unit is left. Threads call
// keep_going() before each tile, and stop if keep_going() returns false.
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
