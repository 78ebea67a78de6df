# A fit ends at the best optimum, or warns that the optimum is doubtful. The oracle of an optimum is another package, or
# a likelihood in plain R that is maximised from other starting values.

quakes_once <- quakes[!duplicated(quakes[c("lat", "long", "depth")]), ]

# The dense log-likelihood at the parameters of a fit.
exact_value <- function(fit, ...) gp(..., covariance = fit$covariance, method = "exact", estimate = "none")$loglik

test_that("covariances with compact support are fitted at the best of their optima", {
  skip_if_not_installed("gstat")
  data("coalash", "jura", package = "gstat", envir = environment())
  coal <- as.data.frame(coalash)
  fit <- gp(coalash ~ x, coal, ~ x + y, spherical() + nugget())
  h <- as.matrix(dist(coal[c("x", "y")])) / 6.222
  K <- 0.1693 * ifelse(h < 1, 1 - 1.5 * h + 0.5 * h^3, 0) + diag(1.094, nrow(coal))
  expect_gt(fit$loglik, -oracle_likelihood(K, coal$coalash, cbind(1, coal$x))$value / 2 - 1e-3)
  expect_gt(fit$loglik, -315.6)
  expect_true(all(vapply(fit$search$rivals, \(rival) -rival$value / 2 < fit$loglik, NA)))
  expect_output(print(summary(fit)), "Other optimum +log-likelihood -316\\.3")
  turned <- gp(log(Co) ~ 1, jura.pred, ~ Xloc + Yloc, exponential(angle = 0, ratio = 0.5) + nugget())
  at <- gp(log(Co) ~ 1, jura.pred, ~ Xloc + Yloc, exponential(angle = 0, ratio = 0.5) + nugget(),
           control = gp_control(starts = 20))
  expect_gt(turned$loglik, at$loglik - 0.02)
})

test_that("the iterative method ends near the optimum of the exact method", {
  skip_on_cran()
  skip_if_not_installed("fields")
  data("NorthAmericanRainfall", package = "fields", envir = environment())
  rain <- with(NorthAmericanRainfall, data.frame(lon = longitude, lat = latitude, p = log(precip), el = elevation))
  rain <- rain[seq(1, nrow(rain), 2), ]
  ridge <- exponential(distance = "great_circle") + nugget()
  exact <- gp(p ~ el, rain, ~ lon + lat, ridge)
  for (covariance in list(ridge, exponential(distance = "great_circle") + nugget(1e-6))) {
    fit <- gp(p ~ el, rain, ~ lon + lat, covariance, method = "iterative")
    expect_gt(exact_value(fit, p ~ el, rain, ~ lon + lat), exact$loglik - 0.3)
  }
  ard <- matern(3/2, ard = TRUE) + nugget()
  exact <- gp(mag ~ 1, quakes_once, ~ long + lat + depth, ard)
  fit <- gp(mag ~ 1, quakes_once, ~ long + lat + depth, ard, method = "iterative")
  expect_gt(exact_value(fit, mag ~ 1, quakes_once, ~ long + lat + depth), exact$loglik - 0.3)
})

test_that("trace estimates of the search agree with the dense matrix within their reported error", {
  data <- withr::with_seed(3, smooth_case(300))
  fit <- gp(z ~ 1, data, ~ a + b, matern(3/2, 2, 3) + nugget(0.02), estimate = "none")
  dense <- kernops:::exact_likelihood(fit$data, fit$model, FALSE)$evaluate(fit$theta, FALSE, TRUE)$gradient()
  how <- fit$how
  how$control$search_tol <- 1e-8
  draws <- vapply(1:40, function(seed) {
    how$control$seed <- seed
    state <- kernops:::iterative_likelihood(fit$data, fit$model, how)$evaluate(fit$theta, FALSE, TRUE)
    c(state$gradient(), diag(state$noise()))
  }, numeric(6))
  error <- sqrt(rowMeans(draws[4:6, ]))
  expect_lt(max(abs(rowMeans(draws[1:3, ]) - dense) / (error / sqrt(40))), 4)
  expect_lt(max(abs(log(apply(draws[1:3, ], 1, sd) / error))), 0.5)
})

