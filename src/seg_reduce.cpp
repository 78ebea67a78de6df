// seg_plan() and seg_reduce() seen from R.
#include <numeric>

#include <kernops/seg_job.h>

#include "cuda_segments.h"
#include "gpu_matrix.h"
#include "segment_values.h"
#include "watch.h"

using namespace kernops;

namespace {

[[noreturn]] void refuse(const std::string& argument, const std::string& rule, Count position,
                         const std::string& got) {
  throw InputError("input", "`" + argument + "` " + rule + "; element " + std::to_string(position + 1) +
                                " is " + got + ".");
}

std::string in_words(double value) {
  if (ISNAN(value)) return "missing";
  char text[32];
  snprintf(text, sizeof text, "%.15g", value);
  return text;
}

// Whole numbers from 0 as R gives them: integer, double or bit64's integer64.
std::vector<Count> whole_numbers(SEXP x, const std::string& argument) {
  if (TYPEOF(x) != INTSXP && TYPEOF(x) != REALSXP)
    throw InputError("input",
                     "`" + argument + "` must be whole numbers, not " + Rf_type2char(TYPEOF(x)) + ".");
  const bool integer64 = TYPEOF(x) == REALSXP && Rf_inherits(x, "integer64");
  std::vector<Count> numbers(Rf_xlength(x));
  for (size_t n = 0; n < numbers.size(); ++n) {
    if (integer64) {
      std::memcpy(&numbers[n], REAL(x) + n, sizeof(Count));
      if (numbers[n] < 0)
        refuse(argument, "must be whole numbers from 0", n,
               numbers[n] == INT64_MIN ? "missing" : std::to_string(numbers[n]));
      continue;
    }
    const double value = TYPEOF(x) == REALSXP          ? REAL(x)[n]
                         : INTEGER(x)[n] == NA_INTEGER ? NA_REAL
                                                       : INTEGER(x)[n];
    if (!(value >= 0 && value == std::floor(value) && value < 9e15))
      refuse(argument, "must be whole numbers from 0", n, in_words(value));
    numbers[n] = Count(value);
  }
  return numbers;
}

// Segments with groups keep their numbers themselves.
struct Grouped : Segments {
  std::vector<int> numbers;
};

void check_sources(const std::vector<Count>& sources, const std::vector<Count>& lengths, Count values) {
  if (sources.size() != lengths.size())
    throw InputError("input", "`sources` must have an element for each of the " +
                                  std::to_string(lengths.size()) + " segments, not " +
                                  std::to_string(sources.size()) + ".");
  for (size_t s = 0; s < sources.size(); ++s)
    if (sources[s] + lengths[s] > values)
      throw InputError("input", "`sources` must stay within the " + std::to_string(values) +
                                    " values: segment " + std::to_string(s + 1) + " begins at " +
                                    std::to_string(sources[s]) + " (from 0) and has " +
                                    std::to_string(lengths[s]) + " values.");
}

Rcpp::List described(std::unique_ptr<Segments> segments) {
  Count least = segments->empties.empty() && segments->count > 0 ? segments->longest : 0;
  for (Count s = 0; s < segments->segments(); ++s)
    if (segments->empties.empty()) least = std::min(least, segments->offsets[s + 1] - segments->offsets[s]);
  const auto about = Rcpp::List::create(
      Rcpp::_["values"] = double(segments->values), Rcpp::_["segments"] = double(segments->count),
      Rcpp::_["empty"] = double(segments->empties.size()), Rcpp::_["shortest"] = double(least),
      Rcpp::_["longest"] = double(segments->longest), Rcpp::_["sorted"] = segments->groups == nullptr,
      Rcpp::_["covered"] = double(segments->offsets.back() - segments->offsets.front()));
  return Rcpp::List::create(Rcpp::_["pointer"] = Rcpp::XPtr<Segments>(segments.release()),
                            Rcpp::_["about"] = about);
}

Rcpp::List from_lengths(const std::vector<Count>& lengths, Count first, SEXP sources, Count values) {
  auto segments = std::make_unique<Segments>();
  segments->values = values;
  std::vector<Count> begins;
  if (!Rf_isNull(sources)) {
    begins = whole_numbers(sources, "sources");
    check_sources(begins, lengths, values);
  }
  set_lengths(*segments, lengths, first, begins);
  return described(std::move(segments));
}

}  // namespace

