# The system (K + lambda I) a = b in the form that solvers need. All properties of K come from the formula of the
# operator `op`, which computes K a; the vector a is the variable `b_name` of the formula. A list of
#   space, n, lambda          the space of the vectors, their length, and the number added to the diagonal
#   precision                 the precision of `op`
#   product(a, precision)     (K + lambda I) a, for a block of a width that the formula accepts
#   product_at(rows, a)       the rows `rows` of the product, in float64; NULL in place of this function if the formula
#                             uses IndexI() or IndexJ(), or if `ranges` are given
#   any_width                 TRUE if product() accepts blocks of any width
#   columns(rows), diagonal()  columns and the diagonal of K, in float64
#   subset(rows)              the system of the points `rows`, without lambda; NULL in the same cases as product_at()
#   pivoted(diagonal, rank, tol)  the pivoted Cholesky decomposition of K (solve_low_rank.R), on the GPU only
#   entries()                 the entries of K as a covariance of two points, on the host: see system_entries()
#   gradient(var, a, eta)     the gradient of sum(eta * K a) with respect to a variable, on the host
# `input` need not contain the right-hand side. `lambda` is one number, or has a number for each point; the numbers must
# be at least `least`. Entries of K for pairs of points outside `ranges` are 0.
# long: the operators of one matrix, each a few lines long, which share the data of the matrix
kernel_system <- function(op, b_name, input, lambda = 0, least = 0, ranges = NULL, call = caller_env()) {
  check_solver_operator(op, call)
  input <- match_points(op, b_name, input)
  check_no_batches(input, call)
  from <- environment(op)
  device <- device_of(op, input)
  on_gpu <- device >= 0
  space <- vector_space(device)
  points <- setdiff(on_axis(op, b_name), b_name)
  n <- NROW(input[[c(points, b_name)[1]]])
  check_lambda(lambda, n, least, call)
  if (!is.null(ranges)) ranges <- check_symmetric(as_ranges(ranges, call), n, call)
  input[[b_name]] <- NULL
  # parameters stay on the host, because the rows of a matrix parameter are not points
  moves <- on_gpu & !names(input) %in% with(from$about$variables, name[category == "Pm"])
  input[moves] <- lapply(input[moves], numbers_to_gpu, device)
  input[!moves] <- lapply(input[!moves], unname)
  shift <- if (length(lambda) == 1) lambda else space$copy(lambda)

  declared <- with(from$about$variables, size[name == b_name])
  of_width <- function(width, precision) {
    if (width == declared && precision == from$precision) return(op)
    variant(op, b_name, width, precision) %||% stop_fixed_width(b_name, width, call)
  }
  slope_of <- remembered(function(var, width) keops_grad(of_width(width, from$precision), var))
  # an operator that computes entries of K: the terms of the product of K and a vector of ones
  # or, without `stored`, the product for one column of K at a time
  pairs_of <- function(together, stored = TRUE) {
    variant(op, b_name, 1, "float64", numbered = TRUE, together, stored) %||%
      (if (any_width) stop_unpaired(call) else stop_fixed_width(b_name, 1, call))
  }
  with_b <- function(b) c(input, stats::setNames(list(b), b_name))
  ones <- function(count) space$copy(matrix(rep(1, count), count, 1))
  columns <- function(rows) {
    chosen <- replace(with_b(ones(length(rows))), points, lapply(input[points], chosen_point, rows))
    entries <- pairs_of(FALSE)
    arguments <- c(chosen, point_numbers(entries, b_name, seq_len(n), rows))
    if (is.null(ranges)) return(entries(arguments, output = space$output))
    space$copy(without_others(entries(arguments), ranges, rep(seq_len(n), length(rows)), rep(rows, each = n)))
  }
  any_width <- !is.null(variant(op, b_name, 1, "float64"))
  # TRUE if an operator for several selected points exists: the formula must not use the indices of points
  selectable <- any_width && is.null(ranges) && !grepl("\\bIndex[IJ]\\b", from$formula)
  list(
    space = space, n = n, lambda = lambda, precision = from$precision,
    any_width = any_width,
    product = function(a, precision = from$precision) {
      result <- of_width(ncol(a), precision)(with_b(a), ranges = ranges, output = space$output)
      if (!identical(dim(result), dim(a))) stop_not_square(b_name, a, result, call)
      space$add_rows(shift, a, result)
    },
    product_at = if (selectable) function(rows, a) {
      of_result <- with(from$about$variables, name[category == from$about$axis])
      chosen <- replace(with_b(a), of_result, lapply(input[of_result], chosen_point, rows))
      result <- of_width(ncol(a), "float64")(chosen, output = space$output)
      space$add_rows(if (length(lambda) == 1) shift else shift[rows, , drop = FALSE], a[rows, , drop = FALSE], result)
    },
    columns = columns,
    subset = if (selectable) function(rows) {
      on_axes <- with(from$about$variables, name[category != "Pm" & name != b_name])
      kernel_system(op, b_name, replace(input, on_axes, lapply(input[on_axes], chosen_point, rows)), call = call)
    },
    pivoted = if (on_gpu && is.null(ranges)) function(diagonal, rank, tol) {
      numbered <- pairs_of(FALSE, stored = FALSE)
      arguments <- c(with_b(ones(n)), point_numbers(numbered, b_name, seq_len(n), seq_len(n)))
      summed <- on_axis(numbered, b_name)
      arguments[summed] <- lapply(arguments[summed], gpu_doubles, device)
      pivoted_on_gpu(numbered, arguments, space$copy(diagonal), rank, tol)
    },
    diagonal = function() {
      entries <- pairs_of(TRUE)
      values <- as.vector(entries(c(with_b(ones(n)), point_numbers(entries, b_name, seq_len(n), seq_len(n)))))
      without_others(values, ranges, seq_len(n), seq_len(n))
    },
    entries = function() if (is.null(ranges)) system_entries(op, b_name, input, n, call) else stop_no_entries(call),
    gradient = function(var, a, eta) {
      slope <- slope_of(var, ncol(a))
      last <- utils::tail(environment(slope)$about$variables$name, 1)
      slope(c(with_b(a), stats::setNames(list(eta), last)), ranges = ranges)
    }
  )
}