# A model of a field, whose variance is the first parameter, and a nugget.
field_and_nugget <- function(parameters) {
  model <- kernops:::covariance_model(constant() + nugget(), 1)
  model$parameters[names(parameters)] <- parameters
  c(model, list(sites = matrix(0)))
}

test_that("a variance near zero is increased if the slope indicates an improvement", {
  # -2 log-likelihood with its optimum at a nugget of 0.5, and with nearly no slope in the logarithm of the nugget near
  # 0
  value <- \(theta) 40 * (theta[[2]] - 0.5)^2 + (log(theta[[1]]) - 1)^2
  parameters <- data.frame(name = c("v", "n"), kind = "variance", log = TRUE, fixed = FALSE, lower = 1e-12, upper = 1e6)
  likelihood <- function(theta) {
    gradient <- c(2 * (log(theta[[1]]) - 1) / theta[[1]], 80 * (theta[[2]] - 0.5))
    kernops:::new_state(list(value = value(theta)), gradient = \() gradient,
                        information = \(profiled) diag(c(2 / theta[[1]]^2, pmax(80, 1e-3 / theta[[2]]^2))))
  }
  found <- kernops:::information_search(c(exp(1), 1e-9), likelihood, field_and_nugget(parameters), FALSE,
                                        gp_control())
  expect_equal(found$theta[[2]], 0.5, tolerance = 0.05)
})

test_that("a small variance that the data determine is kept", {
  # along a ridge, the likelihood is highest where the second variance is a thousandth of the first variance
  value <- \(s) 1000 * (s[[2]] - s[[1]] + log(1000))^2 + 0.1 * (s[[1]] - 1)^2
  parameters <- data.frame(name = c("v", "n"), kind = "variance", log = TRUE, fixed = FALSE, lower = 1e-12, upper = 1e6)
  steps <- 0
  likelihood <- function(theta) {
    s <- log(theta)
    steps <<- steps + 1
    off <- 2000 * (s[[2]] - s[[1]] + log(1000))
    kernops:::new_state(list(value = NA_real_), gradient = \() c(0.2 * (s[[1]] - 1) - off, off) / theta,
                        estimate = \(theta) list(value = value(log(theta)), logdet_error = 0), has_value = FALSE,
                        information = \(profiled) (matrix(c(2000.2, -2000, -2000, 2000), 2)) / tcrossprod(theta))
  }
  start <- exp(c(1, 1 - log(1000) - 1e-4))
  found <- kernops:::information_search(start, likelihood, field_and_nugget(parameters), FALSE, gp_control())
  expect_lt(steps, 4)
  expect_equal(log(found$theta[[2]] / found$theta[[1]]), -log(1000), tolerance = 1e-3)
})

test_that("periods are found down to twice the spacing of the points", {
  for (cycles in c(20, 40)) {
    withr::local_seed(cycles)
    t <- seq(0, cycles, by = 1 / 12)
    y <- sin(2 * pi * t) + rnorm(length(t), sd = 0.5)
    fit <- suppressWarnings(gp(y ~ 1, coords = ~ t, covariance = periodic() + nugget()))
    expect_equal(fit$theta[["periodic.period"]], 1, tolerance = 0.01)
  }
  fast <- kernops:::periodogram_peaks(t, sin(2 * pi * t / 0.21))
  expect_lt(min(abs(fast - 0.21)), 1e-3)
})

test_that("the seasonal variation of carbon dioxide is forecast", {
  skip_on_cran()
  d <- data.frame(t = as.numeric(time(co2)), y = as.numeric(co2))
  past <- d$t < 1993
  fit <- gp(y ~ 1, d[past, ], ~ t, squared_exponential() + periodic() * squared_exponential() + nugget())
  expect_equal(fit$theta[["periodic.period"]], 1, tolerance = 1e-3)
  expect_lt(sqrt(mean((predict(fit, d[!past, ]) - d$y[!past])^2)), 1)
})

