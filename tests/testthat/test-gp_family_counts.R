# Counts of a million and more: searches converge to the optimum of a Laplace approximation in plain R, and parameters
# near a bound cause no warning.

withr::local_options(kernops.backend = "auto")  # the exact method fits families on the CPU

case <- function(size, seed, n = 60, noise = 0) withr::with_seed(seed, {
  d <- data.frame(a = runif(n), b = runif(n), x = rnorm(n))
  h <- sqrt(3) * as.matrix(dist(d[c("a", "b")])) / 0.3
  f <- drop(crossprod(chol(0.25 * (1 + h) * exp(-h) + diag(noise + 1e-9, n)), rnorm(n)))
  transform(d, exposed = size * runif(n, 0.5, 2)) |> transform(count = rpois(n, exposed * exp(f + 0.2 * x)))
})

# Laplace's approximation of the log-likelihood of Poisson counts y, where K is the covariance of the process and `eta`
# the linear predictor without the process.
laplace_of_counts <- function(K, y, eta) {
  n <- length(y)
  h <- log(y + 0.5) - eta
  for (step in 1:50) {
    mu <- exp(eta + h)
    # (K^-1 + W)^-1 (W h + y - mu), computed without the inverse of K
    root <- sqrt(mu)
    B <- diag(n) + K * tcrossprod(root)
    b <- mu * h + y - mu
    moved <- as.vector(K %*% (b - root * solve(B, root * as.vector(K %*% b))))
    settled <- max(abs(moved - h)) < 1e-12
    h <- moved
    if (settled) break
  }
  quadratic <- sum(h * (y - exp(eta + h))) # at the mode, K^-1 h equals the gradient y - exp(eta + h)
  sum(dpois(y, exp(eta + h), log = TRUE)) - quadratic / 2 - as.numeric(determinant(B)$modulus) / 2
}

silent_fit <- function(...) {
  told <- character()
  fit <- withCallingHandlers(gp(...), warning = function(w) {
    told <<- c(told, conditionMessage(w))
    invokeRestart("muffleWarning")
  })
  expect_identical(told, character())
  fit
}

test_that("searches converge at the optimum for counts of ten thousand and of a million", {
  for (size in c(1e4, 1e6)) {
    d <- case(size, seed = log10(size))
    h <- sqrt(3) * unname(as.matrix(dist(d[c("a", "b")])))
    value <- \(s) {
      h <- h / exp(s[[2]])
      -laplace_of_counts(exp(s[[1]]) * (1 + h) * exp(-h), d$count, s[[3]] + s[[4]] * d$x + log(d$exposed))
    }
    best <- optim(c(log(0.25), log(0.3), 0, 0.2), value, control = list(maxit = 4000, reltol = 1e-14))
    exact <- silent_fit(count ~ x + offset(log(exposed)), d, ~ a + b, matern(3/2), "exact", family = poisson())
    expect_identical(exact$search$convergence, 0L)
    expect_equal(exact$loglik, -best$value, tolerance = 1e-6)
    expect_gt(exact$loglik, -best$value - 0.01)
    expect_equal(unname(exact$theta), exp(best$par[1:2]), tolerance = 0.02)
    expect_equal(unname(exact$beta[[2]]), best$par[[4]], tolerance = 1e-3)
    all <- silent_fit(count ~ x + offset(log(exposed)), d, ~ a + b, matern(3/2), "vecchia", family = poisson(),
                      neighbours = 59)
    expect_identical(all$search$convergence, 0L)
    expect_gt(all$loglik, -best$value - 0.05)
  }
})

test_that("fits of counts of 1e8 agree with Gaussian fits of the logarithms of the counts", {
  for (seed in 1:2) {
    d <- case(1e8, seed)
    counts <- silent_fit(count ~ x + offset(log(exposed)), d, ~ a + b, matern(3/2), "exact", family = poisson())
    normal <- gp(log(count / exposed) ~ x, d, ~ a + b, matern(3/2), "exact", known = list(noise = 1 / d$count))
    expect_equal(counts$theta, normal$theta, tolerance = 0.01)
    expect_equal(counts$beta, normal$beta, tolerance = 0.01)
    expect_equal(counts$loglik, normal$loglik - sum(log(d$count)), tolerance = 1e-6)
  }
})

test_that("a nugget below 1e-5 of the variance gives the same results as no nugget", {
  for (seed in 1:2) {
    d <- case(1e6, seed, 150)
    one <- \(covariance) silent_fit(count ~ x + offset(log(exposed)), d, ~ a + b, covariance, "exact",
                                    family = poisson())
    alone <- one(matern(3/2))
    expect_gt(one(matern(3/2) + nugget())$loglik, alone$loglik - 0.05)
  }
  noisy <- case(1e6, 3, 150, noise = 0.04)
  fit <- silent_fit(count ~ x + offset(log(exposed)), noisy, ~ a + b, matern(3/2) + nugget(), "exact",
                    family = poisson())
  expect_equal(fit$theta[["nugget.variance"]], 0.04, tolerance = 0.5)
})

test_that("fits of negative binomial counts of a million estimate the overdispersion, without warnings", {
  d <- case(1e6, 4, 300)
  of <- \(d) silent_fit(count ~ x + offset(log(exposed)), d, ~ a + b, matern(3/2), "vecchia",
                        family = negative_binomial())
  gamma <- withr::with_seed(1, rgamma(300, 200) / 200)
  over <- of(transform(d, count = withr::with_seed(2, rpois(300, count * gamma))))
  expect_equal(over$dispersion[["theta"]], 200, tolerance = 0.35)
  # the log density is finite and exact if the probability rounds to 0 or 1
  family <- negative_binomial()
  expect_silent(far <- kernops:::density_terms(family, 5, 1, c(-800, 800), c(theta = 2))$value)
  constant <- lgamma(7) - lgamma(2) - lgamma(6)
  expect_equal(far, constant + c(5 * (-800 - log(2)), 2 * (log(2) - 800)), tolerance = 1e-12)
})
