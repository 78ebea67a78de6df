#' Simulations of a Gaussian process
#'
#' Simulates new responses of the observations, or the field at given points: conditional on the data, or
#' unconditionally from the model. Conditional draws have the mean and the covariance of kriging, including the
#' uncertainty of the trend. Matheron's rule computes these draws: an unconditional draw at the observations and the new
#' points is corrected at the new points by kriging of its differences from the data. Fits by `method = "vecchia"` draw
#' from the joint distribution of the new points that [predict()][predict.gp] describes.
#'
#' @inheritParams predict.gp
#' @param nsim number of draws.
#' @param seed a seed for [set.seed()]; afterwards, the state of the generator is restored.
#' @param conditional whether the draws are conditional on the data.
#' @param noise whether to draw new observations, with their noise, instead of the field. Default: new observations if
#'   `newdata`, `coords` and `type` are not given; otherwise the field.
#' @param features number of cosine functions in spectral simulation. Draws are exact for up to `control$exact_limit`
#'   points, observations included. For more points, spectral simulation is used: each draw is a sum of `features`
#'   cosine functions with random frequencies (random Fourier features), with memory proportional to the number of
#'   points. Fits by `method = "vecchia"` do not use spectral simulation: for any number of points, points are drawn one
#'   after the other, given their nearest previous points.
#' @param ... not used: further arguments are an error.
#'
#' @details Spectral simulation is available for all covariances of the package and for their sums and products.
#'   Frequencies are drawn from the spectral densities; [linear()] and [constant()] are simulated directly. The spectral
#'   density of a user-defined formula is computed by a Fourier transform: the formula must be stationary, with at most
#'   3 coordinates.
#'
#' @section New responses: `simulate(fit)` without `newdata` repeats the experiment, as [stats::simulate()] does for
#'   [lm()] and [glm()]: it draws new responses of the observations of the fit, with their weights, numbers of trials
#'   and variances `known$noise`. By default, the field is conditional on the data; `conditional = FALSE` draws a new
#'   field from the model for each column, as a parametric bootstrap requires. `simulate(fit, type = "field")` draws the
#'   field at the observations. For Gaussian observations, a message reports this default once per session, since early
#'   versions of the package drew the field.
#'
#' @return A matrix with a row for each point and a column for each draw; for points and maps of sf, stars, terra and
#'   sp, an object of the same class with the columns or layers `sim1`, `sim2`, ... New responses of the observations
#'   are a data frame with the columns `sim_1`, `sim_2`, ..., as in [stats::simulate()], with the attribute `seed`. Each
#'   column has the form of the response (counts, numbers, proportions, factors, or matrices of successes and failures)
#'   and can replace the response in `data`.
#' @section Errors: class `kernops_input_error` if `newdata` has polygons, and if there are more than `exact_limit`
#'   points and the covariance is a user-defined formula for which spectral simulation is not available.
#' @references
#' Rahimi, A. and Recht, B. (2007) Random features for large-scale kernel machines. *Advances in Neural Information
#' Processing Systems* 20.
#'
#' Wilson, J. T. et al. (2021) Pathwise conditioning of Gaussian processes. *Journal of Machine Learning
#' Research* 22(105), 1-47.
#' @seealso [gp()], [predict()][predict.gp] for means and standard errors.
#' @examples
#' set.seed(1)
#' x <- seq(0, 10, length.out = 40)
#' y <- sin(x) + rnorm(40, sd = 0.1)
#' fit <- gp(y ~ 1, coords = ~ x, covariance = matern(5/2) + nugget())
#' simulate(fit, nsim = 2, seed = 1, newdata = data.frame(x = 1:3))
#' # new responses of all observations
#' head(simulate(fit, nsim = 2, seed = 1))
#' # the field at the observations
#' head(simulate(fit, nsim = 2, seed = 1, type = "field"))
#' counts <- data.frame(x, k = rpois(40, exp(1 + sin(x))))
#' poisson_fit <- gp(k ~ 1, counts, ~ x, matern(5/2), family = poisson())
#' head(simulate(poisson_fit, nsim = 2, seed = 1))
#' @importFrom stats simulate
#' @export
simulate.gp <- function(object, nsim = 1, seed = NULL, newdata = NULL, conditional = TRUE,
                        noise = is.null(newdata) && is.null(coords) && missing(type), features = 2000, coords = NULL,
                        type = "field", ...) {
  no_further("simulate", ...)
  check_choice(type, "type", "field")
  if (missing(noise) && missing(type)) tell_new_responses(noise)
  check_simulation(nsim, seed, conditional, noise, features)
  object$how$backend <- usable_backend(object$how$backend)
  simulate_points(object, newdata, coords, nsim, seed, noise, function(points) {
    simulated(object, points, nsim, conditional, noise, features)
  })
}

