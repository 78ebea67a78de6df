# Predictions of fits with a family: the normal distribution of the linear predictor, and what follows for responses.

#' @rdname predict.gp
#' @export
predict.gp_family_fit <- function(object, newdata = NULL, se.fit = FALSE,
                                  interval = c("none", "confidence", "prediction"), level = 0.95,
                                  type = c("response", "link", "terms"), coords = NULL, control = NULL,
                                  se = c("exact", "local"), ...) {
  if (...length()) {
    stop_further_arguments("{.fn predict} of a fit with a {.arg family}", list(...),
                           setdiff(names(formals(predict.gp_family_fit)), c("object", "...")))
  }
  se <- check_choice(se, "se", c("exact", "local"))
  interval <- check_choice(interval, "interval", c("none", "confidence", "prediction"))
  type <- check_choice(type, "type", c("response", "link", "terms"))
  check_flag(se.fit, "se.fit")
  check_level(level)
  if (length(control)) object <- with_control(object, control)
  points <- new_points(object, newdata, coords)
  wanted <- se.fit || interval != "none" || type == "response"
  terms <- predicted_terms(object, points, wanted && type != "terms")
  if (type == "terms") return(give_back_points(terms[c("trend", "process")], points, newdata, object))
  mean <- terms$trend + terms$process
  field <- if (wanted) terms$variance %||% field_uncertainty(object, points, terms$process, se == "local")$variance
  table <- if (type == "response") response_table(object, mean, field, se.fit, interval, level) else {
    noise <- if (interval == "prediction") nugget_of(object) else 0
    predicted_columns(c(terms[c("trend", "process")], list(variance = field)), noise,
                      list(se.fit = se.fit, interval = interval, level = level))
  }
  give_back_points(as.data.frame(table), points, newdata, object)
}

# The mean is that of a new observation, with the nugget. The interval of the field is the one of the linear predictor.
response_table <- function(object, mean, field, se.fit, interval, level) {
  spread <- sqrt(field + nugget_of(object))
  found <- average(mean, spread, function(eta) mean_of(object, eta))
  table <- data.frame(fit = found)
  if (se.fit) {
    own <- interval == "prediction"
    error <- if (own) spread else sqrt(field)
    centre <- if (own) found else average(mean, error, function(eta) mean_of(object, eta))
    square <- average(mean, error, function(eta) {
      mu <- mean_of(object, eta)
      (mu - centre)^2 + if (own) object$family$density$variance(mu, 1, object$dispersion) else 0
    })
    table$se.fit <- sqrt(square)
  }
  tails <- (1 + c(-1, 1) * level) / 2
  if (interval == "confidence") {
    ends <- lapply(stats::qnorm(tails), function(q) mean_of(object, mean + q * sqrt(field)))
  } else if (interval == "prediction") {
    ends <- lapply(tails, function(p) predictive_quantile(object, p, mean, spread))
  } else return(table)
  table$lwr <- ends[[1]]
  table$upr <- ends[[2]]
  table
}

mean_of <- function(object, eta) object$family$density$mean(eta, object$dispersion, object$family$link)

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
normal_quadrature <- function(count = 40) {
  jacobi <- matrix(0, count, count)
  off <- cbind(seq_len(count - 1), seq_len(count - 1) + 1)
  jacobi[off] <- jacobi[off[, 2:1]] <- sqrt(seq_len(count - 1))
  found <- eigen(jacobi, symmetric = TRUE)
  list(at = found$values, weight = found$vectors[1, ]^2)
}

# The p-quantile of new observations, one trial each: the first value whose probability, with those below, is at least
# p. By halving an interval, for all points at once.
predictive_quantile <- function(object, p, mean, spread, weights = 1) {
  density <- object$family$density
  below <- function(q) {
    average(mean, spread, function(eta) density$cdf(q, eta, weights, object$dispersion, object$family$link))
  }
  discrete <- density$discrete
  if (object$family$name == "binomial") {
    unit <- 1 / weights
    low <- rep(-1, length(mean)) * unit
    high <- rep(1, length(mean))
  } else {
    unit <- 1
    edge <- mean_of(object, mean + 12 * spread)
    low <- if (object$family$link == "identity") 2 * mean - edge else rep(if (discrete) -1 else 0, length(mean))
    high <- pmax(edge, mean_of(object, mean) + 1)
  }
  settled <- 0
  while (any(short <- is.finite(mean) & below(high) < p) && (settled <- settled + 1) < 60) {
    high[short] <- low[short] + 2 * (high[short] - low[short])
  }
  if (object$family$link == "identity") {
    while (any(long <- is.finite(mean) & below(low) > p) && (settled <- settled + 1) < 120) {
      low[long] <- high[long] - 2 * (high[long] - low[long])
    }
  }
  if (discrete) high <- ceiling(high / unit - 1e-9) * unit
  repeat {
    middle <- (low + high) / 2
    if (discrete) middle <- floor(middle / unit + 1e-9) * unit
    open <- if (discrete) high - low > 1.5 * unit else high - low > 1e-10 * pmax(abs(high), abs(low))
    open <- open & is.finite(mean)
    if (!any(open)) return(high)
    enough <- below(middle) >= p
    high[open & enough] <- middle[open & enough]
    low[open & !enough] <- middle[open & !enough]
  }
}

# What simulate() makes of draws of the linear predictor.
family_draws <- function(object, eta, noise) {
  family <- object$family
  if (noise) {
    eta[] <- family$density$draw(as.vector(eta), 1, object$dispersion, family$link)
  } else if (identical(object$drawn, "response")) eta[] <- mean_of(object, as.vector(eta))
  eta
}

#' @rdname simulate.gp
#' @param type for a fit with a `family`: draws of the linear predictor (`"link"`), or of its inverse link; see
#'   [gp_families]. With `noise = TRUE` they are new observations, of one trial or weight 1.
#' @export
simulate.gp_family_fit <- function(object, nsim = 1, seed = NULL, newdata = NULL, conditional = TRUE, noise = FALSE,
                                   features = 2000, coords = NULL, type = c("link", "response"), ...) {
  no_further("simulate", ...)
  object$drawn <- check_choice(type, "type", c("link", "response"))
  simulate.gp(object, nsim, seed, newdata, conditional, noise, features, coords)
}
