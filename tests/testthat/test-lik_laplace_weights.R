# Families whose log density is not concave. In the Laplace approximation, the weights are minus the second derivatives
# of the log density, and some weights are negative. If the posterior density has no maximum, expected weights replace
# the second derivatives. The oracle of likelihoods, predictions and draws is plain R.

withr::local_options(kernops.backend = "auto")  # the exact method runs on the CPU only
cases <- Filter(\(case) !is.null(case$expected), oracle_densities())
labels <- density_labels(cases)
d <- family_data(60, seed = 5)
d$g <- factor(rep_len(1:6, 60))
u <- as.matrix(d[c("a", "b")])
h <- sqrt(3) * as.matrix(dist(u))
matern32 <- \(variance, range, nugget) variance * (1 + h / range) * exp(-h / range) + diag(nugget, nrow(d))

# A fit of random responses, with the arguments `y` and `w` of the density in plain R.
fit_of <- function(k, method, covariance = matern(3/2, 0.6, 0.3) + nugget(0.05), neighbours = 59, ...) {
  family <- family_of(names(cases)[k], cases[[k]], known = TRUE)
  d$w <- if (family$density$response == "binomial") 5 else 1
  eta <- 0.5 + sin(5 * d$a) + rep(c(-0.5, 0.5), 30)
  d$y <- withr::with_seed(7, family$density$draw(eta, d$w, cases[[k]]$phi, family$link))
  gp(y ~ x, transform(d, x = sin(9 * b)), ~ a + b, covariance, family = family, weights = d$w, estimate = "none",
     method = method, neighbours = neighbours, ...)
}
plain_value <- function(fit, case) function(theta) {
  count <- length(case$phi)
  phi <- stats::setNames(theta[3 + seq_len(count)], names(case$phi))
  mean <- as.vector(fit$response$basis %*% theta[-seq_len(3 + count)])
  data <- fit$response
  oracle_laplace(matern32(theta[1], theta[2], theta[3]), mean, \(eta) case$log_density(data$y, data$prior, eta, phi))
}
methods <- c("exact", "vecchia")

for (k in seq_along(cases)) test_that(paste("likelihood and gradient agree with plain R:", labels[k]), {
  for (method in methods) {
    fit <- fit_of(k, method)
    likelihood <- kernops:::likelihood_for(fit$response, fit$outer, fit$how)
    theta <- 1.1 * fit$outer_theta
    state <- likelihood$evaluate(theta)
    plain <- plain_value(fit, cases[[k]])(theta)
    expect_null(state$terms$curvature)
    expect_equal(state$value, plain$value, tolerance = 1e-6 / abs(plain$value))
    expect_equal(state$terms$weight, plain$W, tolerance = 1e-5)
    slope <- unname(state$gradient())
    differences <- exact_differences(\(theta) likelihood$evaluate(theta)$value, theta, step = 0.005)
    expect_equal(slope, differences, tolerance = 1e-5)
  }
})

spread <- \(fit, new) unname(apply(as.matrix(simulate(fit, 2000, seed = 1, newdata = new)), 1, sd))
named <- \(name) match(name, names(cases))

test_that("many weights of these data are negative", {
  negative <- vapply(seq_along(cases), \(k) sum(fit_of(k, "exact")$latent$terms$weight < 0), 0L)
  expect_gte(negative[[named("inverse_gaussian")]], 10)
  expect_gte(negative[[named("student")]], 1)
  expect_gte(sum(negative > 0), 4)
})

