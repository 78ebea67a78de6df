// Sums long vectors over pairs. The matrix of all pairs is divided into panels of some thousand rows and columns.
// cuBLAS computes the contractions of a panel as a product of matrices. A kernel replaces the contractions by the
// numbers of the pairs (cuda/wide/panels.cuh). Then cuBLAS multiplies these numbers by the vectors of the columns, and
// adds the product to the sums of the rows. All numbers are doubles; if the user requests floats, products are computed
// from digits (cuda/pairs/panel_digits.h). If numbers are not finite, or if points are too far apart for the norm
// expansion, tiles reduce the pairs instead.
#include <algorithm>

#include "cuda/pairs/device_worker.h"
#include "cuda/pairs/panel_digits.h"

namespace kernops {
namespace cuda {
namespace {

constexpr int panel_columns = 1024;  // number of columns of a panel of doubles
constexpr Count most_rows = 1 << 14;

bool digits(const Task& task) { return task.recipe.atom == Atom::digits; }

}  // namespace

// The device memory that panels need, and the steps of their computation.
class PanelSums {
 public:
  PanelSums(const Task& task, const Levels& levels, Count rows, Count columns)
      : task_(task),
        levels_(levels),
        panels_(task.plan.panels),
        rows_(at_a_time(task, rows)),
        columns_(digits(task) ? PanelDigits::columns_of_panel(columns) : panel_columns),
        pairs_(digits(task) ? 0 : size_t(kinds_of_pairs(panels_) * rows_ * panel_columns) * sizeof(double)),
        sums_(size_t(rows_ * panels_.width) * sizeof(double)),
        totals_(size_t(rows_ * Count(panels_.terms.size())) * sizeof(double)),
        shifts_(size_t(rows_) * sizeof(double)),
        odd_(sizeof(int)) {
    const int none = 0;
    copy_in(odd_.pointer(), &none, sizeof none);
    if (digits(task)) digits_ = std::make_unique<PanelDigits>(task, rows_, columns);
  }

  static Count bytes(const Task& task, Count rows, Count columns) {
    const PanelPlan& panels = task.plan.panels;
    const Count some = at_a_time(task, rows), numbers = some * (panels.width + Count(panels.terms.size()) + 1);
    if (digits(task)) return numbers * Count(sizeof(double)) + PanelDigits::bytes(panels, some, columns);
    return (numbers + kinds_of_pairs(panels) * some * panel_columns) * Count(sizeof(double));
  }
  Count columns() const { return columns_; }
  Count rows() const { return rows_; }

  PanelJob job(Range rows, Range columns) const {
    PanelJob job{};
    job.once = levels_.once.address();
    job.rows = item(levels_.x, Level::row, rows.begin), job.columns = item(levels_.y, Level::column, columns.begin);
    job.pairs = doubles(pairs_), job.sums = doubles(sums_), job.shifts = doubles(shifts_);
    job.kinds_apart = rows_ * panel_columns;
    job.totals = doubles(totals_), job.odd = static_cast<int*>(odd_.address());
    job.row_count = int(rows.count()), job.column_count = int(columns.count()), job.width = panels_.width;
    job.first = columns.begin == 0;
    return job;
  }

  // Computes the contractions of a panel.
  void contract(PanelJob& job) const {
    if (digits_) return digits_->contract(job);
    for (size_t n = 0; n < panels_.products.size(); ++n) {
      const auto& [row, column, size] = panels_.products[n];
      gemm(1, vectors(job.columns, column, size, job.column_count), true, vectors(job.rows, row, size, job.row_count),
           false, 0, pairs(job, int(n)));
    }
  }
  // Multiplies the numbers of a panel by the vectors of its columns, and adds the products to the sums.
  void add_up(PanelJob& job) const {
    int kind = 0;
    for (const PanelPlan::Term& term : panels_.terms) {
      if (term.column == 0) continue;
      job.adds = !job.first || kind > 0;
      if (digits_)
        digits_->add_up(job, term.column, kind);
      else
        gemm(1, vectors(job.columns, term.column, panels_.width, job.column_count), false, pairs(job, kind), false,
             job.adds, {job.sums, job.width, job.row_count, job.width});
      ++kind;
    }
  }

