// Launches of the kernels that sort one column (cuda/segments/sort.cuh, cuda/segments/sort_digits.cuh).
#include "cuda/segments/column_sort.h"

namespace kernops {
namespace cuda {
namespace {

// Sorts one column. The keys of long segments are in two buffers: each pass reads one buffer and writes the other
// buffer.
struct ColumnSort {
  const SortPieces& pieces;
  const Sorting& sorting;
  SortRun job;
  const Buffer keys[2];

  ColumnSort(const Segments& segments, const SortRun& job, const SortPieces& pieces, const Sorting& sorting)
      : pieces(pieces), sorting(sorting), job(job), keys{Buffer(bytes(segments)), Buffer(bytes(segments))} {}
  size_t bytes(const Segments& segments) const {
    return pieces.numbers.count > 0 ? size_t(segments.covered) * sorting.item_bytes() : 0;
  }

  void run(const char* name, unsigned count, unsigned threads) const {
    if (count > 0) launch(function(sorting.text, name), count, 1, threads, &job);
  }
  void run_pieces(const char* name, const SortPieces::List& list) {
    job.pieces = at<SortPiece>(*list.memory);
    run(name, list.count, sort_threads);
  }
  // Sets the addresses of one pass, which reads buffer `from`. The last pass writes the results, and each earlier pass
  // writes the other buffer.
  void turn(int from, bool last) {
    job.from = keys[from].address(), job.to = last && !sorting.by_segment ? nullptr : keys[1 - from].address();
  }

  void all() {
    run_pieces("kernops_sort_short", pieces.short_ones);
    run_pieces("kernops_sort_medium", pieces.medium);
    const int last = merge();
    if (pieces.tiles.count > 0) by_digits(last);
    job.from = keys[last].address(), job.long_segments = at<long long>(*pieces.numbers.memory);
    if (sorting.by_segment && pieces.numbers.count > 0) finish_long();
  }

  // Computes the results of long segments. Several blocks share a segment; the block that ends last merges the partial
  // results of these blocks.
  void finish_long() {
    constexpr Count values_of_block = 16384, most = 1024;
    const unsigned segments = pieces.numbers.count,
                   each = unsigned(std::min(most, ceil_div(pieces.longest_of_all, values_of_block)));
    const Buffer finished(segments * sizeof(unsigned)), partials(size_t(segments) * each * partial_bytes);
    driver().check(driver().cuMemsetD32_v2(finished.pointer(), 0, segments), "filling memory");
    job.finished = at<unsigned>(finished), job.partials = partials.address();
    launch(function(sorting.text, "kernops_sort_long"), segments, each, sort_threads, &job);
  }

  // Merges sorted runs until each segment is one run; returns the number of the buffer with the sorted keys.
  int merge() {
    job.to = keys[0].address();
    run_pieces("kernops_sort_parts", pieces.parts);
    int from = 0;
    for (job.width = sort_capacity(int(sorting.key_bytes)); job.width < pieces.longest;
         job.width *= 2, from = 1 - from) {
      turn(from, 2 * job.width >= pieces.longest);
      run("kernops_sort_merge", pieces.parts.count, sort_threads);
    }
    return from;
  }

  // Sorts long segments by digits (radix sort). The number of passes is even, so that the last pass writes the buffer
  // that the first pass reads.
  void by_digits(int last) {
    const unsigned passes = unsigned(sorting.key_bytes), tiles = pieces.tiles.count;
    const Buffer counts(pieces.by_digits * passes * digit_count * sizeof(unsigned));
    driver().check(driver().cuMemsetD32_v2(counts.pointer(), 0, size_t(pieces.by_digits) * passes * digit_count),
                   "filling memory");
    const Buffer published[2] = {Buffer(tiles * digit_count * sizeof(unsigned)),
                                 Buffer(tiles * digit_count * sizeof(unsigned))};
    job.digits = {at<DigitTile>(*pieces.tiles.memory),
                  int(tiles),
                  0,
                  at<unsigned>(counts),
                  {at<unsigned>(published[0]), at<unsigned>(published[1])}};
    job.to = keys[last].address();
    run("kernops_sort_count", (tiles - 1) / digit_tiles_counted + 1, digit_threads);
    run("kernops_sort_begins", pieces.by_digits * passes, digit_count);
    for (unsigned pass = 0; pass < passes; ++pass) {
      job.digits.pass = int(pass);
      turn((last + int(pass)) % 2, pass + 1 == passes);
      run("kernops_sort_digit", tiles, digit_threads);
    }
  }
};

template <class T> SortPieces::List copied(const std::vector<T>& list) {
  SortPieces::List there{unsigned(list.size()), std::make_unique<Buffer>(list.size() * sizeof(T))};
  fill(*there.memory, list.data(), list.size());
  return there;
}

}  // namespace

SortPieces::SortPieces(const Segments& segments, int key_bytes, int item_bytes)
    : key_bytes(key_bytes), item_bytes(item_bytes) {
  const PieceLists lists(segments.offsets(), key_bytes, item_bytes);
  short_ones = copied(lists.of_short), medium = copied(lists.of_medium), parts = copied(lists.parts);
  tiles = copied(lists.tiles), numbers = copied(lists.long_segments);
  longest = lists.longest, longest_of_all = lists.longest_of_all, by_digits = unsigned(lists.by_digits);
}

void sort_column(const Segments& segments, const SortRun& job, const SortPieces& pieces, const Sorting& sorting) {
  ColumnSort(segments, job, pieces, sorting).all();
}

}  // namespace cuda
}  // namespace kernops
