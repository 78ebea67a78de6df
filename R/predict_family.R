# Predictions of fits with a family: the normal distribution of the linear predictor, and what follows for responses.

#' @rdname predict.gp
#' @export
predict.gp_family_fit <- function(object, newdata = NULL, se.fit = FALSE,
                                  interval = c("none", "confidence", "prediction"), level = 0.95,
                                  type = c("response", "link", "terms"), coords = NULL, control = NULL,
                                  se = c("exact", "local"), nmax = Inf, maxdist = Inf, block = NULL, cov = FALSE,
                                  probs = NULL, above = NULL, ...) {
  no_further("predict", ...)
  how <- list(local = check_choice(se, "se", c("exact", "local")) == "local", nmax = nmax, maxdist = maxdist)
  check_local_limits(how)
  interval <- check_choice(interval, "interval", c("none", "confidence", "prediction"))
  type <- check_choice(type, "type", c("response", "link", "terms"))
  check_flag(se.fit, "se.fit")
  check_flag(cov, "cov")
  check_level(level)
  check_levels(probs, above)
  if (length(control)) object <- with_control(object, control)
  points <- new_points(object, newdata, coords, block)
  check_prediction(points, interval)
  wanted <- list(se.fit = se.fit, interval = interval, level = level, probs = probs, above = above)
  table <- if (type == "response") responses(object, points, how, wanted) else {
    uncertain <- type == "link" && (se.fit || interval != "none" || length(c(probs, above)) > 0)
    moments <- predicted_moments(object, points, how, uncertain)
    noise <- if (interval == "prediction") nugget_of(object) else 0
    if (type == "terms") moments[c("trend", "process")] else predicted_columns(moments, noise, wanted)
  }
  result <- give_back_points(as.data.frame(table, optional = TRUE), points, newdata, object)
  if (!cov) return(result)
  noisy <- interval == "prediction"
  list(fit = result, cov = covariance_of_rows(object, points, how, noisy, type))
}

responses <- function(object, points, how, wanted) {
  if (!is.null(points$blocks)) return(block_responses(object, points, how, wanted))
  moments <- predicted_moments(object, points, how, TRUE)
  response_table(object, moments$trend + moments$process, moments$variance, wanted)
}

# The mean is that of a new observation, with the nugget. Limits, quantiles and probabilities are those of a new
# observation, or of the mean given the field: those of the linear predictor.
response_table <- function(object, mean, field, wanted) {
  spread <- sqrt(field + nugget_of(object))
  own <- wanted$interval == "prediction"
  moments <- response_moments(object, mean, field, spread, own, wanted$se.fit)
  table <- list(fit = moments$fit)
  if (wanted$se.fit) table$se.fit <- sqrt(moments$square)
  at <- function(p) {
    if (own) predictive_quantile(object, p, mean, spread) else mean_of(object, mean + stats::qnorm(p) * sqrt(field))
  }
  if (wanted$interval != "none") table[c("lwr", "upr")] <- lapply((1 + c(-1, 1) * wanted$level) / 2, at)
  table[sprintf("q%s", format_each(wanted$probs))] <- lapply(wanted$probs, at)
  table[sprintf("above%s", format_each(wanted$above))] <- lapply(wanted$above, function(limit) {
    if (own) return(1 - predictive_cdf(object, limit, mean, spread))
    stats::pnorm(link_of(limit, object$family$link), mean, sqrt(field), lower.tail = FALSE)
  })
  table
}

predictive_cdf <- function(object, q, mean, spread, weights = 1) {
  average(mean, spread, function(eta) {
    object$family$density$cdf(q, eta, weights, object$dispersion, object$family$link)
  })
}

# Of responses: the mean `fit`, and with `error` the mean square around the mean of the field, or of observations.
response_moments <- function(object, mean, field, spread, own, error = TRUE) {
  fit <- average(mean, spread, function(eta) mean_of(object, eta))
  if (!error) return(list(fit = fit))
  sd <- if (own) spread else sqrt(field)
  centre <- if (own) fit else average(mean, sd, function(eta) mean_of(object, eta))
  square <- average(mean, sd, function(eta) {
    mu <- mean_of(object, eta)
    (mu - centre)^2 + if (own) object$family$density$variance(mu, 1, object$dispersion) else 0
  })
  list(fit = fit, centre = centre, square = square)
}

