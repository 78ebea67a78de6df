#' Predictions of a Gaussian process
#'
#' @param object a fit of [gp()].
#' @param newdata new points and covariates: a data frame; points or a map of sf, stars, terra or sp, see [gp()];
#'   or, for a fit without covariates, a matrix of coordinates or a vector (one point, or the points of one
#'   coordinate). Default: the data of the fit. If the coordinates of the fit were given by a formula, the formula
#'   is also used for spatial objects that have its variables. The columns of a matrix are matched by name if they
#'   have the names of the coordinates, otherwise by position. Every variable with a value for each observation of
#'   the fit, whether a column of the data or a variable of the environment of the formula, must be a column of
#'   `newdata`. Other variables, such as the knots of a spline, may be found elsewhere.
#' @param se.fit whether to return standard errors: of new observations with `interval = "prediction"`, otherwise of the
#'   field.
#' @param interval `"prediction"`: the interval of a new observation, nugget included, for comparisons of predictions
#'   with observations; `"confidence"`: the interval of the field, without noise; `"none"`.
#' @param level the level of the interval.
#' @param type `"response"`, or `"terms"`: the trend and the process, which add up to the response, without standard
#'   errors.
#' @param coords the coordinates of `newdata`, a matrix, if the fit was given a matrix.
#' @param se how the standard errors of an exact or iterative fit are computed: `"exact"` solves a system for each
#'   point; `"local"` conditions it on its nearest observations, as `method = "vecchia"` of [gp()] does: an
#'   approximation for many points, whose time per point does not depend on the number of observations.
#' @param control settings of the iterative method, and `neighbours` of new points, see [gp_control()]; default: those
#'   of the fit.
#' @param ... not used: further arguments are an error.
#'
#' @details The standard errors include the uncertainty of the trend, as in universal kriging, but not that of the
#'   covariance parameters. With `interval = "prediction"`, `se.fit` is the standard error of a new observation.
#'   Otherwise it is the standard error of the field, that is, of a measurement without error, which is too small for
#'   new observations. If `se.fit = TRUE` is used without naming an interval, a message of class `kernops_field_se`
#'   reports this, once a session. The noise of a new observation is the nugget only: the model has no `known$noise` at
#'   new points.
#'
#' @return The mean, a vector; with `se.fit`, `interval` or `type = "terms"` a data frame with the requested columns
#'   among `fit`, `se.fit`, `lwr` and `upr`, or `trend` and `process`. For points and maps of sf, stars, terra and sp,
#'   an object of the same class with these columns or layers, and without its own: `SpatialPixels` give a
#'   `SpatialPixelsDataFrame`. Rows and cells with missing values give `NA`.
#'
#' @section Errors: class `kernops_input_error` if `newdata` lacks a coordinate or covariate, if a variable has another
#'   type or a factor level that is not in the fit; `kernops_crs_error`, also an input error, if the reference system
#'   differs; `kernops_dim_error` for points with another number of coordinates.
#'
#' @seealso [gp()], [simulate()][simulate.gp] for draws, [gp_cv()] for cross-validation, [plot()][plot.gp].
#' @examples
#' set.seed(1)
#' x <- seq(0, 10, length.out = 40)
#' y <- sin(x) + rnorm(40, sd = 0.1)
#' fit <- gp(y ~ 1, coords = ~ x, covariance = matern(5/2) + nugget())
#' predict(fit, data.frame(x = 1:3), se.fit = TRUE, interval = "prediction")
#'
#' if (requireNamespace("sf", quietly = TRUE)) {
#'   places <- data.frame(x = runif(30), y = runif(30))
#'   places$z <- sin(5 * places$x) + places$y + rnorm(30, sd = 0.1)
#'   places <- sf::st_as_sf(places, coords = c("x", "y"))
#'   fit <- gp(z ~ 1, places)
#'   predict(fit, places[1:3, ], se.fit = TRUE, interval = "confidence")
#' }
#' @export
predict.gp <- function(object, newdata = NULL, se.fit = FALSE, interval = c("none", "confidence", "prediction"),
                       level = 0.95, type = c("response", "terms"), coords = NULL, control = NULL,
                       se = c("exact", "local"), ...) {
  no_further("predict", ...)
  se <- check_choice(se, "se", c("exact", "local"))
  unnamed <- missing(interval)
  interval <- check_choice(interval, "interval", c("none", "confidence", "prediction"))
  type <- check_choice(type, "type", c("response", "terms"))
  check_flag(se.fit, "se.fit")
  if (se.fit && unnamed && type == "response") tell_field_se(object)
  check_level(level)
  if (length(control)) object <- with_control(object, control)
  object$how$backend <- usable_backend(object$how$backend)
  points <- new_points(object, newdata, coords)
  uncertain <- type == "response" && (se.fit || interval != "none")
  table <- terms <- predicted_terms(object, points, uncertain)
  if (type == "response") {
    table <- data.frame(fit = terms$trend + terms$process)
    if (uncertain) {
      noise <- if (interval == "prediction") nugget_of(object) else 0
      variance <- terms$variance %||% field_variance(object, points, terms$process, se == "local")
      error <- sqrt(variance + noise)
      if (se.fit) table$se.fit <- error
      if (interval != "none") {
        half <- stats::qnorm((1 + level) / 2) * error
        table$lwr <- table$fit - half
        table$upr <- table$fit + half
      }
    }
  }
  give_back_points(table, points, newdata, object)
}

