#' Predictions of a Gaussian process
#'
#' @param object what [gp()] returns.
#' @param newdata points and covariates: a data frame, an sf or sp object, or, for a fit without covariates, a matrix of
#'   coordinates, or a vector: one point, or the points of one coordinate. Default: the data of the fit. Where the fit
#'   had a formula of coordinates, so has an sf or sp object with its variables. The columns of a matrix go by their
#'   names where these are the names of the coordinates, else in order. What had a value for each observation in the
#'   fit, be it a column of the data or a variable where the formula was written, must be a column of `newdata`; only
#'   settings, such as the knots of a spline, may stand elsewhere.
#' @param se.fit whether to give the standard error: of a new observation with `interval = "prediction"`, else of the
#'   field.
#' @param interval `"prediction"`: of a new observation, the nugget included, as is wanted where predictions are to be
#'   compared with observations; `"confidence"`: of the field, without the noise; `"none"`.
#' @param level of the interval.
#' @param type `"response"`, or `"terms"`: the trend and the process, whose sum the response is, without standard
#'   errors.
#' @param coords the coordinates of newdata, a matrix, where the fit had a matrix.
#' @param control settings of the iterative method; default: those of the fit.
#' @param ... nothing: what is not an argument is an error.
#'
#' @details The standard errors include the uncertainty of the trend, as in universal kriging, not that of the
#'   covariance parameters. `se.fit` is that of a new observation with `interval = "prediction"`, and otherwise that of
#'   the field, what a measurement without error would show: about new observations it says too little. Who asks for it
#'   without naming an interval is told so, once a session, by a message of class `kernops_field_se`. The noise of a new
#'   observation is that of the nugget alone: what `known$noise` is there, the model does not know.
#'
#' @return The mean, a vector; with `se.fit`, `interval` or `type = "terms"` a data frame with the columns `fit`,
#'   `se.fit`, `lwr` and `upr`, or `trend` and `process`, as far as they were asked for. For sf and sp objects, an
#'   object of the same class with these columns. Rows with missing values give `NA`.
#'
#' @section Errors: class `kernops_input_error` where `newdata` lacks a coordinate or covariate, has one of another
#'   type, or a level of a factor that the fit has not seen, or is in another reference system; `kernops_dim_error` for
#'   points of other dimensions.
#'
#' @examples
#' x <- seq(0, 10, length.out = 40)
#' fit <- gp(sin(x) ~ 1, coords = ~ x, covariance = matern(5/2) + nugget())
#' predict(fit, data.frame(x = 1:3), se.fit = TRUE, interval = "prediction")
#' @export
predict.gp <- function(object, newdata = NULL, se.fit = FALSE, interval = c("none", "confidence", "prediction"),
                       level = 0.95, type = c("response", "terms"), coords = NULL, control = NULL, ...) {
  no_further("predict", ...)
  unnamed <- missing(interval)
  interval <- check_choice(interval, "interval", c("none", "confidence", "prediction"))
  type <- check_choice(type, "type", c("response", "terms"))
  check_flag(se.fit, "se.fit")
  if (se.fit && unnamed && type == "response") tell_field_se(object)
  check_level(level)
  if (length(control)) object$how$control <- as_control(control, object$how$control)
  object$how$backend <- usable_backend(object$how$backend)
  points <- new_points(object, newdata, coords)
  table <- terms <- predicted_terms(object, points)
  if (type == "response") {
    table <- data.frame(fit = terms$trend + terms$process)
    if (se.fit || interval != "none") {
      noise <- if (interval == "prediction") nugget_of(object) else 0
      se <- sqrt(field_variance(object, points, terms$process) + noise)
      if (se.fit) table$se.fit <- se
      if (interval != "none") {
        half <- stats::qnorm((1 + level) / 2) * se
        table$lwr <- table$fit - half
        table$upr <- table$fit + half
      }
    }
  }
  give_back_points(table, points, newdata, object)
}

