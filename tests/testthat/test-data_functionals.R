# Observations of derivatives, gp(derivatives = ) and predict(derivative = ), against dense algebra, in which the
# covariances of derivatives are finite differences of covariances of values.

slopes <- withr::with_seed(2, {
  d <- data.frame(a = runif(12), b = runif(12, 0, 2))
  d <- transform(d, y = sin(4 * a) + b^2 * a, ya = 4 * cos(4 * a) + b^2, yb = 2 * a * b)
  transform(d, yb = replace(yb, 3, NA))
})
fresh <- data.frame(a = c(0.3, 0.6), b = c(0.4, 1.7))
both <- list(ya ~ a, yb ~ b)
steps <- 2e-3 * c(-3:-1, 1:3)
weights <- c(-1, 9, -45, 45, -9, 1) / 60 / 2e-3

# Covariances of functionals by finite differences of k(x, y): for each row of u, `of` is 0 if the functional is the
# value, and k if it is the derivative in the coordinate k.
between <- function(k, u, of, v = u, of_v = of) {
  nodes <- \(u, of) Map(\(row, j) list(u = u[rep(row, if (j) 6 else 1), , drop = FALSE] +
                                         (if (j) outer(steps, seq_len(ncol(u)) == j) else 0),
                                       weight = if (j) weights else 1), seq_len(nrow(u)), of)
  vapply(nodes(v, of_v), \(q) vapply(nodes(u, of), \(p) sum(p$weight * (k(p$u, q$u) %*% q$weight)), 0),
         numeric(nrow(u)))
}

test_that("derivatives of each covariance agree with finite differences", {
  cases <- list(
    squared_exponential(2, 0.7), matern(5/2, 2, c(0.7, 0.4)), matern(3/2, 2, 0.7), matern(1.7, 2, 0.7),
    matern(3.2, 2, 0.7), rational_quadratic(2, 0.7, 1.1), periodic(2, 0.7, 1.1), wave(2, 0.3), wendland(2, 1.3),
    linear(2, 0.1) + constant(3), cosine(2, 0.7, dims = 2), matern(5/2, 2, 0.6, time = 2, speed = 0.4),
    matern(5/2, 2, 60, distance = "great_circle"),
    matern(5/2, 2, 0.6, angle = 30, ratio = 0.4) * linear(1, 0.2) +
      squared_exponential(1, 0.5, dims = 1) * matern(5/2, 1, 0.5, dims = 2),
    gneiting(1.8, 2, 0.8, 0.6, 2, 0.7, time = 2, fixed = "power"),
    gneiting(3/2, 2, 0.8, 0.6, 2, 0.3, time = 2, fixed = "power"),
    covariance("v * Exp(-SqDist(x, y) / r) * (1 + (x | y))", list(v = 1, r = 0.4))
  )
  u <- withr::with_seed(1, matrix(runif(12), 6))
  v <- u + 0.3
  of <- c(0, 1, 2, 0, 1, 2)
  as_points <- \(u) cbind(u, kernops:::functional_columns(6, 2, outer(of, 1:2, `==`) * 1))
  for (object in cases) {
    model <- kernops:::with_functionals(kernops:::covariance_model(object, 2))
    values <- kernops:::covariance_matrix(model)
    theta <- model$parameters$value
    ours <- matrix(values(list(theta = theta, x = as_points(u), y = as_points(v))), 6)
    expected <- between(\(a, b) covariance_values(object, a, b), u, of, v)
    expect_equal(ours, expected, tolerance = 1e-7, info = format(object))
    # covariances of functionals at coincident points are near those at points 1e-7 apart
    same <- matrix(values(list(theta = theta, x = as_points(u), y = as_points(u))), 6)
    near <- matrix(values(list(theta = theta, x = as_points(u), y = as_points(u + 1e-7))), 6)
    expect_equal(same, near, tolerance = 1e-5, info = format(object))
    expect_equal(as.vector(kernops:::covariance_diagonal(model)(list(theta = theta, x = as_points(u)))), diag(same))
  }
})

k <- \(x, y) {
  r <- sqrt(5 * (outer(x[, 1], y[, 1], `-`)^2 / 0.25 + outer(x[, 2], y[, 2], `-`)^2 / 0.81))
  1.3 * (1 + r + r^2 / 3) * exp(-r)
}