# The operator `op` for vectors b of another size and in another precision; NULL if the formula does not accept vectors
# of this size. With `numbered`, variables replace IndexI() and IndexJ(), so that selected points keep their indices.
# With `together`, all variables are on the axis of the result: row k of x is paired with row k of y, and the result is
# the term of this pair instead of the sum. With `stored`, the result contains all terms of the sum. Each variant is
# compiled once.
variant <- function(op, b_name, width, precision, numbered = FALSE, together = FALSE, stored = FALSE) {
  made <- environment(op)$variants
  key <- paste(b_name, width, precision, numbered, together, stored)
  if (is.null(made[[key]])) made[[key]] <- list(make_variant(op, b_name, width, precision, numbered, together, stored))
  made[[key]][[1]]
}

make_variant <- function(op, b_name, width, precision, numbered, together, stored) {
  from <- environment(op)
  variables <- from$about$variables
  variables$size[variables$name == b_name] <- width
  formula <- from$formula
  if (numbered) {
    formula <- gsub("\\bIndex([IJ])\\s*\\(\\s*\\)", "point_\\1", formula)
    indices <- data.frame(name = c("point_I", "point_J"), category = c("Vi", "Vj"), size = 1)
    variables <- rbind(variables, indices[vapply(indices$name, grepl, NA, formula, fixed = TRUE), ])
  }
  if (together) variables$category[variables$category != "Pm"] <- from$about$axis
  made <- tryCatch(
    kernel_operator(formula, declarations(variables), from$sum_scheme, precision, from$backend, from$device,
                    from$accumulator, stored = stored),
    kernops_formula_error = function(e) NULL
  )
  if (!is.null(made) && environment(made)$about$size == width) made
}

declarations <- function(variables) with(variables, code_text(name, " = ", category, "(", size, ")"))

# The indices of the points in the rows and columns of K, as the variables of a `numbered` variant.
point_numbers <- function(numbered, b_name, rows, columns) {
  of_axes <- if ("point_J" %in% on_axis(numbered, b_name)) list(rows, columns) else list(columns, rows)
  names(of_axes) <- c("point_I", "point_J")
  lapply(of_axes[intersect(names(of_axes), environment(numbered)$about$variables$name)], as.numeric)
}

