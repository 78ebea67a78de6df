# Fits with each family of the table, against the Laplace approximation in plain R; the methods of these fits.

withr::local_options(kernops.backend = "auto")  # families are fitted on the CPU
cases <- oracle_densities()
labels <- density_labels(cases)
d <- family_data(30)
u <- as.matrix(d[c("a", "b")])
field <- matern(3/2, 0.8, 0.4) + nugget(0.1)

# Random responses of the family, in the form in which users give responses.
drawn <- function(case, family) withr::with_seed(2, {
  eta <- 0.3 + sin(5 * d$a) + 0.3 * d$w
  kind <- family$density$response
  w <- if (kind == "binomial") 5 else rep(1:2, 15)
  y <- family$density$draw(eta, w, case$phi, family$link)
  if (kind == "time") y <- ifelse(y > 2, -2, y)
  list(y = y, w = rep_len(w, 30), response = switch(kind, time = cbind(abs(y), y > 0), ordered = factor(y), y))
})

fit_of <- function(k, ...) {
  family <- family_of(names(cases)[k], cases[[k]], known = TRUE)
  data <- drawn(cases[[k]], family)
  frame <- d
  frame$response <- data$response
  frame$w_prior <- data$w
  list(data = data, fit = gp(response ~ w, frame, ~ a + b, field, family = family, weights = w_prior,
                             estimate = "none", ...))
}

for (k in seq_along(cases)) test_that(paste("likelihood and gradient agree with plain R:", labels[k]), {
  case <- cases[[k]]
  made <- fit_of(k)
  fit <- made$fit
  count <- length(case$phi)
  value <- function(theta) {
    phi <- stats::setNames(theta[3 + seq_len(count)], names(case$phi))
    mean <- as.vector(fit$response$basis %*% theta[-seq_len(3 + count)])
    density <- \(eta) case$log_density(made$data$y, made$data$w, eta, phi)
    oracle_laplace(covariance_of(u, theta[1], theta[2], theta[3]), mean, density)$value
  }
  expect_equal(-2 * fit$loglik, value(fit$outer_theta), tolerance = 1e-7)
  likelihood <- kernops:::likelihood_for(fit$response, fit$outer, fit$how)
  away <- fit$outer_theta * 1.05
  state <- likelihood$evaluate(away)
  slope <- state$gradient()
  differences <- vapply(seq_along(away), function(k) {
    step <- replace(numeric(length(away)), k, 1e-4 * max(1, abs(away[[k]])))
    (likelihood$value(away + step) - likelihood$value(away - step)) / (2 * max(step))
  }, 0)
  expect_equal(unname(slope), differences, tolerance = 1e-5)
  expect_equal(state$value, value(away), tolerance = 1e-7)
})

for (k in seq_along(cases)) test_that(paste("methods of fits work:", labels[k]), {
  made <- fit_of(k)
  fit <- made$fit
  density <- fit$family$density
  new <- data.frame(a = c(0.2, 0.9), b = c(0.3, 0.6), w = c(0, 1))
  response <- predict(fit, new, se.fit = TRUE, interval = "prediction", above = 1)
  expect_true(all(is.finite(unlist(response))))
  expect_true(all(response$lwr <= response$upr))
  whole <- predict(fit, new, interval = "confidence", above = response$fit[[1]])
  expect_true(all(whole$lwr <= whole$upr))
  for (type in c("deviance", "pearson", "response", "quantile")) expect_true(all(is.finite(residuals(fit, type))))
  table <- gp_cv(fit)
  expect_true(all(is.finite(table$log_density)))
  again <- suppressWarnings(simulate(fit, 2, seed = 1), classes = "kernops_weights_ignored")
  expect_identical(dim(again), c(30L, 2L))
  repeated <- kernops:::family_response(fit$family, again[[1]], made$data$w, 1:30, NULL)
  expect_length(repeated$y, 30)
  expect_output(print(summary(fit)), fit$family$name)
  expect_true(all(is.finite(family(fit)$variance(fitted(fit)))))
})

for (k in which(!vapply(cases, \(case) is.null(case$expected), NA))) {
  test_that(paste("Vecchia's approximation with all neighbours is exact:", labels[k]), {
    state_by <- function(method, theta, ...) {
      fit <- fit_of(k, method = method, ...)$fit
      kernops:::likelihood_for(fit$response, fit$outer, fit$how)$evaluate(theta %||% (1.1 * fit$outer_theta))
    }
    near <- state_by("vecchia", NULL, neighbours = 29)
    theta <- c(near$field, near$phi, near$beta)
    # Vecchia's approximation enlarges the variance of the field by the factor 1 + 1e-9. The nugget of the exact fit is
    # increased by the same amount.
    dense <- state_by("exact", replace(theta, 3, theta[[3]] + 1e-9 * theta[[1]]))
    expected <- dense$gradient()
    expected[[1]] <- expected[[1]] + 1e-9 * expected[[3]]
    expect_equal(near$value, dense$value, tolerance = 1e-9)
    expect_equal(unname(near$gradient()), unname(expected), tolerance = 1e-7)
    expect_lt(near$steps, 30)
  })
}