test_that("likelihood, its gradient and predictions agree with dense algebra", {
  fit <- gp(y ~ a + I(b^2) + offset(a * b), slopes, ~ a + b, matern(5/2, 1.3, c(0.5, 0.9)) + nugget(1e-3),
            derivatives = both, estimate = "none", known = list(derivative_noise = c(1e-3, 2e-3)))
  u <- as.matrix(slopes[c("a", "b")])
  rows <- c(1:12, 1:12, (1:12)[-3])
  of <- rep(0:2, c(12, 12, 11))
  K <- between(k, u[rows, ], of) + diag(c(1e-3, 1e-3, 2e-3)[of + 1])
  X <- rbind(cbind(1, u[, 1], u[, 2]^2), cbind(0, rep(1, 12), 0), cbind(0, 0, 2 * u[-3, 2]))
  y <- with(slopes, c(y - a * b, ya - b, (yb - a)[-3]))
  expect_equal(fit$loglik, -oracle_likelihood(K, y, X)$value / 2, tolerance = 1e-5)
  v <- as.matrix(fresh)
  for (j in 0:2) {
    k0 <- between(k, u[rows, ], of, v, rep(j, 2))
    X0 <- switch(j + 1, cbind(1, v[, 1], v[, 2]^2), cbind(0, c(1, 1), 0), cbind(0, 0, 2 * v[, 2]))
    offset <- list(v[, 1] * v[, 2], v[, 2], v[, 1])[[j + 1]]
    prior <- if (j) rep(1.3 * 5 / 3 / c(0.25, 0.81)[[j]], 2) else rep(1.3, 2)
    expected <- oracle_kriging(K, k0, prior, y, X, X0)
    p <- predict(fit, fresh, se.fit = TRUE, interval = "confidence", derivative = if (j) c("a", "b")[[j]])
    expect_equal(unname(p$fit), expected$mean + offset, tolerance = 1e-5, ignore_attr = TRUE)
    expect_equal(unname(p$se.fit), sqrt(expected$variance), tolerance = 1e-4)
  }
  expect_exact_gradient(fit)
})

test_that("predicted derivatives of a fit to values agree with differences of predicted values", {
  moved <- \(name, by) replace(fresh, name, fresh[[name]] + by)
  for (formula in list(y ~ 1, y ~ a:b + sin(b))) {
    fit <- gp(formula, slopes, ~ a + b, matern(5/2, 1.3, c(0.5, 0.9)) + nugget(1e-3), estimate = "none")
    for (name in c("a", "b")) {
      mean <- Reduce(`+`, Map(\(h, w) w * predict(fit, moved(name, h)), steps, weights))
      expect_equal(predict(fit, fresh, derivative = name), mean, tolerance = 1e-6, ignore_attr = TRUE)
      new <- do.call(rbind, lapply(steps, \(h) moved(name, h)[1, ]))
      joint <- predict(fit, new, cov = TRUE)$cov
      se <- predict(fit, fresh[1, ], derivative = name, se.fit = TRUE, interval = "confidence")$se.fit
      expect_equal(se^2, sum(weights * (joint %*% weights)), tolerance = 1e-4)
    }
  }
  # coordinates of the order of 1e70
  far <- transform(slopes, a = a * 1e70, b = b * 1e70)
  fit <- gp(y ~ 1, far, ~ a + b, matern(5/2, 1.3, 7e69), estimate = "none")
  near <- gp(y ~ 1, slopes, ~ a + b, matern(5/2, 1.3, 0.7), estimate = "none")
  expect_equal(predict(fit, fresh * 1e70, derivative = "a") * 1e70, predict(near, fresh, derivative = "a"),
               tolerance = 1e-8)
})

test_that("derivatives improve estimates, and the methods of fits work with derivatives", {
  fit <- gp(y ~ 1, slopes, ~ a + b, matern(5/2, ard = TRUE), derivatives = both)
  expect_identical(nobs(fit), 35L)
  grid <- expand.grid(a = seq(0, 1, 0.1), b = seq(0, 2, 0.2))
  rmse <- \(fit) sqrt(mean((predict(fit, grid) - with(grid, sin(4 * a) + b^2 * a))^2))
  expect_lt(rmse(fit), rmse(gp(y ~ 1, slopes, ~ a + b, matern(5/2, ard = TRUE))) / 3)
  expect_lt(max(abs(residuals(fit))), 1e-6)
  expect_equal(predict(fit, derivative = "a"), slopes$ya, tolerance = 1e-5, ignore_attr = TRUE)
  more <- update(fit, newdata = transform(fresh, y = sin(4 * a) + b^2 * a, ya = NA_real_, yb = 2 * a * b))
  expect_identical(nobs(more), 39L)
  # leave-one-out predictions from the factor agree with a fit that omits the row
  folds <- gp_cv(fit)
  expect_identical(nrow(folds), 35L)
  without <- gp(y ~ 1, slopes[-1, ], ~ a + b, fit$covariance, derivatives = list(yb ~ b), estimate = "none")
  only <- gp(y ~ 1, slopes, ~ a + b, fit$covariance, derivatives = list(yb ~ b), estimate = "none")
  expect_equal(gp_cv(only, folds = c(1, rep(2, 11)))$fit[[1]], unname(predict(without, slopes[1, ])), tolerance = 1e-5)
  drawn <- simulate(fit, 400, seed = 1, newdata = fresh)
  p <- predict(fit, fresh, se.fit = TRUE, interval = "confidence")
  expect_equal(apply(drawn, 1, sd), p$se.fit, tolerance = 0.1, ignore_attr = TRUE)
  new <- gp_propose(fit, criterion = "ucb")
  expect_equal(unlist(predict(fit, new, what = c("fit", "se.fit"))), c(new$mean, new$se), tolerance = 1e-6,
               ignore_attr = TRUE)
})

