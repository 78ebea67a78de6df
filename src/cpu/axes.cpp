// Reductions over dimensions of an array on the CPU: distributes slices to SIMD lanes, chunks and threads. Lanes and
// chunks depend on the sizes alone, so that results do not depend on the number of threads.
#include <algorithm>

#include "axes/axes.h"
#include "cpu/simd/axes_table.h"
#include "cpu/cpu.h"
#include "run/parallel_for.h"

namespace kernops {
namespace cpu {
namespace {

const AxisEngine& axis_engine(const std::string& isa) {
  [[maybe_unused]] const Engine& engine = engine_for(isa);
#ifdef __x86_64__
  if (&engine == &engine_avx512) return axis_engine_avx512;
  if (&engine == &engine_avx2) return axis_engine_avx2;
#endif
  return axis_engine_baseline;
}

// A run is one or several adjacent dimensions. Moves the longest run to the front or, of several longest runs, the run
// with the smallest stride.
void bring_longest_forward(Runs& runs) {
  const auto shorter = [](const Run& a, const Run& b) { return a.size < b.size; };
  std::rotate(runs.run, std::max_element(runs.run, runs.run + runs.count, shorter), runs.run + runs.count);
}

bool begins_with(const Runs& runs, Count least) {
  return runs.count > 0 && runs.run[0].stride == 1 && runs.run[0].size >= least;
}

// Chooses the values that SIMD lanes process together: values that are adjacent in memory if there are enough of them,
// otherwise the values of the longest run.
void lay_out(SliceJob& job) {
  constexpr Count few = 8;
  job.along = begins_with(job.reduced, 4 * few);
  if (job.along || begins_with(job.kept, few)) return;
  bring_longest_forward(job.kept);
  job.along = job.kept.count == 0 || job.kept.run[0].size < few;
  if (job.along) bring_longest_forward(job.reduced);
}

// Units of work. A unit is one chunk of a group of slices. If lanes lie across slices, the slices of a group are
// interleaved in memory; otherwise they follow one another.
class Units {
 public:
  Units(SliceJob& job, const AxisEngine& engine, bool one_by_one) {
    lay_out(job);
    row_ = job.along ? job.results : job.kept.count ? job.kept.run[0].size : 1;
    const Count most = !job.along ? engine.most_lanes : one_by_one ? 1 : unit_values / std::max<Count>(job.slice, 1);
    width_ = std::max<Count>(1, std::min(row_, most));
    width_ = ceil_div(row_, ceil_div(row_, width_));  // distributes the slices evenly
    per_row_ = ceil_div(row_, width_);
    groups_ = job.results / row_ * per_row_;
    const Count pieces = std::min<Count>(128 / groups_, job.slice * width_ / 16384);
    job.chunk = ceil_div(std::max<Count>(job.slice, 1), std::max<Count>(pieces, 1));
    chunks_ = job.chunks();
    grain_ = std::max<Count>(1, unit_values / std::max<Count>(1, width_ * job.chunk));
  }

  Count groups() const { return groups_; }
  Count chunks() const { return chunks_; }
  Count width() const { return width_; }
  Count first(Count group) const { return group / per_row_ * row_ + group % per_row_ * width_; }
  Count count(Count group) const { return std::min(width_, row_ - group % per_row_ * width_); }

  // Calls body(group, chunk, thread) for each unit; `thread` is the number of the thread that runs body().
  template <class F> void each(const Settings& settings, F body) const {
    const Count units = groups_ * chunks_, stretches = ceil_div(units, grain_);
    parallel_for(stretches, std::min<Count>(settings.threads, stretches), settings, [&](Count stretch, Count thread) {
      const Count end = std::min(units, (stretch + 1) * grain_);
      for (Count unit = stretch * grain_; unit < end; ++unit) body(unit / chunks_, unit % chunks_, thread);
    });
  }

 private:
  static constexpr Count unit_values = 1 << 16;
  Count row_, width_, per_row_, groups_, chunks_, grain_;
};

// A window is the part of a chunk that the engine loads at a time. Returns the maximum number of windows in a chunk.
Count most_windows(const SliceJob& job, const AxisEngine& engine) {
  const Count run = job.reduced.count ? job.reduced.run[0].size : 1;
  const Count window = Count(engine.most_rows) * (job.along ? engine.lanes_along : 1);
  return (job.chunk / run + 2) * (ceil_div(std::min<Count>(run, job.chunk), window) + job.along);
}

using Memory = std::vector<double>;

void reduce(SliceJob job, const Settings& settings) {
  if (job.results == 0) return;
  const AxisEngine& engine = axis_engine(settings.isa);
  const AxisEngine::Entry& entry = engine.entries[job.skip][job.op];
  const Units units(job, engine, false);
  std::vector<char> partials(units.chunks() > 1 ? size_t(job.results * units.chunks()) * entry.state_bytes : 0);
  job.partials = partials.data();
  std::vector<Memory> buffers(settings.threads);
  units.each(settings, [&](Count group, Count chunk, Count thread) {
    buffers[thread].resize(engine.buffer_length);
    entry.reduce(job, units.first(group), units.count(group), chunk, buffers[thread].data());
  });
  if (units.chunks() > 1)
    for (Count result = 0; result < job.results; ++result) entry.merge(job, result);
}

void softmax(SliceJob job, const Settings& settings) {
  if (job.results == 0 || job.slice == 0) return;
  const AxisEngine& engine = axis_engine(settings.isa);
  const Units units(job, engine, true);
  const size_t needed = size_t(units.width() * (2 + most_windows(job, engine)));
  const bool whole = units.chunks() == 1;
  std::vector<Memory> buffers(settings.threads), seen(whole ? settings.threads : 1);
  if (!whole) seen[0].resize(needed * units.groups() * units.chunks());
  const auto memory = [&](Count group, Count chunk) { return &seen[0][needed * (group * units.chunks() + chunk)]; };

  units.each(settings, [&](Count group, Count chunk, Count thread) {
    buffers[thread].resize(engine.buffer_length);
    if (whole) seen[thread].resize(needed);
    double* here = whole ? seen[thread].data() : memory(group, chunk);
    engine.first_pass(job, units.first(group), int(units.count(group)), chunk, here, buffers[thread].data());
    if (whole) engine.second_pass(job, units.first(group), int(units.count(group)), chunk, here, here);
  });
  if (whole) return;
  std::vector<Memory> total;
  for (Count group = 0; group < units.groups(); ++group) {
    const double* first = memory(group, 0);
    total.emplace_back(first, first + 2 * units.count(group));
    for (Count chunk = 1; chunk < units.chunks(); ++chunk)
      engine.join(total.back().data(), memory(group, chunk), int(units.count(group)));
  }
  units.each(settings, [&](Count group, Count chunk, Count) {
    engine.second_pass(job, units.first(group), int(units.count(group)), chunk, memory(group, chunk),
                       total[group].data());
  });
}

}  // namespace

void axes(const AxisRequest& request) {
  request.softmax ? softmax(request.job, request.settings) : reduce(request.job, request.settings);
}

}  // namespace cpu
}  // namespace kernops
