// Sorting of segments on the GPU, column by column.
#include <kernops/jobs/device_sorts.h>
#include <kernops/missing.h>

#include "cuda/segments/segments.h"

namespace kernops {
namespace cuda {
namespace {

int key_bytes(const SortRequest& request) { return request.x.type == SegmentValues::floats ? 4 : 8; }

SegmentRequest values_of(const SortRequest& request) {
  SegmentRequest work{request.segments};
  work.x = request.x, work.columns = request.columns, work.out = request.out, work.settings = request.settings;
  return work;
}

void sort_column(const SortRequest& request, SortRun job, const SortPieces& pieces, const std::string& text) {
  const SortPiece* list = at<SortPiece>(*pieces.memory);
  void *sort = function(text, "kernops_sort_pieces"), *merge = function(text, "kernops_sort_merge");
  job.pieces = list;
  if (pieces.whole > 0) launch(sort, pieces.whole, 1, sort_threads, &job);
  if (pieces.parts == 0) return;
  const size_t bytes = size_t(request.segments.covered) * size_t(key_bytes(request));
  const Buffer keys[2] = {Buffer(bytes), Buffer(bytes)};
  job.pieces = list + pieces.whole, job.to = keys[0].address();
  launch(sort, pieces.parts, 1, sort_threads, &job);
  int from = 0;
  for (job.width = sort_capacity(key_bytes(request)); job.width < request.segments.longest; job.width *= 2) {
    job.from = keys[from].address(), from = 1 - from;
    job.to = 2 * job.width < request.segments.longest ? keys[from].address() : nullptr;
    launch(merge, pieces.parts, 1, sort_threads, &job);
  }
}

}  // namespace

// Numbers of one batch, in columns, in order or by groups.
bool sorts_there(const SortRequest& request) {
  return request.x.type != SegmentValues::integers && fits_one_batch(values_of(request));
}

SortPieces::SortPieces(const Segments& segments, int most) : capacity(most) {
  std::vector<SortPiece> list, long_ones;
  const std::vector<Count>& offsets = segments.offsets();
  for (size_t s = 0; s + 1 < offsets.size(); ++s) {
    const Count begin = offsets[s], end = offsets[s + 1];
    if (end - begin > most) {
      for (Count first = begin; first < end; first += most)
        long_ones.push_back({first, begin, end, int(std::min<Count>(most, end - first))});
    } else if (!list.empty() && list.back().first + list.back().count == begin && end - list.back().first <= most) {
      list.back().count = int(end - list.back().first);
    } else {
      list.push_back({begin, 0, 0, int(end - begin)});
    }
  }
  whole = unsigned(list.size()), parts = unsigned(long_ones.size());
  list.insert(list.end(), long_ones.begin(), long_ones.end());
  memory = std::make_unique<Buffer>(list.size() * sizeof(SortPiece));
  fill(*memory, list.data(), list.size());
}

void seg_sort(const SortRequest& request) {
  const SegmentRequest work = values_of(request);
  if (work.segments.covered < work.segments.values) fill_all(work, work.segments.values, missing());
  const std::string text = sort_text(work);
  each_batch_of_columns(work, true, [&](DeviceSegments& device, Count first, Count columns, bool staged) {
    SegmentJobs jobs(work, device, first, columns, staged);
    SortRun job{};
    job.run = jobs(0), job.decreasing = request.decreasing, job.missing_last = request.missing_last;
    const char* const x = static_cast<const char*>(job.run.x);
    const SortPieces& pieces = device.sort_pieces(sort_capacity(key_bytes(request)));
    for (Count c = 0; c < columns; ++c) {
      job.run.x = x + size_t(c * job.run.x_column) * size_t(key_bytes(request));
      job.run.out = column_of(work.out, first + c);
      sort_column(request, job, pieces, text);
    }
    jobs.done(0);
  });
}

}  // namespace cuda
}  // namespace kernops
