// Cholesky factors of many small matrices, with one matrix in each lane of a pack. A matrix is stored as blocks of B x
// B packs, so that the sums of a block stay in registers.
#pragma once
#include <kernops/simd/pack.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// With block size B = 4, a block has 16 accumulators, which fit into 32 registers.
#if KERNOPS_SIMD == 3
#define KERNOPS_BLOCK 4
#define KERNOPS_EACH_IN_BLOCK(i) _Pragma("GCC unroll 4") for (int i = 0; i < 4; ++i)
#else
#define KERNOPS_BLOCK 2
#define KERNOPS_EACH_IN_BLOCK(i) _Pragma("GCC unroll 2") for (int i = 0; i < 2; ++i)
#endif

struct SetBlock {
  static constexpr int size = KERNOPS_BLOCK;
  Pack<double> at[size][size];  // in column-major order: element (r, c) is at[c][r]

  // Computes this -= a b'.
  KERNOPS_INLINE void subtract_product(const SetBlock& a, const SetBlock& b) {
    KERNOPS_EACH_IN_BLOCK(k)
      KERNOPS_EACH_IN_BLOCK(c)
        KERNOPS_EACH_IN_BLOCK(r) at[c][r] = fma(-b.at[k][c], a.at[k][r], at[c][r]);
  }

  // Computes this = this L'^-1, where the factor L stores the inverse of its diagonal.
  KERNOPS_INLINE void divide(const SetBlock& l) {
    KERNOPS_EACH_IN_BLOCK(c) {
      KERNOPS_EACH_IN_BLOCK(k)
        if (k < c)
          KERNOPS_EACH_IN_BLOCK(r) at[c][r] = fma(-l.at[k][c], at[k][r], at[c][r]);
      KERNOPS_EACH_IN_BLOCK(r) at[c][r] *= l.at[c][c];
    }
  }

  // Replaces this block by its Cholesky factor, which stores the inverses of the diagonal entries. The entries become
  // NaN if the block is not positive definite.
  KERNOPS_INLINE void factor() {
    KERNOPS_EACH_IN_BLOCK(c) {
      KERNOPS_EACH_IN_BLOCK(k)
        if (k < c)
          KERNOPS_EACH_IN_BLOCK(r)
            if (r >= c) at[c][r] = fma(-at[k][c], at[k][r], at[c][r]);
      const Pack<double> inverse = Pack<double>(1) / sqrt(at[c][c]);
      at[c][c] = inverse;
      KERNOPS_EACH_IN_BLOCK(r)
        if (r > c) at[c][r] *= inverse;
    }
  }
};

// The lower triangle of a matrix of `blocks` rows of blocks.
struct SetTriangle {
  SetBlock* at;
  int blocks;
  static std::size_t count(int blocks) { return std::size_t(blocks) * (blocks + 1) / 2; }
  KERNOPS_INLINE SetBlock* row(int i) const { return at + std::ptrdiff_t(i) * (i + 1) / 2; }
  KERNOPS_INLINE Pack<double>& element(int a, int b) const {
    constexpr int B = SetBlock::size;
    return row(a / B)[b / B].at[b % B][a % B];
  }
};

// Solves a system whose right-hand sides are the rows of X: replaces the first `count` blocks in one row of blocks by
// the corresponding blocks of X L'^-1.
inline void solve_blocks(SetBlock* x, const SetTriangle& l, int count) {
  for (int j = 0; j < count; ++j) {
    const SetBlock* lj = l.row(j);
    SetBlock sum = x[j];
    for (int k = 0; k < j; ++k) sum.subtract_product(x[k], lj[k]);
    sum.divide(lj[j]);
    x[j] = sum;
  }
}

// Factors K = L L' in place; the diagonal of L is stored as its inverse.
inline void factor_sets(const SetTriangle& k) {
  for (int i = 0; i < k.blocks; ++i) {
    SetBlock* row = k.row(i);
    solve_blocks(row, k, i);
    SetBlock sum = row[i];
    for (int j = 0; j < i; ++j) sum.subtract_product(row[j], row[j]);
    sum.factor();
    row[i] = sum;
  }
}

// Computes L'^-1 u without the last row and the last column of L.
inline void solve_transposed(const SetTriangle& l, Pack<double>* u) {
  for (int a = l.blocks * SetBlock::size - 2; a >= 0; --a) {
    u[a] *= l.element(a, a);
    for (int b = 0; b < a; ++b) u[b] = fma(-l.element(a, b), u[a], u[b]);
  }
}

// Computes the contrast of a set: the last row of L^-1, divided by the last entry of this row. The entry for the point
// of the set is 1. The entry for a neighbour is minus the weight of the neighbour in the conditional mean of the point.
inline void contrast_weights(const SetTriangle& l, Pack<double>* u) {
  const int n = l.blocks * SetBlock::size;
  for (int b = 0; b < n - 1; ++b) u[b] = -l.element(n - 1, b);
  u[n - 1] = 1;
  solve_transposed(l, u);
}

// Columns of right-hand sides in the layout of solve_blocks(). element(a, c) is value a of column c.
struct SetColumns {
  SetBlock* at;
  int blocks;  // number of blocks of a row
  static constexpr int B = SetBlock::size;
  static int rows(int columns) { return (columns + B - 1) / B; }
  SetBlock* row(int i) const { return at + std::ptrdiff_t(i) * blocks; }
  KERNOPS_INLINE Pack<double>& element(int a, int c) const { return row(c / B)[a / B].at[a % B][c % B]; }
  void clear(int columns) const { std::memset(static_cast<void*>(at), 0, sizeof(SetBlock) * rows(columns) * blocks); }
  void solve(const SetTriangle& l, int columns) const {
    for (int i = 0; i < rows(columns); ++i) solve_blocks(row(i), l, blocks);
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
