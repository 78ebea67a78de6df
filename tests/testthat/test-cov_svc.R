# Spatially varying coefficients: fits, predictions and draws against dense matrices in plain R.

svc_case <- function(n) {
  d <- data.frame(a = runif(n), b = runif(n), z = rnorm(n), w = runif(n))
  transform(d, y = 1 + z * sin(5 * a) + cos(4 * b) + rnorm(n, sd = 0.1))
}
k <- \(d, range) exp(-as.matrix(dist(d[c("a", "b")])) / range)
both <- \() exponential(2, 0.4) + svc(~ z + log(w), matern(1/2, 1.5, 0.6)) + nugget(0.1)

test_that("kriging with varying coefficients agrees with dense matrices, by each method", {
  withr::local_seed(1)
  d <- svc_case(50)
  new <- svc_case(8)
  all <- rbind(d, new)
  K <- 2 * k(all, 0.4) + 1.5 * k(all, 0.6) * (tcrossprod(all$z) + tcrossprod(log(all$w)))
  X <- cbind(1, all$z)
  expected <- oracle_kriging(K[1:50, 1:50] + diag(0.1, 50), K[1:50, 51:58], diag(K)[51:58], d$y, X[1:50, ], X[51:58, ])
  expect_kriging_by(c("exact", "iterative", "vecchia"), y ~ z, d, ~ a + b, both(), new, expected)
})

test_that("the log-likelihood and its gradient agree with dense matrices", {
  withr::local_seed(2)
  d <- svc_case(40)
  deviance <- function(theta) {
    K <- theta[[1]] * k(d, theta[[2]]) * tcrossprod(d$z) + diag(theta[[3]], 40)
    X <- cbind(1, d$z)
    r <- drop(d$y - X %*% solve(crossprod(X, solve(K, X)), crossprod(X, solve(K, d$y))))
    40 * log(2 * pi) + c(determinant(K)$modulus) + sum(r * solve(K, r))
  }
  fit <- gp(y ~ z, d, ~ a + b, svc(~ z, exponential()) + nugget())
  theta <- unname(coef(fit, "covariance"))
  expect_equal(-2 * as.numeric(logLik(fit)), deviance(theta), tolerance = 1e-8)
  slope <- vapply(1:3, \(i) {
    step <- replace(numeric(3), i, 1e-4)
    (deviance(theta * exp(step)) - deviance(theta * exp(-step))) / 2e-4
  }, 0)
  expect_true(all(abs(slope) < 1e-3))
})

test_that("estimates do not depend on the unit of the covariate", {
  withr::local_seed(3)
  d <- svc_case(80)
  fit <- gp(y ~ z, d, ~ a + b, svc(~ z) + nugget())
  scaled <- gp(y ~ z, transform(d, z = 1000 * z), ~ a + b, svc(~ z) + nugget())
  expect_equal(as.numeric(logLik(scaled)), as.numeric(logLik(fit)), tolerance = 1e-6)
  expect_equal(coef(scaled, "covariance") * c(1e6, 1, 1), coef(fit, "covariance"), tolerance = 1e-3)
})

test_that("families, groups and draws work with varying coefficients", {
  withr::local_seed(4)
  d <- svc_case(60)
  d$count <- rpois(60, exp(1 + d$z * sin(5 * d$a) / 2))
  counts <- gp(count ~ z, d, ~ a, svc(~ z, exponential(0.3, 0.5)), family = poisson(), estimate = "none")
  near <- update(counts, method = "vecchia", neighbours = 59)
  expect_equal(as.numeric(logLik(near)), as.numeric(logLik(counts)), tolerance = 1e-5)
  d$g <- rep(c("u", "v"), 30)
  grouped <- gp(y ~ z, d, ~ a + b, svc(~ z, exponential(1, 0.5)) + nugget(0.1), group = ~ g, estimate = "none")
  K <- k(d, 0.5) * tcrossprod(d$z) * outer(d$g, d$g, "==") + diag(0.1, 60)
  X <- cbind(1, d$z)
  beta <- solve(crossprod(X, solve(K, X)), crossprod(X, solve(K, d$y)))
  expect_equal(unname(coef(grouped)), drop(beta), tolerance = 1e-8)
  draws <- simulate(grouped, 2000, seed = 1, newdata = d[1:2, ], conditional = FALSE)
  expect_equal(unname(stats::var(draws[1, ])) / d$z[[1]]^2, 1, tolerance = 0.15)
})

test_that("formulas and covariances that svc() does not support are refused", {
  withr::local_seed(5)
  d <- transform(svc_case(20), f = rep(letters[1:4], 5))
  expect_snapshot(error = TRUE, {
    svc(~ 1)
    svc(y ~ z)
    svc(~ z, 2)
    svc(~ z, matern() + nugget())
    gp(y ~ z, d, ~ a, svc(~ f))
    gp(y ~ z, d, ~ a, svc(~ missing_variable))
  })
  fit <- gp(y ~ z, d, ~ a, svc(~ z, matern(3/2, 1, 0.3)) + nugget(0.1), estimate = "none")
  expect_error(predict(fit, d["a"]), class = "kernops_input_error")
})
