#' Create an R function from a formula
#'
#' `keops_kernel()` converts a formula such as `Sum_Reduction(Exp(-s * SqDist(x, y)) * b, 1)` into an R function. This
#' function computes the formula for all pairs of points \eqn{x_i}, \eqn{y_j} without storing the M x N matrix of the
#' pairs: time is proportional to M x N, memory to M + N.
#'
#' @section The formula:
#' The outermost part is a reduction, `<Name>_Reduction(f, axis)`, with one of the names in the table below. `axis` is
#' the index that is **summed over**: `1` or `j` sums over the columns j and gives one row for each i; `0` or `i` sums
#' over the rows i and gives one row for each j. The reduced expression may contain the operations of [keops_ops()], the
#' operators `+`, `-`, `*`, `/`, `^` and `|` (the dot product), comparisons, numbers (also `Inf`, `NaN` and `pi`) and
#' the declared variables, with R's operator precedence. `Grad(f, v, e)` is the gradient of `f` with respect to the
#' variable `v`, applied to `e`; `f` may be a reduction. `Let(a, f, h)` is `h` with the name `a` for the expression `f`;
#' several names, as in `Let(a, f, b, g, h)`, may refer to earlier names. Positions inside a formula (`Elem`, `Extract`)
#' are counted from 0, as in 'KeOps'; positions in results are counted from 1.
#'
#' | reduction | result for each row |
#' |---|---|
#' | `Sum` | the sum of f; the empty sum is 0 |
#' | `LogSumExp(f, [w,] axis)` | log of the sum of exp(f) (times w) |
#' | `SumSoftMaxWeight(f, w, axis)` | the mean of w, weighted by exp(f) |
#' | `Max_SumShiftExp(f, axis)`, `Max_SumShiftExpWeight(f, w, axis)` | the largest value m of f, then the sum of exp(f - m) (times w) |
#' | `Min`, `Max` | the extreme value of each entry; `NaN` takes precedence; `Inf`, `-Inf` for no values |
#' | `ArgMin`, `ArgMax` | the position of the extreme value, the lowest position in case of ties; `NA` for no values |
#' | `Min_ArgMin`, `Max_ArgMax` | the values, then the positions |
#' | `KMin(f, K, axis)`, `ArgKMin`, `KMin_ArgKMin` | the K smallest values in ascending order (for a vector f, its entries together), their positions, or both; `NaN` comes last; `Inf` and `NA` if there are fewer than K values |
#' | `KMax(f, K, axis)`, `ArgKMax`, `KMax_ArgKMax` | the K largest values in descending order, likewise |
#' | `Prod`, `Mean`, `Var` | for each entry; `Var` has denominator n - 1; `NaN` for too few values |
#' | `Any`, `All` | 1 if any value is, or all values are, different from 0, else 0; `NaN` if this cannot be decided |
#' | `Count` | the number of values |
#' | `Median(f, axis)`, `Quantile(f, p, ..., axis)` | the median, or quantiles of type 7 for probabilities p, of each entry; for a vector f, the entries for one probability after another |
#'
#' `Median` and `Quantile` store the terms of some rows at a time, about 4e6 terms, on the CPU or a GPU.
#'
#' @param formula a string.
#' @param args a character vector that declares each variable of the formula: `"x = Vi(3)"` for points indexed by i with
#'   3 entries each, `"y = Vj(3)"` for points indexed by j, `"s = Pm(1)"` for a parameter of 1 entry, `"A = Vij(1)"` for
#'   a value of each pair, see the section about stored terms. Input without names is matched in the order of `args`,
#'   except if all declarations give a position counted from 0, as in `"x = Vi(0, 3)"`.
#' @param sum_scheme how `Sum` accumulates: `"block_sum"` (the meaning of `"auto"`) adds without compensation within a
#'   tile of some hundred terms and with compensation between tiles; `"kahan_scheme"` compensates every term;
#'   `"direct_sum"` does not compensate. Other reductions add by blocks.
#' @param precision `"float64"` or `"float32"`, the precision of the arithmetic; data and results are always doubles.
#'   `"bfloat16"` and `"float16"` round points to 16 bits and compute in float32, see the section about inputs of 16
#'   bits. The default is the option `kernops.precision`, else `"float64"`.
#' @param backend `"cpu"`, `"cuda"` (an NVIDIA GPU), or `"auto"`: a GPU, if there is one, for computations that are
#'   large enough. The default is the option `kernops.backend` or, if the option is not set, `"auto"`.
#' @param device numbers of the GPUs to use, counted from 0. With several GPUs, such as `0:3`, the rows of the result
#'   are split between the GPUs; if there are few rows, the rows that are summed over are split instead. On the same
#'   GPUs, results are bit-identical in every run. The default is the option `kernops.device` (or the environment
#'   variable `KERNOPS_DEVICE`, as in `"0:3"`) or, if the option is not set, 0.
#' @param accumulator for `precision = "float32"`: `"float64"` adds every term of sums as a double (also inside
#'   `LogSumExp`, `SumSoftMaxWeight`, `Mean` and `Var`, and in products). A sum is then exact to the last bits of its
#'   float32 terms, in at most twice the time. `"auto"` accumulates in `precision`. `sum_scheme` determines the order of
#'   the terms. In float32, `"block_sum"` has an error of some units in the last place, `"kahan_scheme"` of about one
#'   unit; with double accumulation the schemes differ only in cost. The terms themselves are float32: for more digits
#'   use `precision = "float64"`.
#'
#' @return A function of class `keops_kernel`, `op(input, inner_dim = "col", ranges = NULL, output = c("host", "gpu"))`:
#'   * `input` is a list with a value for each variable, named in any order, or unnamed in the order of `args`. Points
#'     are n x size matrices (also data frames of numbers and, for size 1, vectors), parameters are vectors. A parameter
#'     that the formula reads as a matrix, as in `MatVecMult(A, x)`, may be given as a matrix of this shape: with `c("A
#'     = Pm(6)", "x = Vi(2)")`, `A` is 3 x 2, and the result is `A %*% x` for each x, for any `inner_dim`. A matrix of
#'     another shape, or a matrix for a parameter that is read entry by entry, is an error. In a vector, the entries of
#'     a matrix are in row-major order, as in `c(t(A))`; the same holds for points and results that represent matrices.
#'     Integers and logicals are converted to doubles. Any input may be a [gpu_matrix()]; the computation then runs on
#'     the GPU.
#'   * An input may be an array of 3 dimensions, n x size x B: one computation for each of B batches. Matrices, vectors
#'     and arrays with B = 1 are used for all batches; a separate parameter for each batch is a 1 x size x B array. The
#'     result is an array, n x size x B. Arrays may have several dimensions of batches, n x size x B1 x B2. Dimensions
#'     of size 1, or missing dimensions, are recycled, each separately: n x size x B1 and m x size x 1 x B2 give batches
#'     B1 x B2. A gradient has the shape of its variable: the gradient of a variable used for several batches is the sum
#'     over these batches.
#'   * `inner_dim = "row"`: points are columns; all matrices, and the result, are transposed.
#'   * `ranges` restricts the computation to a subset of the pairs: see [ranges].
#'   * Without batches the result is a matrix with one row for each point; positions are integers. Row names are kept.
#'   * `output = "gpu"` keeps the result on the GPU (the first of `device`), as a `float64` [gpu_matrix()] without
#'     names: positions are then doubles, with 0 instead of `NA`.
#'   * `op()` without input returns a description of the operator. [keops_grad()] gives its gradient.
#'
#' @section Stored terms:
#' The input of a variable declared as `"A = Vij(1)"` is a matrix with a row for each i and a column for each j or, with
#' several entries, an array of such matrices, M x N x size. The input may also be a result of [lookup_terms()]: entries
#' of a table, `table[i, j]`, which are not stored for all pairs. All reductions accept such variables, on the CPU and
#' on a GPU. The gradient of [keops_grad()] with respect to `A` is an M x N matrix, or an array of such matrices.
#' For an operator with such variables, `ranges`, batches, and formulas with `IndexI()` or `IndexJ()`, the positions of
#' points, are not available. [Vij()] creates such a variable for symbolic matrices.
#'
#' @section Inputs of 16 bits:
#' With `precision = "bfloat16"` the values of all variables that are indexed by i or j, also incoming gradients and
#' stored terms, are rounded to the nearest number with 8 significant bits (ties to even); `"float16"` rounds to 11
#' significant bits, and numbers beyond 65504 are an error. Parameters are not rounded. All arithmetic and all sums are
#' in float32. A [gpu_matrix()] of one of these precisions needs 2 bytes for each number, and the operator reads this
#' matrix without conversion. The first call with a formula measures the relative error against float32 for at most 64
#' points and reports this error in a message of class `kernops_rounded_input` with the field `error`. Differences of
#' points far from the origin lose digits: subtract a common value first. Verbs such as [kde()], Gaussian processes and
#' [kernel_solve()] do not support these precisions.
#'
#' @section Reproducibility:
#' On one machine, results on the CPU are bit-identical in every call, for any number of threads. Results on the same
#' GPUs are bit-identical as well.
#'
#' Results of other instruction sets (option `kernops.isa`: AVX-512, AVX2 or the baseline), of GPUs and of other
#' mathematical libraries of the system differ by rounding. Between the instruction sets of one machine,
#'   * an operation on numbers (arithmetic, `Exp`, `Sin`, `Powf`, Bessel functions, ...) differs by at most 2 units in
#'     the last place of `precision`; `BesselK`, `Matern` and related functions of one order for all pairs differ by at
#'     most 4 units, and a derivative with respect to the order by at most 4 units in the last place of its terms;
#'   * a sum, of a reduction or of the entries of a vector (`SqDist`, `|`), adds its terms in another order. The sum
#'     differs by at most 1e-12 (`float64`) or 1e-5 (`float32`) times the sum of the absolute values of its terms.
#'
#' Therefore a sum whose terms cancel, and any formula that uses it, may differ in all digits: in this case subtract a
#' common value from the points, or use `precision = "float64"`. Positions (`ArgMin`, `ArgKMin`) may differ if values
#' are equal up to this rounding.
#'
#' @section Errors:
#' A formula may be nested as deeply as R's C stack allows, at most 2000 levels, and may have at most 1,048,576 parts,
#' including the parts of its derivatives. A larger formula is an error; Ctrl-C interrupts the compilation of a long
#' formula.
#'
#' A mistake in a formula is an error of class `kernops_formula_error` at construction, with a caret under the position
#' of the mistake; invalid data have class `kernops_dim_error` or `kernops_input_error`. Data larger than the GPU's
#' memory are processed piece by piece. If a single piece is too large, or if R or the C++ code runs out of memory on
#' the CPU, the error has class `kernops_memory_error`; data are not changed, and all memory of the call is freed. All
#' errors have class `kernops_error`.
#'
#' @references
#' Charlier, B., Feydy, J., Glaunes, J. A., Collin, F.-D. and Durif, G. (2021) Kernel operations on the GPU, with
#' autodiff, without memory overflows. *Journal of Machine Learning Research* 22(74), 1-6.
#'
#' Kahan, W. (1965) Further remarks on reducing truncation errors. *Communications of the ACM* 8(1), 40.
#'
#' @seealso [keops_ops()] and [keops_reductions()] for the language, [keops_grad()] for gradients, [kernel_solve()] for
#'   linear systems, [ranges] for block-sparse sums, [gpu_matrix()] for data on the GPU; [LazyTensor] creates formulas
#'   by R's arithmetic. `vignette("formulas", "kernops")`; `vignette("from-keops", "kernops")` for users of KeOps.
#' @examples
#' set.seed(1)
#' op <- keops_kernel(
#'   "Sum_Reduction(Exp(-s * SqDist(x, y)) * b, 1)",
#'   c("s = Pm(1)", "x = Vi(3)", "y = Vj(3)", "b = Vj(1)")
#' )
#' x <- matrix(rnorm(30), 10)
#' y <- matrix(rnorm(45), 15)
#' b <- rnorm(15)
#' op(list(s = 0.5, x = x, y = y, b = b))
#'
#' # the three nearest points of y for each point of x
#' nearest <- keops_kernel("ArgKMin_Reduction(SqDist(x, y), 3, 1)", c("x = Vi(3)", "y = Vj(3)"))
#' nearest(list(x, y))
#' @export
keops_kernel <- function(formula, args, sum_scheme = c("auto", "direct_sum", "block_sum", "kahan_scheme"),
                         precision = c("float64", "float32", "bfloat16", "float16"),
                         backend = c("auto", "cpu", "cuda"), device = NULL,
                         accumulator = c("auto", "float64")) {
  formula <- check_text(formula, "formula", one = TRUE)
  args <- check_text(args, "args", one = FALSE)
  sum_scheme <- check_choice(sum_scheme, "sum_scheme", sum_schemes)
  precision <- check_precision(precision, precisions)
  device <- check_device(device)
  backend <- check_backend(backend, device)
  accumulator <- check_choice(accumulator, "accumulator", c("auto", "float64"))
  op <- kernel_operator(formula, args, sum_scheme, precision, backend, device, accumulator)
  unused <- shortly(environment(op)$about$unused)
  if (length(unused)) {
    cli::cli_warn(c("The formula does not contain the variable{?s} {.val {unused}}.",
                    i = "The operator takes {cli::qty(unused)}{?it/them} as input, but does not read {?it/them}."),
                  class = "kernops_unused_variable")
  }
  op
}

