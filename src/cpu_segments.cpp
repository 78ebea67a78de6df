// Reductions of segments on the CPU: equal numbers of values for every thread, whatever the lengths.
#include <kernops/seg_job.h>

#include <algorithm>
#include <numeric>

#include "cpu.h"
#include "segments.h"
#include "share_out.h"

namespace kernops {
namespace cpu {
namespace {

template <class T> const T* data(const std::vector<T>& items) {
  return items.empty() ? nullptr : items.data();
}
template <class T> Span<T> span(const std::vector<T>& items) { return {items.data(), int(items.size())}; }

class SegmentRun {
 public:
  explicit SegmentRun(const SegmentRequest& request)
      : request_(request), segments_(request.segments), job_(), engine_(choose_engine()) {}

  void run() {
    fill_empties();
    if (segments_.segments() == 0) return;
    if (engine_.scatter)
      scatter();
    else
      gather();
  }

 private:
  SegmentEngine choose_engine() {
    job_.offsets = segments_.offsets.data();
    job_.rows = data(segments_.rows);
    job_.sources = data(segments_.sources);
    job_.count = segments_.count;
    const SegmentValues &x = request_.x, &w = request_.weights;
    job_.x = x.data, job_.integers = x.type == SegmentValues::integers;
    job_.x_row = x.row, job_.x_column = x.column;
    job_.weights = static_cast<const double*>(w.data), job_.weights_row = w.row;
    job_.skip_missing = request_.skip_missing;
    job_.out = request_.out.data, job_.out_entry = request_.out.entry, job_.out_row = request_.out.row;
    job_.columns = request_.columns;
    job_.op = request_.op, job_.softmax = request_.softmax, job_.alpha = request_.alpha;
    if (request_.formula) set_formula(request_.formula->plan);
    const Engine& engine = engine_for(request_.settings.isa);
    job_.groups = segments_.groups;
    job_.scatter = segments_.longest <= 200 ? Scatter::plain
                   : segments_.burst <= 128 ? Scatter::tiles
                                            : Scatter::careful;
    const SegmentEngine found = engine.segments(job_);
    if (segments_.groups && !found.scatter) job_.order = data(segments_.order());
    return found;
  }

  void set_formula(const Plan& plan) {
    job_.slots = span(plan.slots);
    for (int place = 0; place < 4; ++place) {
      if (place < 3) job_.loads[place] = span(plan.loads[place]);
      job_.steps[place] = span(plan.steps[place]);
      job_.entries[place] = plan.entries[place];
    }
    job_.f = plan.f;
  }

  int outputs() const {
    return request_.formula || request_.softmax ? 1 : segment_ops()[request_.op].outputs;
  }

  void fill_empties() const {
    if (request_.softmax) return;
    for (int o = 0; o < outputs(); ++o) {
      const double value = request_.empty ? *request_.empty : engine_.nothing(o);
      for (Count column = 0; column < request_.columns; ++column)
        for (const Count row : segments_.empties) job_.result(o, column, row) = value;
    }
  }

  Count threads(Count units) const {
    const Count values = segments_.offsets.back() - segments_.offsets.front();
    return values * request_.columns < 100000 ? 1 : std::min<Count>(request_.settings.threads, units);
  }

  // work(column, unit, scratch) for all units of all columns.
  template <class Work> void for_all(Count units, size_t scratch_bytes, const Work& work) {
    const Count count = threads(units * request_.columns);
    std::vector<std::vector<char>> scratch(count, std::vector<char>(scratch_bytes + 64));
    share_out(units * request_.columns, count, request_.settings,
              [&](Count unit, Count thread) { work(unit / units, unit % units, aligned(scratch[thread])); });
  }
  static char* aligned(std::vector<char>& memory) {
    return memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64;
  }

