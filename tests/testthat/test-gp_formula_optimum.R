# Optima of covariances that are given by formulas, and of ranges far above the extent of the data. The oracle is a
# dense likelihood in plain R.

# The largest log-likelihood that optim() finds from several starting values s; matrix_of(s) is the covariance matrix.
best_by_optim <- function(y, matrix_of, starts) {
  value <- function(s) {
    root <- tryCatch(chol(matrix_of(s)), error = \(e) NULL)
    if (is.null(root)) return(1e6)
    white <- backsolve(root, cbind(y, 1), transpose = TRUE)
    rest <- sum(qr.resid(qr(white[, 2, drop = FALSE]), white[, 1])^2)
    min(1e6, length(y) / 2 * log(2 * pi) + sum(log(diag(root))) + rest / 2)
  }
  ends <- lapply(starts, \(s) optim(optim(s, value)$par, value, method = "BFGS"))
  -min(vapply(ends, `[[`, 0, "value"))
}

drawn <- function(K, noise) drop(rnorm(nrow(K)) %*% chol(K + diag(1e-10, nrow(K)))) + rnorm(nrow(K), sd = sqrt(noise))

test_that("a slope in a formula may have either sign and any unit, whatever its starting value", {
  sd_of_depth <- paste("v * Exp(a * (Elem(x, 2) + Elem(y, 2)) -",
                       "Norm2(Extract(x, 0, 2) - Extract(y, 0, 2)) / r)")
  for (unit in c(1, 1e3, 1e-3)) for (slope in c(-1.5, 1.5)) {
    withr::local_seed(5)
    d <- data.frame(x = runif(100), y = runif(100))
    depth <- sin(4 * d$x) + d$y
    space <- as.matrix(dist(d))
    field <- \(s) exp(s[[1]] + s[[2]] * outer(depth, depth, `+`) - space / exp(s[[3]]))
    truth <- c(0, slope, log(0.3), log(0.01))
    d$z <- drawn(field(truth), 0.01)
    d$depth <- unit * depth
    fit <- gp(z ~ 1, d, ~ x + y + depth,
              covariance(sd_of_depth, list(v = 1, a = 0.1, r = 1), positive = c("v", "r")) + nugget(), maxit = 300)
    best <- best_by_optim(d$z, \(s) field(s) + diag(exp(s[[4]]), 100), list(truth, 0.7 * truth))
    expect_gt(fit$loglik, best - 0.01)
  }
})

test_that("the search from a constant range finds a range that varies in space", {
  range <- \(p) sprintf("Exp(a + b * Elem(%s, 0))", p)
  squares <- sprintf("(Square(%s) + Square(%s))", range("x"), range("y"))
  varying <- sprintf("v * Sqrt(2 * %s * %s / %s) * Exp(-Square(Elem(x, 0) - Elem(y, 0)) / %s)", range("x"), range("y"),
                     squares, squares)
  withr::local_seed(2)
  d <- data.frame(x = runif(120))
  field <- function(s) {
    r <- exp(s[[2]] + s[[3]] * d$x)
    squares <- outer(r^2, r^2, `+`)
    exp(s[[1]]) * sqrt(2 * outer(r, r) / squares) * exp(-outer(d$x, d$x, `-`)^2 / squares)
  }
  truth <- c(log(2), -3, 2, log(0.05))
  d$z <- drawn(field(truth), 0.05)
  fit <- gp(z ~ 1, d, ~ x, covariance(varying, list(v = 1, a = 0, b = 0), positive = "v") + nugget())
  best <- best_by_optim(d$z, \(s) field(s) + diag(exp(s[[4]]), 120), list(truth, c(0, -1, 0, -2)))
  expect_gt(fit$loglik, best - 0.01)
})

test_that("starting values far from the scales of coordinates and covariates are replaced", {
  of_depth <- paste("v * Exp(a * (Elem(x, 2) + Elem(y, 2))) *",
                    "Exp(-Norm2(Extract(x, 0, 2) - Extract(y, 0, 2)) / r)")
  withr::local_seed(1)
  d <- data.frame(x = runif(120), y = runif(120))
  depth <- sin(3 * d$x) + d$y / 2
  space <- as.matrix(dist(d))
  field <- \(s) exp(s[[1]] + s[[2]] * outer(depth, depth, `+`) - space / exp(s[[3]]))
  truth <- c(0, 0.8, log(0.2), log(0.01))
  d$z <- drawn(field(truth), 0.01)
  best <- best_by_optim(d$z, \(s) field(s) + diag(exp(s[[4]]), 120), list(truth, 0.7 * truth))
  fitted <- function(start, unit = 1) {
    d$depth <- unit * depth
    suppressWarnings(gp(z ~ 1, d, ~ x + y + depth, covariance(of_depth, start, positive = c("v", "r")) + nugget()))
  }
  # starting values for which the covariance underflows or overflows, is constant, or is that of noise
  expect_gt(fitted(list(v = 50, a = -1, r = 3), unit = 1000)$loglik, best - 0.01)
  expect_gt(fitted(list(v = 1, a = 1, r = 0.2), unit = 1e5)$loglik, best - 0.01)
  expect_gt(fitted(list(v = 1, a = 0.1, r = 1e7))$loglik, best - 0.01)
  expect_gt(fitted(list(v = 1, a = 0.1, r = 1e-7))$loglik, best - 0.01)
})

