#include "cuda/pairs/panel_digits.h"

#include <algorithm>

namespace kernops {
namespace cuda {
namespace {

constexpr int places = 3, sum_places = 4;  // of contractions and of sums
constexpr unsigned threads = 256;

// Vectors of 64 bytes and multiples of it are multiplied in two thirds of the time that others take.
Count whole(Count entries) { return ceil_div(entries, 64) * 64; }

SmallNumbers from(const Digits& digits, int place, Count count) {
  return {digits.at + Count(place) * digits.length, count, Count(digits.places) * digits.length};
}

Count panels_of(Count columns) { return ceil_div(columns, PanelDigits::most_columns); }

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

PanelDigits::PanelDigits(const Task& task, const Products& products, Count rows, Count columns)
    : task_(task),
      products_(products),
      rows_(rows),
      columns_(columns),
      length_(columns_of_panel(columns)),
      width_(whole(products.width)),
      row_(rows, places, whole(products.size)),
      // the last panel has as many columns as the others, of which some do not exist
      column_(panels_of(columns) * length_, places, whole(products.size)),
      vector_(panels_of(columns) * width_, sum_places, length_),
      numbers_(width_ > 0 ? rows : 0, sum_places, length_),
      results_(size_t(rows * std::max(places * length_, sum_places * width_)) * sizeof(int)) {
  const std::string text = source(task.plan, task.settings, task.shape).of_pairs();
  make_digits_ = function(text, "kernops_digits"), add_products_ = function(text, "kernops_add_products");
}

Count PanelDigits::bytes(const Products& products, Count rows, Count columns) {
  const Count size = whole(products.size), width = whole(products.width), length = columns_of_panel(columns);
  const Count of_rows = rows * (places * size + sum_places * length + 16);
  const Count of_columns = panels_of(columns) * length * (places * size + sum_places * width + 16);
  return of_rows + of_columns + rows * std::max(places * length, sum_places * width) * Count(sizeof(int));
}

// Vectors of items, or entry by entry those of all these items.
void PanelDigits::take(const Numbers& from, bool entries, const Digits& to, int* odd) const {
  const Count stride = task_.stride(from.level);
  DigitJob job{};
  job.from = static_cast<const double*>(from.items) + task_.plan.slots[from.slot].offset;
  job.item = entries ? 1 : stride, job.entry = entries ? stride : 1;
  job.items = int(entries ? products_.width : from.count), job.entries = int(entries ? from.count : products_.size);
  job.backwards = from.level == Level::column, job.to = to, job.odd = odd;
  launch(make_digits_, unsigned(std::min(job.items, 1 << 16)), 1, threads, &job);
}

void PanelDigits::take_columns(const PanelJob& job) const {
  take({job.columns, Level::column, products_.column, columns_}, false, column_.digits(), job.odd);
  if (products_.width == 0) return;
  const Count bytes = task_.item_bytes(Level::column);
  for (Count first = 0; first < columns_; first += length_) {
    const void* const items = static_cast<const char*>(job.columns) + first * bytes;
    take({items, Level::column, products_.vector, std::min(length_, columns_ - first)}, true,
         vector_.digits(first / length_ * width_), job.odd);
  }
}

Count PanelDigits::panel_of(const PanelJob& job) const {
  const Count bytes = static_cast<const char*>(job.columns) - static_cast<const char*>(first_column_);
  return bytes / task_.item_bytes(Level::column) / length_;
}

// Products of digits whose places have one sum, a product of matrices for each of these sums. Digits of the columns
// stand from the smallest to the largest: those that belong together follow one another on both sides.
void PanelDigits::multiply(const Digits& columns, Count count, const Digits& rows, PanelJob& job) const {
  int* const results = static_cast<int*>(results_.address());
  job.products = results, job.apart = rows_ * count, job.product_width = int(count);
  for (int sum = 0; sum < rows.places; ++sum)
    gemm(from(columns, rows.places - 1 - sum, count), from(rows, 0, whole(job.row_count)),
         (sum + 1) * Count(rows.length), results + sum * job.apart);
}

void PanelDigits::contract(PanelJob& job) {
  if (!first_column_) take_columns(job), first_column_ = job.columns;
  const Digits rows = row_.digits(), columns = column_.digits(panel_of(job) * length_);
  if (job.first) take({job.rows, Level::row, products_.row, job.row_count}, false, rows, job.odd);
  multiply(columns, length_, rows, job);
  job.row_steps = rows.steps, job.column_steps = columns.steps, job.numbers = numbers_.digits();
}

void PanelDigits::add_up(PanelJob& job) const {
  const Digits vectors = vector_.digits(panel_of(job) * width_);
  multiply(vectors, width_, job.numbers, job);
  job.vector_steps = vectors.steps;
  launch(add_products_, unsigned(ceil_div(Count(job.row_count) * job.width, threads)), 1, threads, &job);
}

}  // namespace cuda
}  // namespace kernops
