# Methods of fits with a family that differ from the methods of Gaussian fits.

#' @export
print.gp_family_fit <- function(x, ...) {
  NextMethod()
  constant <- x$dispersion[is_constant_parameter(x$family)]
  values <- function(x) paste(names(x), signif(x, 4), sep = " = ")
  words <- c(paste0(x$family$name, ", link ", x$family$link), if (length(constant)) values(constant))
  cat_labelled("family", words, ",")
  for (name in names(x$family$predictors)) {
    words <- c(values(predictor_coefficients(x, name)), smooth_words(x$family$predictors[[name]]))
    cat_labelled(predictor_label(x$family, name), words, ",")
  }
  invisible(x)
}

#' @export
coef.gp_family_fit <- function(object, type = c("trend", "covariance", "both"), ...) {
  no_further("coef", ...)
  type <- check_choice(type, "type", c("trend", "covariance", "both"))
  covariance <- if (type != "trend") c(in_data_units(object$model, object$theta), object$dispersion)
  c(if (type != "covariance") object$beta, covariance)
}

#' @rdname gp_methods
#' @export
residuals.gp_family_fit <- function(object, type = c("deviance", "pearson", "response", "quantile"), ...) {
  no_further("residuals", ...)
  type <- check_choice(type, "type", c("deviance", "pearson", "response", "quantile"))
  parts <- object$parts
  off <- if (type == "quantile") quantile_residuals(object) else
    family_residuals(object, object$response$y, fitted_mean(object), parts$weights, type)
  stats::naresid(object$na.action, stats::setNames(off, rownames(parts$frame)))
}

family_residuals <- function(object, y, mu, w, type) {
  density <- object$family$density
  off <- (if (density$response == "time") abs(y) else y) - mu
  switch(type, response = off, pearson = off / sqrt(density$variance(mu, w, object$phi)),
         deviance = sign(off) * sqrt(pmax(0, density$deviance(y, mu, w, object$phi))))
}

# The standard normal quantiles of the probabilities of the observations given the fitted process. If the observation y
# has a positive probability, a random number between P(Y < y) and P(Y <= y) replaces the probability.
quantile_residuals <- function(object) {
  y <- object$parts$y
  w <- object$parts$weights
  eta <- predicted_mean(object, new_points(object, NULL, NULL))
  x <- predictive_observation(predictive_normal(eta, rep(nugget_of(object), length(eta))), object, w)
  p <- cdf(x, y)
  below <- lower_probability(object$family$density, x, y, p)
  p[object$parts$censored %||% FALSE | y >= object$family$density$limits[[2]]] <- 1
  if (any(below < p)) p <- below + (p - below) * with_derived_seed(object$how$control$seed, stats::runif(length(y)))
  stats::qnorm(pmin(pmax(p, 1e-16), 1 - 1e-16))
}

# The probability of values below y. `p` is the probability of values up to y; the two probabilities differ if the value
# y has a positive probability.
lower_probability <- function(density, x, y, p) {
  if (density$discrete) return(cdf(x, y - value_unit(x)))
  replace(p, y <= if (density$response == "nonnegative") 0 else density$limits[[1]], 0)
}

# The inverse link of the fitted linear predictor, without the nugget.
fitted_mean <- function(object) {
  mean_of(object, predicted_mean(object, new_points(object, NULL, NULL)))
}

#' @export
fitted.gp_family_fit <- function(object, ...) {
  no_further("fitted", ...)
  stats::napredict(object$na.action, stats::setNames(fitted_mean(object), rownames(object$parts$frame)))
}

#' @export
vcov.gp_family_fit <- function(object, type = c("trend", "covariance", "both"), ...) {
  no_further("vcov", ...)
  type <- check_choice(type, "type", c("trend", "covariance", "both"))
  whole <- family_vcov(object)
  p <- length(object$beta)
  outer <- setdiff(seq_len(nrow(whole)), seq_len(p))
  rows <- switch(type, trend = seq_len(p), covariance = outer, both = seq_len(nrow(whole)))
  v <- whole[rows, rows, drop = FALSE]
  warn_no_errors(v)
  v
}