test_that("densities agree with other packages", {
  skip_if_not_installed("mgcv")
  y <- c(0, 1e-3, 0.4, 3, 50, 2000)
  for (p in c(1.02, 1.3, 1.7, 1.98)) for (s in c(0.3, 1, 4)) {
    ours <- kernops:::density_terms(gp_family("tweedie"), y, 1, log(c(0.1, 0.5, 1, 3, 30, 1500)),
                                    c(dispersion = s, power = p))$value
    theirs <- mgcv::ldTweedie(y, c(0.1, 0.5, 1, 3, 30, 1500), p, s)[, 1]
    expect_equal(ours, theirs, tolerance = 1e-8)
  }
})

test_that("the inverse Gaussian density with the shape lambda agrees with its formula", {
  y <- c(1e-3, 0.4, 3, 50, 2000)
  mu <- y * exp(0.3)
  shape <- 2
  expected <- log(shape / (2 * pi * y^3)) / 2 - shape * (y - mu)^2 / (2 * mu^2 * y)
  expect_equal(kernops:::density_terms(gp_family("inverse_gaussian"), y, 1, log(mu), c(shape = shape))$value, expected,
               tolerance = 1e-10)
})

test_that("without a field, fits agree with MASS and mgcv", {
  skip_if_not_installed("MASS")
  skip_if_not_installed("mgcv")
  withr::local_seed(7)
  n <- 150
  g <- data.frame(x = rnorm(n), place = seq_len(n))
  none <- \(formula, family) gp(formula, g, ~ place, exponential(1e-8, 0.01, fixed = c("variance", "range")),
                                family = family)
  g$class <- cut(g$x + rlogis(n), c(-Inf, -1, 0.5, 2, Inf))
  polr <- MASS::polr(class ~ x, g)
  ours <- none(class ~ x, gp_family("ordered"))
  expect_equal(ours$loglik, as.numeric(logLik(polr)), tolerance = 1e-6)
  expect_equal(coef(ours), c(-polr$zeta[[1]], coef(polr)), tolerance = 1e-3, ignore_attr = TRUE)
  expect_equal(unname(ours$dispersion), unname(diff(polr$zeta)), tolerance = 1e-3)
  g$share <- rbeta(n, 5 * plogis(g$x), 5 * plogis(-g$x))
  best <- optim(c(0, 1, 1), \(s) {
    mu <- plogis(s[1] + s[2] * g$x)
    -sum(dbeta(g$share, exp(s[3]) * mu, exp(s[3]) * (1 - mu), log = TRUE))
  }, control = list(reltol = 1e-12))
  ours <- none(share ~ x, mgcv::betar())
  expect_equal(ours$loglik, -best$value, tolerance = 1e-6)
  expect_equal(unname(coef(ours)), best$par[1:2], tolerance = 1e-3)
  g$mass <- mgcv::rTweedie(exp(0.5 * g$x), 1.4, 0.8)
  ours <- none(mass ~ x, mgcv::tw())
  value <- \(s) {
    -sum(mgcv::ldTweedie(g$mass, exp(s[1] + s[2] * g$x), p = 1 + plogis(s[4]), phi = exp(s[3]))[, 1])
  }
  best <- optim(c(0, 0.5, 0, 0), value, control = list(reltol = 1e-12, maxit = 2000))
  expect_equal(ours$loglik, -best$value, tolerance = 1e-6)
  expect_equal(unname(coef(ours)), best$par[1:2], tolerance = 1e-3)
  expect_equal(ours$dispersion[["power"]], 1 + plogis(best$par[4]), tolerance = 1e-3)
})

test_that("families of other packages keep their parameters", {
  skip_if_not_installed("mgcv")
  parameters <- \(family) kernops:::as_family(family)$parameters
  expect_identical(parameters(mgcv::nb(theta = 2)), parameters(negative_binomial(2)))
  expect_identical(parameters(mgcv::nb()), parameters(negative_binomial()))
  expect_identical(parameters(mgcv::tw(theta = 1.3)), parameters(gp_family("tweedie", power = 1.3)))
  expect_equal(parameters(mgcv::betar(theta = 3)), parameters(gp_family("beta", precision = 3)))
  expect_identical(parameters("beta"), parameters(gp_family("beta")))
  expect_identical(parameters(inverse.gaussian("log")), parameters(gp_family("inverse_gaussian")))
})

