# Spectral simulation of a process at many points: sums of cosine functions with random frequencies (random Fourier
# features). Time and memory are linear in the number of points.
#
# A covariance is a sum of terms, each a list of
#   variance
#   spectral  for each stationary factor, place(u), the coordinates in which it is stationary, and frequencies(n) for
#             these coordinates, n x q, such that the mean of cos(w . h) is the correlation of the factor
#   linear    for each linear factor, a function that returns the coordinates whose scalar product is the factor

fourier_draws <- function(object, u, nsim, features, call = NULL) {
  terms <- spectral_terms(covariance_of_points(object), list(d = object$model$d, sample = object$data$u, u = u), call)
  Reduce(`+`, lapply(terms, draw_term, u, nsim, features, object$how$backend), matrix(0, nrow(u), nsim))
}

# With these amplitudes, independent for each draw, the sum has the exact covariance on average, and normal margins.
# Without stationary factors the covariance is exact, with one feature for each combination of linear factors.
draw_term <- function(term, u, nsim, features, backend) {
  if (length(term$group)) return(draw_groups(term, u, nsim, features, backend))
  if (isTRUE(term$white)) {
    place <- do.call(paste, as.data.frame(u)) # one value for each
    return(sqrt(term$variance) * matrix(stats::rnorm(nrow(u) * nsim), nrow(u))[match(place, place), , drop = FALSE])
  }
  linear <- lapply(term$linear, function(coordinates) coordinates(u))
  oscillates <- length(term$spectral) > 0
  widths <- vapply(linear, ncol, 0L)
  count <- if (oscillates) features else prod(widths)
  amplitudes <- matrix(stats::rnorm(count * nsim), count) * sqrt(term$variance * if (oscillates) 2 / features else 1)
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

# Each group has its own draw.
draw_groups <- function(term, u, nsim, features, backend) {
  draws <- matrix(0, nrow(u), nsim)
  for (rows in split(seq_len(nrow(u)), as.data.frame(u[, term$group, drop = FALSE]), drop = TRUE)) {
    draws[rows, ] <- draw_term(replace(term, "group", list(NULL)), u[rows, , drop = FALSE], nsim, features, backend)
  }
  draws
}

random_signs <- function(n, width) matrix(sample(c(-1, 1), n * width, replace = TRUE), n)

# For each linear factor, the coordinate that each feature uses: all combinations.
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
  if (length(x$sees)) return(list(effect_spectrum(x)))
  lapply(spectral_terms_of(x, where, call), function(term) c(term, list(group = x$group)))
}

# One draw for each level, times the covariate; of a smooth, one for each basis function.
effect_spectrum <- function(x) {
  covariates <- setdiff(x$dims, x$level)
  list(variance = x$parameters$variance, group = x$level,
       linear = if (length(covariates)) list(function(u) u[, covariates, drop = FALSE]))
}

spectral_terms_of <- function(x, where, call) {
  dims <- leaf_dims(x, where$d)
  p <- x$parameters
  chosen <- function(u) u[, dims, drop = FALSE]
  if (x$own) return(list(own_spectrum(x, where, call)))
  if (is.null(x$spectrum) && !x$label %in% c("nugget", "microscale", "constant", "linear")) {
    stop_kernops("input", c("Spectral simulation is not available for {.fn {x$label}}.",
                            i = "{.code gp_control(exact_limit = )} allows exact draws for more points, and a fit by
                                 {.code method = \"vecchia\"} has its own."), call = call)
  }
  switch(
    x$label, nugget = list(), microscale = list(list(variance = p$variance, white = TRUE)),
    constant = list(list(variance = p$variance)),
    linear = list(list(variance = p$variance,
                       linear = list(function(u) sweep(chosen(u), 2, rep_len(p$center, length(dims)))))),
    list(list(variance = p$variance, spectral = list(list(
      place = if (x$geometry == "great_circle") function(u) on_sphere(chosen(u)) else chosen,
      frequencies = scaled_frequencies(x, if (x$geometry == "great_circle") 3L else length(dims))
    ))))
  )
}

scaled_frequencies <- function(x, d) {
  p <- x$parameters
  unit <- function(n) x$spectrum(n, d, c(p, x$constants))
  if (x$unit_range) return(unit)
  if (x$geometry == "anisotropic") return(function(n) unit(n) %*% anisotropic_scales(p))
  faster <- if (is.null(x$time)) 1 else ifelse(leaf_dims(x, d) == x$time, p$speed, 1)
  function(n) sweep(unit(n), 2, rep_len(p$range, d) / faster, "/")
}

# A with |A h| the scaled distance of h, so that frequencies are A' w: rows along and across the angle.
anisotropic_scales <- function(p) {
  range <- p$range %||% 1
  a <- p$angle * pi / 180
  if (length(a) == 1) return(rbind(c(sin(a), cos(a)) / range, c(cos(a), -sin(a)) / (range * p$ratio)))
  rotation <- function(k, from, to) {
    turn <- diag(3)
    turn[c(from, to), c(from, to)] <- cbind(c(cos(a[[k]]), -sin(a[[k]])), c(sin(a[[k]]), cos(a[[k]])))
    turn
  }
  # north, east and up become the longest axis and those across it
  axes <- rotation(3, 3, 2) %*% rotation(2, 1, 3) %*% rotation(1, 1, 2) %*% diag(3)[c(2, 1, 3), ]
  axes / (range * c(1, p$ratio))
}

# Points of longitude and latitude in degrees in space, in km.
on_sphere <- function(u) {
  rad <- u * pi / 180
  6371.0088 * cbind(cos(rad[, 2]) * cos(rad[, 1]), cos(rad[, 2]) * sin(rad[, 1]), sin(rad[, 2]))
}