check_level <- function(level, call = caller_env()) {
  if (is.numeric(level) && length(level) == 1 && !is.na(level) && level > 0 && level < 1) return(invisible())
  stop_kernops("input", "{.arg level} must be between 0 and 1.", call = call)
}

# Once a session: those who take the standard errors for those of observations find most of these far off.
tell_field_se <- function(object) {
  nugget <- nugget_of(object) > 0
  if (!nugget && all(object$data$noise == 0)) return(invisible())
  cli::cli_inform(
    c(i = "These standard errors are those of the field, without {if (nugget) 'the nugget' else 'the known noise'}.",
      i = if (nugget) "{.code interval = \"prediction\"} gives those of new observations." else
        "That of a new observation adds the variance of its noise.",
      i = "{.code interval = \"confidence\"} or {.val none} says that the field is meant."),
    class = "kernops_field_se", .frequency = "once", .frequency_id = "kernops_field_se"
  )
}

nugget_of <- function(object) if (length(object$model$nugget)) object$theta[[object$model$nugget]] else 0

# The trend with known coefficients is part of the mean only.
predicted_terms <- function(object, points) {
  beta <- object$known$beta
  trend <- points$offset + if (is.null(beta)) as.vector(points$x %*% object$beta) else if (ncol(points$x)) {
    as.vector(points$x %*% beta)
  } else beta
  data.frame(trend = trend, process = covariance_times(object, points$u, object$state$alpha))
}

# k(u, observations) a
covariance_times <- function(object, u, a) {
  a <- as.matrix(a)
  product <- covariance_product(object$model, ncol(a), object$how$precision, object$how$backend)
  result <- product(list(theta = object$theta, x = u, y = object$data$u, b = a))
  if (ncol(a) == 1) as.vector(result) else result
}

# The variance of the field given the data, trend included, by solves in blocks of points. Those where the covariance
# with some observation is not a number, as the `process` of predicted_terms() tells, are left out, lest they spoil
# others of their block.
field_variance <- function(object, points, process) {
  known <- which(is.finite(process))
  m <- length(known)
  n <- nrow(object$data$u)
  factor <- if (object$method == "exact") factor_of(object)
  explained_at <- if (is_gpu_matrix(factor)) gpu_explained(object, factor) else host_explained(object, factor)
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

# What the data explain at points u: of the variance k' K^-1 k, and of the trend k' K^-1 X. The error of k' K^-1 k is
# quadratic in the residual, so that the iterative method may stop early.
host_explained <- function(object, factor) {
  covariance <- covariance_matrix(object$model, backend = if (is.null(factor)) object$how$backend else "cpu")
  solver <- if (is.null(factor)) solver_for(object, max(1e-5, object$how$control$cg_tol))
  weights <- object$state$z %*% object$state$root
  function(u) {
    k <- covariance(list(theta = object$theta, x = object$data$u, y = u))
    variance <- if (is.null(factor)) colSums(k * solver(k)) else colSums(factor_solve(factor, k)^2)
    list(variance = variance, trend = crossprod(k, weights))
  }
}

# Back to the rows and the class of newdata.
give_back_points <- function(table, points, newdata, object) {
  place <- replace(rep(NA_integer_, length(points$complete)), points$complete, seq_len(nrow(table)))
  table <- table[place, , drop = FALSE]
  rownames(table) <- points$names
  if (points$fitted) {
    table <- as.data.frame(stats::napredict(object$na.action, as.matrix(table)))
  } else if (inherits(newdata, "sf") || inherits(newdata, "sfc")) {
    return(sf::st_sf(table, geometry = sf::st_geometry(newdata)))
  } else if (inherits(newdata, "Spatial")) {
    rownames(table) <- NULL
    geometry <- methods::as(newdata, sub("DataFrame$", "", class(newdata)))
    return(sp::addAttrToGeom(geometry, table, match.ID = FALSE))
  }
  if (ncol(table) > 1) return(table)
  stats::setNames(table$fit, if (points$fitted || !is.null(points$names)) rownames(table))
}