test_that("the trend, predictions and cross-validation use the negative weights", {
  new <- data.frame(a = c(0.2, 0.9, 0.5), b = c(0.3, 0.6, 0.5), x = c(0, 1, -1))
  for (method in methods) {
    fit <- fit_of(named("inverse_gaussian"), method)
    W <- fit$latent$terms$weight
    K <- matern32(0.6, 0.3, 0.05)
    inverse <- W * diag(60) - W * t(W * solve(solve(K) + diag(W)))
    X <- model.matrix(fit)
    root <- solve(t(X) %*% inverse %*% X)
    sites <- as.matrix(new[1:2])
    across <- covariance_values(matern(3/2, 0.6, 0.3), sites, u)
    gap <- cbind(1, new$x) - across %*% inverse %*% X
    expected <- covariance_values(matern(3/2, 0.6, 0.3), sites, sites) - across %*% inverse %*% t(across) +
      gap %*% root %*% t(gap)
    link <- predict(fit, new, type = "link", se.fit = TRUE, cov = TRUE)
    expect_equal(unname(link$cov), unname(expected), tolerance = 1e-5)
    expect_equal(predict(fit, new, type = "link", se.fit = TRUE)$se.fit^2, unname(diag(expected)), tolerance = 1e-5)
    draws <- as.matrix(simulate(fit, 4000, seed = 1, newdata = new))
    expect_lt(max(abs(cov(t(draws)) - expected)), 0.08 * max(expected))
    expect_lt(max(abs(rowMeans(draws) - as.matrix(link$fit)[, 1]) / sqrt(diag(expected))), 0.07)
    # the posterior divided by the density of each observation
    P <- inverse - inverse %*% X %*% root %*% t(X) %*% inverse
    v <- 1 / W - diag(P) / W^2
    cavity <- v / (1 - v * W)
    told <- 1 - v * W > 0
    table <- kernops:::leave_one_out(fit)
    expect_equal(table$variance[told], unname(cavity[told]), tolerance = 1e-4)
    expect_true(all(is.infinite(table$variance[!told])))
  }
})

test_that("effects, groups and few neighbours work with negative weights", {
  for (name in c("inverse_gaussian", "student")) {
    covariance <- matern(3/2, 0.6, 0.3) + random_effect(~ 1 | g, 0.3)
    fits <- lapply(methods, \(method) fit_of(named(name), method, covariance))
    expect_equal(fits[[2]]$loglik, fits[[1]]$loglik, tolerance = 1e-7)
    new <- data.frame(a = c(0.2, 0.9), b = c(0.3, 0.6), x = 0:1, g = c("2", "q"))
    links <- lapply(fits, predict, new, se.fit = TRUE, type = "link")
    expect_equal(links[[2]], links[[1]], tolerance = 1e-5)
    for (k in 1:2) expect_equal(spread(fits[[k]], new), links[[1]]$se.fit, tolerance = 0.06)
    grouped <- lapply(methods, \(method) fit_of(named(name), method, group = ~ g))
    expect_equal(grouped[[2]]$loglik, grouped[[1]]$loglik, tolerance = 1e-7)
    few <- fit_of(named(name), "vecchia", covariance = matern(3/2, 0.6, 0.3), neighbours = 5)
    expect_equal(spread(few, new), predict(few, new, se.fit = TRUE, type = "link")$se.fit, tolerance = 0.06)
  }
})

test_that("if there is no maximum, expected weights replace the second derivatives", {
  # at 0, half way between two observations at one location, the density has a saddle point
  d <- data.frame(x = c(0, 0, 5, 5), y = c(-4, 4, -4, 4))
  K <- 9 * exp(-as.matrix(dist(d$x)))
  family <- student(2, 0.5)
  weight <- 3 / 5 / 0.5^2
  expected <- -2 * sum(dt(d$y / 0.5, 2, log = TRUE) - log(0.5)) + log(det(diag(4) + K * weight))
  for (method in methods) {
    expect_warning(fit <- gp(y ~ 0, d, ~ x, exponential(9, 1), family = family, estimate = "none", method = method,
                             neighbours = 3), class = "kernops_expected_weights")
    expect_match(paste(capture.output(print(suppressWarnings(summary(fit)))), collapse = " "),
                 "Weights of the Laplace approximation: expected instead of observed")
    expect_equal(fit$latent$h, numeric(4))
    expect_lt(max(fit$latent$terms$curvature), 0)
    expect_equal(-2 * fit$loglik, expected, tolerance = 1e-8)
    expect_true(all(is.finite(unlist(predict(fit, data.frame(x = 1:3), se.fit = TRUE)))))
    expect_true(all(is.finite(as.matrix(simulate(fit, 3, seed = 1, newdata = data.frame(x = 1:3))))))
    likelihood <- kernops:::likelihood_for(fit$response, fit$outer, fit$how)
    expect_true(all(is.finite(likelihood$evaluate(fit$outer_theta)$gradient())))
  }
})

test_that("products with the inverse square root of a matrix agree with eigen()", {
  withr::local_seed(1)
  e <- qr.Q(qr(matrix(rnorm(400), 20)))
  M <- e %*% (c(1e-3, seq(0.1, 1, length.out = 19)) * t(e))
  x <- matrix(rnorm(60), 20)
  expect_equal(kernops:::inverse_root(\(x) M %*% x, x, width = 2),
               e %*% (1 / sqrt(c(1e-3, seq(0.1, 1, length.out = 19))) * crossprod(e, x)), tolerance = 1e-8)
})
