// Reductions of segments on the CPU. Each thread processes about the same number of values, whatever the lengths of the
// segments.
#include <algorithm>
#include <atomic>

#include "cpu/segments.h"
#include "run/huge_pages.h"
#include "cpu/segment_units.h"
#include "run/parallel_for.h"

namespace kernops {
namespace cpu {
namespace {

// Runs a reduction of values, or of values times weights, by the engine of an instruction set.
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
  // Chooses the engine. The values of groups are counted only if the engine needs the values sorted by group, or if the
  // user gave a result for empty groups.
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

  // Calls work(column, unit, scratch) for each unit of each column.
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

  // The number of splits of the values; each split has a state for every group. The number of splits depends only on
  // the sizes, and is small enough that merging the states takes little time. If only the first (or last) value of each
  // group is requested, these values often lie in a small part of all values; with a single split, the pass can end
  // after this part.
  Count splits() const {
    const StatisticId op = StatisticId(request_.op);
    if (op == StatisticId::first || op == StatisticId::last) return 1;
    return std::max<Count>(1, std::min<Count>(16, segments_.values / (16 * job_.groups.span + 16384)));
  }

  // The bytes of the states of a split, rounded up so that each split begins at a multiple of 64 bytes.
  size_t split_bytes(size_t of_group) const { return (size_t(job_.groups.span + 1) * of_group + 127) / 64 * 64; }

  // Reduces values in the order of x, adding each value to the state of its group. Each state has two parts, `near` and
  // `far`. The far part is written only if a group has many values; otherwise the system does not create memory pages
  // for this part.
  void scatter() {
    const Count splits = this->splits(), together = std::min(request_.columns, std::max<Count>(1, 16 / splits));
    const size_t near_bytes = split_bytes(engine_.near_bytes), far_bytes = split_bytes(engine_.far_bytes);
    const size_t all_near = size_t(together * splits) * near_bytes, all_far = size_t(together * splits) * far_bytes;
    const std::unique_ptr<char[]> near_memory(new char[all_near + 64]), far_memory(new char[all_far + 64]);
    const ScatterMemory memory = {aligned(near_memory.get()), aligned(far_memory.get()), near_bytes, far_bytes};
    in_huge_pages(memory.near, all_near), in_huge_pages(memory.far, all_far);
    for (Count from = 0; from < request_.columns; from += together)
      scatter_columns(from, std::min(together, request_.columns - from), splits, memory);
    if (strays_) request_.segments.refuse_strays();
    request_.segments.groups.unchecked = false;
    if (request_.no_nan) *request_.no_nan = !any_nan_;
    fill_empties();
  }

  void scatter_columns(Count from, Count columns, Count splits, ScatterMemory memory) {
    const Count values = segments_.values, split = ceil_div(values, splits), units = columns * splits;
    std::vector<std::vector<char>> scratch(threads(units), std::vector<char>(2048 * sizeof(double)));
    parallel_for(units, threads(units), request_.settings, [&](Count unit, Count thread) {
      const Count first = unit % splits * split;
      if (engine_.scatter(job_, from + unit / splits, first, std::min(first + split, values), memory.split(unit),
                          scratch[thread].data()))
        strays_ = true;
    });
    parallel_for(columns, threads(columns), request_.settings, [&](Count column, Count) {
      if (engine_.join_scattered(job_, from + column, memory.split(column * splits), splits)) any_nan_ = true;
    });
  }

  const SegmentRequest& request_;
  const Segments& segments_;
  SegmentJob job_;
  const SegmentEngine engine_;
  std::atomic<bool> strays_{false}, any_nan_{false};
};

}  // namespace

void run_engine(const SegmentRequest& request) { SegmentRun(request).run(); }

}  // namespace cpu
}  // namespace kernops
