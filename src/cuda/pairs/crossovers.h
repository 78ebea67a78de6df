// Measured limits between the GPU kernels that reduce all pairs. choose.cpp reads them to choose a kernel;
// contraction.cpp, expansion.cpp and nearest.cpp read them to lay out a plan. "Entries" are entries of a vector. The
// letter in front of each comment says where and when a limit was measured; the tables are in bench/HISTORY.md, "GPU"
// and "Beside torch on a GPU":
//   a  2026-11-21 and 22, H200, bench/gpu.R and bench/long_vectors.R
//   b  2026-11-24, H200, bench/beside_torch.R
//   c  2026-11-25, H100, bench/beside_torch.R float32: digits, softmax, nearest columns
//   d  2026-11-26, H100 and H200, bench/beside_torch.R float32: warp groups, products of 16 bits, Hessians
//   e  2026-11-28, H200, float64: gradients of products, sums of 32 to 128 columns, softmax
//   f  2026-11-30, H200, bench/verbs_gpu.R
//   m  not measured: a limit of memory, of registers by the compiler's report, or of the numbers themselves
#pragma once
#include "run/data.h"

namespace kernops {
namespace crossover {

// Limits between two main loops: rows in the registers of a thread, and tiles. The first two limits are estimated
// numbers of registers of a row.
constexpr int any_tiles = 15;         // a  tiles are never used up to this limit
constexpr int row_too_long = 72;      // a  tiles are always used above this limit
constexpr int product_by_tiles = 32;  // a  minimum entries of an inner product outside an exponent
constexpr int columns_by_tiles = 14;  // c  minimum entries of a summed vector of the column
// m  maximum number of registers of a row; registers that a thread lacks become local memory, which a device reserves
// for every thread that it can run
constexpr int most_registers = 16384;

// Contractions and vector sums by tiles: minimum numbers of entries, and the maximum number of contractions. An entry
// of a vector may be computed from at most `most_leaves` vectors of each level (row, column, uniform).
// a, d  entries of contracted vectors; the second limit is for sums, and the first limit for other reductions
constexpr int contracted = 16, contracted_by_sums = 11;
// d  entries of vectors in inner products, if the reduced value f or its weights w have several entries
constexpr int product_beside_states = 24;
// a, c  entries of a reduced vector; the first limit is for sums, and the second limit for other reductions
constexpr int summed = 8, reduced_by_entries = 48;
// m  maximum number of contractions of a plan; maximum number of vectors of one level from which an entry is computed
constexpr int most_contractions = 4, most_leaves = 2;
constexpr int most_numbers = 4;  // d  how many numbers of a pair the entries of a sum may read
// c  searches for nearest columns: minimum entries for distances and for inner products, and maximum k
constexpr int nearest = 6, nearest_product = 16, most_k = 256;

// Narrow main loop: limits for the rows of a thread, the columns that are unrolled, and the threads of a block.
constexpr int four_rows_squared = 12, four_rows = 22, two_rows_float = 48, two_rows_double = 24;  // a  registers
// a  a thread has 3 rows only if the sum has at least `three_rows_sum` entries, and a row at most `three_rows`
// registers
constexpr int three_rows_sum = 8, three_rows = 40;
constexpr int rows_of_a_processor = 64;        // a  minimum rows per multiprocessor, divided by the rows of a thread
constexpr int many_rows_of_a_processor = 256;  // a  minimum rows per multiprocessor for blocks of 256 threads
constexpr Count few_rows = 128;                // a  up to this number of rows, blocks compute the columns of tiles
// m  threads compute their rows if there are at most `few_columns` columns (one split), and at least
// `rows_of_few_columns` rows
constexpr Count few_columns = 256, rows_of_few_columns = 1 << 16;
constexpr int made_row = 32;   // m  maximum entries of a row that its thread computes, in local memory
constexpr int much_work = 64;  // a  instructions of a pair; above this limit, threads have one row and unroll nothing
// a  number of unrolled columns for floats, for doubles or roots, and for 3 rows per thread
constexpr int unrolled = 8, unrolled_slow = 4, unrolled_three = 16;

// Wide main loop. Up to the first three limits, the threads that hold the inner products also evaluate the pairs. The
// other constants limit the size of tiles.
// a  instructions of a pair, and numbers that a pair reads of its row and of its column
constexpr int little_work = 16, kept_of_row = 8, kept_of_column = 16;
constexpr int short_contraction = 64;     // a  maximum entries for tiles with 64 columns
constexpr int totals_in_registers = 256;  // c  maximum entries of a sum
constexpr int shared_bytes = 48 * 1024;   // m  shared memory that a block can use on every GPU

// Warp groups (four warps that multiply together): limits of the number of contracted entries.
constexpr int warpgroups = 33, warpgroups_summed = 448;  // d  minimum, and maximum with a vector sum
constexpr int resident_rows = 320;                       // m  maximum entries if rows stay in shared memory
// m  maximum number of values that a pair reads of its column if there are more than 400 contracted entries
constexpr int summed_kept = 8, summed_beside_kept = 400;
constexpr int kept = 4, beside_kept = 304;  // m  the same limits without a vector sum
constexpr int values_by_warpgroups = 896;   // d  maximum without a vector sum; above this limit: panels

// Panels: minimum numbers of contracted or summed entries, at which panels become faster than tiles.
struct Panels {
  int several;  // minimum contracted entries if a pair has several numbers
  // for sums with exponential weights: minimum of contracted plus summed entries, and minimum of summed entries alone
  int weighed, weighed_columns;
  int differences, differences_careful;  // for gradients; the second limit is for sums without tensor cores
  int summed_columns;                    // contracted entries if a sum has at least `panel_columns` entries
  int summed_wide;                       // contracted entries if a sum has at least `panel_wide` entries
  int values;
};
constexpr Panels doubles{24, 208, 113, 112, 112, 224, 96, 512};  // b, c, d, e  the members of Panels in order
constexpr Panels digits{48, 320, 128, 256, 128, 320, 320, 448};  // c, d  the members of Panels in order
constexpr int panel_wide = 113;                                  // e  minimum entries of a wide sum
// b, c  minimum entries of a sum, and minimum contracted entries for sums with exponential weights
constexpr int panel_columns = 32, weighed_contracted = 448;
constexpr int longest_digits = 1 << 15;  // m  maximum entries: sums of products of digits stay below 2^31
constexpr Count panel_rows = 512;        // b  minimum number of rows and of columns

// Lists of nearest columns: the minimum number of columns per multiprocessor, and the minimum 2^bits of the quotient
// (pairs times entries) / (squared number of multiprocessors).
struct Lists {
  Count columns, bits;
};
constexpr Lists lists{16, 19}, lists_of_long{4, 17};  // c, f  limits in general, and for long vectors
constexpr int long_listed = 64;                       // f  minimum entries of long vectors
constexpr Count list_rows = 512;                      // c  minimum number of rows
constexpr Count most_listed = Count(1) << 30;         // m  maximum number of rows and of columns

}  // namespace crossover
}  // namespace kernops
