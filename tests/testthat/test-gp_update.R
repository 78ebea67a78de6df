# update() with further observations, by a search from the estimates or with unchanged parameters.

runs <- local({
  withr::local_seed(41)
  d <- data.frame(a = runif(56), b = runif(56), w = rnorm(56), s = runif(56, 0.5, 2), g = rep(c("u", "v"), 28))
  transform(d, y = sin(4 * a) + b^2 + 0.5 * w + rnorm(56, sd = 0.2) + 0.4 * (g == "u"))
})
first <- runs[1:50, ]
more <- runs[51:56, ]
fresh <- data.frame(a = c(0.2, 0.7), b = c(0.3, 0.6), w = c(0, 1), g = c("u", "v"))
kept <- function(fit, ...) predict(fit, fresh, se.fit = TRUE, interval = "confidence", ...)

test_that("a search from the estimates finds the optimum of all observations with few evaluations of the likelihood", {
  fit <- gp(y ~ w, first, ~ a + b, matern(5/2, ard = TRUE) + nugget())
  longer <- update(fit, newdata = more)
  cold <- gp(y ~ w, runs, ~ a + b, matern(5/2, ard = TRUE) + nugget())
  expect_gte(longer$loglik, cold$loglik - 1e-3) # within the documented precision
  expect_equal(kept(longer), kept(cold), tolerance = 5e-3)
  expect_lt(longer$search$evaluations, 15)
  expect_identical(nobs(longer), 56L)
  expect_identical(longer$how$control$starts, fit$how$control$starts)
  # update() without new data repeats the call, which is that of a fit to all observations from all starting values
  expect_equal(update(longer)$loglik, cold$loglik)
})

test_that("with unchanged parameters, update() appends rows to the factor, and predictions agree with dense kriging", {
  replaced_locally("continued_fit", function(...) stop("the factor was computed again"))
  fit <- gp(y ~ w, first, ~ a + b, matern(3/2, 1.3, 0.4) + nugget(0.05), estimate = "none", weights = s,
            known = list(noise = ~ s / 10))
  longer <- update(update(fit, newdata = more[1:2, ], refit = FALSE), newdata = more[3:6, ], refit = FALSE)
  distance <- \(x, y) sqrt(outer(x$a, y$a, `-`)^2 + outer(x$b, y$b, `-`)^2) * sqrt(3) / 0.4
  k <- \(h) 1.3 * (1 + h) * exp(-h)
  K <- k(distance(runs, runs)) + diag(0.05 / runs$s + runs$s / 10)
  X <- cbind(1, runs$w)
  expected <- oracle_kriging(K, k(distance(runs, fresh)), rep(1.3, 2), runs$y, X, cbind(1, fresh$w))
  expect_equal(unname(kept(longer)$fit), expected$mean, tolerance = 1e-10)
  expect_equal(kept(longer)$se.fit, sqrt(expected$variance), tolerance = 1e-10)
  expect_equal(longer$loglik, -oracle_likelihood(K, runs$y, X)$value / 2, tolerance = 1e-12)
  expect_identical(longer$theta, fit$theta)
})

test_that("with unchanged parameters, update() agrees with gp(estimate = \"none\") for each kind of fit", {
  same <- function(formula, covariance = matern(5/2, 1, 0.5) + nugget(0.1), ...) {
    fit <- gp(formula, first, ~ a + b, covariance, estimate = "none", ...)
    longer <- update(fit, newdata = more, refit = FALSE)
    whole <- gp(formula, runs, ~ a + b, covariance, estimate = "none", ...)
    expect_equal(longer$loglik, whole$loglik, tolerance = 1e-10)
    expect_equal(kept(longer), kept(whole), tolerance = 1e-8)
  }
  same(y ~ w, group = ~ g)
  same(y ~ g, method = "vecchia", neighbours = 10)
  same(exp(y) ~ 1, transform = "log")
  same(y ~ w, known = list(beta = c(0.5, 0.5)))
  same(cbind(y, w) ~ 1, lmc(matern(5/2, range = 0.5), nugget(), sills = list(matern = diag(2), nugget = diag(0.1, 2))))
})

test_that("missing values, other columns and coordinates that depend on all rows are treated as by gp()", {
  fit <- gp(y ~ 1, first, ~ scale(a) + b, matern(5/2) + nugget())
  whole <- gp(y ~ 1, runs, ~ scale(a) + b, fit$covariance, estimate = "none")
  expect_equal(kept(update(fit, newdata = more, refit = FALSE)), kept(whole), tolerance = 1e-9)
  fit <- gp(y ~ 1, first, ~ a + b, matern(5/2) + nugget())
  short <- transform(more[c("a", "b", "y")], y = replace(y, 2, NA))
  expect_identical(nobs(update(fit, newdata = short, refit = FALSE)), 55L)
  expect_identical(nrow(update(fit, newdata = more, evaluate = FALSE)$data), 56L)
})

test_that("searches of families continue from the estimates, and searches of effects from the usual starting values", {
  counts <- withr::with_seed(1, transform(runs, n = rpois(56, exp(2 + 1.5 * sin(4 * a)))))
  fit <- gp(n ~ 1, counts[1:50, ], ~ a + b, matern(5/2), family = poisson())
  longer <- update(fit, newdata = counts[51:56, ])
  expect_equal(longer$loglik, gp(n ~ 1, counts, ~ a + b, matern(5/2), family = poisson())$loglik, tolerance = 1e-3)
  fit <- gp(y ~ (1 | g), first, ~ a + b, matern(5/2) + nugget())
  expect_equal(update(fit, newdata = more)$loglik, update(fit, data = runs)$loglik)
  expect_snapshot(update(fit, newdata = more, refit = FALSE), error = TRUE)
})

test_that("data that are not those of the fit are errors", {
  d <- first
  fit <- gp(y ~ w, d, ~ a + b, matern(5/2) + nugget())
  expect_snapshot(update(fit, newdata = more["a"]), error = TRUE)
  expect_snapshot(update(fit, newdata = more, data = runs), error = TRUE)
  d <- runs
  expect_snapshot(update(fit, newdata = more), error = TRUE)
  removed <- first
  fit <- gp(y ~ w, removed, ~ a + b, matern(5/2, 1, 0.5), estimate = "none")
  rm(removed)
  expect_snapshot(update(fit), error = TRUE)
  expect_error(update(fit, newdata = more), class = "kernops_input_error")
  expect_s3_class(update(fit, data = runs), "gp")
  x <- first$a
  z <- first$y
  expect_error(update(gp(z ~ 1, coords = ~ x), newdata = data.frame(x = 1, z = 2)), class = "kernops_input_error")
})

test_that("a search from parameters with little noise does not end at a lower likelihood", {
  x <- withr::with_seed(1, matrix(runif(151 * 8), 151))
  d <- data.frame(x = x, y = rowSums(sin(3 * x) * rep(1:8 / 8, each = 151)) + x[, 1] * x[, 2])
  given <- matern(5/2, 18500, c(43.8, 33.2, 31.9, 27.7, 25.3, 23.9, 21, 20), ard = TRUE) + nugget(3.1e-4)
  coords <- reformulate(paste0("x.", 1:8))
  before <- gp(y ~ 1, d, coords, given, estimate = "none")
  for (starts in 0:1) expect_gte(gp(y ~ 1, d, coords, given, starts = starts)$loglik, before$loglik)
})