test_that("derivatives of a field with an estimated smoothness agree with the derivatives for a given smoothness", {
  as_given <- replace(matern(NA, 1.3, 0.7), "kernel", list(replace(matern(NA)$kernel, "constants", list(list()))))
  model <- kernops:::with_functionals(kernops:::covariance_model(as_given, 2))
  theta <- replace(model$parameters$value, model$parameters$kind == "nu", 1.7)
  known <- kernops:::with_functionals(kernops:::covariance_model(matern(1.7, 1.3, 0.7), 2))
  u <- cbind(as.matrix(slopes[c("a", "b")]), kernops:::functional_columns(12, 2, outer(rep(0:2, 4), 1:2, `==`) * 1))
  values <- \(model, theta) kernops:::covariance_matrix(model)(list(theta = theta, x = unname(u), y = unname(u)))
  expect_equal(values(model, theta), values(known, known$parameters$value), tolerance = 1e-10)
  fit <- gp(y ~ 1, slopes, ~ a + b, matern(NA), derivatives = both, control = gp_control(starts = 1))
  expect_gt(coef(fit, "covariance")[["matern.nu"]], 1)
  expect_gt(as.numeric(logLik(fit)), as.numeric(logLik(gp(y ~ 1, slopes, ~ a + b, matern(3/2), derivatives = both))))
})

plain <- gp(y ~ a, slopes, ~ a + b, exponential(1, 1), estimate = "none")
enhance <- function(..., covariance = matern(5/2, 1, 1)) {
  gp(y ~ 1, slopes, ~ a + b, covariance, estimate = "none", ...)
}
test_mistakes("kernops_input_error", alist(
  rough = enhance(derivatives = both, covariance = exponential(1, 1)),
  gneiting = enhance(derivatives = both, covariance = gneiting(1.8, 2, 0.8, 0.6, 1, 0.7, time = 2)),
  smoothness = predict(gp(y ~ 1, slopes, ~ a + b, replace(matern(NA, 1, 1), "parameters", list(list(
    variance = 1, range = 1, nu = 0.8))), estimate = "none"), fresh, derivative = "a"),
  matern = enhance(derivatives = both, covariance = matern(1, 1, 1) + nugget(1)),
  prediction = predict(plain, fresh, derivative = "a"),
  name = predict(enhance(), fresh, derivative = "c"),
  form = enhance(derivatives = ya ~ a),
  coordinate = enhance(derivatives = list(ya ~ y)),
  twice = enhance(derivatives = list(ya ~ a, yb ~ a)),
  method = enhance(derivatives = both, method = "vecchia"),
  noise = enhance(derivatives = both, known = list(derivative_noise = -1)),
  expression = gp(y ~ 1, slopes, ~ log(a), matern(5/2, 1, 1), estimate = "none", derivatives = both),
  fitted = predict(gp(y ~ a, slopes, ~ a, matern(5/2, 1, 1), estimate = "none"), derivative = "a")
))

test_that("a warning reports derivatives in rows without a response", {
  covariance <- matern(5/2, 1, 0.5)
  fit <- \(d) gp(y ~ 1, d, ~ a + b, covariance, derivatives = both, estimate = "none")
  expect_snapshot(without <- fit(transform(slopes, y = replace(y, c(2, 5), NA))))
  expect_equal(logLik(without), logLik(fit(slopes[-c(2, 5), ])), tolerance = 1e-12, ignore_attr = TRUE)
  expect_silent(fit(transform(slopes, y = replace(y, 2, NA), ya = replace(ya, 2, NA), yb = replace(yb, 2, NA))))
})

test_that("a warning about a singular covariance matrix of derivatives recommends `derivative_noise`", {
  search <- list(convergence = 1, message = "singular matrix", iterations = 3)
  expect_snapshot(kernops:::warn_about_search(search, gp_control(), derivatives = TRUE))
})
