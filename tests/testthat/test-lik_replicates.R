# Several observations at a location: the exact method computes with distinct locations. The oracle uses dense matrices
# in plain R with one row per observation.

replicated <- function(n = 120, places = 12) {
  sites <- data.frame(a = runif(places), b = runif(places))
  d <- sites[sample(places, n, replace = TRUE), ]
  rownames(d) <- NULL
  transform(d, t = rnorm(n), w = rexp(n) + 0.2, s = sample(c(0.04, 0.1), n, replace = TRUE), day = rep(1:2, n / 2),
            z = sin(5 * a) + b + rnorm(n, sd = 0.3))
}

field_of <- \(d) covariance_of(d[c("a", "b")], tau = 0)

test_that("likelihood, gradient and trend agree with matrices of one row per observation", {
  withr::local_seed(1)
  d <- replicated()
  X <- model.matrix(~ t, d)
  cases <- list(
    nugget = list(0.05 / d$w, list(weights = d$w), matern(3/2, 1.3, 0.4) + nugget(0.05)),
    known = list(d$s * d$w, list(known = list(noise = d$s * d$w)), matern(3/2, 1.3, 0.4)),
    both = list(0.05 + d$s, list(known = list(noise = d$s)), matern(3/2, 1.3, 0.4) + nugget(0.05))
  )
  for (case in cases) for (reml in c(FALSE, TRUE)) {
    fit <- do.call(gp, c(list(z ~ t, d, ~ a + b, case[[3]], method = "exact", estimate = "none"), case[[2]]))
    expect_lte(length(fit$data$y), 24)
    expected <- oracle_likelihood(field_of(d) + diag(case[[1]]), d$z, X, reml)
    likelihood <- kernops:::exact_likelihood(fit$data, fit$model, reml)
    theta <- unname(fit$theta)
    expect_equal(likelihood$evaluate(theta)$value, expected$value, tolerance = 1e-10)
    expect_equal(unname(coef(fit)), expected$beta, tolerance = 1e-9)
    profiles <- if (all(fit$data$noise == 0)) c(FALSE, TRUE) else FALSE
    for (profile in profiles) {
      gradient <- likelihood$evaluate(theta, profile)$gradient()
      numeric <- central_difference(\(t) likelihood$evaluate(t, profile)$value, theta, h = 2^-8 * 0.05)
      expect_close(matrix(gradient, 1), numeric, tolerance = 1e-5)
    }
  }
})

test_that("the average information agrees with matrices of one row per observation", {
  withr::local_seed(2)
  d <- replicated(60, 8)
  fit <- gp(z ~ t, d, ~ a + b, given(), estimate = "none", weights = d$w)
  state <- kernops:::exact_likelihood(fit$data, fit$model, FALSE)$evaluate(unname(fit$theta))
  state$gradient() # computes the inverse
  K <- covariance_of(d[c("a", "b")], tau = 0) + diag(0.05 / d$w)
  X <- model.matrix(~ t, d)
  inverse <- solve(K)
  P <- inverse - inverse %*% X %*% solve(t(X) %*% inverse %*% X, t(X) %*% inverse)
  step <- 1e-5
  by_range <- (covariance_of(d[c("a", "b")], r = 0.4 + step, tau = 0) -
                 covariance_of(d[c("a", "b")], r = 0.4 - step, tau = 0)) / (2 * step)
  slopes <- list(covariance_of(d[c("a", "b")], v = 1, tau = 0), by_range, diag(1 / d$w))
  along <- vapply(slopes, \(dK) as.vector(dK %*% P %*% d$z), numeric(60))
  expect_equal(unname(state$information()), unname(t(along) %*% P %*% along), tolerance = 1e-6)
})