# Informs users, once per session, that the default for Gaussian observations has changed: earlier versions drew the
# field.
tell_new_responses <- function(noise) {
  if (!noise) return(invisible())
  cli::cli_inform(c(i = "{.fn simulate} draws new responses of the observations, as {.fn stats::simulate}.",
                    i = "{.code type = \"field\"} draws the field, which was the default in early versions.",
                    i = "{.code noise = TRUE} suppresses this message."),
                  class = "kernops_new_responses", .frequency = "once", .frequency_id = "kernops_new_responses")
}

# Converts newdata to points, and draws at these points by draw(points). Returns draws with the class of newdata or, for
# new responses at the observations of the fit, with the class of the response.
simulate_points <- function(fit, newdata, coords, nsim, seed, noise, draw, call = caller_env()) {
  in_order_x_y(newdata, function(newdata) {
    points <- points_to_simulate(fit, newdata, coords, nsim, call)
    repeats <- points$fitted && noise
    draw_with_seed(seed, repeats, function() {
      draws <- draw(points)
      if (repeats) new_responses(draws, fit, points) else give_back_draws(draws, fit, points, newdata)
    })
  })
}

# If `keeps_seed`, the result has an attribute with the seed, or with the previous state of the generator, like the
# result of stats::simulate().
draw_with_seed <- function(seed, keeps_seed, draw) {
  if (!is.null(seed)) {
    result <- with_seed(seed, draw())
    state <- structure(seed, kind = list("Mersenne-Twister", "Inversion", "Rejection"))
  } else {
    if (keeps_seed && is.null(globalenv()$.Random.seed)) stats::runif(1)
    state <- globalenv()$.Random.seed
    result <- draw()
  }
  if (keeps_seed) structure(result, seed = state) else result
}

check_simulation <- function(nsim, seed, conditional, noise, features, call = caller_env()) {
  check_number(nsim, "nsim", least = 1, whole = TRUE, call = call)
  check_number(features, "features", least = 1, whole = TRUE, call = call)
  check_flag(conditional, "conditional", call)
  check_flag(noise, "noise", call)
  check_seed(seed, call)
}

points_to_simulate <- function(object, newdata, coords, nsim, call = caller_env()) {
  points <- new_points(object, newdata, coords, call = call)
  if (!is.null(points$blocks) && !points$fitted) {
    stop_kernops("input", c("{.fn simulate} draws the field at points: {.arg newdata} must not be polygons.",
                            i = "{.code predict(fit, newdata, cov = TRUE)} returns the joint distribution of means over
                                 polygons."), call = call)
  }
  points <- with_variance(object, points)
  check_memory(8 * length(points$complete) * nsim)
  points
}

simulated <- function(object, points, nsim, conditional, noise, features) {
  field <- if (conditional) conditional_draws(object, points, nsim, features) else {
    targets <- targets_of(object, points)
    trend_mean(object, points) +
      gathered(conditioning_for(object)$prior_draws(targets$u, nsim, features), targets)
  }
  field <- field + if (noise) noise_draws(object, points, nsim) else 0
  requested_draws(with_phi_of(object, points$u), field, noise, if (points$fitted) object$parts$weights else 1)
}

# A table of draws, converted to the scale of the response.
table_of_draws <- function(draws, object, points, prefix) {
  nsim <- ncol(as.matrix(draws))
  if (!is.null(object$transform)) draws <- boxcox_back(draws, object$transform$lambda)
  table <- stats::setNames(as.data.frame(draws), paste0(prefix, seq_len(nsim)))
  collapse(object$parts$layout, table, points$variable, prefixed = TRUE)
}

# Returns draws on the scale and in the class of the response and of newdata.
give_back_draws <- function(draws, object, points, newdata) {
  table <- table_of_draws(draws, object, points, "sim")
  if (is_spatial(newdata)) return(give_back_points(table, points, newdata, object))
  result <- matrix(NA_real_, length(points$complete), ncol(table), dimnames = list(points$names, names(table)))
  result[points$complete, ] <- as.matrix(table)
  if (points$fitted) stats::napredict(object$na.action, result) else result
}

# Marks points as incomplete where the covariance is not a number, for example because its formula takes the logarithm
# of a negative number.
with_variance <- function(object, points) {
  variance <- as.vector(covariance_diagonal(object$model)(list(theta = object$theta, x = points$u)))
  good <- is.finite(variance)
  if (!is.null(points$variable) || points$fitted || all(good)) return(points)
  points$complete[points$complete] <- good
  utils::modifyList(points, some_points(points, good))
}

conditional_draws <- function(object, points, nsim, features) {
  conditioning_for(object)$draws(points, nsim, features)
}
