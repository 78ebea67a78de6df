// The R interface of keops_kernel(): compiles a formula, describes it, and runs it on R's data.
#include <chrono>

#include "formula/text.h"
#include "kernel_call.h"
#include "formula/op_table.h"
#include "settings.h"
#include "watch.h"

using namespace kernops;

namespace {

// Converts positions for R. The engine counts positions from 1, and returns 0 for a missing position; this function
// replaces 0 by NA.
SEXP mark_missing(Rcpp::NumericVector out, const Call& call, const Reduction& result) {
  const int first = first_position(reduction_table()[result.row], result.size);
  for (Count batch = 0; batch < call.batches; ++batch)
    for (int k = first; k < result.size; ++k)
      for (Count n = 0; n < call.points; ++n) {
        double& position = out[batch * call.nrow * call.ncol + k * call.entry + n * call.row];
        if (position == 0) position = NA_REAL;
      }
  const bool integers = first == 0 && call.data.length(result.over == axis_i ? axis_i : axis_j) < INT_MAX;
  return integers ? in_memory(out, INTSXP) : SEXP(out);
}

void set_dim(const Rcpp::NumericVector& out, const Call& call) {
  if (std::max({call.nrow, call.ncol, call.batches}) > INT_MAX)
    throw InputError("dim", "a matrix of R has at most " + std::to_string(INT_MAX) + " rows and columns");
  std::vector<Count> sizes = call.dim;
  if (call.batched) sizes.push_back(call.batches);
  allocate(0, [&] {
    const SEXP dim = PROTECT(Rf_allocVector(INTSXP, R_xlen_t(sizes.size())));
    std::copy(sizes.begin(), sizes.end(), INTEGER(dim));
    Rf_setAttrib(out, R_DimSymbol, dim);
    UNPROTECT(1);
    return R_NilValue;
  });
}

}  // namespace

