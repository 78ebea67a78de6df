#' Fit of a covariance to an empirical variogram
#'
#' Fits a covariance to the semivariances by weighted least squares. In contrast, [gp()] estimates by maximum likelihood
#' and needs no classes of distance.
#'
#' @param variogram a result of [gp_variogram()] or `gstat::variogram()`, of one variable. The variogram may have
#'   several directions.
#' @param covariance a covariance, such as `spherical() + nugget()`, whose semivariance depends only on the difference
#'   of two points, or a variogram model of gstat. If a parameter has a value, this is its starting value; for
#'   parameters without values, the search has several starting values.
#' @param weights the weight of each class of np pairs at the mean distance h: `"np/h^2"`; `"np/gamma^2"` with the
#'   fitted semivariance gamma, which is the criterion of Cressie (1985) (gstat keeps these weights fixed within each of
#'   its iterations, so that its results differ); `"np"`; or `"equal"`.
#' @return The covariance with the estimated values, for [gp()]. The attribute `"sum_of_squares"` of the result is the
#'   weighted sum of squares.
#' @section Errors and warnings: class `kernops_input_error` for invalid arguments; a warning of class
#'   `kernops_not_converged` if the search stopped early.
#' @references Cressie, N. (1985) Fitting variogram models by weighted least squares. *Mathematical Geology* 17,
#'   563-586.
#' @seealso [gp_variogram()], [gp()], [covariance_functions].
#' @examples
#' set.seed(1)
#' d <- data.frame(a = runif(300), b = runif(300))
#' d$z <- sin(6 * d$a) + d$b + rnorm(300, sd = 0.1)
#' v <- gp_variogram(z ~ 1, d, coords = ~ a + b, cutoff = 0.4)
#' found <- fit_variogram(v, spherical() + nugget())
#' found
#' plot(v, found)
#' fit <- gp(z ~ 1, d, ~ a + b, found, estimate = "none")
#' @export
fit_variogram <- function(variogram, covariance, weights = c("np/h^2", "np/gamma^2", "np", "equal")) {
  weights <- check_choice(weights, "weights", c("np/h^2", "np/gamma^2", "np", "equal"))
  if (inherits(covariance, "variogramModel")) covariance <- as_gp(covariance)
  if (!is_covariance(covariance)) stop_kernops("input", "{.arg covariance} must be a covariance.")
  refuse_lmc(covariance, "{.fn gstat::fit.lmc} fits such a model to cross-variograms, and {.fn as_gp} converts it.")
  lags <- variogram_lags(variogram, covariance)
  model <- variogram_model(covariance, ncol(lags))
  semivariance <- model_semivariance(model, lags)
  sum_of_squares <- function(theta) {
    fitted <- semivariance(theta)
    weight <- switch(weights, "np/h^2" = variogram$np / variogram$dist^2, "np/gamma^2" = variogram$np / fitted^2,
                     np = variogram$np, equal = 1)
    sum(weight * (variogram$gamma - fitted)^2)
  }
  # bounds and starting values are computed from artificial data with the variance and the extent of the variogram
  like <- rbind(lags, -lags)
  spread <- rep(c(-1, 1), length.out = nrow(like)) * sqrt(max(variogram$gamma))
  model <- with_bounds(model, like, spread)
  optimum <- least_squares(model, starting_values(model, like, spread), sum_of_squares)
  result <- with_values(model, optimum$theta)
  attr(result, "sum_of_squares") <- optimum$value
  result
}