sum_schemes <- c("auto", "direct_sum", "block_sum", "kahan_scheme")

# `var`: the variable of a gradient; the result has the shape of this variable. `stored`: TRUE if the operator returns
# the terms of a sum instead of the sum. The terms are a matrix with a row for each row of the sum, or an array of such
# matrices.
# long: an operator and the variables that its methods share
kernel_operator <- function(formula, args, sum_scheme, precision, backend, device = check_device(NULL),
                            accumulator = "auto", var = NULL, stored = FALSE) {
  ordered <- order_reduction(formula)
  if (!is.null(ordered)) return(order_operator(ordered, formula, args, sum_scheme, precision, backend, device))
  if (any(is_pair_variable(args))) {
    if (stored) return(stored_pairs_operator(formula, args, sum_scheme, precision, backend, device))
    return(pairs_operator(formula, args, sum_scheme, precision, backend, device, accumulator))
  }
  kernel <- kernel_compile(formula, args, stored)
  about <- kernel_describe(kernel)
  scheme <- match(sum_scheme, sum_schemes) - 1L
  single <- precision != "float64"
  told <- !rounds_inputs(precision)
  accumulate_double <- accumulator == "float64"
  names <- about$variables$name
  named_alike <- about$variables$category == about$axis
  variants <- new.env(parent = emptyenv()) # used by kernel_system()
  live_kernel <- function() {
    if (is_null_pointer(kernel)) kernel <<- kernel_compile(formula, args, stored) # the pointer is null after readRDS()
    kernel
  }
  settings <- function(stay = FALSE, progress = NULL, cpu = backend != "cuda") {
    run_settings(backend = backend, devices = device, single = single, scheme = scheme,
                 accumulate_double = accumulate_double, stay = stay, progress = progress, cpu = cpu,
                 inputs = if (rounds_inputs(precision)) precision else "")
  }
  op <- function(input, inner_dim = "col", ranges = NULL, output = c("host", "gpu")) report_shortage({
    if (missing(input)) {
      return(list(formula = formula, args = args, args_info = about$variables, sum_scheme = sum_scheme))
    }
    input <- match_input(input, names, backend)
    points_are_columns <- inner_dim_is_row(inner_dim)
    stay <- output_stays(output, backend, device)
    if (!is.null(ranges)) ranges <- as_ranges(ranges)
    values <- input
    batches <- if (has_batch_axes(input)) common_batches(lapply(input, batch_shape), names)
    if (!is.null(batches)) input <- lapply(input, flat_batches, batches)
    result <- kernel_run(live_kernel(), input, points_are_columns, ranges, settings(stay, progress_bar()))
    if (!told) {
      told <<- TRUE
      tell_rounding_error(environment(op), input, points_are_columns)
    }
    if (stay) return(result)
    if (!is.null(batches)) dim(result) <- c(dim(result)[1:2], batches)
    if (!is.null(var)) {
      place <- match(var, names)
      result <- as_gradient(result, dim(values[[place]]), about$variables$category[[place]])
    }
    if (stored || about$axis == "Pm") result else keep_names(result, values[named_alike], points_are_columns)
  })
  structure(op, class = "keops_kernel")
}

