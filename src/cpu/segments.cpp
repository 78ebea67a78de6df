// Reductions of segments on the CPU: equal numbers of values for every thread, whatever the lengths.
#include <algorithm>

#include "cpu/segments.h"
#include "run/huge_pages.h"
#include "cpu/segment_units.h"
#include "run/parallel_for.h"

namespace kernops {
namespace cpu {
namespace {

// One reduction by the engine of an instruction set: of values, or of a sum of values times weights.
class SegmentRun {
 public:
  explicit SegmentRun(const SegmentRequest& request)
      : request_(request), segments_(request.segments), job_(segment_job(request)), engine_(choose_engine()) {}

  void run() {
    fill_empties();
    if (segments_.segments() == 0) return;
    if (engine_.scatter)
      scatter();
    else
      gather();
  }

 private:
  // Groups must be counted only where their values are put in order, or empty groups have a result of the user.
  SegmentEngine choose_engine() {
    const SegmentEngine engine = engine_for(request_.settings.isa).segments(job_);
    if (!engine.scatter || request_.empty) {
      request_.segments.find();
      job_ = segment_job(request_);
    }
    if (segments_.groups && !engine.scatter) job_.order = segments_.order().data();
    return engine;
  }

  void fill_empties() const {
    if (request_.softmax) return;
    for (int o = 0; o < request_.outputs(); ++o) {
      const double value = request_.empty ? *request_.empty : engine_.nothing(o);
      for (Count column = 0; column < request_.columns; ++column)
        for (const Count row : segments_.empties) job_.result(o, column, row) = value;
    }
  }

  Count threads(Count units) const { return worthwhile_threads(segments_, request_.columns, request_.settings, units); }

  // work(column, unit, scratch) for all units of all columns.
  template <class Work> void for_all(Count units, size_t scratch_bytes, const Work& work) {
    const Count count = threads(units * request_.columns);
    std::vector<std::vector<char>> scratch(count, std::vector<char>(scratch_bytes + 64));
    parallel_for(units * request_.columns, count, request_.settings,
                 [&](Count unit, Count thread) { work(unit / units, unit % units, aligned(scratch[thread].data())); });
  }
  static char* aligned(char* memory) { return memory + (64 - reinterpret_cast<std::uintptr_t>(memory) % 64) % 64; }

  void gather() {
    const SegmentUnits units(segments_, request_.settings.tile > 0 ? request_.settings.tile : 16384);
    const auto& large = segments_.large;
    const Count tiles = units.tiles(), blocks = units.blocks();
    std::vector<char> states(size_t(blocks * request_.columns) * engine_.state_bytes);
    const auto state = [&](Count column, Count block) {
      return states.data() + size_t(column * blocks + block) * engine_.state_bytes;
    };
    const size_t scratch = engine_.scratch_bytes(job_, units.widest(), std::min(units.widest(), segments_.segments()));

    for_all(tiles + blocks, scratch, [&](Count column, Count unit, char* memory) {
      const auto reduce = [&](Count first, Count last) { engine_.segments(job_, column, first, last, memory); };
      if (unit < tiles) return units.each_stretch(unit, reduce);
      const Count block = unit - tiles;
      engine_.block(job_, column, large[units.owner(block)], units.number(block), state(column, block), memory);
    });
    for (Count column = 0; column < request_.columns; ++column)
      for (size_t n = 0; n < large.size(); ++n)
        engine_.join(job_, column, large[n], state(column, units.first_block(n)), units.block_count(n));
    if (!engine_.map || blocks == 0) return;
    for_all(blocks, scratch, [&](Count column, Count block, char* memory) {
      const Count n = units.owner(block);
      engine_.map(job_, column, large[n], units.number(block), state(column, units.first_block(n)), memory);
    });
  }

  // The number of splits keeps the cost of joining low, and depends on the sizes alone. First and last values of all
  // groups often stand in a small part of the values, where a single pass ends.
  Count splits() const {
    const StatisticId op = StatisticId(request_.op);
    if (op == StatisticId::first || op == StatisticId::last) return 1;
    return std::max<Count>(1, std::min<Count>(16, segments_.values / (16 * job_.groups.span + 16384)));
  }

  void scatter() {
    const Count values = segments_.values, span = job_.groups.span, splits = this->splits();
    const Count split = ceil_div(values, splits);
    const size_t bytes = (size_t(span + 1) * engine_.state_bytes + 127) / 64 * 64;
    const Count together = std::min(request_.columns, std::max<Count>(1, 16 / splits));
    const std::unique_ptr<char[]> memory(new char[size_t(together * splits) * bytes + 64]);
    char* const states = aligned(memory.get());
    in_huge_pages(states, size_t(together * splits) * bytes);
    for (Count from = 0; from < request_.columns; from += together) {
      const Count columns = std::min(together, request_.columns - from), units = columns * splits;
      std::vector<std::vector<char>> scratch(threads(units), std::vector<char>(2048 * sizeof(double)));
      parallel_for(units, threads(units), request_.settings, [&](Count unit, Count thread) {
        const Count first = unit % splits * split;
        engine_.scatter(job_, from + unit / splits, first, std::min(first + split, values),
                        states + size_t(unit) * bytes, scratch[thread].data());
      });
      parallel_for(columns, threads(columns), request_.settings, [&](Count column, Count) {
        engine_.join_scattered(job_, from + column, states + size_t(column * splits) * bytes, splits, bytes);
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

void run_engine(const SegmentRequest& request) { SegmentRun(request).run(); }

}  // namespace cpu
}  // namespace kernops
