# The steps of information_search(): Newton steps, steps onto bounds, and steps that raise variances near zero.

# The BFGS update of the matrix h of second derivatives, after a step `s` that changed the gradient by `y`.
bfgs <- function(h, s, y) {
  hs <- h %*% s
  if (sum(s * y) <= 1e-6 * sum(s * hs)) return(h)
  h - tcrossprod(hs) / sum(s * hs) + tcrossprod(y) / sum(s * y)
}

# Makes the information positive definite. Along ridges, the average information may have a negative curvature, or a
# curvature near zero. With such a matrix, a step would not descend, or would only move along the ridge. The curvature
# in such directions is set to a small positive number. All curvatures are set to this number if all curvatures vanish,
# for example if all ranges are below all distances: the field is then noise, and the likelihood with a profiled scale
# does not depend on the remaining parameters. BFGS updates preserve positive definiteness.
positive_definite <- function(h) {
  if (!length(h)) return(h)
  e <- eigen(h, symmetric = TRUE)
  # with this curvature, a step of length one changes the log-likelihood by some tenths; a larger curvature would
  # shorten steps along ridges
  bends <- pmax(e$values, min(1e-3 * max(abs(e$values)), 0.1), 1e-12)
  e$vectors %*% (bends * t(e$vectors))
}

# A step that changes each parameter by at most the factor exp(reach). A parameter that would pass its bound stops at
# the bound, and the other parameters move to the values that are best with this parameter at its bound. If this
# parameter stopped at the bound and the other parameters made the whole step, the step might leave a ridge of the
# likelihood and end where the likelihood is far lower.
newton_step <- function(gradient, information, s, low, high, reach = 1) {
  bounded <- (s <= low & gradient > 0) | (s >= high & gradient < 0)
  diag(information) <- diag(information) + 1e-6 * max(0, diag(information)[!bounded]) + 1e-12
  move <- numeric(length(s))
  while (!all(bounded)) {
    slope <- gradient + information[, bounded, drop = FALSE] %*% move[bounded]
    move[!bounded] <- -solve(information[!bounded, !bounded, drop = FALSE], slope[!bounded])
    short <- move / max(1, abs(move) / reach)
    room <- ifelse(short < 0, low - s, high - s)
    passed <- ifelse(bounded, 0, abs(short) / pmax(abs(room), 1e-12))
    if (all(passed <= 1)) return(short)
    first <- which.max(passed)
    move[[first]] <- room[[first]]
    bounded[[first]] <- TRUE
  }
  move / max(1, abs(move) / reach)
}

# Raises nearly zero variances. On the log scale of the search, the derivative with respect to a nearly zero variance is
# also nearly zero, even if the variance is far larger at the optimum. A nearly zero variance is raised to a hundredth
# of the total variance if two conditions hold: the derivative with respect to the variance itself indicates a clear
# improvement, and according to the information the logarithm of the variance is hardly determined. Returns NULL if all
# such variances are in the rows `except`.
off_the_floor <- function(search, except = NULL) {
  point <- search$point
  kind <- search$some$kind
  if (!any(kind == "variance")) return(NULL)
  variance <- point$theta[search$free]
  enough <- 0.01 * total_variance(search$model, point$theta)
  down <- -point$gradient - 2 * point$state$rounding
  low <- kind == "variance" & variance < enough / 10 & down * enough / variance > 1
  if (any(low)) low <- low & diag(point$information(search$profile, search$free)) < 1
  if (!all(search$free[low] %in% except)) replace(point$s, low, log(enough))
}

# Moves parameters that converge to a bound onto this bound. Variances may converge to zero, and ranges of coordinates
# without an effect converge to infinity. On the log scale, a search would need ever more steps towards these limits.
# NULL if no parameter converges to a bound.
onto_a_bound <- function(point, parameters, low, high) {
  near <- parameters$kind == "variance" & point$gradient > 0 & point$s > low & point$s < low + log(100)
  far <- parameters$kind == "range" & point$gradient < 0 & point$s < high & point$s > high - log(5e3)
  far[far] <- parameters$coordinate[far] > 0
  if (any(near | far) && point$state$has_value) ifelse(near, low, ifelse(far, high, point$s))
}
