# Densities of families and their derivatives. Oracles: plain R at each response, and finite differences of high order.

cases <- oracle_densities()
labels <- density_labels(cases)

# All combinations of responses, weights and linear predictors.
grid_of <- function(case, eta) expand.grid(y = case$y, w = case$w, eta = eta)
terms_at <- function(family, grid, phi, eta = grid$eta, ...) {
  kernops:::density_terms(family, grid$y, grid$w, eta, phi, ...)
}
expect_near <- function(actual, expected, tolerance) {
  expect_lt(max(abs(actual - expected) / (0.01 + abs(expected))), tolerance)
}
# The derivative of f in each entry of x, from differences whose error is of the order step^8.
each_slope <- function(f, x) {
  widths <- 0.05 / 2^(0:3)
  slopes <- lapply(widths, \(by) (f(x + by) - f(x - by)) / (2 * by))
  for (order in 1:3) slopes <- Map(\(wide, narrow) narrow + (narrow - wide) / (4^order - 1), slopes[-length(slopes)],
                                   slopes[-1])
  slopes[[1]]
}

for (k in seq_along(cases)) test_that(paste("the density and its derivatives agree with plain R:", labels[k]), {
  case <- cases[[k]]
  family <- family_of(names(cases)[k], case)
  phi <- case$phi
  grid <- grid_of(case, c(-3, -0.4, 0.3, 2))
  log_density <- \(eta, phi) case$log_density(grid$y, grid$w, eta, phi)
  terms <- terms_at(family, grid, phi)
  expect_near(terms$value, log_density(grid$eta, phi), 1e-10)
  expect_near(terms$slope, each_slope(\(eta) log_density(eta, phi), grid$eta), 1e-7)
  weight <- -each_slope(\(eta) terms_at(family, grid, phi, eta)$slope, grid$eta)
  expect_near(terms$weight, weight, 1e-8)
  fallbacks <- if (is.null(case$expected)) FALSE else c(FALSE, TRUE)
  if (is.null(case$expected)) expect_gte(min(terms$weight), 0) else {
    instead <- terms_at(family, grid, phi, fallback = TRUE)
    expect_near(terms$expected, case$expected(grid$w, grid$eta, phi), 1e-10)
    expect_equal(instead$weight, terms$expected)
    expect_equal(instead$curvature, terms$weight)
  }
  for (fallback in fallbacks) {
    at <- \(eta, phi) terms_at(family, grid, phi, eta, fallback = fallback)
    expect_near(at(grid$eta, phi)$bend, each_slope(\(eta) at(eta, phi)$weight, grid$eta), 1e-8)
    if (!length(phi)) next
    by <- kernops:::density_dispersion(family, grid$y, grid$w, grid$eta, phi, fallback)
    for (p in seq_along(phi)) {
      moved <- \(name) each_slope(\(x) at(grid$eta, replace(phi, p, x))[[name]], phi[[p]])
      expect_near(by$value[, p], each_slope(\(x) log_density(grid$eta, replace(phi, p, x)), phi[[p]]), 1e-7)
      expect_near(by$slope[, p], moved("slope"), 1e-8)
      expect_near(by$weight[, p], moved("weight"), 1e-8)
    }
  }
})

for (k in seq_along(cases)) test_that(paste("the density is exact far from the response:", labels[k]), {
  case <- cases[[k]]
  family <- family_of(names(cases)[k], case)
  grid <- grid_of(case, c(-700, -30, 30, 700))
  terms <- terms_at(family, grid, case$phi)
  expected <- suppressWarnings(with(grid, case$log_density(y, w, eta, case$phi)))
  known <- is.finite(expected)
  expect_near(terms$value[known], expected[known], 1e-10)
  for (fallback in if (is.null(case$expected)) FALSE else c(FALSE, TRUE)) {
    terms <- terms_at(family, grid, case$phi, fallback = fallback)
    for (name in setdiff(names(terms), "value")) {
      expect_true(all(is.finite(terms[[name]][is.finite(terms$value)])), label = paste(name, fallback))
    }
  }
})