  bool is_odd() const {
    int odd;
    copy_out(&odd, odd_.pointer(), sizeof odd);
    return odd != 0;
  }

 private:
  // Returns the number of rows of a panel. All panels have nearly the same number of rows, which depends only on the
  // total number of rows, and not on the free memory. Panels of digits have half as many rows, because they have twice
  // as many columns, and three results for each pair.
  static Count at_a_time(const Task& task, Count rows) {
    const Count parts = ceil_div(rows, digits(task) ? most_rows / 2 : most_rows);
    return (ceil_div(rows, parts) + 127) / 128 * 128;
  }
  // Returns the number of matrices that a panel needs. A matrix first contains a contraction for each pair; later, a
  // number of the pair overwrites this contraction.
  static int kinds_of_pairs(const PanelPlan& panels) { return std::max(int(panels.products.size()), panels.adding()); }
  static double* doubles(const Buffer& buffer) { return static_cast<double*>(buffer.address()); }

  const void* item(const Buffer& level, Level which, Count n) const {
    return static_cast<const char*>(level.address()) + n * task_.item_bytes(which);
  }
  // Returns the vectors of `count` items as a matrix with one column per vector; cuBLAS only reads this matrix.
  Panel vectors(const void* items, int slot, Count size, Count count) const {
    const Slot& s = task_.plan.slots[slot];
    double* const first = static_cast<double*>(const_cast<void*>(items)) + s.offset;
    return {first, size, count, task_.stride(s.level)};
  }
  static Panel pairs(const PanelJob& job, int kind) {
    return {job.pairs + kind * job.kinds_apart, job.column_count, job.row_count, panel_columns};
  }

  const Task& task_;
  const Levels& levels_;
  const PanelPlan& panels_;
  const Count rows_, columns_;
  const Buffer pairs_, sums_, totals_, shifts_, odd_;
  std::unique_ptr<PanelDigits> digits_;
};

Count DeviceWorker::bytes_of_panels(const Task& task, Count rows, Count columns) {
  return PanelSums::bytes(task, rows, columns);
}

bool DeviceWorker::reduce_by_panels(const Part& part, const PairJob& out) {
  const Task& task = part.task;
  const Count rows_here = part.rows.count(), columns_here = part.columns.count();
  const PanelSums sums(task, part.levels, rows_here, columns_here);
  const unsigned threads = unsigned(task.recipe.threads);
  for (Range rows{0, 0}; rows.begin < rows_here; rows.begin = rows.end) {
    rows.end = std::min(rows.begin + sums.rows(), rows_here);
    PanelJob job{};
    for (Range columns{0, 0}; columns.begin < columns_here; columns.begin = columns.end) {
      columns.end = std::min(columns.begin + sums.columns(), columns_here);
      job = sums.job(rows, columns);
      sums.contract(job);
      const Count blocks = ceil_div(rows.count(), task.recipe.rows_per_thread);
      launch(kernels_->pairs, unsigned(std::min(filled(), blocks)), 1, threads, &job);
      if (rows.begin == 0 && job.first && sums.is_odd()) return false;
      sums.add_up(job);
    }
    job.out = out.out + rows.begin * out.out_row, job.out_entry = out.out_entry, job.out_row = out.out_row;
    launch(kernels_->merge, unsigned(ceil_div(rows.count() * task.plan.reduction.size, threads)), 1, threads, &job);
    if (rows.end == rows_here) break;
    synchronize();
    if (part.watch && !part.watch(double(rows.end) / double(rows_here))) throw Interrupted();
  }
  return !sums.is_odd();
}

}  // namespace cuda
}  // namespace kernops
