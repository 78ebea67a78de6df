# Models of space and time against gstat and dense matrices.

space_time_case <- function(n) {
  d <- data.frame(a = runif(n), b = runif(n), t = runif(n, 0, 5))
  transform(d, z = sin(5 * a) + cos(2 * t + b) + rnorm(n, sd = 0.1))
}
parts_of <- function(d) {
  list(space = as.matrix(dist(d[c("a", "b")])), time = as.matrix(dist(d$t)))
}
expect_kriging <- function(covariance, K_of, nugget = 0.1, ...) {
  withr::local_seed(1)
  d <- space_time_case(40)
  new <- space_time_case(8)
  h <- parts_of(rbind(d, new))
  K <- K_of(h$space, h$time)
  one <- matrix(1, 48)
  expected <- oracle_kriging(K[1:40, 1:40] + diag(nugget, 40), K[1:40, 41:48], diag(K)[41:48], d$z,
                             one[1:40, , drop = FALSE], one[41:48, , drop = FALSE])
  expect_kriging_by(c("exact", "iterative"), z ~ 1, d, ~ a + b + t, covariance + nugget(nugget), new, expected, 1e-7)
}

test_that("separable, product-sum, metric, sum-metric and Gneiting models agree with their formulas", {
  e <- \(h, r) exp(-h / r)
  expect_kriging(exponential(2, 0.3, dims = 1:2) * exponential(1, 2, dims = 3), \(s, t) 2 * e(s, 0.3) * e(t, 2))
  expect_kriging(exponential(2, 0.3, dims = 1:2) * exponential(1, 2, dims = 3) + exponential(1, 0.5, dims = 1:2) +
                   exponential(0.5, 1, dims = 3),
                 \(s, t) 2 * e(s, 0.3) * e(t, 2) + e(s, 0.5) + 0.5 * e(t, 1))
  metric <- \(s, t) sqrt(s^2 + (0.2 * t)^2)
  expect_kriging(exponential(2, 0.3, time = 3, speed = 0.2), \(s, t) 2 * e(metric(s, t), 0.3))
  expect_kriging(exponential(1, 0.5, dims = 1:2) + exponential(0.5, 1, dims = 3) +
                   exponential(2, 0.3, time = 3, speed = 0.2),
                 \(s, t) e(s, 0.5) + 0.5 * e(t, 1) + 2 * e(metric(s, t), 0.3))
  gneiting <- covariance(
    "v / (1 + Square(Elem(x, 2) - Elem(y, 2)) / Square(rt)) *
       Exp(-Norm2(Extract(x, 0, 2) - Extract(y, 0, 2)) / r *
           Powf(1 + Square(Elem(x, 2) - Elem(y, 2)) / Square(rt), -s / 2))", list(v = 1, r = 0.3, rt = 2, s = 0.5))
  expect_kriging(gneiting, \(s, t) {
    psi <- 1 + (t / 2)^2
    exp(-s / 0.3 / psi^0.25) / psi
  })
})

test_that("gneiting() has the covariance of its help page, in one to three dimensions of space", {
  correlation <- list("0.5" = \(h) exp(-h), "1.5" = \(h) (1 + sqrt(3) * h) * exp(-sqrt(3) * h))
  for (case in list(list(nu = 0.5, power = 1, beta = 0.6, d = 2), list(nu = 1.5, power = 2, beta = 1, d = 1),
                    list(nu = 0.5, power = 1.4, beta = 0, d = 3))) {
    withr::local_seed(3)
    u <- matrix(runif(12 * (case$d + 1)), 12)
    time <- 1 # the first coordinate is time
    s <- as.matrix(dist(u[, -time]))
    psi <- 1 + (0.7 * as.matrix(dist(u[, time])) / 0.4)^case$power
    expected <- 2 * psi^-max(1, case$d / 2) * correlation[[as.character(case$nu)]](s / 0.4 / psi^(case$beta / 2))
    ours <- gneiting(case$nu, 2, 0.4, speed = 0.7, power = case$power, interaction = case$beta, time = 1)
    expect_close(covariance_values(ours, u, u), unname(expected))
  }
  withr::local_seed(1)
  expect_kriging(gneiting(1/2, 2, 0.3, speed = 0.2, power = 1.5, interaction = 0.4, time = 3),
                 \(s, t) {
                   psi <- 1 + (0.2 * t / 0.3)^1.5
                   2 * exp(-s / 0.3 / psi^0.2) / psi
                 })
})

test_that("parameters of gneiting() are estimated, within their limits", {
  withr::local_seed(5)
  d <- space_time_case(250)
  h <- parts_of(d)
  psi <- 1 + h$time
  d$z <- drop(rnorm(250) %*% chol(exp(-h$space / 0.3 / sqrt(psi)) / psi)) + rnorm(250, sd = 0.1)
  fit <- gp(z ~ 1, d, ~ a + b + t, gneiting(time = 3) + nugget(0.01, fixed = "variance"), starts = 2) |>
    suppressWarnings(classes = "kernops_at_bound")
  separable <- update(fit, covariance = gneiting(time = 3, interaction = 0, fixed = "interaction") +
                        nugget(0.01, fixed = "variance"))
  expect_gt(as.numeric(logLik(fit)), as.numeric(logLik(separable)) - 1e-6)
  p <- coef(fit, "covariance")
  expect_true(p[["gneiting.interaction"]] >= 0 && p[["gneiting.interaction"]] <= 1)
  # a parameter at its bound has no standard error, and the other standard errors do not change
  expect_identical(fit$search$at_bound, "gneiting.interaction")
  se <- sqrt(diag(suppressWarnings(vcov(fit, "covariance"), classes = "kernops_no_standard_error")))
  known <- update(fit, covariance = gneiting(time = 3, interaction = p[["gneiting.interaction"]],
                                             fixed = "interaction") + nugget(0.01, fixed = "variance"))
  expect_identical(names(se)[is.na(se)], "gneiting.interaction")
  expect_equal(se[!is.na(se)], sqrt(diag(vcov(known, "covariance"))), tolerance = 1e-3)
  expect_true(all(abs(confint(separable, type = "covariance")["gneiting.power", ] - 1) < 1))
})

test_that("gneiting() reports missing requirements", {
  expect_snapshot(error = TRUE, {
    gneiting(time = 3, interaction = 2)
    gneiting(0)
    gneiting()
    gneiting(power = 3, time = 3)
    gp(dist ~ 1, cars, ~ speed, gneiting(time = 1))
  })
})

test_that("space-time kriging agrees with gstat", {
  skip_if_not_installed("gstat")
  skip_if_not_installed("sp")
  skip_if_not_installed("spacetime")
  withr::local_seed(2)
  n <- 60
  d <- space_time_case(n)
  new <- space_time_case(6)
  day <- \(t) as.POSIXct("2026-01-01", tz = "UTC") + 86400 * t
  points <- \(d) spacetime::STI(sp::SpatialPoints(as.matrix(d[c("a", "b")])), day(d$t))
  d <- d[order(d$t), ]
  new <- new[order(new$t), ]
  data <- spacetime::STIDF(sp::SpatialPoints(as.matrix(d[c("a", "b")])), day(d$t), d["z"])
  inside <- gstat::vgm(0.7, "Exp", 0.5)
  through <- gstat::vgm(0.6, "Sph", 2)
  sum_metric <- gstat::vgmST("sumMetric", space = gstat::vgm(1, "Exp", 0.5), time = gstat::vgm(0.5, "Exp", 1),
                        joint = gstat::vgm(2, "Sph", 0.6, 0.1), stAni = 0.2, temporalUnit = "days")
  product_sum <- gstat::vgmST("productSum", space = inside, time = through, k = 3, temporalUnit = "days")
  metric <- gstat::vgmST("metric", joint = gstat::vgm(2, "Sph", 0.6, 0.1), stAni = 0.2, temporalUnit = "days")
  space <- exponential(0.7, 0.5, dims = 1:2)
  time <- spherical(0.6, 2, dims = 3)
  cases <- list(
    list(sum_metric, exponential(1, 0.5, dims = 1:2) + exponential(0.5, 1, dims = 3) +
           spherical(2, 0.6, time = 3, speed = 0.2) + nugget(0.1)),
    list(product_sum, space + time + 3 * exponential(0.7, 0.5, dims = 1:2) * time),
    list(metric, spherical(2, 0.6, time = 3, speed = 0.2) + nugget(0.1))
  )
  for (case in cases) {
    expected <- suppressWarnings(gstat::krigeST(z ~ 1, data, points(new), case[[1]], computeVar = TRUE))
    ours <- predict(gp(z ~ 1, d, ~ a + b + t, case[[2]], estimate = "none"), new, se.fit = TRUE,
                    interval = "prediction")
    expect_equal(unname(ours$fit), expected@data$var1.pred, tolerance = 1e-8)
    expect_equal(unname(ours$se.fit^2), expected@data$var1.var, tolerance = 1e-8)
  }
})

test_that("the space-time anisotropy is estimated, with an exact gradient", {
  withr::local_seed(3)
  d <- space_time_case(60)
  fit <- gp(z ~ 1, d, ~ a + b + t, matern(5/2, 1, 0.5, time = 3, speed = 0.2) + nugget(0.1), estimate = "none")
  likelihood <- kernops:::exact_likelihood(fit$data, fit$model, FALSE)
  theta <- unname(fit$theta)
  gradient <- likelihood$evaluate(theta)$gradient()
  expect_close(matrix(gradient, 1), central_difference(\(t) likelihood$evaluate(t)$value, theta, h = 2^-8 * 0.05),
               tolerance = 1e-5)
  # The log-likelihood equals the log-likelihood of a covariance with a range for each coordinate, if a and b have the
  # same range.
  estimated <- gp(z ~ 1, d, ~ a + b + t, matern(5/2, time = 3) + nugget(0.01, fixed = "variance"))
  p <- coef(estimated, "covariance")
  both <- matern(5/2, p[["matern.variance"]], p[["matern.range"]] / c(1, 1, p[["matern.speed"]]))
  expect_equal(gp(z ~ 1, d, ~ a + b + t, both + nugget(p[["nugget.variance"]]), estimate = "none")$loglik,
               estimated$loglik)
  expect_gt(estimated$loglik, fit$loglik)
  u <- as.matrix(d[1:5, c("a", "b", "t")])
  h <- parts_of(d[1:5, ])
  waves <- kernops:::spectral_terms(exponential(1, 0.5, time = 3, speed = 0.2), list(d = 3))[[1]]$spectral[[1]]
  w <- waves$frequencies(1e5)
  lags <- u - rep(u[1, ], each = 5)
  expect_lt(max(abs(colMeans(cos(w %*% t(lags))) - exp(-sqrt(h$space^2 + (0.2 * h$time)^2)[1, ] / 0.5))), 0.015)
  near <- kernops:::covariance_metric(matern(1/2, 1, 0.5, time = 3, speed = 0.2),
                                      list(list(variance = 1, range = 0.5, speed = 0.2)), u)
  expect_equal(near$matrix, diag(c(4, 4, 0.16)))
})

test_mistakes("kernops_input_error", alist(
  `speed without time` = exponential(speed = 1),
  `time that is no coordinate number` = exponential(time = "t"),
  `time with ranges for all coordinates` = exponential(time = 3, ard = TRUE)
))
test_mistakes("kernops_dim_error", alist(
  `time that is not among the coordinates` = kernops:::covariance_model(exponential(time = 3), 2)
))