test_that("kriging and leave-one-out agree with matrices of one row per observation", {
  withr::local_seed(3)
  d <- replicated()
  new <- replicated(10, 10)
  both <- field_of(rbind(d, new))
  X <- model.matrix(~ t, d)
  K <- both[1:120, 1:120] + diag(0.05 / d$w)
  fit <- gp(z ~ t, d, ~ a + b, given(), estimate = "none", weights = d$w)
  expected <- oracle_kriging(K, both[1:120, 121:130], diag(both)[121:130], d$z, X, model.matrix(~ t, new))
  field <- predict(fit, new, se.fit = TRUE, interval = "confidence")
  expect_equal(field$fit, expected$mean, tolerance = 1e-9)
  expect_equal(field$se.fit, unname(sqrt(expected$variance)), tolerance = 1e-8)
  near <- predict(fit, new, nmax = 120, se.fit = TRUE, interval = "confidence")
  expect_equal(near$fit, expected$mean, tolerance = 1e-9)
  alone <- vapply(1:120, function(i) {
    left <- oracle_kriging(K[-i, -i], cbind(both[1:120, i][-i]), both[i, i], d$z[-i], X[-i, ], X[i, , drop = FALSE])
    c(left$mean, sqrt(left$variance + 0.05 / d$w[[i]]))
  }, numeric(2))
  left_out <- gp_cv(fit)
  expect_equal(left_out$fit, alone[1, ], tolerance = 1e-8)
  expect_equal(left_out$se.fit, alone[2, ], tolerance = 1e-8)
  expect_identical(left_out$observed, d$z)
  expect_equal(unname(residuals(fit)), d$z - unname(fitted(fit)))
  expect_identical(c(nobs(fit), df.residual(fit)), c(120L, 118L))
})

test_that("estimates equal the estimates for observations at slightly different locations", {
  withr::local_seed(4)
  d <- replicated()
  apart <- d
  apart[c("a", "b")] <- apart[c("a", "b")] + runif(240, -1, 1) * 1e-9 # no two observations at one location
  for (formula in list(z ~ 1, z ~ t)) for (estimate in c("ML", "REML")) {
    fits <- lapply(list(d, apart), \(d) gp(formula, d, ~ a + b, group = ~ day, weights = d$w, estimate = estimate))
    expect_lt(length(fits[[1]]$data$y), 25)
    expect_length(fits[[2]]$data$y, 120)
    expect_equal(fits[[1]]$theta, fits[[2]]$theta, tolerance = 1e-4)
    expect_equal(fits[[1]]$loglik, fits[[2]]$loglik, tolerance = 1e-6)
    expect_equal(vcov(fits[[1]]), vcov(fits[[2]]), tolerance = 1e-4)
  }
})

test_that("a profile of the trend, and draws, agree with matrices of one row per observation", {
  withr::local_seed(5)
  d <- replicated()
  new <- d[1:4, ] + 0.05
  fit <- gp(z ~ t, d, ~ a + b, given(), estimate = "none")
  K <- covariance_of(d[c("a", "b")])
  limits <- confint(fit, "t", method = "profile")
  expected <- oracle_likelihood(K, d$z, cbind(1, d$t))
  for (limit in limits) {
    held <- oracle_likelihood(K, d$z - limit * d$t, cbind(rep(1, 120)))
    expect_equal(held$value - expected$value, qchisq(0.95, 1), tolerance = 1e-4)
  }
  draws <- simulate(fit, 4000, seed = 1, newdata = new)
  joint <- predict(fit, new, cov = TRUE)
  expect_lt(max(abs(rowMeans(draws) - joint$fit) / sqrt(diag(joint$cov) / 4000)), 4)
  expect_lt(max(abs(cov(t(draws)) / joint$cov - 1)[diag(4) == 1]), 0.15)
})

test_that("a fit of a hundred thousand observations at few locations takes seconds", {
  skip_on_cran()
  for (places in c(2, 1000)) {
    withr::local_seed(places)
    d <- replicated(1e5, places)
    d$z <- d$z + 1e6
    time <- system.time(fit <- suppressWarnings(gp(z ~ t, d, ~ a + b)))
    expect_identical(fit$method, "exact")
    expect_lt(time[["user.self"]], 30)
    expect_identical(nobs(fit), 100000L)
  }
  rows <- rep(1:2, 3e4)
  null <- gp(y ~ 1, data.frame(y = rnorm(6e4) + rows), ~ rows, nugget())
  y <- null$parts$y
  expect_equal(null$loglik, sum(dnorm(y, mean(y), sqrt(mean((y - mean(y))^2)), log = TRUE)))
})

test_that("models with terms that differ within a location keep a row for each observation", {
  withr::local_seed(6)
  d <- replicated()
  expect_length(gp(z ~ (1 | day), d, ~ a + b, starts = 1)$data$y, 120)
  several <- suppressWarnings(gp(cbind(z, t) ~ 1, d, ~ a + b, starts = 1))
  expect_length(several$data$y, 240)
  expect_length(gp(z ~ 1, unique(d[c("a", "b")]) |> transform(z = a), ~ a + b, estimate = "none", given())$data$y, 12)
})
