#include "cpu/job.h"

#include <algorithm>

#include "formula/op_table.h"

namespace kernops {
namespace cpu {
namespace {

template <class T> Span<T> span(const std::vector<T>& items) { return {items.data(), int(items.size())}; }

}  // namespace

PreparedJob::PreparedJob(const Plan& plan, const Data& data, const Settings& settings, Count row_begin, Count row_end,
                         const Output& target)
    : Job() {
  rows = row_end - row_begin;
  const Blocks* ranges = data.pairs(plan.rows);
  const Count all_columns = data.length(both & ~plan.rows);
  pairs_ = ranges ? clip(*ranges, row_begin, row_end, 0, all_columns) : all_pairs(rows, all_columns);
  blocks = pairs_.rows.data(), block_count = Count(pairs_.rows.size()), intervals = pairs_.columns.data();
  for (const RowBlock& block : pairs_.rows) columns = std::max(columns, block.columns);
  out = target.data, out_entry = target.entry, out_row = target.row;
  scheme = settings.scheme, accumulate_double = settings.accumulate_double;
  take_plan(plan);
  find_sources(plan, data, row_begin);
  choose_sizes(plan, settings);
}

void PreparedJob::take_plan(const Plan& plan) {
  slots = span(plan.slots);
  for (int level = 0; level < 4; ++level) {
    steps[level] = span(plan.steps[level]);
    entries[level] = plan.entries[level];
  }
  f = plan.f, w = plan.w;
  f_size = plan.f_size, w_size = plan.w_size;
  reduction = plan.reduction.row, k = plan.reduction.k, size = plan.reduction.size;
  positions = first_position(reduction_table()[reduction], size);
}

void PreparedJob::find_sources(const Plan& plan, const Data& data, Count row_begin) {
  for (int level = 0; level < 3; ++level) {
    const Count first = level == int(Level::row) ? row_begin : 0;
    for (const Load& load : plan.loads[level]) {
      const ArrayRef* array = data.array(load);
      Source source{load, nullptr, 0, 0, first};
      if (array) {
        source.data = static_cast<const double*>(array->data) + first * array->item;
        source.entry = array->entry, source.item = array->item;
      }
      sources_[level].push_back(source);
    }
    sources[level] = span(sources_[level]);
  }
}

// What one column touches times the tile should fit the first-level cache, the rows that share it the second.
// Few rows: the columns are split.
void PreparedJob::choose_sizes(const Plan& plan, const Settings& settings) {
  const int bytes = settings.single ? 4 : 8, most = 4096 / bytes;
  for (tile = most; tile > 64 && Count(tile) * bytes * (plan.pair_footprint + 1) > 24 * 1024;) tile /= 2;
  const Count row_bytes = 64 * (Count(plan.entries[int(Level::row)]) + 4 * (f_size + w_size)) + Count(16) * k * f_size;
  const Count part = rows / (4 * settings.threads) + 1;  // something for every thread
  row_block = int(std::max<Count>(1, std::min<Count>({64, 256 * 1024 / row_bytes, part})));
  const Count wanted = std::min<Count>(128 / std::max<Count>(rows, 1), columns / 8192);
  columns_per_split = std::min<Count>(columns / std::max<Count>(wanted, 1) + 1, 1 << 30);
}

void PreparedJob::keep_partials(size_t bytes) {
  if (splits() == 1) return;
  memory_.resize(size_t(rows) * splits() * bytes);
  partials = memory_.data();
}

}  // namespace cpu
}  // namespace kernops
