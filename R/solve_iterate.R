# Solves A x = b by an iterative method, for all columns of b together, from the starting value x = 0. A method is a
# list:
#   start(space, precondition, b)                      the first state, a list of `blocks`, which are n x p matrices
#                                                      (one of them is x), and of `numbers`, vectors with an element
#                                                      for each column; b may be overwritten
#   step(space, product, precondition, state, active)  the next state; columns that are not active are unchanged
#   recorded                                           the names of the numbers that are kept for each step
# The loop below reads three of the numbers: `column`, the index of a column in b; `residual`, the norm of its residual;
# and for some methods `stuck`, which is TRUE if the method cannot reduce the residual further. The iteration of a
# column stops when its residual is at most its `target`, or when `stuck` is TRUE. Columns that have stopped are removed
# from the blocks if this saves work.
iterate <- function(method, system, product, precondition, b, target, maxit, report = NULL) {
  space <- system$space
  solution <- zeros_like(space, b)
  residual <- norms(space, b)
  far <- \(residual) log(max(residual / target, 1))
  from <- far(residual)
  state <- method$start(space, precondition, b)
  history <- list(list(residual = residual))
  going <- \(now) (residual > target)[now$column] & !(now$stuck %||% FALSE)
  while (length(history) <= maxit && any(active <- going(state$numbers))) {
    if (system$any_width && space$worth_leaving(sum(active), length(active), system$n)) {
      stopped <- columns_of(state, !active)
      solution <- space$put(solution, stopped$numbers$column, stopped$blocks$x)
      state <- columns_of(state, active)
      active <- active[active]
    }
    state <- method$step(space, product, precondition, state, active)
    if (anyNA(state$numbers$residual[active])) stop_not_finite()
    on <- state$numbers$column[active]
    residual[on] <- state$numbers$residual[active]
    kept <- lapply(state$numbers[method$recorded], \(x) replace(NA * residual, on, x[active]))
    history <- c(history, list(c(list(residual = residual), kept)))
    if (!is.null(report)) report(1 - far(residual) / from)
  }
  rows <- \(name) do.call(rbind, lapply(history, `[[`, name))
  list(solution = space$put(solution, state$numbers$column, state$blocks$x), steps = length(history) - 1L,
       history = rows("residual"), recorded = lapply(stats::setNames(nm = method$recorded), rows))
}

columns_of <- function(state, chosen) {
  chosen <- which(chosen)
  list(blocks = lapply(state$blocks, \(x) x[, chosen, drop = FALSE]), numbers = lapply(state$numbers, `[`, chosen))
}

# Solves (K + lambda I) a = b from the starting value x0, in passes. The recurrences of a method also compute a
# residual, which differs from the true residual because of rounding. If the true residual is too large at the end of a
# pass, the next pass solves for the correction. If a pass increased the residual, its result is discarded. True
# residuals are computed from products in float64. Therefore iterations with an operator in float32 can reach any
# tolerance: each pass adds some digits. The `recorded` numbers are those of the first pass. With `check` = 0 there is a
# single pass, and true residuals are not computed. If `check` is less than n, the true residuals are first estimated
# from a sample of `check` rows; all rows are computed only if the estimate requires a correction.
# long: passes of refinement around one loop, which share variables
solve_system <- function(system, b, precond = NULL, tol = 1e-6, maxit = most_iterations(system$n), x0 = NULL,
                         method = "cg", check = system$n) {
  space <- system$space <- system$space %||% vector_space() # by default, vectors of R
  method <- switch(method, cg = conjugate_gradients, minres = minres(8 * rounding_unit[[system$precision]]))
  precondition <- preconditioning(precond, space)
  report <- progress_bar("Solving")
  unit <- near_one(space, b)
  b <- space$axpby(0, b, unit, space$copy(b))
  if (!is.null(x0)) x0 <- space$axpby(0, b, unit, space$copy(x0))
  norm_b <- norms(space, b)
  scale <- ifelse(norm_b > 0, norm_b, 1)
  a <- if (is.null(x0)) zeros_like(space, b) else space$axpby(0, b, as.numeric(norm_b > 0), x0)
  true_residual <- function() space$axpby(1, b, -1, system$product(a, "float64"))
  r <- if (is.null(x0)) space$copy(b) else true_residual()
  residual <- finite_norms(space, r)
  histories <- recorded <- NULL
  steps_left <- maxit
  repeat {
    before <- residual
    target <- pmax(tol * scale, reach[[system$precision]] * before)
    pass <- iterate(method, system, system$product, precondition, r, target, steps_left, report)
    recorded <- recorded %||% pass$recorded
    histories <- rbind(histories[-NROW(histories), , drop = FALSE], pass$history)
    steps_left <- steps_left - pass$steps
    if (pass$steps == 0) break
    earlier <- space$copy(a)
    a <- space$axpby(1, pass$solution, 1, a)
    if (check < system$n) {
      residual <- if (check == 0) pass$history[pass$steps + 1, ] else sampled_residual(system, a, b, check)
      if (check == 0 || all(residual <= 2 * tol * scale)) break
    }
    r <- true_residual()
    residual <- finite_norms(space, r)
    if (any(worse <- residual > before)) {
      a <- space$put(a, which(worse), earlier[, which(worse), drop = FALSE])
      residual[worse] <- before[worse]
      r <- true_residual()
    }
    off <- residual > 2 * tol * scale
    if (steps_left == 0 || !any(off & residual < before / 2)) break
  }
  list(solution = space$axpby(0, a, 1 / unit, a), iterations = nrow(histories) - 1L,
       converged = residual <= 2 * tol * scale,
       residual = residual / scale, history = sweep(histories, 2, scale, "/"), recorded = recorded)
}

# A power of 2 for each column that scales the norm of the column to about 1. Scaling is necessary because squares of
# very small or very large numbers are outside the range of doubles, and very small numbers are outside the range of
# floats.
near_one <- function(space, b) {
  norm <- norms(space, b)
  first <- ifelse(norm < 2^-400, 2^600, ifelse(norm > 2^400, 2^-600, 1))
  if (any(first != 1)) norm <- norms(space, space$axpby(0, b, first, space$copy(b)))
  power <- log2(first) - floor(log2(ifelse(norm > 0, norm, 1)))
  2^pmin(power, 1000)
}

finite_norms <- function(space, x, call = caller_env()) {
  norm <- norms(space, x)
  if (anyNA(norm)) stop_not_finite(call)
  norm
}

stop_not_finite <- function(call = caller_env()) {
  stop_kernops("input", call = call, c(
    "Products with the matrix are not finite.",
    i = "Check the points and parameters for {.code NA}, {.code NaN} and infinite numbers."
  ))
}

# Estimates of the norms of b - (K + lambda I) a from a sample of `count` rows, with a relative error of about 1 /
# sqrt(2 count).
sampled_residual <- function(system, a, b, count) {
  rows <- with_seed(1, sort(sample.int(system$n, count)))
  r <- system$space$axpby(1, b[rows, , drop = FALSE], -1, system$product_at(rows, a))
  norms(system$space, r) * sqrt(system$n / count)
}

most_iterations <- function(n) max(1, min(10 * n, 1e4))

rounding_unit <- c(float32 = 2^-23, float64 = 2^-52)

# For each precision of products, the smallest possible ratio of the residual after a pass to the residual before the
# pass.
reach <- c(float64 = 0, float32 = 1e-6)