// `values` is the number of rows of x; negative where it follows from the rest. The last offset is the end
// where it says how many values there are, or where there is one more of them than there are sources.
// [[Rcpp::export]]
Rcpp::List seg_from_offsets(SEXP offsets, SEXP sources, double values) {
  return guard([&] {
    std::vector<Count> at = whole_numbers(offsets, "offsets");
    const bool indirect = !Rf_isNull(sources);
    if (values < 0 && (indirect || at.empty()))
      throw InputError("input", "`n`, the number of values, must be given too.");
    const Count n = values < 0 ? at.back() : Count(values);
    for (size_t s = 1; s < at.size(); ++s)
      if (at[s] < at[s - 1])
        refuse("offsets", "must not decrease", s,
               std::to_string(at[s]) + ", after " + std::to_string(at[s - 1]));
    for (size_t s = 0; s < at.size() && !indirect; ++s)
      if (at[s] > n)
        refuse("offsets", "must not go beyond the " + std::to_string(n) + " values", s,
               std::to_string(at[s]));
    const bool ends = indirect ? at.size() == size_t(Rf_xlength(sources)) + 1 : !at.empty() && at.back() == n;
    if (!ends) at.push_back(n);
    if (at.size() > 1 && at.back() < at[at.size() - 2])
      refuse("offsets", "must not go beyond the " + std::to_string(n) + " values", at.size() - 2,
             std::to_string(at[at.size() - 2]));
    std::vector<Count> lengths(at.size() - 1);
    for (size_t s = 0; s < lengths.size(); ++s) lengths[s] = at[s + 1] - at[s];
    return from_lengths(lengths, indirect ? 0 : at[0], sources, n);
  });
}

// [[Rcpp::export]]
Rcpp::List seg_from_lengths(SEXP lengths, SEXP sources, double values) {
  return guard([&] {
    const std::vector<Count> all = whole_numbers(lengths, "lengths");
    const Count sum = std::accumulate(all.begin(), all.end(), Count(0));
    const bool indirect = !Rf_isNull(sources);
    if (indirect && values < 0) throw InputError("input", "`n`, the number of values, must be given too.");
    const Count n = values < 0 ? sum : Count(values);
    if (!indirect && sum != n) {
      Count before = 0, s = 0;
      while (s < Count(all.size()) && before + all[s] <= n) before += all[s++];
      throw InputError(
          "input",
          "`lengths` must add up to the " + std::to_string(n) + " values, not to " + std::to_string(sum) +
              (s < Count(all.size()) ? "; element " + std::to_string(s + 1) + " goes beyond them." : "."));
    }
    return from_lengths(all, 0, sources, n);
  });
}

// Numbers of groups from 1; NA is in none.
// [[Rcpp::export]]
Rcpp::List seg_from_groups(Rcpp::IntegerVector groups, double count) {
  return guard([&] {
    auto grouped = std::make_unique<Grouped>();
    const Count n = groups.size();
    std::vector<int>& numbers = grouped->numbers;
    std::vector<Count> lengths(size_t(count), 0);
    numbers.resize(n);
    const bool few = count <= 16384;
    std::vector<Count> within(few ? lengths.size() : 0, 0), window_of(within.size(), -1);
    const Count window = scatter_window(Count(count));
    bool sorted = true;
    int before = 0;
    for (Count k = 0; k < n; ++k) {
      const int number = groups[k] == NA_INTEGER ? -1 : groups[k] - 1;
      if (number < -1 || number >= count)
        refuse("g", "must number the groups from 1 to " + in_words(count), k, std::to_string(groups[k]));
      numbers[k] = number;
      sorted = sorted && number >= before;
      before = number;
      if (number < 0) continue;
      ++lengths[number];
      if (!few) continue;
      if (window_of[number] != k / window) window_of[number] = k / window, within[number] = 0;
      grouped->burst = std::max(grouped->burst, ++within[number]);
    }
    grouped->values = n;
    set_lengths(*grouped, lengths, 0, {});
    if (!few) grouped->burst = grouped->longest;
    if (sorted)
      std::vector<int>().swap(numbers);
    else
      grouped->groups = numbers.data();
    if (!sorted && n > Count(UINT32_MAX))
      throw InputError("input", "unsorted groups must have fewer than 2^32 values; sort them first.");
    return described(std::move(grouped));
  });
}