test_that("for many observations and a nugget, the search ends where a search from the truth ends", {
  skip_on_cran()
  of_depth <- paste("v * Exp(a * (Elem(x, 2) + Elem(y, 2))) *",
                    "Exp(-Norm2(Extract(x, 0, 2) - Extract(y, 0, 2)) / r)")
  for (seed in c(1, 3)) {
    withr::local_seed(seed)
    d <- data.frame(x = runif(1200), y = runif(1200))
    d$depth <- sin(3 * d$x) + d$y / 2
    d$z <- exp(0.8 * d$depth) * drawn(exp(-as.matrix(dist(d[1:2])) / 0.2), 0) + rnorm(1200, sd = 0.1)
    fitted <- function(v, a, r, noise) {
      suppressWarnings(gp(z ~ 1, d, ~ x + y + depth, covariance(of_depth, list(v = v, a = a, r = r)) + noise,
                          method = "vecchia"))
    }
    expect_gt(fitted(1, 0.1, 0.2, nugget())$loglik, fitted(1, 0.8, 0.2, nugget(0.01))$loglik - 0.1)
  }
})

test_that("the search does not depend on the unit of the response", {
  withr::local_seed(4)
  d <- data.frame(x = runif(150), y = runif(150))
  d$z <- drawn(exp(-as.matrix(dist(d[1:2])) / 0.2), 0.1)
  products <- list(exponential(dims = 1) * exponential(dims = 2) + nugget(),
                   covariance("v * Exp(-Norm2(x - y) / r)", list(v = 1, r = 1)) + nugget())
  for (covariance in products) for (unit in c(1e-12, 1e12)) {
    usual <- gp(z ~ 1, d, ~ x + y, covariance)
    scaled <- gp(I(z * unit) ~ 1, d, ~ x + y, covariance)
    expect_equal(scaled$loglik + 150 * log(unit), usual$loglik, tolerance = 1e-6)
  }
})

test_that("ranges may be far longer than the extent of the data", {
  withr::local_seed(1)
  d <- data.frame(a = runif(80), b = runif(80), c = runif(80))
  noise <- rnorm(80, sd = 0.02)
  along <- function(y, s, correlation) { # s: logarithms of the variance, a range for each coordinate, and the nugget
    h <- as.matrix(dist(as.matrix(d[seq_len(length(s) - 2)]) %*% diag(exp(-s[-c(1, length(s))]), length(s) - 2)))
    exp(s[[1]]) * correlation(h) + diag(exp(s[[length(s)]]), 80)
  }
  matern32 <- \(h) (1 + sqrt(3) * h) * exp(-sqrt(3) * h)
  gaussian <- \(h) exp(-h^2 / 2)
  check <- function(y, fit, correlation) {
    end <- log(unname(fit$theta))
    ranges <- seq(2, length(end) - 1)
    starts <- c(list(end), lapply(c(2, 5), \(far) end + replace(0 * end, ranges, log(far))))
    expect_gt(fit$loglik, best_by_optim(y, \(s) along(y, s, correlation), starts) - 0.02)
  }
  y <- sin(5 * d$a) + cos(4 * d$b) + noise # c has no effect
  check(y, suppressWarnings(gp(y ~ 1, d, ~ a + b + c, matern(3/2, ard = TRUE) + nugget())), matern32)
  y <- sin(6 * d$a) + 3 * d$b + noise # a linear function of b
  check(y, suppressWarnings(gp(y ~ 1, d, ~ a + b, squared_exponential(ard = TRUE) + nugget())), gaussian)
  y <- 2 * d$a + noise # a single range
  check(y, suppressWarnings(gp(y ~ 1, d, ~ a, matern(3/2) + nugget())), matern32)
})

test_that("a warning reports a coordinate without an effect, whose range ends at the bound", {
  withr::local_seed(1)
  d <- data.frame(a = runif(80), b = runif(80))
  d$z <- sin(8 * d$a) + rnorm(80, sd = 0.1)
  expect_warning(fit <- gp(z ~ 1, d, ~ a + b, matern(3/2, ard = TRUE) + nugget()), class = "kernops_at_bound")
  expect_identical(fit$search$at_bound, "matern.range.b")
})
