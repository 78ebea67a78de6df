// Products of panels where floats are asked for: those of digits, by cuBLAS on the units for whole numbers of 8 bits
// (cuda/wide/panel_digits.cuh). Nothing is rounded in them, whatever their size, and they are several times as fast as
// products of floats.
#pragma once
#include <kernops/jobs/panels.h>

#include "cuda/blas.h"
#include "cuda/pairs/device_worker.h"

namespace kernops {
namespace cuda {

// What the products of panels read: from which slots of rows and columns, and how many entries.
struct Products {
  int row, column, size;
  int vector, width;  // of the columns, which are summed; 0 where none are
};

class PanelDigits {
 public:
  static constexpr int most_columns = 2048;  // of a panel
  static Count columns_of_panel(Count columns);
  static Count bytes(const Products& products, Count rows, Count columns);

  // For so many rows at a time, which all meet so many columns.
  PanelDigits(const Task& task, const Products& products, Count rows, Count columns);

  // The contractions of a panel. Digits of all columns are made before the first one.
  void contract(PanelJob& job);
  // Adds the numbers of the pairs times the vectors of the columns.
  void add_up(PanelJob& job) const;

 private:
  // Some vectors, for each of which there is a step.
  struct Vectors {
    Vectors(Count vectors, int places, Count entries);
    Digits digits(Count first = 0) const;
    const int places;
    const Count length;
    const Buffer at, steps;
  };
  struct Numbers {
    const void* items;
    Level level;
    int slot;
    Count count;
  };
  void multiply(const Digits& columns, Count count, const Digits& rows, PanelJob& job) const;
  void take(const Numbers& from, bool entries, const Digits& to, int* odd) const;
  void take_columns(const PanelJob& job) const;
  Count panel_of(const PanelJob& job) const;

  const Task& task_;
  const Products products_;
  const Count rows_, columns_, length_, width_;
  const Vectors row_, column_, vector_, numbers_;
  const Buffer results_;  // of products: of contractions and, later, of sums
  void *make_digits_, *add_products_;
  const void* first_column_ = nullptr;  // of all, once their digits are made
};

}  // namespace cuda
}  // namespace kernops