# The settings for other computations with the formula of the operator, such as sums over conditioning sets, in the form
# of run_settings(). A computation that exceeds the memory of the GPU runs on the CPU.
settings_of <- function(op) environment(op)$settings(cpu = TRUE)

# Gives a gradient the shape of its variable.
as_gradient <- function(result, shape, category) {
  result <- share_gradient(result, shape)
  if (category == "Pm") as_matrix_by_rows(result, shape) else result
}

# Converts the gradient of a parameter to a matrix, if the user passed the parameter as a matrix.
as_matrix_by_rows <- function(result, shape) {
  if (length(shape) < 2 || any(shape[1:2] < 2)) return(result)
  batches <- dim(result)[-(1:2)]
  aperm(array(result, c(shape[2:1], batches)), c(2, 1, seq_along(batches) + 2))
}

# Adds names to the result. The names come from the first variable whose points have names.
keep_names <- function(result, points, points_are_columns) {
  for (x in points) {
    names <- if (length(dim(x)) < 2) names(x) else dimnames(x)[[1L + points_are_columns]]
    if (is.null(names)) next
    both <- if (points_are_columns) list(NULL, names) else list(names, NULL)
    dimnames(result) <- c(both, rep(list(NULL), length(dim(result)) - 2))
    break
  }
  result
}

