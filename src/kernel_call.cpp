// Checks the arguments of R against the variables of a formula.
#include "kernel_call.h"

#include <kernops/sixteen_bits.h>

#include "formula/text.h"

namespace kernops {

const char* category(unsigned axes) { return axes == axis_i ? "Vi" : axes == axis_j ? "Vj" : "Pm"; }

namespace {

[[noreturn]] void wrong_size(const Variable& v, Count got, bool rows) {
  throw InputError("dim", "`" + v.name + "` must have " +
                              (rows ? counted(v.size, "row", "rows") : counted(v.size, "column", "columns")) +
                              " (points are " + (rows ? "columns" : "rows") + "), not " + std::to_string(got));
}

// Checks a vector, which must have one entry for each point. A vector with the entries of a single point is rejected:
// it is probably a row of a matrix that lost its dimensions.
void check_row(const Variable& v, Count length, bool points_are_columns) {
  if (v.axes == none || v.size == 1 || length != v.size) return;
  const std::string row = points_are_columns ? "[, 1, drop = FALSE]" : "[1, , drop = FALSE]";
  throw InputError("dim", "`" + v.name + "` is a vector of " + counted(length, "number", "numbers") +
                              ", which are as many points of one entry; a single point of " +
                              counted(v.size, "entry", "entries") + " is a matrix: `x" + row + "`, or `" +
                              (points_are_columns ? "cbind" : "rbind") + "(v)` of a vector v");
}

// The points are the rows or the columns of a matrix. A parameter may have any shape: only its length is checked.
Input as_points(const Variable& v, Input input, Count nrow, Count ncol, bool points_are_columns) {
  if (v.axes == none) {
    if (nrow * ncol != v.size)
      throw InputError("dim", "the parameter `" + v.name + "` must have " + counted(v.size, "entry", "entries") +
                                  ", not " + std::to_string(nrow * ncol));
    input.array.entry = 1;
    return input;
  }
  if ((points_are_columns ? nrow : ncol) != v.size) wrong_size(v, points_are_columns ? nrow : ncol, points_are_columns);
  input.points = points_are_columns ? ncol : nrow;
  input.array.entry = points_are_columns ? 1 : nrow;
  input.array.item = points_are_columns ? nrow : 1;
  return input;
}

bool is_matrix(const Variable& v, Count nrow, Count ncol) { return v.axes == none && nrow > 1 && ncol > 1; }

// Returns the entries of a matrix by rows; R stores matrices by columns.
Rcpp::NumericVector by_rows(const Input& input, Count nrow, Count ncol) {
  Rcpp::NumericVector turned(input.values.size());
  const double* from = input.values.begin();
  double* to = turned.begin();
  for (Count batch = 0; batch < input.batches; ++batch, from += nrow * ncol)
    for (Count row = 0; row < nrow; ++row)
      for (Count column = 0; column < ncol; ++column) *to++ = from[column * nrow + row];
  return turned;
}

Input read_gpu_matrix(const Variable& v, SEXP x, bool points_are_columns, const std::string& inputs) {
  std::shared_ptr<cuda::Matrix> rounded;
  const cuda::Matrix* all = &any_gpu_matrix(x);
  if (v.axes != none && !inputs.empty() && all->space != cuda::space_of_precision(inputs)) {
    rounded = cuda::converted(*all, cuda::space_of_precision(inputs));
    all = rounded.get();
  }
  const cuda::Matrix& matrix = *all;
  if (is_matrix(v, matrix.rows, matrix.columns))
    throw InputError("dim", "the parameter `" + v.name +
                                "` is a matrix on the GPU: give it as an ordinary matrix, or as a single row");
  return as_points(v, {{}, {matrix.memory.address(), 0, 0, matrix.space, matrix.device}, rounded, 1}, matrix.rows,
                   matrix.columns, points_are_columns);
}

template <class Number> void round_to(Rcpp::NumericVector& to, const Rcpp::NumericVector& from, const Variable& v) {
  for (R_xlen_t n = 0; n < from.size(); ++n) {
    to[n] = double(Number(from[n]));
    if (std::isinf(to[n]) && std::isfinite(from[n]))
      throw InputError("input", "`" + v.name +
                                    "` has numbers larger than those of 16 bits: divide them by a constant, "
                                    "or choose `precision = \"float32\"`");
  }
}

Rcpp::NumericVector rounded(const Rcpp::NumericVector& values, const Variable& v, const std::string& inputs) {
  Rcpp::NumericVector to = new_numbers(double(values.size()));
  inputs == "bfloat16" ? round_to<Bfloat16>(to, values, v) : round_to<Float16>(to, values, v);
  return to;
}

Input read_input(const Variable& v, SEXP x, bool points_are_columns, const std::string& inputs) {
  if (is_gpu_matrix(x)) return read_gpu_matrix(v, x, points_are_columns, inputs);
  const bool numeric = (Rf_isNumeric(x) || Rf_isLogical(x)) && !Rf_isFactor(x);
  if (!numeric)
    throw InputError("input", "`" + v.name + "` must be a numeric matrix or vector, not " +
                                  (Rf_isFunction(x) ? "a function" : Rf_type2char(TYPEOF(x))));
  const SEXP dim = Rf_getAttrib(x, R_DimSymbol);
  const int dims = Rf_length(dim);
  if (dims > 3)
    throw InputError("dim", "`" + v.name +
                                "` must be a vector, a matrix or, for batches, an array of 3 dimensions, "
                                "not of " +
                                std::to_string(dims));
  Input input{in_memory(x, REALSXP), {}, {}, 1};
  if (v.axes != none && !inputs.empty()) input.values = rounded(input.values, v, inputs);
  input.array.data = input.values.begin();
  const Count length = Rf_xlength(x);
  const bool vector = dims < 2;  // a vector, or an array with one dimension, as made by table()
  const Count nrow = !vector ? INTEGER(dim)[0] : points_are_columns ? 1 : length;
  const Count ncol = !vector ? INTEGER(dim)[1] : points_are_columns ? length : 1;
  if (dims == 3) {
    input.batched = true;
    input.batches = INTEGER(dim)[2];
    input.array.batch = input.batches == 1 ? 0 : nrow * ncol;
  }
  if (vector) check_row(v, length, points_are_columns);
  input = as_points(v, input, nrow, ncol, points_are_columns);
  if (is_matrix(v, nrow, ncol)) {
    check_matrix(v, nrow, ncol);
    input.values = by_rows(input, nrow, ncol);
    input.array.data = input.values.begin();
  }
  return input;
}

// The number of batches, on which all arguments must agree; arguments with one batch are recycled.
Count common_batches(const Program& program, const std::vector<Input>& inputs) {
  int first = -1;
  for (int n = 0; n < int(inputs.size()); ++n) {
    if (inputs[n].batches == 1) continue;
    if (first < 0) first = n;
    if (inputs[n].batches != inputs[first].batches)
      throw InputError("dim", "all variables must have the same number of batches, or one: `" +
                                  program.variables[first].name + "` has " + std::to_string(inputs[first].batches) +
                                  ", `" + program.variables[n].name + "` has " + std::to_string(inputs[n].batches));
  }
  return first < 0 ? 1 : inputs[first].batches;
}

// The number of points of an axis, on which all variables of this axis must agree; 1 if the axis has no variables.
Count common_points(const Program& program, const std::vector<Input>& inputs, unsigned axes) {
  int first = -1;
  for (int n = 0; n < int(inputs.size()); ++n) {
    if (program.variables[n].axes != axes) continue;
    if (first < 0)
      first = n;
    else if (inputs[n].points != inputs[first].points)
      throw InputError("dim", std::string("all ") + category(axes) +
                                  " variables must have the same number of points: `" + program.variables[first].name +
                                  "` has " + std::to_string(inputs[first].points) + ", `" + program.variables[n].name +
                                  "` has " + std::to_string(inputs[n].points));
  }
  return first < 0 ? 1 : inputs[first].points;
}

}  // namespace

std::string inputs_of(const Rcpp::List& settings) {
  return settings.containsElementNamed("inputs") ? Rcpp::as<std::string>(settings["inputs"]) : "";
}

void check_matrix(const Variable& v, Count rows, Count columns) {
  if (v.matrices == std::set<Shape>{{int(rows), int(columns)}}) return;
  const auto text = [](Count r, Count c) { return std::to_string(r) + " x " + std::to_string(c) + " matrix"; };
  std::string read;
  for (const auto& [r, c] : v.matrices) read += (read.empty() ? " as a " : " and as a ") + text(r, c);
  throw InputError("dim", "the parameter `" + v.name + "` must not be a " + text(rows, columns) +
                              ": the formula reads it" + (read.empty() ? " as a vector" : read) + ". A vector of its " +
                              std::to_string(v.size) +
                              " entries is also accepted, in row-major order: `c(t(A))` for a matrix A");
}

Call::Call(const Kernel& kernel, const Rcpp::List& input, const Rcpp::Nullable<Rcpp::List>& ranges,
           bool points_are_columns, const std::string& precision) {
  const Program& program = kernel.program;
  const Reduction& result = kernel.result();
  for (size_t n = 0; n < program.variables.size(); ++n) {
    inputs.push_back(read_input(program.variables[n], input[n], points_are_columns, precision));
    data.variables.push_back(inputs.back().array);
    batched = batched || inputs.back().batched;
  }
  data.m = common_points(program, inputs, axis_i);
  data.n = common_points(program, inputs, axis_j);
  batches = common_batches(program, inputs);
  const Count size = result.size;
  points = result.axes() == none ? 1 : data.length(result.axes());
  nrow = points_are_columns ? size : points, ncol = points_are_columns ? points : size;
  entry = points_are_columns ? 1 : points, row = points_are_columns ? size : 1;
  dim = {nrow, ncol};
  if (kernel.stores()) {
    if (batched) throw InputError("dim", "the entries of a matrix can be stored for a single batch only");
    row = nrow = data.length(result.over), ncol = points * size, entry = nrow * points;
    dim = {nrow, points};
    if (size > 1) dim.push_back(size);
  }
  if (ranges.isNull()) return;
  some = std::make_unique<Ranges>(Rcpp::List(ranges), data.m, data.n);
  data.ranges[0] = &some->by_i, data.ranges[1] = &some->by_j;
}

}  // namespace kernops
