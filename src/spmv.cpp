// The R interface of spmv(). A row of the product is a reduction of the matrix entries of this row, each combined with
// an entry of v.
#include "result.h"
#include "segment_values.h"
#include "settings.h"
#include "watch.h"

using namespace kernops;

namespace {

// The entries of a sparse matrix by rows, on a device if necessary. The object protects the R vectors from which the
// entries were copied. R therefore copies such a vector before changing it, so that an unchanged address means
// unchanged values.
class SparseEntries {
 public:
  SparseEntries(SEXP rows, SEXP columns) : rows_(rows), columns_(columns) {}

  Segments& rows() { return *Rcpp::XPtr<Segments>(SEXP(rows_)); }
  const int* columns() const { return INTEGER(columns_); }

  // The row structure, with a copy on the device; the entries of each row are contiguous.
  Segments& rows_on(int device) {
    if (!there_ || device_ != device) upload(device);
    return side_by_side_ ? *side_by_side_ : rows();
  }
  const int* columns_there() const { return static_cast<const int*>(there_->address()); }
  const void* values_there(SEXP values, bool single) {
    if (values_ && single_ == single && SEXP(from_) == values) return values_->address();
    const Rcpp::NumericVector numbers(in_memory(values, REALSXP));  // may be `values` itself, without a copy
    values_ = single ? uploaded<float>(numbers.begin()) : uploaded<double>(numbers.begin());
    from_ = values, single_ = single;
    return values_->address();
  }

 private:
  void upload(int device) {
    cuda::use_device(device);
    const Segments& all = rows();
    count_ = size_t(Rf_xlength(columns_)), device_ = device;
    order_.clear(), side_by_side_.reset(), values_.reset();
    if (all.groups || !all.sources.empty()) put_in_order(all);
    there_ = uploaded<int>(columns());
  }

  void put_in_order(const Segments& all) {
    std::vector<Count> lengths(size_t(all.count), 0);
    for (Count s = 0; s < all.segments(); ++s) {
      const Count first = all.offsets()[size_t(s)], end = all.offsets()[size_t(s) + 1];
      lengths[size_t(all.row(s))] = end - first;
      for (Count m = first; m < end; ++m) order_.push_back(all.source(s, m));
    }
    side_by_side_ = std::make_unique<Segments>();
    side_by_side_->set_lengths(lengths, 0, {});
    count_ = order_.size();
    side_by_side_->values = Count(count_);
  }

  template <class T, class From> std::unique_ptr<cuda::Buffer> uploaded(const From* from) const {
    std::vector<T> numbers(count_);
    for (size_t n = 0; n < count_; ++n) numbers[n] = T(from[order_.empty() ? Count(n) : order_[n]]);
    auto there = std::make_unique<cuda::Buffer>(count_ * sizeof(T));
    cuda::copy_in(there->pointer(), numbers.data(), count_ * sizeof(T));
    return there;
  }

  Rcpp::RObject rows_, columns_, from_;
  int device_ = -1;
  size_t count_ = 0;
  bool single_ = false;
  std::vector<Count> order_;  // original position of each entry; empty if the entries are already sorted by row
  std::unique_ptr<Segments> side_by_side_;
  std::unique_ptr<cuda::Buffer> there_, values_;
};

bool any_nan(const double* from, Count count) {
  return std::any_of(from, from + count, [](double x) { return x != x; });
}

}  // namespace

// `rows` is the plan of the rows, and `columns` has the column of each entry, from 1.
// [[Rcpp::export(rng = false)]]
SEXP spmv_entries(SEXP rows, Rcpp::IntegerVector columns) {
  return guard_new([&]() -> SEXP { return external_pointer(std::make_unique<SparseEntries>(rows, columns)); });
}

// `values` may be NULL, which means that all values are 1. `v` is an R vector or matrix, or a gpu_matrix; the result
// has the precision of `v`. `plain` is true for sums of products. On the CPU, the result is NULL if the product is of
// another kind, or if a sum is NaN, because C++ does not distinguish NA from NaN. R then repeats the computation.
// [[Rcpp::export(rng = false)]]
SEXP spmv_run(SEXP entries, SEXP values, SEXP v, Rcpp::List operation, std::string product, bool plain,
              Rcpp::List settings) {
  return guard_new([&]() -> SEXP {
    Settings options = read_settings(settings);
    SparseEntries& sparse = *Rcpp::XPtr<SparseEntries>(entries);
    const bool on_gpu = is_gpu_matrix(v);
    const Backend& chosen =
        choose_backend(options.backend, {on_gpu ? MemorySpace::device_double : MemorySpace::host}, 0);
    check_stays(options.stay, chosen);
    const bool on_device = chosen.holds(MemorySpace::device_double);
    if (!on_device && !(plain && !Rf_isNull(values))) return R_NilValue;
    if (on_gpu) options.devices = {gpu_matrix(v).device};
    const int number = options.devices[0];
    SegmentRequest request{on_device ? sparse.rows_on(number) : sparse.rows()};
    request.columns = columns_of(v), request.settings = options;
    read_operation(operation, request);
    request.weights = read_values(v, rows_of(v), request.columns);
    request.weight_of = on_device ? sparse.columns_there() : sparse.columns();
    SegmentFormula formula_of_products;
    const bool single = request.weights.type == SegmentValues::floats;
    if (!Rf_isNull(values) && on_device) {
      request.x = {single ? SegmentValues::floats : SegmentValues::doubles, true, sparse.values_there(values, single)};
      formula_of_products = compile_formula(product, [&] { return segment_formula(product); });
      request.product = &formula_of_products;
    } else if (!Rf_isNull(values)) {
      request.x = {SegmentValues::doubles, false, REAL(in_memory(values))};
    }
    Result result(options.stay, number, request.segments.count, request.columns * request.outputs(), false,
                  settings["into"]);
    request.out = result.output();
    chosen.segments(request);
    if (!on_device && any_nan(request.out.data, request.segments.count * request.columns)) return R_NilValue;
    return result.give(options.stay);
  });
}