mean_of <- function(object, eta) object$family$density$mean(eta, object$dispersion, object$family$link)

# Of a number that need not be a mean: those beyond are beyond all linear predictors.
link_of <- function(limit, link) {
  share <- min(max(limit, 0), 1)
  switch(link, identity = limit, log = log(max(limit, 0)), logit = stats::qlogis(share), probit = stats::qnorm(share),
         cloglog = log(-log1p(-share)))
}

# The mean of f(eta) over a normal distribution of each eta.
average <- function(mean, sd, f, nodes = normal_quadrature()) {
  total <- 0
  for (n in seq_along(nodes$at)) total <- total + nodes$weight[[n]] * f(mean + sd * nodes$at[[n]])
  total
}

# The logarithm of that of exp(f(eta)).
log_average <- function(mean, sd, f, nodes = normal_quadrature()) {
  terms <- vapply(nodes$at, function(at) f(mean + sd * at), numeric(length(mean)))
  terms <- matrix(terms, length(mean)) + rep(log(nodes$weight), each = length(mean))
  highest <- apply(terms, 1, max)
  highest + log(rowSums(exp(terms - highest)))
}

# Gauss-Hermite quadrature for the standard normal distribution, by the eigenvalues of its Jacobi matrix (Golub and
# Welsch 1969).
# `series` has sqrt(weight) times the polynomials that are orthonormal for it, a row each; the first one is 1.
normal_quadrature <- function(count = 40) {
  jacobi <- matrix(0, count, count)
  off <- cbind(seq_len(count - 1), seq_len(count - 1) + 1)
  jacobi[off] <- jacobi[off[, 2:1]] <- sqrt(seq_len(count - 1))
  found <- eigen(jacobi, symmetric = TRUE)
  root <- found$vectors[1, ]
  list(at = found$values, weight = root^2, series = found$vectors * rep(sign(root), each = count))
}

# The p-quantile of new observations, one trial each: the first value whose probability, with those below, is at least
# p. By halving an interval, for all points at once. Matrices of means and deviations are mixtures, with a `share` of
# each column.
predictive_quantile <- function(object, p, mean, spread, weights = 1, share = 1) {
  density <- object$family$density
  below <- function(q) {
    as.vector(matrix(predictive_cdf(object, q, mean, spread, weights), length(q)) %*% share)
  }
  discrete <- density$discrete
  middle <- as.vector(as.matrix(mean) %*% share)
  first <- first_bracket(object, middle, as.matrix(mean + 12 * spread), weights)
  low <- first$low
  high <- first$high
  unit <- first$unit
  known <- is.finite(middle)
  settled <- 0
  while (any(short <- known & below(high) < p) && (settled <- settled + 1) < 60) {
    high[short] <- low[short] + 2 * (high[short] - low[short])
  }
  if (object$family$link == "identity") {
    while (any(long <- known & below(low) > p) && (settled <- settled + 1) < 120) {
      low[long] <- high[long] - 2 * (high[long] - low[long])
    }
  }
  if (discrete) high <- ceiling(high / unit - 1e-9) * unit
  repeat {
    half <- (low + high) / 2
    if (discrete) half <- floor(half / unit + 1e-9) * unit
    open <- if (discrete) high - low > 1.5 * unit else high - low > 1e-10 * pmax(abs(high), abs(low))
    open <- open & known
    if (!any(open)) return(high)
    enough <- below(half) >= p
    high[open & enough] <- half[open & enough]
    low[open & !enough] <- half[open & !enough]
  }
}

# Where quantiles are looked for first, from the `middle` of the linear predictor to the highest of what is `far`; and
# the distance of values that are discrete.
first_bracket <- function(object, middle, far, weights) {
  any <- rep(1, length(middle))
  if (object$family$name == "binomial") return(list(low = -any / weights, high = any, unit = 1 / weights))
  highest <- far[cbind(seq_len(nrow(far)), max.col(replace(far, !is.finite(far), -Inf), "first"))]
  edge <- mean_of(object, highest)
  low <- if (object$family$link == "identity") 2 * middle - edge else if (object$family$density$discrete) -1 else 0
  list(low = low * any, high = pmax(edge, mean_of(object, middle) + 1), unit = 1)
}