# The covariance matrix of all estimated parameters, in which the coefficients of the trend come first. The matrix is
# the inverse of the information of the search.
family_vcov <- function(object) {
  parameters <- object$outer$parameters
  free <- which(!parameters$fixed)
  names <- parameters$name[free]
  trend <- parameters$kind[free] == "trend"
  # converts coefficients of orthogonal bases to coefficients of the trend and of predictors
  turn <- diag(in_data_units(object$outer, search_slope(parameters, object$outer_theta))[free], length(free))
  if (any(trend)) {
    turn[trend, trend] <- sqrt(length(object$data$y)) * solve(qr.R(qr(object$data$x)))
    names[trend] <- names(object$beta)
  }
  for (predictor in names(object$family$predictors)) {
    rows <- match(with(object$family$parameters, name[of == predictor]), names)
    if (!anyNA(rows)) turn[rows, rows] <- object$family$predictors[[predictor]]$turn
  }
  inverse <- inverse_information(family_information(object, free), parameters$kind[free] %in% c("trend", "family"),
                                 parameters$name[free] %in% object$search$at_bound)
  known <- !is.na(diag(inverse))
  turn <- turn[known, known, drop = FALSE]
  inverse[known, known] <- turn %*% inverse[known, known, drop = FALSE] %*% t(turn)
  order <- c(which(trend), which(!trend))
  matrix(inverse[order, order], length(order), dimnames = list(names[order], names[order]))
}

# The information on the scale of the search, computed by differences of the gradient. For more than `differences_limit`
# observations, differences are computed for the parameters of the family only, and the information on the covariance
# and the trend comes from the search.
family_information <- function(object, free) {
  if (!length(free)) return(matrix(0, 0, 0))
  kept_in(object$information, key = list(object$outer_theta, free), compute = function() {
    outer <- replace(object, c("data", "model", "theta"), list(object$response, object$outer, object$outer_theta))
    if (length(object$data$y) <= differences_limit) return(observed_information(outer, free))
    information <- object$search$information / 2
    of_family <- which(object$outer$parameters$kind[free] == "family")
    if (!length(of_family)) return(information)
    differences <- gradient_differences(outer, free, free[of_family])
    information[, of_family] <- differences
    information[of_family, ] <- t(differences)
    (information + t(information)) / 2
  })
}

#' @export
confint.gp_family_fit <- function(object, parm = NULL, level = 0.95, type = c("both", "trend", "covariance"), ...) {
  no_further("confint", ...)
  type <- check_choice(type, "type", c("both", "trend", "covariance"))
  check_level(level)
  v <- vcov(object, type)
  trend <- seq_len(nrow(v)) <= if (type == "covariance") 0 else length(object$beta)
  parameters <- object$outer$parameters
  parameters <- parameters[match(rownames(v), parameters$name), ]
  other <- coef(object, "covariance")
  value <- c(if (any(trend)) object$beta, other[rownames(v)[!trend]])
  parameters$log <- parameters$log & !trend
  parameters$kind[trend] <- "trend"
  parameters$unit[trend] <- 1
  value <- stats::setNames(value, rownames(v))
  limits <- wald_limits(parameters, value, sqrt(diag(v)), level, parm)
  for (name in intersect(rownames(limits), names(object$dispersion))) {
    range <- attr(object$family$density$parameters[[name]], "range")
    if (is.null(range)) next
    limits[name, ] <- limits_within(range, value[[name]], sqrt(v[name, name]), level)
  }
  limits
}

# Wald limits of a parameter with a lower and an upper bound, computed on the logit scale.
limits_within <- function(range, value, se, level) {
  width <- diff(range)
  share <- (value - range[[1]]) / width
  half <- se / width / (share * (1 - share))
  range[[1]] + width * stats::plogis(stats::qlogis(share) + stats::qnorm((1 + c(-1, 1) * level) / 2) * half)
}
