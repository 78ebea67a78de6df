# Draws of a stationary process as sums of cosines with random frequencies (random Fourier features): linear in the
# number of points. The frequencies follow the spectral density of each covariance.

fourier_draws <- function(object, u, nsim, features, call = NULL) {
  parts <- spectral_terms(object$covariance, object$model$d, call)
  product <- keops_kernel("Sum_Reduction(Cos((x | w) + t) * b, 1)",
                          c(sprintf("x = Vi(%d)", object$model$d), sprintf("w = Vj(%d)", object$model$d), "t = Vj(1)",
                            sprintf("b = Vj(%d)", nsim)), backend = object$how$backend)
  draws <- 0
  for (part in parts) {
    phase <- stats::runif(features, 0, 2 * pi)
    # of each draw its own amplitudes: with these the sum has the exact covariance on average, and normal margins
    b <- matrix(stats::rnorm(features * nsim), features) * sqrt(2 * part$variance / features)
    draws <- draws + product(list(x = u, w = part$frequencies(features), t = phase, b = b))
  }
  draws
}

# A list of variance and frequencies(n), one for each term of the sum.
spectral_terms <- function(x, d, call) {
  if (x$kind == "+") return(do.call(c, lapply(x$parts, spectral_terms, d, call)))
  if (x$kind == "*") {
    sides <- lapply(x$parts, spectral_terms, d, call)
    pairs <- expand.grid(seq_along(sides[[1]]), seq_along(sides[[2]]))
    return(lapply(seq_len(nrow(pairs)), function(n) {
      a <- sides[[1]][[pairs[n, 1]]]
      b <- sides[[2]][[pairs[n, 2]]]
      list(variance = a$variance * b$variance, frequencies = function(n) a$frequencies(n) + b$frequencies(n))
    }))
  }
  if (x$label == "nugget") return(list())
  if (x$label == "constant") return(list(list(variance = x$parameters$variance,
                                              frequencies = function(n) matrix(0, n, d))))
  list(spectral_leaf(x, d, call))
}

# Normal frequencies are those of a Gaussian covariance; divided by the root of a gamma variate, those of Matern's, a
# multivariate t; multiplied by one, those of the rational quadratic.
spectral_leaf <- function(x, d, call) {
  p <- x$parameters
  mix <- switch(
    x$label, squared_exponential = function(n) rep(1, n),
    exponential = function(n) 1 / sqrt(stats::rgamma(n, 0.5, 0.5)),
    matern = {
      nu <- as.numeric(sub("nu = ", "", x$about))
      function(n) 1 / sqrt(stats::rgamma(n, nu, nu))
    },
    rational_quadratic = function(n) sqrt(stats::rgamma(n, p$shape, p$shape))
  )
  if (is.null(mix) || x$geometry == "great_circle") {
    stop_kernops("input", c("{.fn {x$label}} has no Fourier features here.",
                            i = "With a larger {.arg exact_limit} of {.fn gp_control}, draws are exact."),
                 call = call)
  }
  dims <- x$dims %||% seq_len(d)
  list(variance = p$variance, frequencies = function(n) {
    w <- matrix(stats::rnorm(n * length(dims)), n) * mix(n)
    w <- if (x$geometry == "turned") w %*% turned_scales(p) else sweep(w, 2, rep_len(p$range, length(dims)), "/")
    all <- matrix(0, n, d)
    all[, dims] <- w
    all
  })
}

# A with |A h| the scaled distance of h, so that frequencies are A' w: rows along and across the angle.
turned_scales <- function(p) {
  a <- p$angle * pi / 180
  rbind(c(sin(a), cos(a)) / p$range, c(cos(a), -sin(a)) / (p$range * p$ratio))
}
