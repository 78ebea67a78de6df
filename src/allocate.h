// Functions that allocate R objects while C++ objects are alive. If memory is short, R jumps over the destructors of
// C++ objects. The memory of these objects, such as the inputs of a call, would then stay allocated until the session
// ends. The functions of this file run the destructors.
#pragma once
#include <Rcpp/Lightest>  // only vectors and lists: sugar and modules would double the compile time
#ifdef __linux__
#include <sys/sysinfo.h>
#endif
#include <algorithm>
#include <memory>

#include "run/huge_pages.h"

// The exception that is thrown if R has no memory for an object of `bytes` bytes.
struct NoMemory : std::bad_alloc {
  explicit NoMemory(double bytes) : bytes(bytes) {}
  double bytes;
};

// Returns whether the memory of the machine, including swap space, is at least `bytes` bytes. Some systems grant memory
// of any size, and fail only when the memory is written.
inline bool within_memory(double bytes) {
#ifdef __linux__
  struct sysinfo has;
  if (sysinfo(&has) == 0) return bytes <= (double(has.totalram) + double(has.totalswap)) * has.mem_unit;
#endif
  return true;
}

// Returns the R object of `bytes` bytes that `body` creates by calls of R. `body` must not own anything, because R may
// jump out of it. Catching R's error takes 14 microseconds. Therefore allocate() catches errors only for large objects:
// without memory for a few bytes, R can hardly continue anyway.
template <class Body> SEXP allocate(double bytes, Body body) {
  if (bytes < 65536) return Rcpp::unwindProtect([&]() -> SEXP { return body(); });
  if (!within_memory(bytes)) throw NoMemory(bytes);
  bool failed = false;
  const auto call = [](void* data) -> SEXP { return (*static_cast<Body*>(data))(); };
  const auto fail = [](SEXP, void* data) -> SEXP {
    *static_cast<bool*>(data) = true;
    return R_NilValue;
  };
  const SEXP object = Rcpp::unwindProtect([&]() -> SEXP { return R_tryCatchError(call, &body, fail, &failed); });
  if (failed) throw NoMemory(bytes);
  return object;
}

inline double bytes_of(SEXPTYPE type, double length) {
  return length * (type == REALSXP ? sizeof(double) : type == RAWSXP ? 1 : sizeof(int));
}

// Returns a new, uninitialised R vector.
inline SEXP new_vector(SEXPTYPE type, double length) {
  const double bytes = bytes_of(type, length);
  if (!(length <= double(R_XLEN_T_MAX))) throw NoMemory(bytes);
  return allocate(bytes, [&] { return Rf_allocVector(type, R_xlen_t(length)); });
}

inline Rcpp::IntegerVector new_integers(double length) { return new_vector(INTSXP, length); }

inline Rcpp::NumericVector new_numbers(double length) {
  Rcpp::NumericVector numbers = new_vector(REALSXP, length);
  kernops::in_huge_pages(numbers.begin(), size_t(length) * sizeof(double));
  return numbers;
}

inline Rcpp::NumericVector zeros(double length) {
  Rcpp::NumericVector numbers = new_numbers(length);
  std::fill(numbers.begin(), numbers.end(), 0.0);
  return numbers;
}

inline Rcpp::NumericMatrix zeros(int rows, int columns) {
  Rcpp::NumericMatrix numbers(
      allocate(double(rows) * columns * sizeof(double), [&] { return Rf_allocMatrix(REALSXP, rows, columns); }));
  std::fill(numbers.begin(), numbers.end(), 0.0);
  return numbers;
}

template <class Values> Rcpp::NumericVector numbers_of(const Values& values) {
  Rcpp::NumericVector numbers = new_numbers(double(values.size()));
  std::copy(values.begin(), values.end(), numbers.begin());
  return numbers;
}

// Returns x, converted to `type` (real or integer) if necessary. The values of the result are in memory, unlike those
// of a compact sequence such as 1:n.
inline SEXP in_memory(SEXP x, SEXPTYPE type) {
  if (SEXPTYPE(TYPEOF(x)) == type && !ALTREP(x)) return x;
  return allocate(bytes_of(type, double(Rf_xlength(x))), [&] {
    const SEXP values = PROTECT(Rf_coerceVector(x, type));
    if (type == REALSXP) REAL(values);
    if (type == INTSXP || type == LGLSXP) INTEGER(values);
    if (type == STRSXP) STRING_PTR_RO(values);
    UNPROTECT(1);
    return values;
  });
}
inline SEXP in_memory(SEXP x) { return in_memory(x, TYPEOF(x)); }

inline Rcpp::List named_list(std::initializer_list<std::pair<const char*, SEXP>> entries) {
  return allocate(0, [&] {
    const SEXP list = PROTECT(Rf_allocVector(VECSXP, R_xlen_t(entries.size())));
    const SEXP names = PROTECT(Rf_allocVector(STRSXP, R_xlen_t(entries.size())));
    R_xlen_t n = 0;
    for (const auto& [name, value] : entries) {
      SET_STRING_ELT(names, n, Rf_mkChar(name));
      SET_VECTOR_ELT(list, n++, value);
    }
    Rf_setAttrib(list, R_NamesSymbol, names);
    UNPROTECT(2);
    return list;
  });
}

// Counts the memory of C++ objects that R holds by external pointers. R's garbage collector does not see this memory,
// so it would run too late to free objects that R has dropped. This class runs the collector when the memory has
// doubled since the last collection, or has grown by `most` bytes, so that the objects that can be freed take a bounded
// amount of memory.
class UnseenMemory {
 public:
  explicit UnseenMemory(double bytes) : bytes_(bytes) {
    total() += bytes;
    if (total() < limit()) return;
    R_gc();
    limit() = total() + std::clamp(total(), least, most);
  }
  ~UnseenMemory() { total() -= bytes_; }
  UnseenMemory(const UnseenMemory&) = delete;

 private:
  static constexpr double least = 256e6, most = 512e6;
  static double& total() {
    static double bytes = 0;
    return bytes;
  }
  static double& limit() {
    static double bytes = least;
    return bytes;
  }
  const double bytes_;
};

// Passes the ownership of an object to R; `bytes` is the memory of the object.
template <class T> SEXP external_pointer(std::unique_ptr<T> object, double bytes = 0) {
  const Rcpp::RObject memory = bytes < 1e6 ? R_NilValue : external_pointer(std::make_unique<UnseenMemory>(bytes));
  const SEXP pointer = allocate(0, [&]() -> SEXP { return Rcpp::XPtr<T>(object.get(), true, R_NilValue, memory); });
  object.release();
  return pointer;
}

// Frees an object immediately, and subtracts its bytes from the counted memory.
template <class T> void free_object(SEXP pointer) {
  const SEXP memory = R_ExternalPtrProtected(pointer);
  if (R_ExternalPtrAddr(pointer)) Rcpp::XPtr<T>(pointer).release();
  if (TYPEOF(memory) == EXTPTRSXP && R_ExternalPtrAddr(memory)) Rcpp::XPtr<UnseenMemory>(memory).release();
}
