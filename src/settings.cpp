#include "settings.h"

#include "gpu_matrix.h"
#include "watch.h"

namespace kernops {
namespace {

using Reader = void (*)(Settings&, SEXP);

const std::map<std::string, Reader> readers = {
    {"backend", [](Settings& to, SEXP x) { to.backend = backend_named(Rcpp::as<std::string>(x)); }},
    {"devices", [](Settings& to, SEXP x) { to.devices = Rcpp::as<std::vector<int>>(x); }},
    {"single", [](Settings& to, SEXP x) { to.single = Rcpp::as<bool>(x); }},
    {"scheme", [](Settings& to, SEXP x) { to.scheme = SumScheme(Rcpp::as<int>(x)); }},
    {"accumulate_double", [](Settings& to, SEXP x) { to.accumulate_double = Rcpp::as<bool>(x); }},
    {"threads", [](Settings& to, SEXP x) { to.threads = Rcpp::as<int>(x); }},
    {"isa", [](Settings& to, SEXP x) { to.isa = Rcpp::as<std::string>(x); }},
    {"stay", [](Settings& to, SEXP x) { to.stay = Rcpp::as<bool>(x); }},
    {"into", [](Settings&, SEXP) {}},    // read by src/seg_reduce.cpp for src/result.h
    {"inputs", [](Settings&, SEXP) {}},  // read by src/kernel_call.h
    {"tile", [](Settings& to, SEXP x) { to.tile = Count(Rcpp::as<double>(x)); }},
    {"progress", [](Settings& to, SEXP x) { to.keep_going = watch(x); }},
};

}  // namespace

Settings read_settings(const Rcpp::List& settings) {
  read_memory_limit();
  Settings read;
  const SEXP names = Rf_getAttrib(settings, R_NamesSymbol);
  for (R_xlen_t n = 0; n < settings.size(); ++n) {
    const std::string name = CHAR(STRING_ELT(names, n));
    const auto reader = readers.find(name);
    if (reader == readers.end()) throw InputError("input", "no computation has the setting `" + name + "`");
    reader->second(read, settings[n]);
  }
  if (!read.keep_going) read.keep_going = watch(R_NilValue);
  return read;
}

Settings with_threads(int threads) {
  Settings settings;
  settings.threads = threads, settings.keep_going = watch(R_NilValue);
  return settings;
}

}  // namespace kernops
