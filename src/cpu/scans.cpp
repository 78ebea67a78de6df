// Scans of segments on the CPU. Each thread processes about the same number of values, whatever the lengths of the
// segments.
#include <kernops/jobs/scans.h>

#include <algorithm>
#include <memory>

#include "cpu/segment_units.h"
#include "cpu/segments.h"
#include "run/huge_pages.h"
#include "run/parallel_for.h"

namespace kernops {
namespace cpu {
namespace {

const ScanEngines& scan_engines(const std::string& isa) {
  [[maybe_unused]] const Engine& engine = engine_for(isa);
#ifdef __x86_64__
  if (&engine == &engine_avx512) return scan_engines_avx512;
  if (&engine == &engine_avx2) return scan_engines_avx2;
#endif
  return scan_engines_baseline;
}

class ScanRun {
 public:
  explicit ScanRun(const SegmentRequest& request)
      : request_(request), segments_(request.segments), job_(scan_job(request)), engine_(choose_engine()) {}

  void run() {
    if (segments_.segments() == 0) return;
    segments_.groups&& engine_.groups ? scan_groups() : scan_in_order();
  }

 private:
  static ScanJob scan_job(const SegmentRequest& request) {
    ScanJob job{};
    static_cast<SegmentJob&>(job) = segment_job(request);
    job.exclusive = request.scan == SegmentScan::exclusive, job.reverse = request.reverse;
    job.segments = request.segments.segments();
    job.nothing = request.empty ? *request.empty : 0;
    return job;
  }
  ScanEngine choose_engine() {
    const ScanEngine engine = scan_engines(request_.settings.isa).find(job_);
    if (segments_.groups && !engine.groups) job_.order = segments_.order().data();
    return engine;
  }

  Count threads(Count units) const { return worthwhile_threads(segments_, request_.columns, request_.settings, units); }
  template <class Work> void for_all(Count units, size_t scratch_bytes, const Work& work) const {
    const Count count = threads(units * request_.columns);
    std::vector<std::vector<char>> scratch(size_t(count), std::vector<char>(scratch_bytes + 64));
    parallel_for(units * request_.columns, count, request_.settings, [&](Count unit, Count thread) {
      work(unit / units, unit % units, aligned(scratch[size_t(thread)].data()));
    });
  }
  static char* aligned(char* memory) { return memory + (64 - reinterpret_cast<std::uintptr_t>(memory) % 64) % 64; }

  void scan_in_order() const {
    const SegmentUnits units(segments_, request_.settings.tile > 0 ? request_.settings.tile : 16384);
    const size_t scratch = engine_.scratch_bytes(units.widest(), std::min(units.widest(), segments_.segments()));
    for_all(units.tiles(), scratch, [&](Count column, Count tile, char* memory) {
      units.each_stretch(tile, [&](Count first, Count last) { engine_.segments(job_, column, first, last, memory); });
    });
    if (units.blocks() > 0) threads(units.blocks()) > 1 ? carry_first(units, scratch) : carry_along(units, scratch);
  }

  // Calls block(n) for the blocks of the long segment `owner`, in the direction of the scan.
  template <class Block> void each_block(const SegmentUnits& units, Count owner, Block block) const {
    const Count count = units.block_count(owner);
    for (Count n = 0; n < count; ++n) block(job_.reverse ? count - 1 - n : n);
  }

  // Scans the blocks of each long segment one after another, by one thread per segment, so that a block is still in the
  // cache when its results are computed.
  void carry_along(const SegmentUnits& units, size_t scratch) const {
    const size_t bytes = (engine_.state_bytes + 63) / 64 * 64;
    for_all(Count(segments_.large.size()), scratch + 2 * bytes, [&](Count column, Count owner, char* memory) {
      char *carry = memory, *state = memory + bytes, *room = memory + 2 * bytes;
      const Count segment = segments_.large[size_t(owner)];
      engine_.start(carry);
      each_block(units, owner, [&](Count number) {
        engine_.block(job_, column, segment, number, state, room);
        engine_.map(job_, column, segment, number, carry, room);
        engine_.advance(job_, carry, state);
      });
    });
  }

  // Scans the blocks of long segments by several threads: computes the states of all blocks, then the state before each
  // block, and then the results.
  void carry_first(const SegmentUnits& units, size_t scratch) const {
    const Count blocks = units.blocks();
    const size_t bytes = (engine_.state_bytes + 63) / 64 * 64;
    std::vector<char> memory(size_t(blocks * request_.columns + 2) * bytes + 64);
    char* const carry = aligned(memory.data());
    const auto state = [&](Count column, Count block) { return carry + size_t(column * blocks + block + 1) * bytes; };
    for_all(blocks, scratch, [&](Count column, Count block, char* room) {
      const Count owner = units.owner(block);
      engine_.block(job_, column, segments_.large[size_t(owner)], units.number(block), state(column, block), room);
    });
    std::vector<char> own(bytes);
    for (Count column = 0; column < request_.columns; ++column)
      for (Count owner = 0; owner < Count(segments_.large.size()); ++owner) {
        engine_.start(carry);
        each_block(units, owner, [&](Count number) {
          char* const there = state(column, units.first_block(owner) + number);
          std::copy_n(there, bytes, own.data());
          std::copy_n(carry, bytes, there);
          engine_.advance(job_, carry, own.data());
        });
      }
    for_all(blocks, scratch, [&](Count column, Count block, char* room) {
      const Count owner = units.owner(block);
      engine_.map(job_, column, segments_.large[size_t(owner)], units.number(block), state(column, block), room);
    });
  }

  // Scans groups: each thread passes over all values and processes the values of its part of the groups.
  void scan_groups() const {
    const Count parts = threads(segments_.count);
    const size_t bytes = size_t(segments_.count) * engine_.group_bytes;
    const std::unique_ptr<char[]> states(new char[bytes + 64]);
    in_huge_pages(states.get(), bytes);
    const std::vector<Count> cuts = equal_parts(parts);
    for (Count column = 0; column < request_.columns; ++column) {
      std::vector<std::vector<char>> scratch(size_t(parts), std::vector<char>(2048 * sizeof(double) + 64));
      parallel_for(parts, parts, request_.settings, [&](Count part, Count) {
        engine_.groups(job_, column, segments_.values, cuts[size_t(part)], cuts[size_t(part) + 1],
                       aligned(states.get()), aligned(scratch[size_t(part)].data()));
      });
    }
  }

  // Divides the groups into parts with about equal numbers of values; returns the first group of each part.
  std::vector<Count> equal_parts(Count parts) const {
    std::vector<Count> cuts{0};
    const std::vector<Count>& offsets = segments_.offsets();
    for (Count part = 1; part < parts; ++part) {
      const Count target = segments_.first + segments_.covered / parts * part;
      const Count s = std::lower_bound(offsets.begin(), offsets.end() - 1, target) - offsets.begin();
      cuts.push_back(s < segments_.segments() ? segments_.row(s) : segments_.count);
    }
    cuts.push_back(segments_.count);
    return cuts;
  }

  const SegmentRequest& request_;
  const Segments& segments_;
  ScanJob job_;
  const ScanEngine engine_;
};

}  // namespace

void scan_segments(const SegmentRequest& request) { ScanRun(request).run(); }

}  // namespace cpu
}  // namespace kernops
