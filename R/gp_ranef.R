# Predicted effects of levels and times.

#' Predicted random effects
#'
#' Return the predicted random effects (best linear unbiased predictors, BLUPs) of a fit by [gp()], and their standard
#' errors given the data. `ranef()` and `fixef()` are the generic functions of package nlme; `fixef()` returns the
#' coefficients of the trend, as [coef()] does.
#'
#' @param object a fit by [gp()] with random effects such as `(1 | g)`, or effects of time such as [ar1()].
#' @param se.fit whether to return standard errors in addition.
#' @param ... must be empty.
#'
#' @details The standard errors are the standard errors of the difference of an effect and its prediction, including the
#'   uncertainty of the trend; the parameters of the covariance are treated as known. lme4 also treats the trend as
#'   known; its standard errors are the square roots of `condVar`. Effects and standard errors equal the results of
#'   [predict()][predict.gp] if `terms` names only this effect; `predict()` also predicts effects of new levels and
#'   times. With a [family][gp_families], effects are on the scale of the link, and the distribution given the data is
#'   the Laplace approximation.
#'
#' @return A list of data frames. The data frame of a grouping variable has a row for each level and a column for each
#'   coefficient, `(Intercept)` or the name of a slope, as in lme4; the data frame of an effect of time, such as
#'   `ar1(year)`, has a row for each time of the observations. Row names have as many digits as are needed to
#'   distinguish the levels. With several variables, columns have names such as `zinc:(Intercept)`. With `se.fit`, there
#'   are additional columns such as `(Intercept).se.fit`. Effects in products of covariances are fields and are not
#'   returned.
#' @section Errors: class `kernops_input_error` if the fit has no random effects.
#' @seealso [random_effect()], [time_effects].
#' @examples
#' set.seed(1)
#' d <- data.frame(x = runif(200), year = sample(2001:2020, 200, TRUE),
#'                 site = sample(letters[1:8], 200, TRUE))
#' d$y <- cumsum(rnorm(20))[d$year - 2000] + rnorm(8)[match(d$site, letters)] + rnorm(200, sd = 0.3)
#' fit <- gp(y ~ x + (1 | site), d, covariance = random_walk(~ year) + nugget())
#' effects <- ranef(fit, se.fit = TRUE)
#' effects$site
#' head(effects[["random_walk(year)"]])
#' @method ranef gp
#' @export
ranef.gp <- function(object, se.fit = FALSE, ...) {
  no_further("ranef", ...)
  check_flag(se.fit, "se.fit")
  object <- with_indicators(object)
  effects <- Filter(function(leaf) !is.null(leaf$effect) || is_process(leaf), added_effects(object$model$covariance))
  if (!length(effects)) stop_kernops("input", "The fit has no random effects, such as {.code (1 | g)}.")
  conditioning <- conditioning_for(object)
  tables <- list()
  for (leaf in unlist(lapply(effects, effect_of_each, object), recursive = FALSE, use.names = FALSE)) {
    column <- settled_column(leaf, object)
    name <- if (is_process(leaf)) leaf$label else deparse1(column$formula[[2]])
    tables[[name]] <- tables[[name]] %||% data.frame(row.names = column$levels)
    coefficients <- leaf$effect %||% "(Intercept)"
    for (k in seq_along(coefficients)) {
      moments <- effect_moments(conditioning, coefficient_targets(object, leaf, column, k), se.fit)
      named <- !is_process(leaf) || !is.null(leaf$structure)
      label <- paste(c(if (named) leaf$belongs$name, coefficients[[k]]), collapse = ":")
      tables[[name]][[label]] <- moments$process
      if (se.fit) tables[[name]][[paste0(label, ".se.fit")]] <- sqrt(pmax(0, moments$variance))
    }
  }
  tables
}

#' @rdname ranef.gp
#' @method fixef gp
#' @export
fixef.gp <- function(object, ...) {
  no_further("fixef", ...)
  coef(object)
}

# A list with the leaf of an effect or, if the effect is a structure of lmc(), with one leaf for each variable.
effect_of_each <- function(leaf, object) {
  if (is.null(leaf$structure)) return(list(leaf))
  names <- response_names(object)
  lapply(seq_along(names), function(number) {
    replace(leaf, "belongs", list(list(name = names[[number]], number = number, column = object$model$d + 1)))
  })
}

effect_moments <- function(conditioning, targets, variance) {
  if (variance) conditioning$moments(targets) else conditioning$means(targets)
}

# The k-th coefficient of the random effect `leaf` at each of its levels or times, as targets of a prediction.
# Indicators switch off all other terms. A slope is the effect where its covariate is 1 and other covariates are 0,
# minus the effect where all covariates are 0.
coefficient_targets <- function(object, leaf, column, k) {
  values <- column$times %||% seq_along(column$levels)
  u <- object$data$u[rep(1, length(values)), , drop = FALSE]
  terms <- covariance_terms(object$model$covariance)
  others <- unlist(lapply(terms, function(leaves) leaves[[1]]$indicator))
  u[, others] <- 1
  u[, leaf$indicator] <- 0
  # with several variables, the columns of at_variables() are the index of the variable and two zeros, because a target
  # has no noise
  if (!is.null(leaf$belongs)) u[, leaf$belongs$column + 0:2] <- rep(c(leaf$belongs$number - 1, 0, 0), each = nrow(u))
  u[, leaf$level %||% leaf$dims] <- values
  covariates <- if (!is_process(leaf)) setdiff(leaf$dims, leaf$level)
  u[, covariates] <- 0
  baseline <- u
  with_intercept <- "(Intercept)" %in% leaf$effect
  slope <- k - with_intercept
  n <- nrow(u)
  if (slope > 0 && length(covariates)) u[, covariates[[slope]]] <- 1
  targets <- list(x = matrix(0, n, ncol(object$state$root)), n = n, u = u, of = seq_len(n), weight = rep(1, n))
  if (!with_intercept || slope == 0) return(targets)
  both <- rep(seq_len(n), each = 2) + rep(c(0, n), n)
  replace(targets, c("u", "of", "weight", "centres"), list(
    rbind(u, baseline)[both, , drop = FALSE], rep(seq_len(n), each = 2), rep(c(1, -1), n), u
  ))
}