// The groups of whole numbers that lie close together, in ascending order; NULL where they do not.
// [[Rcpp::export]]
SEXP seg_number_groups(Rcpp::IntegerVector g) {
  const R_xlen_t n = g.size();
  int low = INT_MAX, high = INT_MIN;
  for (const int key : g)
    if (key != NA_INTEGER) low = std::min(low, key), high = std::max(high, key);
  if (low > high || double(high) - low > 2.0 * double(n) + 1000) return R_NilValue;
  std::vector<int> number(size_t(Count(high) - low + 1), 0);
  for (const int key : g)
    if (key != NA_INTEGER) number[Count(key) - low] = 1;
  Rcpp::IntegerVector levels(std::accumulate(number.begin(), number.end(), R_xlen_t(0)));
  int count = 0;
  for (size_t k = 0; k < number.size(); ++k)
    if (number[k]) {
      levels[count] = low + int(k);
      number[k] = ++count;
    }
  Rcpp::IntegerVector codes(n);
  for (R_xlen_t k = 0; k < n; ++k) codes[k] = g[k] == NA_INTEGER ? NA_INTEGER : number[Count(g[k]) - low];
  return Rcpp::List::create(Rcpp::_["codes"] = codes, Rcpp::_["levels"] = levels);
}

// Where runs of equal adjacent keys begin, from 0; NA is equal to NA.
// [[Rcpp::export]]
Rcpp::NumericVector seg_runs(SEXP keys) {
  std::vector<double> starts;
  const R_xlen_t n = Rf_xlength(keys);
  const auto find = [&](const auto* key, const auto& same) {
    for (R_xlen_t k = 0; k < n; ++k)
      if (k == 0 || !same(key[k], key[k - 1])) starts.push_back(double(k));
  };
  const auto equal = [](auto a, auto b) { return a == b; };
  switch (TYPEOF(keys)) {
    case REALSXP:
      find(REAL(keys),
           [](double a, double b) { return a == b || (a != a && b != b && R_IsNA(a) == R_IsNA(b)); });
      break;
    case STRSXP: find(STRING_PTR_RO(keys), equal); break;  // R keeps each string once
    default: find(INTEGER(keys), equal);
  }
  return Rcpp::wrap(starts);
}

// The same for keys on the GPU, with the end and the key of each run.
// [[Rcpp::export]]
Rcpp::List seg_runs_gpu(SEXP keys) {
  return guard([&] {
    const cuda::Matrix& matrix = gpu_matrix(keys);
    const cuda::KeyRuns runs = cuda::key_runs(matrix.memory.address(), matrix.single, matrix.rows);
    return Rcpp::List::create(Rcpp::_["offsets"] = std::vector<double>(runs.offsets.begin(), runs.offsets.end()),
                              Rcpp::_["keys"] = runs.keys);
  });
}

// For each value the number of its segment from 1, NA for none; of segments without sources and groups.
// [[Rcpp::export]]
Rcpp::IntegerVector seg_owners(Rcpp::XPtr<kernops::Segments> segments) {
  Rcpp::IntegerVector owners(R_xlen_t(segments->values), NA_INTEGER);
  for (Count s = 0; s < segments->segments(); ++s)
    std::fill(owners.begin() + segments->offsets[s], owners.begin() + segments->offsets[s + 1],
              int(segments->row(s)) + 1);
  return owners;
}

// The rows of x, from 1, in the order of the segments, and how many each segment has.
// [[Rcpp::export]]
Rcpp::List seg_values(Rcpp::XPtr<kernops::Segments> segments) {
  const Segments& from = *segments;
  const Count begin = from.offsets.front();
  Rcpp::NumericVector row(R_xlen_t(from.offsets.back() - begin)), lengths(R_xlen_t(from.count));
  for (Count s = 0; s < from.segments(); ++s) {
    const Count first = from.offsets[s], length = from.offsets[s + 1] - first;
    lengths[from.row(s)] = double(length);
    for (Count k = 0; k < length; ++k)
      row[first - begin + k] = 1 + double(from.groups            ? Count(from.order()[first + k])
                                          : from.sources.empty() ? first + k
                                                                 : from.sources[s] + k);
  }
  return Rcpp::List::create(Rcpp::_["row"] = row, Rcpp::_["lengths"] = lengths);
}

// [[Rcpp::export]]
SEXP seg_compile(std::string formula) {
  return guard([&]() -> SEXP {
    try {
      return Rcpp::XPtr<SegmentFormula>(new SegmentFormula(segment_formula(formula)));
    } catch (FormulaError& error) {
      if (error.text.empty()) error.text = formula;
      throw;
    }
  });
}

// [[Rcpp::export]]
Rcpp::DataFrame seg_ops_table() {
  Rcpp::CharacterVector name, meaning, kind;
  const char* kinds[] = {"number", "same", "position", "truth"};
  for (const SegmentOp& op : segment_ops())
    name.push_back(op.name), meaning.push_back(op.meaning), kind.push_back(kinds[op.kind]);
  return Rcpp::DataFrame::create(Rcpp::_["name"] = name, Rcpp::_["meaning"] = meaning, Rcpp::_["kind"] = kind,
                                 Rcpp::_["stringsAsFactors"] = false);
}