# For each class, the difference vector of two points at the mean distance in the direction of the class. If the
# covariance does not depend on directions, the vectors have one coordinate.
variogram_lags <- function(variogram, covariance, call = caller_env()) {
  needed <- c("np", "dist", "gamma")
  if (!is.data.frame(variogram) || !all(needed %in% names(variogram)) || !nrow(variogram)) {
    stop_kernops("input", "{.arg variogram} must be a result of {.fn gp_variogram} or {.fn gstat::variogram}.",
                 call = call)
  }
  if (length(unique(variogram$id)) > 1 || any(variogram$dist <= 0)) {
    stop_kernops("input", "{.arg variogram} must be of one variable, at distances above 0.", call = call)
  }
  isotropic <- all_leaves(covariance, function(leaf) leaf$geometry$isotropic)
  if (isotropic) return(cbind(variogram$dist))
  none <- rep(0, nrow(variogram))
  flat <- t(vapply(variogram[["dir.hor"]] %||% none, unit_direction, c(0, 0)))
  up <- t(vapply(variogram[["dir.ver"]] %||% none, unit_direction, c(0, 0)))
  variogram$dist * if (any(up[, 1] != 0)) cbind(flat * up[, 2], up[, 1]) else flat
}

variogram_model <- function(covariance, d, call = caller_env()) {
  model <- covariance_model(covariance, d, call = call)
  if (model$translation_invariant) return(model)
  stop_kernops("input", "The semivariance must depend on the difference of two points only: {.fn linear}, great-circle
                         distances and user-defined formulas have no variogram of distances.", call = call)
}

# The curves of a covariance in a plot of a variogram, with a curve for each direction. All parameters must have values.
variogram_curves <- function(variogram, covariance, call = caller_env()) {
  if (inherits(covariance, "gp")) covariance <- covariance$covariance
  if (inherits(covariance, "variogramModel")) covariance <- as_gp(covariance)
  if (!is_covariance(covariance) || is_lmc(covariance) || length(unique(variogram$id)) > 1) {
    stop_kernops("input", "{.arg model} must be a fit of {.fn gp}, a covariance or a {.cls variogramModel} of gstat, and
                           {.arg x} the variogram of one variable.", call = call)
  }
  dist <- max(variogram$upper, variogram$dist) * seq(1e-6, 1, length.out = 200)
  directions <- unique(data.frame(variogram[c("dir.hor", "dir.ver")]))
  directions <- directions[order(directions$dir.ver, directions$dir.hor), ]
  curves <- data.frame(np = 1, gamma = 0, dist = dist, directions[rep(seq_len(nrow(directions)), each = 200), ],
                       row.names = NULL)
  lags <- variogram_lags(curves, covariance, call)
  model <- variogram_model(covariance, ncol(lags), call)
  if (anyNA(model$parameters$value)) {
    stop_kernops("input", "The parameters of {.arg model} must have values.", call = call)
  }
  curves$gamma <- model_semivariance(model, lags)(model$parameters$value)
  curves
}

model_semivariance <- function(model, lags) {
  formula <- code_text("Sum_Reduction(", semivariance_text(model), ", 1)")
  op <- recent_operator(formula, point_declarations(model), "auto", "float64", "cpu")
  # the first point of each pair is not the origin, because an intrinsic field is 0 at the origin
  here <- matrix(1, 1, ncol(lags))
  function(theta) {
    as.vector(op(list(theta = theta, x = 1 + lags, y = here))) + if (length(model$nugget)) theta[[model$nugget]] else 0
  }
}

# The best result of least-squares searches from all starts.
least_squares <- function(model, starts, value) {
  p <- model$parameters
  free <- !p$fixed
  theta_of <- function(s, theta) replace(theta, free, from_search(p[free, ], s))
  limit <- function(bounds) to_search(p[free, ], bounds[free])
  lower <- ifelse(p$kind == "variance", 1e-6 * p$lower, p$lower)
  searches <- lapply(seq_len(nrow(starts)), function(n) {
    start <- starts[n, ]
    if (!any(free)) return(list(theta = start, value = value(start), convergence = 0L))
    end <- stats::nlminb(to_search(p[free, ], start[free]), function(s) value(theta_of(s, start)), lower = limit(lower),
                         upper = limit(p$upper), control = list(rel.tol = 1e-14, iter.max = 500, eval.max = 1000))
    list(theta = theta_of(end$par, start), value = end$objective, convergence = end$convergence, message = end$message)
  })
  best <- lowest(searches)
  if (best$convergence != 0 && !grepl("singular|false", best$message)) {
    cli::cli_warn("The search for the covariance stopped: {best$message}.", class = "kernops_not_converged")
  }
  best
}