test_that("log densities of counts of 1e9 lose no digits", {
  eta <- log(1e9) + c(-1e-4, 0, 1e-5)
  log_density <- \(family, y, w, eta, phi = numeric()) kernops:::density_terms(family, y, w, eta, phi)$value
  expect_equal(log_density(kernops:::as_family(poisson()), 1e9, 1, eta), dpois(1e9, exp(eta), log = TRUE),
               tolerance = 1e-10)
  for (theta in c(0.3, 50, 1e9)) {
    expect_equal(log_density(negative_binomial(), 1e9, 1, eta, c(theta = theta)),
                 dnbinom(1e9, theta, mu = exp(eta), log = TRUE), tolerance = 1e-10)
  }
  for (name in c("truncated_poisson", "zero_inflated_poisson", "hurdle_poisson")) {
    phi <- switch(name, zero_inflated_poisson = c(zi = 0.2), hurdle_poisson = c(zero = 0.2), numeric())
    expect_equal(log_density(gp_family(name), 1e9, 1, eta, phi), dpois(1e9, exp(eta), log = TRUE) + sum(log(1 - phi)),
                 tolerance = 1e-10)
  }
  expect_equal(log_density(gp_family("truncated_negative_binomial"), 1e9, 1, eta, c(theta = 50)),
               dnbinom(1e9, 50, mu = exp(eta), log = TRUE), tolerance = 1e-10)
  # if y equals the rate and the mean of the count, the probability is that of a Poisson variable times 1 - delta
  expect_equal(log_density(gp_family("generalised_poisson"), 1e9, 1, log(1e9), c(delta = 0.3)),
               dpois(1e9, 1e9, log = TRUE) + log(0.7), tolerance = 1e-10)
  for (alpha in c(1e-3, 0.8, 1e3, 1e8)) for (y in c(99, 100, 1e4, 1e9)) {
    size <- exp(log(y) + c(-0.1, 0, 1e-5)) / alpha
    expect_equal(log_density(gp_family("negative_binomial_1"), y, 1, log(size * alpha), c(alpha = alpha)),
                 dnbinom(y, size, 1 / (1 + alpha), log = TRUE), tolerance = 1e-10)
  }
  # the conditional distribution of a negative binomial count given the sum of two such counts; the distribution does
  # not depend on the success probability that the counts share
  for (precision in c(10, 300, 1e6)) {
    k <- c(3, 4e5, 4e8)
    n <- c(10, 1e6, 1e9)
    a <- precision * plogis(-0.3)
    share <- precision / (precision + n)
    expected <- dnbinom(k, a, share, log = TRUE) + dnbinom(n - k, precision - a, share, log = TRUE) -
      dnbinom(n, precision, share, log = TRUE)
    expect_equal(log_density(gp_family("beta_binomial"), k / n, n, rep(-0.3, 3), c(precision = precision)), expected,
                 tolerance = 1e-10)
  }
  share <- c(-1e-5, 0, 1e-4)
  expect_equal(log_density(kernops:::as_family(binomial()), 0.5, 1e9, share),
               dbinom(5e8, 1e9, plogis(share), log = TRUE), tolerance = 1e-10)
  expect_equal(log_density(kernops:::as_family(Gamma("log")), 1e9, 1, eta, c(shape = 1e7)),
               dgamma(1e9, 1e7, 1e7 / exp(eta), log = TRUE), tolerance = 1e-10)
})

# The sum of f(y) over all y, or the integral over positive or over real y.
total <- function(case, family, f) {
  kind <- family$density$response
  if (kind == "binomial") return(sum(f((0:5) / 5)))
  if (kind == "ordered") return(sum(f(seq_len(case$classes))))
  if (family$density$discrete) return(sum(f((kind == "positive_count"):3000)))
  range <- switch(kind, real = c(-Inf, 0, 3, Inf), share = c(0, 0.5, 1), c(0, 0.1, 1, 5, Inf))
  ends <- cbind(range[-length(range)], range[-1])
  pieces <- apply(ends, 1, \(e) integrate(f, e[1], e[2], rel.tol = 1e-11, abs.tol = 1e-13, subdivisions = 1000)$value)
  sum(pieces) + if (kind == "nonnegative") f(0) else 0
}

for (k in seq_along(cases)) test_that(paste("moments, probabilities and draws agree with the density:", labels[k]), {
  case <- cases[[k]]
  family <- family_of(names(cases)[k], case)
  density <- family$density
  phi <- case$phi
  w <- if (density$response == "binomial") 5 else 1
  # the moments of a censored variable are those of the variable without censoring
  log_density <- if (names(cases)[k] == "tobit") \(y, w, eta, phi) dnorm(y, eta, phi, log = TRUE) else case$log_density
  for (eta in c(-0.6, 0.8)) {
    mass <- \(y) exp(log_density(y, rep(w, length(y)), rep(eta, length(y)), phi))
    expect_equal(total(case, family, mass), 1, tolerance = 1e-8)
    mu <- density$mean(eta, phi, family$link)
    expect_equal(mu, total(case, family, \(y) y * mass(y)), tolerance = 1e-7)
    expect_equal(density$predictor(mu, phi), eta, tolerance = 1e-9)
    spread <- density$variance(mu, w, phi)
    expect_equal(spread, total(case, family, \(y) (y - mu)^2 * mass(y)), tolerance = 1e-6)
    limits <- if (density$response == "binomial") c(0, 0.4) else c(0, 1, 2.5)
    below <- vapply(limits, \(q) total(case, family, \(y) ifelse(y <= q, mass(y), 0)), 0)
    expect_equal(density$cdf(limits, rep(eta, length(limits)), w, phi, family$link), below,
                 tolerance = if (density$discrete) 1e-9 else 1e-4)
    draws <- withr::with_seed(1, density$draw(rep(eta, 1e4), w, phi, family$link))
    if (names(cases)[k] != "tobit") expect_lt(abs(mean(draws) - mu) / sqrt(spread / 1e4), 4)
    # the deviance is twice the difference from the maximum of the log density
    y <- case$y[abs(case$y) < 50]
    value <- \(e) matrix(terms_at(family, expand.grid(y = y, w = w, eta = e), phi)$value, length(y))
    highest <- apply(value(c(-1e9, -1e4, seq(-45, 45, 0.01), 1e4, 1e9)), 1, max, na.rm = TRUE)
    scale <- switch(family$name, Gamma = phi[[1]], inverse_gaussian = phi[[1]], tweedie = 1 / phi[[1]], 1)
    expect_equal(scale * density$deviance(y, rep(mu, length(y)), w, phi), 2 * (highest - drop(value(eta))),
                 tolerance = 1e-3)
  }
})