with_control <- function(object, control, call = caller_env()) {
  object$how$control <- as_control(control, object$how$control, call)
  if (is.numeric(control$neighbours)) object$vecchia$local <- control$neighbours
  object
}

check_level <- function(level, call = caller_env()) {
  if (is.numeric(level) && length(level) == 1 && !is.na(level) && level > 0 && level < 1) return(invisible())
  stop_kernops("input", "{.arg level} must be between 0 and 1.", call = call)
}

# Once a session: standard errors of the field are too small for new observations.
tell_field_se <- function(object) {
  nugget <- nugget_of(object) > 0
  if (!nugget && all(object$data$noise == 0)) return(invisible())
  cli::cli_inform(
    c(i = "These are standard errors of the field, without {if (nugget) 'the nugget' else 'the known noise'}.",
      i = if (nugget) "{.code interval = \"prediction\"} gives standard errors of new observations." else
        "For a new observation, add the variance of its noise.",
      i = "{.code interval = \"confidence\"} or {.val none} suppresses this message."),
    class = "kernops_field_se", .frequency = "once", .frequency_id = "kernops_field_se"
  )
}

nugget_of <- function(object) if (length(object$model$nugget)) object$theta[[object$model$nugget]] else 0

# The trend with known coefficients is part of the mean only. With `variance`, that of the field is a third column if it
# comes with the mean.
predicted_terms <- function(object, points, variance = FALSE) {
  beta <- object$known$beta
  trend <- points$offset + if (is.null(beta)) as.vector(points$x %*% object$beta) else if (ncol(points$x)) {
    as.vector(points$x %*% beta)
  } else beta
  if (object$method == "vecchia") {
    local <- local_prediction(object, points, variance)
    return(as.data.frame(c(list(trend = trend, process = local$process), if (variance) local["variance"])))
  }
  data.frame(trend = trend, process = covariance_times(object, points$u, object$state$alpha))
}

# k(u, observations) a
covariance_times <- function(object, u, a) {
  a <- as.matrix(a)
  product <- covariance_product(object$model, ncol(a), object$how$precision, object$how$backend)
  result <- product(list(theta = object$theta, x = u, y = object$data$u, b = a))
  if (ncol(a) == 1) as.vector(result) else result
}

# The variance of the field given the data, trend included, by solves in blocks of points. Points
# whose covariance with an observation is not a number (see `process` of predicted_terms()) are omitted, so that they do
# not affect other points of their block.
field_variance <- function(object, points, process, local = FALSE) {
  if (local || object$method == "vecchia") return(local_prediction(object, points, variance = TRUE)$variance)
  known <- which(is.finite(process))
  m <- length(known)
  n <- nrow(object$data$u)
  factor <- if (object$method == "exact") factor_of(object)
  explained_at <- if (is.null(factor)) explained_by_solver(object) else explained_by_factor(object, factor)
  prior <- as.vector(covariance_diagonal(object$model)(list(theta = object$theta, x = points$u)))
  x <- if (is.null(object$known$beta)) points$x else points$x[, 0, drop = FALSE]
  variance <- rep(NaN, length(prior))
  with_bar("Predicting", for_blocks(m, function(first, last) {
    at <- known[first:last]
    say_progress(step = paste("standard error", first, "of", m), fraction = (first - 1) / m)
    by_data <- explained_at(points$u[at, , drop = FALSE])
    variance[at] <<- prior[at] - by_data$variance
    if (ncol(x)) {
      gap <- x[at, , drop = FALSE] - by_data$trend
      variance[at] <<- variance[at] + colSums(backsolve(object$state$root, t(gap), transpose = TRUE)^2)
    }
  }, if (is.null(factor)) solve_width(n) else 128L, n))
  pmax(variance, 0)
}

# As explained_by_factor(). The error of k' K^-1 k is quadratic in the residual, so that the solver may stop early.
explained_by_solver <- function(object) {
  covariance <- covariance_matrix(object$model, backend = object$how$backend)
  solver <- solver_for(object, max(1e-5, object$how$control$cg_tol))
  weights <- object$state$z %*% object$state$root
  function(u) {
    k <- covariance(list(theta = object$theta, x = object$data$u, y = u))
    list(variance = colSums(k * solver(k)), trend = crossprod(k, weights))
  }
}

# Back to the rows and the class of newdata.
give_back_points <- function(table, points, newdata, object) {
  place <- replace(rep(NA_integer_, length(points$complete)), points$complete, seq_len(nrow(table)))
  table <- table[place, , drop = FALSE]
  rownames(table) <- points$names
  if (points$fitted) {
    table <- as.data.frame(stats::napredict(object$na.action, as.matrix(table)))
  } else if (is_spatial(newdata)) {
    return(give_back(newdata, table))
  }
  if (ncol(table) > 1) return(table)
  stats::setNames(table$fit, if (points$fitted || !is.null(points$names)) rownames(table))
}