  // A tile has the segments that begin in its values; those longer than a block are done block by block.
  void gather() {
    const auto& offsets = segments_.offsets;
    const auto& large = segments_.large;
    const Count tile = request_.tile > 0 ? request_.tile : 16384;
    const Count tiles = (offsets.back() - offsets.front() + tile - 1) / tile;
    std::vector<Count> blocks(1, 0);  // before each large segment
    for (const Count s : large)
      blocks.push_back(blocks.back() + (offsets[s + 1] - offsets[s] + segment_block - 1) / segment_block);
    const Count block_count = blocks.back(), widest = tile + segment_block;
    std::vector<char> states(size_t(block_count * request_.columns) * engine_.state_bytes);
    const auto state = [&](Count column, Count block) {
      return states.data() + size_t(column * block_count + block) * engine_.state_bytes;
    };
    const size_t scratch = engine_.scratch_bytes(job_, widest, std::min(widest, segments_.segments()));

    const auto place = [&](Count block) {
      return std::upper_bound(blocks.begin(), blocks.end(), block) - blocks.begin() - 1;
    };
    for_all(tiles + block_count, scratch, [&](Count column, Count unit, char* memory) {
      if (unit < tiles) return do_tile(column, offsets.front() + unit * tile, tile, memory);
      const Count block = unit - tiles, n = place(block);
      engine_.block(job_, column, large[n], block - blocks[n], state(column, block), memory);
    });
    for (Count column = 0; column < request_.columns; ++column)
      for (size_t n = 0; n < large.size(); ++n)
        engine_.join(job_, column, large[n], state(column, blocks[n]), blocks[n + 1] - blocks[n]);
    if (!engine_.spread || block_count == 0) return;
    for_all(block_count, scratch, [&](Count column, Count block, char* memory) {
      const Count n = place(block);
      engine_.spread(job_, column, large[n], block - blocks[n], state(column, blocks[n]), memory);
    });
  }

  void do_tile(Count column, Count begin, Count tile, char* memory) const {
    const auto& offsets = segments_.offsets;
    const auto& large = segments_.large;
    const auto first_from = [&](Count position) {
      return std::lower_bound(offsets.begin(), offsets.end() - 1, position) - offsets.begin();
    };
    const Count last = first_from(begin + tile);
    for (Count s = first_from(begin); s < last; ++s) {
      const auto next = std::lower_bound(large.begin(), large.end(), s);
      const Count end = next == large.end() ? last : std::min(*next, last);
      if (s < end) engine_.segments(job_, column, s, end, memory);
      s = end;
    }
  }

  // So many chunks that joining them costs little; a function of the sizes alone.
  void scatter() {
    const Count values = segments_.values, count = segments_.count;
    const Count chunks = std::max<Count>(1, std::min<Count>(16, values / (16 * count + 16384)));
    const Count chunk = (values + chunks - 1) / chunks;
    const size_t bytes = size_t(count + 1) * engine_.state_bytes;
    const Count together = std::min(request_.columns, std::max<Count>(1, 16 / chunks));
    const std::unique_ptr<char[]> states(new char[size_t(together * chunks) * bytes]);
    for (Count from = 0; from < request_.columns; from += together) {
      const Count columns = std::min(together, request_.columns - from), units = columns * chunks;
      std::vector<std::vector<char>> scratch(threads(units), std::vector<char>(2048 * sizeof(double)));
      share_out(units, threads(units), request_.settings, [&](Count unit, Count thread) {
        const Count first = unit % chunks * chunk;
        engine_.scatter(job_, from + unit / chunks, first, std::min(first + chunk, values),
                        states.get() + size_t(unit) * bytes, scratch[thread].data());
      });
      share_out(columns, threads(columns), request_.settings, [&](Count column, Count) {
        engine_.join_scattered(job_, from + column, states.get() + size_t(column * chunks) * bytes, chunks);
      });
    }
    fill_empties();
  }

  const SegmentRequest& request_;
  const Segments& segments_;
  SegmentJob job_;
  const SegmentEngine engine_;
};

}  // namespace

void seg_reduce(const SegmentRequest& request) { SegmentRun(request).run(); }

}  // namespace cpu
}  // namespace kernops
