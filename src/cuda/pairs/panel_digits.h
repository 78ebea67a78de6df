// Products of panels (parts of the matrix of all pairs) if the user requests float32. Each number is split into digits,
// and cuBLAS multiplies the digits on the 8-bit integer units (cuda/wide/panel_digits.cuh). The integer products of
// digits are exact, and several times as fast as products of floats.
#pragma once
#include <kernops/jobs/panels.h>

#include <deque>
#include <map>

#include "cuda/blas.h"
#include "cuda/pairs/device_worker.h"

namespace kernops {
namespace cuda {

class PanelDigits {
 public:
  static constexpr int most_columns = 2048;  // maximum number of columns of a panel
  static Count columns_of_panel(Count columns);
  static Count bytes(const PanelPlan& panels, Count rows, Count columns);

  // Allocates memory for all `columns` columns, and for the `rows` rows that are processed at a time.
  PanelDigits(const Task& task, Count rows, Count columns);

  // Computes the contractions of a panel. The first call computes the digits of all columns.
  void contract(PanelJob& job);
  // For each column of the panel, adds number n of the pair times a vector of the column to the sum of the row.
  void add_up(PanelJob& job, int vector, int n) const;

 private:
  // The digits of some vectors, and the step of each vector: the factor that converts digits to numbers
  // (jobs/panels.h).
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
    int slot, size;
    Count count;
  };
  using BySlot = std::map<int, Vectors>;
  void multiply(const Digits& columns, Count count, const Digits& rows, PanelJob& job, int* results) const;
  void take(const Numbers& from, bool entries, const Digits& to, int* odd) const;
  void take_columns(const PanelJob& job) const;
  Count panel_of(const PanelJob& job) const;
  int* results() const { return static_cast<int*>(results_.address()); }

  const Task& task_;
  const PanelPlan& panels_;
  const Count rows_, columns_, length_, width_;
  BySlot row_, column_, vector_;
  std::deque<Vectors> numbers_;
  const Buffer results_;  // results of the products of digits, first for contractions and later for sums
  void *make_digits_, *add_products_;
  const void* first_column_ = nullptr;  // address of the first column; null before contract()
};

}  // namespace cuda
}  // namespace kernops