#' @export
print.keops_kernel <- function(x, ...) {
  if (!is_operator(x)) return(print(unclass(x)))
  kept <- environment(x)
  variables <- kept$about$variables
  rows <- switch(kept$about$axis, Vi = "one row per i", Vj = "one row per j", Pm = "one row",
                 Vij = "one row per i and one column per j")
  cli::cat_line("<keops_kernel> ", kept$formula)
  cli::cat_line("  variables  ", if (nrow(variables)) toString(declarations(variables)) else "none")
  cli::cat_line("  result     ", rows, ", ", kept$about$size, if (kept$about$size == 1) " column" else " columns")
  cli::cat_line("  computes   ", paste(kept$about$stages, collapse = "\n             "))
  cli::cat_line("  runs       ", kept$precision, if (kept$accumulate_double && kept$single) " summed in float64", ", ",
                kept$sum_scheme, ", backend ", kept$backend,
                if (!identical(kept$device, 0L)) paste0(", device ", toString(kept$device)))
  if (kept$backend == "cuda") {
    gpu <- gpu_of(kept)
    lines <- vapply(choose_kernels(kept, gpu), \(kernel) paste0(kernel$words, ": ", kernel$reason), "")
    cli::cat_line("  kernel     ", paste(strwrap(c(paste0("on ", gpu$architecture, ", 1e5 x 1e5 pairs"), lines), 100),
                                         collapse = "\n             "))
  }
  invisible(x)
}

# The compiled kernel of an operator. The kernel is compiled again after readRDS().
live <- function(op) environment(op)$live_kernel()

# Returns the result of kernel_operator() and caches the latest operators, because compiling an operator takes longer
# than a small computation.
recent_operator <- function(formula, declared, scheme, precision, backend, stored = FALSE) {
  device <- check_device(NULL)
  key <- rlang::hash(list(formula, declared, scheme, precision, backend, stored, device))
  if (is.null(recent_operators[[key]])) {
    if (length(recent_operators) >= 32) rm(list = ls(recent_operators), envir = recent_operators)
    recent_operators[[key]] <- kernel_operator(formula, declared, scheme, precision, backend, device, stored = stored)
  }
  recent_operators[[key]]
}
recent_operators <- new.env(parent = emptyenv())
