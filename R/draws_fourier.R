# Spectral simulation of a process at many points: sums of cosine functions with random frequencies (random Fourier
# features). Time and memory are linear in the number of points.
#
# spectral_terms() writes a covariance as a sum of terms. A term is a list of
#   variance
#   spectral  for each stationary factor, two functions: place(u), which returns q coordinates in which the factor is
#             stationary, and frequencies(n), an n x q matrix of random frequencies w, such that the mean of cos(w . h)
#             is the correlation of the factor
#   linear    for each linear factor, a function that returns coordinates whose scalar products are the factor

fourier_draws <- function(object, u, nsim, features, call = NULL) {
  terms <- spectral_terms(covariance_of_points(object), list(d = object$model$d, sample = object$data$u, u = u), call)
  Reduce(`+`, lapply(terms, draw_term, u, nsim, features, object$how$backend), matrix(0, nrow(u), nsim))
}

# Draws one term. The amplitudes are independent normal variables for each draw, so that the sum is normal at each point
# and has, on average over the random frequencies, the exact covariance. If a term has no stationary factors, its
# covariance is exact, and the term has one feature for each combination of coordinates of the linear factors.
draw_term <- function(term, u, nsim, features, backend) {
  if (length(term$group)) return(draw_groups(term, u, nsim, features, backend))
  if (isTRUE(term$white)) {
    place <- do.call(paste, as.data.frame(u)) # white noise has one value at each distinct location
    return(sqrt(term$variance) * normal_numbers(nrow(u), nsim)[match(place, place), , drop = FALSE])
  }
  linear <- lapply(term$linear, function(coordinates) coordinates(u))
  oscillates <- length(term$spectral) > 0
  widths <- vapply(linear, ncol, 0L)
  count <- if (oscillates) features else prod(widths)
  amplitudes <- normal_numbers(count, nsim) * sqrt(term$variance * if (oscillates) 2 / features else 1)
  if (!oscillates && !length(linear)) return(amplitudes[rep(1, nrow(u)), , drop = FALSE])
  signs <- if (oscillates) lapply(widths, function(width) random_signs(features, width)) else unit_signs(widths)
  input <- c(linear, signs, if (oscillates) list(
    do.call(cbind, lapply(term$spectral, function(factor) factor$place(u))),
    do.call(cbind, lapply(term$spectral, function(factor) factor$frequencies(features))),
    stats::runif(features, 0, 2 * pi)
  ), list(amplitudes))
  k <- seq_along(linear)
  factors <- c(sprintf("(l%d | s%d)", k, k), if (oscillates) "Cos((x | w) + t)", "b")
  declared <- c(sprintf("l%d = Vi(%d)", k, widths), sprintf("s%d = Vj(%d)", k, widths),
                if (oscillates) sprintf(c("x = Vi(%d)", "w = Vj(%d)", "t = Vj(1)"), ncol(input[[2 * length(k) + 1]])),
                sprintf("b = Vj(%d)", nsim))
  formula <- code_text("Sum_Reduction(", paste(factors, collapse = " * "), ", 1)")
  keops_kernel(formula, declared, backend = backend)(input)
}

# Draws the term separately for each group.
draw_groups <- function(term, u, nsim, features, backend) {
  draws <- matrix(0, nrow(u), nsim)
  for (rows in split(seq_len(nrow(u)), as.data.frame(u[, term$group, drop = FALSE]), drop = TRUE)) {
    draws[rows, ] <- draw_term(replace(term, "group", list(NULL)), u[rows, , drop = FALSE], nsim, features, backend)
  }
  draws
}

# There is a feature for each combination of coordinates of the linear factors. For each factor, the result has a matrix
# of 0 and 1, in which row k has a 1 at the coordinate that feature k uses.
unit_signs <- function(widths) {
  chosen <- expand.grid(lapply(widths, seq_len))
  unname(Map(function(coordinate, width) diag(width)[coordinate, , drop = FALSE], chosen, widths))
}

spectral_terms <- function(x, where, call = NULL) {
  if (x$kind == "+") return(do.call(c, lapply(x$parts, spectral_terms, where, call)))
  if (x$kind == "leaf") return(spectral_leaf(x, where, call))
  sides <- lapply(x$parts, spectral_terms, where, call)
  pairs <- expand.grid(a = seq_along(sides[[1]]), b = seq_along(sides[[2]]))
  Map(function(a, b) {
    a <- sides[[1]][[a]]
    b <- sides[[2]][[b]]
    list(variance = a$variance * b$variance, spectral = c(a$spectral, b$spectral), linear = c(a$linear, b$linear),
         group = unique(c(a$group, b$group)))
  }, pairs$a, pairs$b)
}

spectral_leaf <- function(x, where, call) {
  if (length(x$sees) && !is_process(x)) return(list(effect_spectrum(x)))
  lapply(spectral_terms_of(x, where, call), function(term) c(term, list(group = x$group)))
}

# The spectral term of an effect: each level has a separate draw, which is multiplied by the covariate. For a smooth,
# each basis function has a separate draw.
effect_spectrum <- function(x) {
  if (is_correlated(x) || is_penalised(x) || is_contrast(x)) {
    root <- t(chol(coefficient_covariance(x)))
    return(list(variance = 1, group = x$level, linear = list(function(u) effect_covariates(x, u) %*% root)))
  }
  covariates <- setdiff(x$dims, x$level)
  list(variance = x$parameters$variance %||% 1, group = x$level,
       linear = if (length(covariates)) list(function(u) u[, covariates, drop = FALSE]))
}

spectral_terms_of <- function(x, where, call) {
  dims <- leaf_dims(x, where$d)
  p <- x$parameters
  chosen <- function(u) u[, dims, drop = FALSE]
  if (x$kernel$by_formula) return(list(own_spectrum(x, where, call)))
  if (is.null(x$kernel$frequencies) && !x$label %in% c("nugget", "microscale", "constant", "linear")) {
    stop_kernops("input", c("Spectral simulation is not available for {.fn {x$label}}.",
                            i = "{.code gp_control(exact_limit = )} allows exact draws for more points; fits by
                                 {.code method = \"vecchia\"} are simulated without a spectrum."), call = call)
  }
  switch(
    x$label, nugget = list(), microscale = list(list(variance = p$variance, white = TRUE)),
    constant = list(list(variance = p$variance)),
    linear = list(list(variance = p$variance,
                       linear = list(function(u) sweep(chosen(u), 2, rep_len(p$center, length(dims)))))),
    list(list(variance = p$variance, spectral = list(list(
      place = function(u) x$geometry$place(chosen(u)), frequencies = scaled_frequencies(x, dims)
    ))))
  )
}

scaled_frequencies <- function(leaf, dims) {
  p <- c(leaf$parameters, time = leaf$geometry$time)
  about <- c(leaf$parameters, leaf$kernel$constants)
  d <- if (leaf$geometry$angular) 3L else length(dims)
  function(n) leaf$geometry$frequencies(leaf$kernel$frequencies(n, d, about), p, dims)
}
