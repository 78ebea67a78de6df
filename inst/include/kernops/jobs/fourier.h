// The arguments of the kernels of cuda/fourier, which spread values at points to a periodic grid and interpolate values
// of a grid (src/fourier/spread.h).
#pragma once
#include <kernops/portable.h>

namespace kernops {

// A tile is a cube of cells of the grid; its edge depends on the number of coordinates. A point belongs to the tile
// that contains the first cell of its window.
KERNOPS_FN constexpr int fourier_edge(int d) { return d == 1 ? 256 : d == 2 ? 16 : 8; }
KERNOPS_FN constexpr int fourier_tile_cells(int d) { return d == 3 ? 512 : 256; }
constexpr int fourier_cells_per_thread = 4;
KERNOPS_FN constexpr int fourier_tile_threads(int d) { return fourier_tile_cells(d) / fourier_cells_per_thread; }
constexpr int fourier_threads = 256;  // threads per block of the kernels that do not process tiles

// A grid and its window function: `pieces` has the coefficient of power k in cell j at k * width + j.
struct FourierGrid {
  int size[3], tiles[3];  // cells and tiles along each coordinate; 1 beyond the last coordinate
  int width, degree;
  const double* pieces;
};

// Finds the tiles along coordinate a that contain points whose windows reach tile number `tile`: the `span` tiles from
// `low` on, where tile 0 follows the last tile.
KERNOPS_FN void near_tiles(const FourierGrid& grid, int a, int tile, int edge, int& low, int& span) {
  const int tiles = grid.tiles[a], size = grid.size[a], reach = grid.width - 1;
  const bool all = reach + edge >= size;
  const int farthest = tile * edge - reach + (tile * edge < reach ? size : 0);
  low = all ? 0 : farthest / edge;
  span = all ? tiles : (tile - low + tiles) % tiles + 1;
}

// Points, sorted by tiles.
struct FourierPoints {
  const double* position;  // d coordinates of each point, in cells
  const int* row;          // row of each point
  const int* begin;        // first point of each tile; last element: number of points
  int count;
};

struct PlaceJob {
  FourierGrid grid;
  double origin[3], scale[3];
  const double* x;  // column-major
  int count;
  double* position;     // positions in the order of the rows
  float* tile;          // tile of each row
  const double* order;  // row of each sorted point, from 1
  double* sorted;       // the members of FourierPoints
  int *row, *begin;
};

// A part of the points whose windows reach a tile; one block spreads the values of a unit.
struct SpreadUnit {
  int tile;
  // the points first .. first + count - 1, counted over all tiles of near_tiles() in the order of TileSpread::visit()
  int first, count;
  int place;  // number of the result among the partial results; -1: the unit has all points of its tile
};
struct SplitTile {
  int tile, place, count;  // the tile has `count` partial results from `place`
};
struct SpreadJob {
  FourierGrid grid;
  FourierPoints points;
  const double* values;  // value of each row
  const SpreadUnit* units;
  const SplitTile* split;
  double *partial, *cells;  // partial results of tiles; the grid
};

struct FactorJob {
  double* modes;         // complex numbers
  const double* factor;  // complex numbers
  long long count;
};

struct InterpolateJob {
  FourierGrid grid;
  FourierPoints points;
  const double* cells;
  double* values;  // value of each row
};

}  // namespace kernops