test_that("a subset contains neighbours, and does not depend on the order of the rows", {
  u <- as.matrix(expand.grid(x = 1:100, y = 1:100))
  rows <- kernops:::subset_rows(u, 400, 1)
  expect_length(unique(rows), 400)
  expect_identical(rows, kernops:::subset_rows(u, 400, 1))
  expect_gt(length(unique(u[rows, 1])), 90)
  nearest <- apply(as.matrix(dist(u[rows, ])) + diag(Inf, 400), 1, min)
  expect_gt(mean(nearest == 1), 0.5)
})

test_that("starting points fill the parameter space, and the first starting point has the given angle", {
  points <- kernops:::even_points(64, 3)
  for (k in 1:3) expect_lt(max(abs(sort(points[, k]) - (1:64 - 0.5) / 64)), 0.05)
  u <- matrix(sin(1:80), 40)
  model <- kernops:::covariance_model(exponential(angle = 20, ratio = 0.5) + nugget(), 2)
  starts <- kernops:::starting_values(kernops:::with_bounds(model, u, cos(1:40)), u, cos(1:40))
  expect_equal(starts[1, 3], 20)
  expect_gt(diff(range(starts[, 3])), 120)
  expect_true(all(starts[, 4] == 0.5))
})

test_that("for data without noise and a smooth covariance, a search that ends near singular matrices is reported", {
  withr::local_seed(1)
  d <- data.frame(x = runif(200), y = runif(200))
  d$z <- sin(3 * d$x) * d$y
  expect_warning(fit <- gp(z ~ 1, d, ~ x + y, squared_exponential()), class = "kernops_near_singular")
  expect_false(fit$search$convergence == 0)
  expect_warning(noisy <- gp(z ~ 1, d, ~ x + y, squared_exponential() + nugget()), class = "kernops_degenerate")
  expect_gt(noisy$loglik, fit$loglik)
})

test_that("noise that a field explains, and a nugget of zero, are reported", {
  for (seed in 1:12) {
    withr::local_seed(seed)
    d <- data.frame(x = runif(60), y = runif(60), z = rnorm(60))
    told <- character()
    fit <- withCallingHandlers(gp(z ~ 1, d, ~ x + y), warning = function(w) {
      told <<- c(told, class(w))
      tryInvokeRestart("muffleWarning")
    })
    if (var(residuals(fit)) < 0.1 * var(d$z)) expect_true("kernops_degenerate" %in% told, label = paste("seed", seed))
  }
  withr::local_seed(1)
  withr::local_options(warn = 1) # the snapshot contains the warning
  expect_snapshot(invisible(gp(z ~ 1, data.frame(x = runif(60), y = runif(60), z = rnorm(60)), ~ x + y)))
})

test_that("copies of observations are reported", {
  d <- withr::with_seed(4, smooth_case(40))
  withr::local_options(warn = 1) # the snapshot contains the warning
  expect_snapshot(invisible(gp(z ~ 1, d[c(1:40, 1:3), ], ~ a + b)))
  apart <- rbind(d, transform(d[1:3, ], z = z + 0.1))
  expect_no_warning(gp(z ~ 1, apart, ~ a + b))
})

test_that("a fit of noise alone is the model of lm()", {
  d <- withr::with_seed(5, smooth_case(50))
  for (method in c("exact", "iterative")) {
    fit <- gp(z ~ w, d, ~ a + b, nugget(), method = method)
    expect_equal(fit$loglik, as.numeric(logLik(lm(z ~ w, d))), tolerance = 1e-6)
    expect_equal(coef(fit), coef(lm(z ~ w, d)), tolerance = 1e-5)
  }
  expect_equal(unname(predict(fit, d)), unname(fitted(lm(z ~ w, d))), tolerance = 1e-5)
  expect_lt(max(abs(simulate(fit, newdata = d[1:3, ], seed = 1) - predict(fit, d[1:3, ]))), 1)
})
