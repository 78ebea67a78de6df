# Precisions of formulas: float64 and float32, and inputs that are rounded to 16 bits for arithmetic in float32. Only
# points are rounded (src/kernel_call.cpp); parameters are not.

precisions <- c("float64", "float32", "bfloat16", "float16")
rounds_inputs <- function(precision) precision %in% c("bfloat16", "float16")

# Reports the relative error that rounding of the input causes, once for each formula. `from` is the environment of the
# operator.
tell_rounding_error <- function(from, input, points_are_columns) {
  told <- cached("roundings")
  key <- rlang::hash(list(from$formula, from$args, from$precision, from$backend))
  if (!is.null(told[[key]])) return(invisible())
  told[[key]] <- TRUE
  measured <- rounding_error(from, input, points_are_columns)
  if (is.null(measured)) return(invisible())
  found <- if (measured$positions) {
    "{signif(100 * measured$error, 2)} % of the positions differ from those"
  } else {
    "the relative error is {signif(measured$error, 2)}, beside the result"
  }
  cli::cli_inform(c(i = "{.code {shortly(from$formula)}} rounds its points to {from$precision}.",
                    i = paste0("For {measured$points} point{?s} of the data ", found, " in float32.")),
                  class = "kernops_rounded_input", error = measured$error)
}

# The relative error that rounding causes in the result, computed for some points that are spread over the data; NULL if
# the data have no points.
rounding_error <- function(from, input, points_are_columns, most = 64, most_pairs = 2e7) {
  category <- from$about$variables$category
  axis <- if (from$about$axis == "Pm") "Vi" else from$about$axis
  input <- lapply(input, function(x) if (length(dim(x)) == 3) first_batch(x) else x)
  split <- category == axis
  counts <- vapply(input, function(x) if (points_are_columns && length(dim(x))) ncol(x) else NROW(x), 1)
  if (any(counts < 1)) return(NULL)
  rows <- max(counts[split], 1)
  count <- max(1, min(rows, most, floor(most_pairs / max(counts[!split & category != "Pm"], 1))))
  chosen <- unique(round(seq(1, rows, length.out = count)))
  input[split] <- lapply(input[split], chosen_points, chosen, points_are_columns)
  settings <- from$settings()
  # the CPU needs no compiled kernels for small data
  if (!any(vapply(input, is_gpu_matrix, NA))) settings$backend <- "cpu"
  run <- function(settings) kernel_run(from$live_kernel(), input, points_are_columns, NULL, settings)
  error_of_rounding(run(settings), run(replace(settings, "inputs", "")), from, points_are_columns, length(chosen))
}

error_of_rounding <- function(rounded, exact, from, points_are_columns, points) {
  positions <- is.integer(exact)
  # a result of Min_ArgMin and similar reductions has values, followed by positions
  if (grepl("^[^ ]*_Arg", utils::tail(from$about$stages, 1))) {
    values <- seq_len(from$about$size / 2)
    part <- function(x) if (points_are_columns) x[values, ] else x[, values]
    rounded <- part(rounded)
    exact <- part(exact)
  }
  both <- is.finite(rounded) & is.finite(exact)
  if (!any(both)) return(NULL)
  difference <- rounded[both] - exact[both]
  scale <- sqrt(sum(as.numeric(exact[both])^2))
  error <- if (positions) mean(difference != 0) else if (scale > 0) sqrt(sum(difference^2)) / scale else 0
  list(error = error, positions = positions, points = points)
}

first_batch <- function(x) array(x[, , 1], dim(x)[1:2])

chosen_points <- function(x, chosen, points_are_columns) {
  if (length(dim(x)) < 2) return(x[chosen])
  if (points_are_columns) x[, chosen, drop = FALSE] else x[chosen, , drop = FALSE]
}

# Stops for operators that solvers do not support: products whose vectors are rounded to 16 bits, operators with stored
# terms, and medians.
check_solver_operator <- function(op, call = caller_env()) {
  if (!is.null(environment(op)$grad)) {
    stop_kernops("input", "Linear systems need an operator without stored terms, medians or quantiles.", call = call)
  }
  precision <- environment(op)$precision
  if (!rounds_inputs(precision)) return(invisible())
  stop_kernops("input", c("Linear systems need an operator with {.code precision = \"float64\"} or {.val float32}, not
                           {.val {precision}}.",
                          i = "Its vectors would be rounded to 16 bits in every step."), call = call)
}
