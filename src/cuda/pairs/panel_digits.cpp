#include "cuda/pairs/panel_digits.h"

#include <algorithm>

namespace kernops {
namespace cuda {
namespace {

constexpr unsigned threads = 256;

// Rounds the length of a vector up to a multiple of 64 bytes. Products of vectors of these lengths take a third less
// time.
Count whole(Count entries) { return ceil_div(entries, 64) * 64; }

SmallNumbers from(const Digits& digits, int place, Count count) {
  return {digits.at + Count(place) * digits.length, count, Count(digits.places) * digits.length};
}

Count panels_of(Count columns) { return ceil_div(columns, PanelDigits::most_columns); }

// Returns how many 32-bit integers store the products of digits for one row, for panels of `length` columns.
Count places_of_results(const PanelPlan& panels, Count length) {
  return std::max(Count(panels.products.size()) * contraction_places * length, sum_places * whole(panels.width));
}

}  // namespace

Count PanelDigits::columns_of_panel(Count columns) { return whole(ceil_div(columns, panels_of(columns))); }

PanelDigits::Vectors::Vectors(Count vectors, int places, Count entries)
    : places(places),
      length(entries),
      at(size_t(vectors * places * entries)),
      steps(size_t(vectors) * sizeof(double)) {}

Digits PanelDigits::Vectors::digits(Count first) const {
  return {static_cast<signed char*>(at.address()) + first * places * length,
          static_cast<double*>(steps.address()) + first, places, int(length)};
}

PanelDigits::PanelDigits(const Task& task, Count rows, Count columns)
    : task_(task),
      panels_(task.plan.panels),
      rows_(rows),
      columns_(columns),
      length_(columns_of_panel(columns)),
      width_(whole(panels_.width)),
      results_(size_t(rows * places_of_results(panels_, length_)) * sizeof(int)) {
  // all panels have the same number of columns; in the last panel, some of these columns do not exist
  const Count panels = panels_of(columns);
  for (const auto& [row, column, size] : panels_.products) {
    row_.try_emplace(row, rows, contraction_places, whole(size));
    column_.try_emplace(column, panels * length_, contraction_places, whole(size));
  }
  for (const PanelPlan::Term& term : panels_.terms) {
    if (term.column == 0) continue;
    vector_.try_emplace(term.column, panels * width_, sum_places, length_);
    numbers_.emplace_back(rows, sum_places, length_);
  }
  const std::string text = source(task.plan, task.settings, task.recipe).of_pairs();
  make_digits_ = function(text, "kernops_digits"), add_products_ = function(text, "kernops_add_products");
}

Count PanelDigits::bytes(const PanelPlan& panels, Count rows, Count columns) {
  const Count width = whole(panels.width), length = columns_of_panel(columns), all = panels_of(columns) * length;
  Count bytes = rows * places_of_results(panels, length) * Count(sizeof(int));
  for (const PanelPlan::Product& product : panels.products)
    bytes += (rows + all) * (contraction_places * whole(product.size) + 8);
  return bytes + panels.adding() * (rows * (sum_places * length + 8) + all * (sum_places * width + 8));
}

// Computes the digits of vectors. A step is the factor that converts digits to a number. Each vector has its own step
// or, if `entries` is true, each entry has a step that all vectors share.
void PanelDigits::take(const Numbers& from, bool entries, const Digits& to, int* odd) const {
  const Count stride = task_.stride(from.level);
  DigitJob job{};
  job.from = static_cast<const double*>(from.items) + task_.plan.slots[from.slot].offset;
  job.item = entries ? 1 : stride, job.entry = entries ? stride : 1;
  job.items = int(entries ? from.size : from.count), job.entries = int(entries ? from.count : from.size);
  job.backwards = from.level == Level::column, job.to = to, job.odd = odd;
  launch(make_digits_, unsigned(std::min(job.items, 1 << 16)), 1, threads, &job);
}

void PanelDigits::take_columns(const PanelJob& job) const {
  const auto from = [&](int slot, Count first, Count count) {
    const void* const items = static_cast<const char*>(job.columns) + first * task_.item_bytes(Level::column);
    return Numbers{items, Level::column, slot, task_.plan.slots[slot].size, count};
  };
  for (const auto& [slot, digits] : column_) take(from(slot, 0, columns_), false, digits.digits(), job.odd);
  for (Count first = 0; first < columns_; first += length_)
    for (const auto& [slot, digits] : vector_)
      take(from(slot, first, std::min(length_, columns_ - first)), true, digits.digits(first / length_ * width_),
           job.odd);
}

Count PanelDigits::panel_of(const PanelJob& job) const {
  const Count bytes = static_cast<const char*>(job.columns) - static_cast<const char*>(first_column_);
  return bytes / task_.item_bytes(Level::column) / length_;
}

// Multiplies vectors of digits. The products of digits i and j with the same sum i + j are computed by one product of
// matrices. The two factors of this product are contiguous, because the digits of a column are stored from the smallest
// to the largest, and the digits of a row in the reverse order.
void PanelDigits::multiply(const Digits& columns, Count count, const Digits& rows, PanelJob& job, int* results) const {
  job.apart = rows_ * count, job.product_width = int(count);
  for (int sum = 0; sum < rows.places; ++sum)
    gemm(from(columns, rows.places - 1 - sum, count), from(rows, 0, whole(job.row_count)),
         (sum + 1) * Count(rows.length), results + sum * job.apart);
}

void PanelDigits::contract(PanelJob& job) {
  if (!first_column_) take_columns(job), first_column_ = job.columns;
  if (job.first)
    for (const auto& [slot, rows] : row_)
      take({job.rows, Level::row, slot, task_.plan.slots[slot].size, job.row_count}, false, rows.digits(), job.odd);
  for (size_t n = 0; n < panels_.products.size(); ++n) {
    const Digits rows = row_.at(panels_.products[n].row).digits();
    const Digits columns = column_.at(panels_.products[n].column).digits(panel_of(job) * length_);
    multiply(columns, length_, rows, job, results() + Count(n) * contraction_places * rows_ * length_);
    job.row_steps[n] = rows.steps, job.column_steps[n] = columns.steps;
  }
  job.products = results();
  for (size_t n = 0; n < numbers_.size(); ++n) job.numbers[n] = numbers_[n].digits();
}

void PanelDigits::add_up(PanelJob& job, int vector, int n) const {
  const Digits vectors = vector_.at(vector).digits(panel_of(job) * width_);
  multiply(vectors, width_, job.numbers[n], job, results());
  job.number_steps = job.numbers[n].steps, job.vector_steps = vectors.steps;
  launch(add_products_, unsigned(ceil_div(Count(job.row_count) * job.width, threads)), 1, threads, &job);
}

}  // namespace cuda
}  // namespace kernops