test_that("families have the names that glmmTMB and sdmTMB use", {
  there <- \(name, ...) structure(list(family = name, link = "log", ...), class = "family")
  ours <- \(...) kernops:::as_family(there(...))$name
  expect_identical(ours("nbinom2"), "negative_binomial")
  expect_identical(ours("nbinom1"), "negative_binomial_1")
  expect_identical(ours("tweedie"), "tweedie")
  expect_identical(ours("truncated_nbinom2"), "truncated_negative_binomial")
  beta <- structure(list(family = "Beta", link = "logit"), class = "family")
  expect_identical(kernops:::as_family(beta)$name, "beta")
  t <- structure(list(family = "student", link = "identity", df = 3), class = "family")
  expect_identical(kernops:::as_family(t)$parameters$value, c(3, NA))
  expect_error(kernops:::as_family(there(c("binomial", "Gamma"))), class = "kernops_input_error")
  expect_identical(tweedie(1.6), gp_family("tweedie", power = 1.6))
})

test_that("censored times agree with package survival", {
  y <- structure(cbind(time = c(1, 2, 3), status = c(1, 0, 1)), class = "Surv", type = "right")
  response <- kernops:::family_response(gp_family("weibull"), y, NULL, 1:3, NULL)
  expect_identical(response$y, c(1, 2, 3))
  expect_identical(response$censored, c(FALSE, TRUE, FALSE))
})

test_mistakes("kernops_input_error", alist(
  `an unknown name` = gp_family("negbin"),
  `an unknown parameter` = gp_family("beta", theta = 2),
  `a parameter without a name` = gp_family("beta", 2),
  `a power that is too large` = gp_family("tweedie", power = 2.5),
  `limits of nothing` = gp_family("tobit"),
  `limits in the wrong order` = gp_family("tobit", left = 2, right = 1),
  `another link` = gp_family("tweedie", link = "identity"),
  quasi = kernops:::as_family(quasipoisson()),
  `another family of mgcv` = kernops:::as_family(structure(list(family = "cox"), class = "family")),
  `shares of 1` = gp(count ~ w, d, ~ a + b, field, family = "beta"),
  `zeros that were truncated` = gp(count ~ w, d, ~ a + b, field, family = "truncated_poisson"),
  `times of zero` = gp(cbind(0 * count, 1) ~ w, d, ~ a + b, field, family = "weibull"),
  `a status of 2` = gp(cbind(size, 2) ~ w, d, ~ a + b, field, family = "exponential"),
  `negative amounts` = gp(y ~ w, d, ~ a + b, field, family = "tweedie"),
  `fractions of classes` = gp(y ~ w, d, ~ a + b, field, family = "ordered"),
  `one class` = gp(factor(rep(1, 30)) ~ w, d, ~ a + b, field, family = "ordered")
))

test_that("confidence limits of probabilities are between 0 and 1, and users may give gaps of ordinal thresholds", {
  g <- withr::with_seed(8, data.frame(x = 1:25, count = rpois(25, 2) * rbinom(25, 1, 0.4)))
  fit <- gp(count ~ 1, g, ~ x, exponential(0.01, 1, fixed = c("variance", "range")), family = "zero_inflated_poisson")
  limits <- confint(fit, "zi", level = 0.9999)
  expect_true(all(limits > 0 & limits < 1))
  half <- sqrt(vcov(fit, "both")["zi", "zi"])
  narrow <- confint(fit, "zi", level = 1e-4)
  expect_equal(diff(as.vector(narrow)), 2 * qnorm(0.50005) * half, tolerance = 1e-6)
  d$class <- cut(d$y, c(-Inf, 0, 1, Inf))
  known <- gp_family("ordered", gap2 = 1.5)
  fit <- gp(class ~ w, d, ~ a + b, field, family = known, estimate = "none")
  expect_identical(unname(fit$dispersion), 1.5)
  d$class <- cut(d$y, 5)
  expect_error(gp(class ~ w, d, ~ a + b, field, family = known, estimate = "none"), "3 classes",
               class = "kernops_input_error")
  # for two classes, the ordered family agrees with the binomial family
  d$class <- d$present + 1
  binary <- gp(present ~ w, d, ~ a + b, field, family = binomial("probit"), estimate = "none")
  ordered <- gp(class ~ w, d, ~ a + b, field, family = gp_family("ordered", link = "probit"), estimate = "none")
  expect_equal(ordered$loglik, binary$loglik, tolerance = 1e-8)
})
