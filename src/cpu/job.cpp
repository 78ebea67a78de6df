#include "cpu/job.h"

#include <algorithm>

#include "formula/op_table.h"

namespace kernops {
namespace cpu {
namespace {

template <class T> Span<T> span(const std::vector<T>& items) { return {items.data(), int(items.size())}; }

bool sums_by_tiles(const Plan& plan, SumScheme scheme) {
  return reduction_table()[plan.reduction.row].sums() && (scheme == SumScheme::automatic || scheme == SumScheme::block);
}

// Returns whether SIMD lanes should run along the rows instead of the columns. This saves time if there are few columns
// (up to 160 for sums or extrema) and many rows, because lanes along the columns take a fixed time for each row
// (measured in bench/verbs.R). Reductions such as KMin, which keep a list for each row, and reductions that store
// values do not support lanes along the rows.
bool suits_lanes(const Plan& plan, const Data& data, Count rows) {
  constexpr Count most = 160, rows_each = 8;
  const ReductionRow& reduction = reduction_table()[plan.reduction.row];
  const Count columns = data.length(both & ~plan.rows), entries = std::max(plan.f_size, plan.w_size);
  return !reduction.stores() && !reduction.counted && !data.pairs(plan.rows) && columns > 0 &&
         columns * entries <= most && rows >= rows_each * columns;
}

// Exchanges the rows and the columns of a plan.
Plan transpose(Plan plan) {
  for (Slot& slot : plan.slots)
    if (slot.level == Level::row || slot.level == Level::column)
      slot.level = slot.level == Level::row ? Level::column : Level::row;
  std::swap(plan.loads[int(Level::row)], plan.loads[int(Level::column)]);
  std::swap(plan.steps[int(Level::row)], plan.steps[int(Level::column)]);
  std::swap(plan.entries[int(Level::row)], plan.entries[int(Level::column)]);
  plan.pair_footprint = footprint_of_pairs(plan);
  return plan;
}

}  // namespace

PreparedJob::PreparedJob(const Plan& plan, const Data& data, const Settings& settings, Count row_begin, Count row_end,
                         const Output& target)
    : PreparedJob(plan, data, settings, row_begin, row_end, target, suits_lanes(plan, data, row_end - row_begin)) {}

PreparedJob::PreparedJob(const Plan& plan, const Data& data, const Settings& settings, Count row_begin, Count row_end,
                         const Output& target, bool in_lanes)
    : Job(),
      plan_(in_lanes ? transpose(plan) : plan, !in_lanes && sums_by_tiles(plan, settings.scheme), settings.single) {
  rows_in_lanes = in_lanes;
  rows = row_end - row_begin;
  const Blocks* ranges = data.pairs(plan.rows);
  Count all_columns = data.length(both & ~plan.rows);
  if (in_lanes) std::swap(rows, all_columns);
  pairs_ = ranges ? clip(*ranges, row_begin, row_end, 0, all_columns) : all_pairs(rows, all_columns);
  blocks = pairs_.rows.data(), block_count = Count(pairs_.rows.size()), intervals = pairs_.columns.data();
  for (const RowBlock& block : pairs_.rows) columns = std::max(columns, block.columns);
  out = target.data, out_entry = target.entry, out_row = target.row;
  scheme = settings.scheme, accumulate_double = settings.accumulate_double;
  take_plan();
  find_sources(data, row_begin);
  in_lanes ? choose_lane_sizes(settings) : choose_sizes(settings);
}

void PreparedJob::take_plan() {
  slots = span(plan_.slots);
  for (int level = 0; level < 4; ++level) {
    steps[level] = span(plan_.steps[level]);
    entries[level] = plan_.entries[level];
  }
  contractions = span(plan_.contractions), kept = plan_.kept;
  f = plan_.f, w = plan_.w, factor = plan_.factor;
  f_size = plan_.f_size, w_size = plan_.w_size;
  reduction = plan_.reduction.row, k = plan_.reduction.k, size = plan_.reduction.size;
  positions = first_position(reduction_table()[reduction], size);
}

void PreparedJob::find_sources(const Data& data, Count row_begin) {
  const auto source_of = [&](const Load& load, Level level) {
    const Count first = level == level_of_result() ? row_begin : 0;
    const ArrayRef* array = data.array(load);
    if (!array) return Source{load, nullptr, 0, 0, first};
    return Source{load, static_cast<const double*>(array->data) + first * array->item, array->entry, array->item,
                  first};
  };
  for (int level = 0; level < 3; ++level) {
    for (const Load& load : plan_.loads[level]) sources_[level].push_back(source_of(load, Level(level)));
    sources[level] = span(sources_[level]);
  }
  for (const Level level : {Level::row, Level::column})
    for (LongVector* vector : plan_.long_vectors(level))
      if (vector->direct) vector->source = source_of(vector->source.load, level);
  sum = plan_.sum;
}

// Chooses the sizes of tiles, row blocks and splits. The memory that a tile of columns needs should fit the first-level
// cache, and the memory that a block of rows needs should fit the second-level cache. For products of matrices, the
// data of the columns and the results of a tile should fit the second-level cache, and blocks should have many rows,
// because the columns are packed again for each block. If there are few rows, the columns are split.
void PreparedJob::choose_sizes(const Settings& settings) {
  const int bytes = settings.single ? 4 : 8;
  const bool wide = sum.size > 0;
  const bool blocks_many = wide || contractions.count > 0;
  const Count columns_fit = wide ? 1 << 20 : contractions.count ? 1 << 18 : INT64_MAX;
  const Count column_bytes = Count(bytes) * entries[int(Level::column)];
  const auto fits = [&] {
    const Count footprint = Count(plan_.pair_footprint) + 1;
    return tile * bytes * footprint <= 24 * 1024 && tile * column_bytes <= columns_fit;
  };
  for (tile = (blocks_many ? 2048 : 4096) / bytes; tile > 64 && !fits();) tile /= 2;
  const Count state_bytes = wide ? 32 * sum.size : 64 * 4 * (f_size + w_size) + Count(16) * k * f_size;
  const Count row_bytes = 64 * Count(kept) + state_bytes, rows_fit = (wide ? 1 << 26 : 1 << 18) / row_bytes;
  Count packed = 1;  // bytes of a packed row
  for (const Contraction& c : plan_.contractions) packed += Count(bytes) * c.size;
  const Count part = rows / (4 * settings.threads) + 1;  // so that each thread has several blocks of rows
  row_block = int(std::max<Count>(1, std::min<Count>({blocks_many ? 384 : 64, rows_fit, (1 << 28) / packed, part})));
  const Count wanted = std::min<Count>(128 / std::max<Count>(rows, 1), columns / 8192);
  columns_per_split = std::min<Count>(columns / std::max<Count>(wanted, 1) + 1, 1 << 30);
}

// Chooses the sizes if lanes run along the rows. The values of pairs and the states of a tile should fit the
// first-level cache.
void PreparedJob::choose_lane_sizes(const Settings& settings) {
  const Count bytes = settings.single ? 4 : 8, state_bytes = 32 * (Count(f_size) + w_size);
  for (tile = int(4096 / bytes); tile > 64 && tile * (bytes * (plan_.pair_footprint + 1) + state_bytes) > 32 * 1024;)
    tile /= 2;
  row_block = int(rows);
  const Count tiles = (columns + tile - 1) / tile, parts = std::min<Count>(tiles, 8 * settings.threads);
  columns_per_split = (tiles + parts - 1) / parts * tile;
}

void PreparedJob::keep_partials(size_t bytes) {
  memory_.resize(size_t(rows) * splits() * bytes);
  partials = memory_.data();
}

}  // namespace cpu
}  // namespace kernops
