// keops_kernel() seen from R: compile a formula, describe it, run it on R's data.
#include "gpu_matrix.h"
#include "ranges.h"
#include "watch.h"

#include <chrono>
#include <memory>

using namespace kernops;

namespace {

const char* category(unsigned axes) { return axes == axis_i ? "Vi" : axes == axis_j ? "Vj" : "Pm"; }

std::string count(Count n, const char* one, const char* many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

// An R vector, matrix or array as doubles, or a gpu_matrix, with its points and batches counted. Keeps alive
// what it converted.
struct Input {
  Rcpp::NumericVector values;
  Column column;
  Count points;
  Count batches = 1;
  bool batched = false;  // an array of three dimensions
};

[[noreturn]] void wrong_size(const Variable& v, Count got, bool rows) {
  throw InputError("dim", "`" + v.name + "` must have " +
                              (rows ? count(v.size, "row", "rows") : count(v.size, "column", "columns")) +
                              " (points are " + (rows ? "columns" : "rows") + "), not " +
                              std::to_string(got));
}

// Points are the rows or the columns of a matrix. A parameter may have any shape.
Input as_points(const Variable& v, Input input, Count nrow, Count ncol, bool points_are_columns) {
  if (v.axes == none) {
    if (nrow * ncol != v.size)
      throw InputError("dim", "the parameter `" + v.name + "` must have " +
                                  count(v.size, "entry", "entries") + ", not " + std::to_string(nrow * ncol));
    input.column.entry = 1;
    return input;
  }
  if ((points_are_columns ? nrow : ncol) != v.size)
    wrong_size(v, points_are_columns ? nrow : ncol, points_are_columns);
  input.points = points_are_columns ? ncol : nrow;
  input.column.entry = points_are_columns ? 1 : nrow;
  input.column.item = points_are_columns ? nrow : 1;
  return input;
}

Input read_gpu_matrix(const Variable& v, SEXP x, bool points_are_columns) {
  const cuda::Matrix& matrix = gpu_matrix(x);
  const Home home = matrix.single ? Home::device_float : Home::device_double;
  return as_points(v, {{}, {matrix.memory.address(), 0, 0, home, matrix.device}, 1}, matrix.rows,
                   matrix.columns, points_are_columns);
}

Input read_input(const Variable& v, SEXP x, bool points_are_columns) {
  if (is_gpu_matrix(x)) return read_gpu_matrix(v, x, points_are_columns);
  const bool numeric = (Rf_isNumeric(x) || Rf_isLogical(x)) && !Rf_isFactor(x);
  if (!numeric)
    throw InputError("input",
                     "`" + v.name + "` must be a numeric matrix or vector, not " + Rf_type2char(TYPEOF(x)));
  const SEXP dim = Rf_getAttrib(x, R_DimSymbol);
  const int dims = Rf_length(dim);
  if (dims != 0 && dims != 2 && dims != 3)
    throw InputError("dim", "`" + v.name +
                                "` must be a vector, a matrix or, for batches, an array of 3 dimensions, "
                                "not of " +
                                std::to_string(dims));
  Input input{Rcpp::as<Rcpp::NumericVector>(x), {}, 1};
  input.column.data = input.values.begin();
  const Count length = Rf_xlength(x);
  const Count nrow = dims ? INTEGER(dim)[0] : points_are_columns ? 1 : length;
  const Count ncol = dims ? INTEGER(dim)[1] : points_are_columns ? length : 1;
  if (dims == 3) {
    input.batched = true;
    input.batches = INTEGER(dim)[2];
    input.column.batch = input.batches == 1 ? 0 : nrow * ncol;
  }
  return as_points(v, input, nrow, ncol, points_are_columns);
}

// Arrays of one batch serve all the batches of the others.
Count common_batches(const Program& program, const std::vector<Input>& inputs) {
  int first = -1;
  for (int n = 0; n < int(inputs.size()); ++n) {
    if (inputs[n].batches == 1) continue;
    if (first < 0) first = n;
    if (inputs[n].batches != inputs[first].batches)
      throw InputError("dim", "all variables must have the same number of batches, or one: `" +
                                  program.variables[first].name + "` has " +
                                  std::to_string(inputs[first].batches) + ", `" + program.variables[n].name +
                                  "` has " + std::to_string(inputs[n].batches));
  }
  return first < 0 ? 1 : inputs[first].batches;
}

// All variables of an axis must have the same number of points; an axis without variables has one.
Count common_points(const Program& program, const std::vector<Input>& inputs, unsigned axes) {
  int first = -1;
  for (int n = 0; n < int(inputs.size()); ++n) {
    if (program.variables[n].axes != axes) continue;
    if (first < 0)
      first = n;
    else if (inputs[n].points != inputs[first].points)
      throw InputError(
          "dim", std::string("all ") + category(axes) + " variables must have the same number of points: `" +
                     program.variables[first].name + "` has " + std::to_string(inputs[first].points) + ", `" +
                     program.variables[n].name + "` has " + std::to_string(inputs[n].points));
  }
  return first < 0 ? 1 : inputs[first].points;
}

// All that R hands over for one computation, checked, and the shape of its result.
struct Call {
  Call(const Kernel& kernel, const Rcpp::List& input, const Rcpp::Nullable<Rcpp::List>& ranges,
       bool points_are_columns) {
    const Program& program = kernel.program;
    const Reduction& result = program.graph.reductions[program.result];
    for (size_t n = 0; n < program.variables.size(); ++n) {
      inputs.push_back(read_input(program.variables[n], input[n], points_are_columns));
      data.variables.push_back(inputs.back().column);
      batched = batched || inputs.back().batched;
    }
    data.m = common_points(program, inputs, axis_i);
    data.n = common_points(program, inputs, axis_j);
    batches = common_batches(program, inputs);
    const Count size = result.size;
    points = result.axes() == none ? 1 : data.length(result.axes());
    nrow = points_are_columns ? size : points, ncol = points_are_columns ? points : size;
    entry = points_are_columns ? 1 : points, row = points_are_columns ? size : 1;
    if (ranges.isNull()) return;
    some = std::make_unique<Ranges>(Rcpp::List(ranges), data.m, data.n);
    data.ranges[0] = &some->by_i, data.ranges[1] = &some->by_j;
  }
  Target target(const cuda::Matrix& out) const {
    return {out.doubles(), entry, row, Home::device_double, out.device};
  }
  Target target(Rcpp::NumericVector& out) const {
    return {out.begin(), entry, row, Home::host, 0, nrow * ncol};
  }

  std::vector<Input> inputs;
  Data data;
  Count batches;
  bool batched = false;  // by an array, be it of a single batch
  std::unique_ptr<Ranges> some;
  Count points, nrow, ncol, entry, row;
};

// Positions come from the engine as numbers from 1, with 0 for none.
SEXP mark_missing(Rcpp::NumericVector out, const Call& call, const Reduction& result) {
  const int first = first_position(reduction_table()[result.row], result.size);
  for (Count batch = 0; batch < call.batches; ++batch)
    for (int k = first; k < result.size; ++k)
      for (Count n = 0; n < call.points; ++n) {
        double& position = out[batch * call.nrow * call.ncol + k * call.entry + n * call.row];
        if (position == 0) position = NA_REAL;
      }
  const bool integers = first == 0 && call.data.length(result.over == axis_i ? axis_i : axis_j) < INT_MAX;
  return integers ? SEXP(Rcpp::as<Rcpp::IntegerVector>(out)) : SEXP(out);
}

}  // namespace

// [[Rcpp::export]]
SEXP kernel_compile(std::string formula, std::vector<std::string> args) {
  return guard([&]() -> SEXP {
    try {
      return Rcpp::XPtr<Kernel>(new Kernel(make_kernel(formula, args)));
    } catch (FormulaError& error) {
      if (error.text.empty()) error.text = formula;
      throw;
    }
  });
}

// [[Rcpp::export]]
Rcpp::List kernel_describe(Rcpp::XPtr<kernops::Kernel> kernel) {
  const Program& program = kernel->program;
  const Reduction& result = program.graph.reductions[program.result];
  Rcpp::CharacterVector names, kinds;
  Rcpp::IntegerVector sizes;
  for (const Variable& v : program.variables)
    names.push_back(v.name), kinds.push_back(category(v.axes)), sizes.push_back(v.size);
  const auto text = [&](Tree t) { return to_string(program.graph, t, program.variables); };
  Rcpp::CharacterVector stages;
  for (const Plan& plan : kernel->plans) {
    const Reduction& r = plan.reduction;
    const int id = kernel->order[&plan - kernel->plans.data()];
    stages.push_back(reduction_table()[r.row].name + (id == program.result ? "" : "#" + std::to_string(id)) +
                     " over " +
                     (r.over == both     ? "i and j"
                      : r.over == axis_i ? "i"
                                         : "j") +
                     ": " + text(r.f) + (r.k ? ", K = " + std::to_string(r.k) : "") +
                     (r.w < 0 ? "" : ", weights " + text(r.w)));
  }
  return Rcpp::List::create(
      Rcpp::_["variables"] =
          Rcpp::DataFrame::create(Rcpp::_["name"] = names, Rcpp::_["category"] = kinds,
                                  Rcpp::_["size"] = sizes, Rcpp::_["stringsAsFactors"] = false),
      Rcpp::_["size"] = result.size, Rcpp::_["axis"] = category(result.axes()), Rcpp::_["stages"] = stages);
}

// [[Rcpp::export(rng = false)]]
SEXP kernel_run(Rcpp::XPtr<kernops::Kernel> kernel, Rcpp::List input, bool points_are_columns,
                Rcpp::Nullable<Rcpp::List> ranges, bool stay, bool single, int scheme, bool accumulate_double,
                int where, std::vector<int> devices, int threads, std::string isa,
                Rcpp::Nullable<Rcpp::Function> progress) {
  return guard([&]() -> SEXP {
    read_memory_limit();
    const Call call(*kernel, input, ranges, points_are_columns);
    const Reduction& result = kernel->program.graph.reductions[kernel->program.result];
    const Settings settings{Where(where), single, SumScheme(scheme), accumulate_double,
                            threads,      isa,    watch(progress),   devices};
    if (stay && call.batched)
      throw InputError("input", "`output = \"gpu\"` gives a matrix: it takes no batches");
    if (stay && result.axes() != none) {
      auto out = std::make_unique<cuda::Matrix>(call.nrow, call.ncol, false, devices.front());
      execute(*kernel, call.data, settings, call.target(*out));
      cuda::use_device(out->device);
      cuda::synchronize();
      return wrap_gpu_matrix(std::move(out));
    }
    Rcpp::NumericVector out(R_xlen_t(call.nrow * call.ncol * call.batches));
    out.attr("dim") = call.batched ? Rcpp::IntegerVector::create(call.nrow, call.ncol, call.batches)
                                   : Rcpp::IntegerVector::create(call.nrow, call.ncol);
    execute_batches(*kernel, call.data, call.batches, settings, call.target(out));
    // a sum over both axes ends on the host
    if (stay) return gpu_upload(Rcpp::as<Rcpp::NumericMatrix>(out), false, devices.front());
    return mark_missing(out, call, result);
  });
}

// Milliseconds of one call whose result stays on the GPU, of so many: on the device, between two events
// around all of them; and on the host, which waits for each.
// [[Rcpp::export]]
Rcpp::NumericVector kernel_device_time(Rcpp::XPtr<kernops::Kernel> kernel, Rcpp::List input, bool single,
                                       int scheme, std::vector<int> devices, int calls) {
  return guard([&] {
    using Clock = std::chrono::steady_clock;
    const Call call(*kernel, input, R_NilValue, false);
    cuda::Matrix out(call.nrow, call.ncol, false, devices.front());
    Settings settings{Where::cuda, single, SumScheme(scheme), false, 1, "", watch(R_NilValue), devices};
    const auto once = [&] {
      execute(*kernel, call.data, settings, call.target(out));
      cuda::use_device(out.device);
    };
    once();  // loads what it needs
    cuda::synchronize();
    const double device = cuda::device_milliseconds([&] {
      for (int n = 0; n < calls; ++n) once();
    });
    const auto begin = Clock::now();
    for (int n = 0; n < calls; ++n) once(), cuda::synchronize();
    const std::chrono::duration<double, std::milli> host = Clock::now() - begin;
    return Rcpp::NumericVector::create(Rcpp::_["device"] = device / calls,
                                       Rcpp::_["host"] = host.count() / calls);
  });
}

// Whether backend "auto" takes m x n pairs to the GPU.
// [[Rcpp::export]]
bool kernel_worth_gpu(Rcpp::XPtr<kernops::Kernel> kernel, double m, double n) {
  return worth_gpu(*kernel, Count(m), Count(n));
}

// [[Rcpp::export]]
std::vector<std::string> cpu_isas() { return cpu::instruction_sets(); }

// [[Rcpp::export]]
Rcpp::DataFrame ops_table() {
  Rcpp::CharacterVector name, group, arguments, size, meaning, gradient;
  for (const OpRow& row : op_table()) {
    name.push_back(row.name), group.push_back(row.group), arguments.push_back(row.arguments);
    size.push_back(row.composite ? "of " + row.formula : row.size);
    meaning.push_back(row.meaning);
    gradient.push_back(row.composite || row.leaf ? "" : row.gradient);
  }
  return Rcpp::DataFrame::create(Rcpp::_["name"] = name, Rcpp::_["group"] = group,
                                 Rcpp::_["arguments"] = arguments, Rcpp::_["size"] = size,
                                 Rcpp::_["meaning"] = meaning, Rcpp::_["gradient"] = gradient,
                                 Rcpp::_["stringsAsFactors"] = false);
}

// [[Rcpp::export]]
Rcpp::DataFrame reductions_table() {
  Rcpp::CharacterVector name, arguments, size, meaning, gradient;
  for (const ReductionRow& row : reduction_table()) {
    name.push_back(row.name), arguments.push_back(row.arguments), size.push_back(row.size);
    meaning.push_back(row.meaning), gradient.push_back(row.gradient);
  }
  return Rcpp::DataFrame::create(Rcpp::_["name"] = name, Rcpp::_["arguments"] = arguments,
                                 Rcpp::_["size"] = size, Rcpp::_["meaning"] = meaning,
                                 Rcpp::_["gradient"] = gradient, Rcpp::_["stringsAsFactors"] = false);
}

// [[Rcpp::export(rng = false)]]
bool is_null_pointer(SEXP pointer) { return R_ExternalPtrAddr(pointer) == nullptr; }