SegmentValues read_values(SEXP x, Count rows, Count columns) {
  if (!is_gpu_matrix(x) && Count(Rf_xlength(x)) != rows * columns)
    throw InputError("dim", "the plan is for " + std::to_string(rows) + " values.");
  SegmentValues values;
  values.row = 1, values.column = rows;
  if (is_gpu_matrix(x)) {
    const cuda::Matrix& matrix = gpu_matrix(x);
    values.type = matrix.single ? SegmentValues::floats : SegmentValues::doubles;
    values.on_device = true, values.data = matrix.memory.address();
  } else if (TYPEOF(x) == REALSXP) {
    values.data = REAL(x);
  } else {
    values.type = SegmentValues::integers, values.data = INTEGER(x);
  }
  return values;
}

// NaN becomes NA where one of the values was NA.
void mark_missing(const SegmentRequest& request, int outputs) {
  const Segments& segments = request.segments;
  if (request.skip_missing || request.x.on_device || request.softmax) return;
  const auto result = [&](int o, Count column, Count row) -> double& {
    return request.out.data[(o * request.columns + column) * request.out.entry + row * request.out.row];
  };
  const auto is_nan = [](double value) { return value != value; };
  const auto missing = [&](Count column, Count row) {
    const Count at = column * request.x.column + row * request.x.row;
    return request.x.type == SegmentValues::integers
               ? static_cast<const int*>(request.x.data)[at] == NA_INTEGER
               : bool(R_IsNA(static_cast<const double*>(request.x.data)[at]));
  };
  for (Count column = 0; column < request.columns; ++column) {
    bool any = false;
    for (int o = 0; o < outputs; ++o) {
      const double* results = &result(o, column, 0);
      for (Count row = 0; row < segments.count; ++row) any |= is_nan(results[row]);
    }
    if (!any) continue;
    const auto mark = [&](Count row, Count value) {
      if (!missing(column, value)) return;
      for (int o = 0; o < outputs; ++o)
        if (is_nan(result(o, column, row))) result(o, column, row) = NA_REAL;
    };
    if (segments.groups) {
      for (Count n = 0; n < segments.values; ++n)
        if (segments.groups[n] >= 0) mark(segments.groups[n], n);
      continue;
    }
    for (Count s = 0; s < segments.segments(); ++s) {
      const Count row = segments.row(s), begin = segments.offsets[s];
      if (!is_nan(result(0, column, row))) continue;
      const Count from = segments.sources.empty() ? begin : segments.sources[s];
      for (Count k = 0; k < segments.offsets[s + 1] - begin; ++k) mark(row, from + k);
    }
  }
}

// Results as doubles: segment by segment, column by column, output by output. Of a softmax, one for each
// value.
// [[Rcpp::export]]
SEXP seg_run(Rcpp::XPtr<kernops::Segments> segments, SEXP x, double columns, int op, SEXP formula,
             bool softmax, Rcpp::Nullable<double> empty, bool skip_missing, SEXP weights,
             int threads, std::string isa, Rcpp::Nullable<Rcpp::Function> progress, double tile) {
  return guard([&]() -> SEXP {
    SegmentRequest request{*segments};
    request.op = op;
    if (!Rf_isNull(formula)) request.formula = Rcpp::XPtr<SegmentFormula>(formula).get();
    request.softmax = softmax, request.skip_missing = skip_missing;
    const double value = empty.isNotNull() ? Rcpp::as<double>(empty.get()) : 0;
    if (empty.isNotNull()) request.empty = &value;
    request.columns = Count(columns);
    request.x = read_values(x, segments->values, request.columns);
    if (!Rf_isNull(weights)) request.weights = read_values(weights, segments->values, 1);
    request.settings.threads = threads, request.settings.isa = isa,
    request.settings.keep_going = watch(progress);
    request.tile = Count(tile);
    const int outputs = softmax || request.formula ? 1 : segment_ops()[op].outputs;
    const Count rows = softmax ? segments->values : segments->count;
    Rcpp::NumericVector out(Rcpp::no_init(R_xlen_t(rows) * R_xlen_t(columns) * outputs));
    const bool covered = segments->offsets.back() - segments->offsets.front() == segments->values;
    if (softmax && !covered) std::fill(out.begin(), out.end(), NA_REAL);
    request.out = {out.begin(), rows, 1};
    cpu::seg_reduce(request);
    mark_missing(request, outputs);
    return out;
  });
}