// [[Rcpp::export(rng = false)]]
SEXP kernel_compile(std::string formula, std::vector<std::string> args, bool stored = false) {
  return guard([&]() -> SEXP {
    const auto compile = [&] { return std::make_unique<Kernel>(make_kernel(formula, args, stored)); };
    return external_pointer(compile_formula(formula, compile));
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::List kernel_describe(Rcpp::XPtr<kernops::Kernel> kernel) {
  const Granted granted = granted_by_r();
  const Program& program = kernel->program;
  const Reduction& result = program.graph.reductions[program.result];
  Rcpp::CharacterVector names, kinds;
  Rcpp::IntegerVector sizes;
  for (const Variable& v : program.variables)
    names.push_back(Rcpp::String(v.name, CE_UTF8)), kinds.push_back(category(v.axes)), sizes.push_back(v.size);
  const auto text = [&](Tree t) { return text_of(program.graph, t, program.variables); };
  Rcpp::CharacterVector stages, unused;
  for (const std::string& name : program.unused) unused.push_back(Rcpp::String(name, CE_UTF8));
  const std::vector<Plan>& plans = kernel->plans[number_of(cpu_backend())];
  for (const Plan& plan : plans) {
    const Reduction& r = plan.reduction;
    const int id = kernel->order[&plan - plans.data()];
    stages.push_back(reduction_table()[r.row].name + (id == program.result ? "" : "#" + std::to_string(id)) + " over " +
                     (r.over == both     ? "i and j"
                      : r.over == axis_i ? "i"
                                         : "j") +
                     ": " + text(r.f) + (r.k ? ", K = " + std::to_string(r.k) : "") +
                     (r.w < 0 ? "" : ", weights " + text(r.w)));
  }
  return Rcpp::List::create(
      Rcpp::_["variables"] = Rcpp::DataFrame::create(Rcpp::_["name"] = names, Rcpp::_["category"] = kinds,
                                                     Rcpp::_["size"] = sizes, Rcpp::_["stringsAsFactors"] = false),
      Rcpp::_["size"] = result.size, Rcpp::_["axis"] = category(result.axes()), Rcpp::_["stages"] = stages,
      Rcpp::_["unused"] = unused);
}

// [[Rcpp::export(rng = false)]]
void kernel_check_matrix(Rcpp::XPtr<kernops::Kernel> kernel, int variable, int rows, int columns) {
  guard([&] { check_matrix(kernel->program.variables[variable - 1], rows, columns); });
}

// [[Rcpp::export(rng = false)]]
SEXP kernel_run(Rcpp::XPtr<kernops::Kernel> kernel, Rcpp::List input, bool points_are_columns,
                Rcpp::Nullable<Rcpp::List> ranges, Rcpp::List settings) {
  return guard_new([&]() -> SEXP {
    const Settings options = read_settings(settings);
    const Call call(*kernel, input, ranges, points_are_columns, inputs_of(settings));
    const Reduction& result = kernel->result();
    if (options.stay && call.batched)
      throw InputError("input", "`output = \"gpu\"` returns a matrix: batches are not supported");
    if (options.stay && result.axes() != none) {
      auto out = std::make_unique<cuda::Matrix>(call.nrow, call.ncol, false, options.devices.front());
      execute(*kernel, call.data, options, call.target(*out));
      cuda::use_device(out->device);
      cuda::synchronize();
      return wrap_gpu_matrix(std::move(out));
    }
    Rcpp::NumericVector out = new_numbers(double(call.nrow) * double(call.ncol) * double(call.batches));
    set_dim(out, call);
    execute_batches(*kernel, call.data, call.batches, options, call.target(out));
    // a sum over both axes is returned to the host, so this result is uploaded for `output = "gpu"`
    if (options.stay) return gpu_upload(Rcpp::as<Rcpp::NumericMatrix>(out), "float64", options.devices.front());
    return mark_missing(out, call, result);
  });
}

// The time of one call in milliseconds, averaged over several calls whose results stay on the GPU. The result has two
// times. The time of the device is measured by two events, before and after all calls. The time of the host includes
// waiting for the end of each call.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector kernel_device_time(Rcpp::XPtr<kernops::Kernel> kernel, Rcpp::List input, Rcpp::List settings,
                                       int calls) {
  return guard([&] {
    using Clock = std::chrono::steady_clock;
    const Call call(*kernel, input, R_NilValue, false, inputs_of(settings));
    if (kernel->result().axes() == none)
      throw InputError("input", "a sum over both axes is returned to the host: `output = \"gpu\"` is not supported");
    const Settings wanted = read_settings(settings);
    cuda::Matrix out(call.nrow, call.ncol, false, wanted.devices.front());
    const auto once = [&] {
      execute(*kernel, call.data, wanted, call.target(out));
      cuda::use_device(out.device);
    };
    once();  // the first call compiles or loads the kernels
    cuda::synchronize();
    const double device = cuda::device_milliseconds([&] {
      for (int n = 0; n < calls; ++n) once();
    });
    const auto begin = Clock::now();
    for (int n = 0; n < calls; ++n) once(), cuda::synchronize();
    const std::chrono::duration<double, std::milli> host = Clock::now() - begin;
    return Rcpp::NumericVector::create(Rcpp::_["device"] = device / calls, Rcpp::_["host"] = host.count() / calls);
  });
}

// The names of the backends. The last one is the backend that is always available.
// [[Rcpp::export(rng = false)]]
std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const Backend* backend : backends()) names.push_back(backend->name());
  return names;
}

// The number of the device that would process m x n pairs; -1 is the host. `there` is true if some data are on the GPU.
// [[Rcpp::export(rng = false)]]
int kernel_device(Rcpp::XPtr<kernops::Kernel> kernel, double m, double n, bool there, Rcpp::List settings) {
  return guard([&] {
    const Settings wanted = read_settings(settings);
    const Backend& chosen = backend_for(*kernel, there ? MemorySpace::device_double : MemorySpace::host, m * n, wanted);
    return chosen.holds(MemorySpace::device_double) ? wanted.devices.front() : -1;
  });
}

// [[Rcpp::export(rng = false)]]
std::vector<std::string> cpu_isas() { return cpu::instruction_sets(); }

// [[Rcpp::export(rng = false)]]
bool is_null_pointer(SEXP pointer) { return R_ExternalPtrAddr(pointer) == nullptr; }