# The names of the variables on the axis of b, over which `op` sums.
on_axis <- function(op, b_name) {
  with(environment(op)$about$variables, name[category == category[name == b_name]])
}

chosen_point <- function(x, j) if (is.null(dim(x))) x[j] else x[j, , drop = FALSE]

remembered <- function(make) {
  made <- list()
  function(...) {
    key <- paste(...)
    if (is.null(made[[key]])) made[[key]] <<- make(...)
    made[[key]]
  }
}

# Names the values in `input` by the variables of `op`; the value of the variable `b_name` may be missing.
match_points <- function(op, b_name, input) {
  from <- environment(op)
  names <- from$about$variables$name
  if (is.list(input) && !b_name %in% names(input) && length(input) < length(names)) names <- setdiff(names, b_name)
  stats::setNames(match_input(input, names, from$backend), names)
}

# The device on which `op` computes products: a GPU if data are on a GPU or if the computation is large enough; -1 for
# the host.
device_of <- function(op, input) {
  from <- environment(op)
  size <- function(category) {
    points <- input[intersect(from$about$variables$name[from$about$variables$category == category], names(input))]
    if (length(points)) NROW(points[[1]]) else 1
  }
  kernel_device(from$live_kernel(), size("Vi"), size("Vj"), any(vapply(input, is_gpu_matrix, NA)), settings_of(op))
}

# Copies numbers to a GPU. Objects that are not vectors or matrices of numbers are returned unchanged, and the operator
# reports the error.
numbers_to_gpu <- function(x, device) {
  if (is_gpu_matrix(x)) return(if (block_device(x) == device) x else gpu_move(x, device))
  if (is.numeric(x) && length(dim(x)) %in% c(0, 2)) gpu_matrix(x, "float64", device) else x
}

check_lambda <- function(lambda, n, least, call) {
  if (length(lambda) == 1) return(check_number(lambda, "lambda", least, call = call))
  fits <- is.numeric(lambda) && length(lambda) == n && all(is.finite(lambda)) && all(lambda >= least)
  if (fits) return(invisible())
  bound <- if (is.finite(least)) paste(" of at least", least)
  stop_kernops("input", c("{.arg lambda} must be one finite number{bound}, or one for each of the {n} point{?s}.",
                          x = "It has {length(lambda)} value{?s}."), call = call)
}

stop_fixed_width <- function(b_name, width, call) {
  stop_kernops("input", call = call, c(
    "The formula must accept {.code {b_name}} with {width} column{?s}.",
    i = "A formula such as {.code Sum_Reduction(k * {b_name}, 1)}, with a kernel {.code k} of size 1, accepts any
         number of columns."
  ))
}

check_no_batches <- function(input, call) {
  several <- names(input)[lengths(lapply(input, dim)) > 2]
  if (length(several) == 0) return(invisible())
  stop_kernops("dim", c("A system has no batches: {.code {several}} must be {?a matrix/matrices}.",
                        i = "{.code solve(K, b)} of a symbolic matrix solves one system for each batch."), call = call)
}

check_symmetric <- function(ranges, n, call) {
  if (ranges_symmetric(ranges, n, n)) return(ranges)
  stop_kernops("input", call = call,
               "The matrix is not symmetric: {.arg ranges} must contain the pair (j, i) with each pair (i, j).")
}

stop_no_entries <- function(call) {
  stop_kernops("input", "The preconditioner {.val vecchia} does not support {.arg ranges}.", call = call)
}

stop_unpaired <- function(call) {
  stop_kernops("input", call = call, c(
    "The diagonal of the matrix is required, but {.arg op} is a gradient, for which it is not available.",
    i = "Write {.arg op} as a formula of {.fn keops_kernel}."
  ))
}

stop_not_square <- function(b_name, a, result, call) {
  stop_kernops("dim", call = call, c(
    "The result of {.arg op} must have the shape of {.code {b_name}}, {nrow(a)} x {ncol(a)}.",
    x = "It is {nrow(result)} x {ncol(result)}."
  ))
}

# The points u for an operator whose points x and y are both u. If the operator runs on a GPU, the result is on this
# GPU, so that many calls need only one copy.
resident_points <- function(op, u) {
  device <- device_of(op, list(x = u, y = u))
  if (device >= 0) gpu_matrix(u, "float64", device) else u
}
