# Terms whose variance is estimated as zero.

vanishing_case <- function(n) {
  d <- data.frame(a = runif(n), b = runif(n), w = runif(n), g = rep(letters[1:6], length.out = n))
  d$z <- drop(rnorm(n) %*% chol(exp(-as.matrix(dist(d[c("a", "b")])) / 0.3))) + rnorm(n, sd = 0.3)
  d$z <- d$z - ave(d$z, d$g)
  transform(d, count = rpois(n, exp(1 + z)))
}

test_that("a warning names a term without effect, and the other standard errors do not change", {
  withr::local_seed(3)
  d <- vanishing_case(120)
  expect_message(fit <- gp(count ~ 1 + (1 | g), d, ~ a + b, exponential(), family = poisson()), "(1 | g)", fixed = TRUE,
                 class = "kernops_vanished")
  v <- suppressWarnings(vcov(fit, "covariance"))
  expect_identical(rownames(v)[is.na(diag(v))], "(1 | g).variance")
  d$day <- match(d$g, letters)
  d$noise <- ave(rnorm(120), d$g, FUN = \(x) x - mean(x))
  expect_message(gp(noise ~ 1, d, covariance = random_walk(~ day) + nugget()), "random_walk(day)", fixed = TRUE,
                 class = "kernops_vanished")
  skip_if_not_installed("mgcv")
  d$line <- d$w + rnorm(120, sd = 0.1)
  expect_message(gp(line ~ s(w), d, covariance = nugget()), "straight line", class = "kernops_vanished")
  expect_message(gp(noise ~ s(w, bs = "ts"), d, covariance = nugget()), "no effect", class = "kernops_vanished")
})

test_that("no warning names terms with an effect, or the only term", {
  withr::local_seed(4)
  d <- vanishing_case(120)
  d$z <- d$z + match(d$g, letters)
  expect_no_message(gp(z ~ 1 + (1 | g), d, ~ a + b, exponential() + nugget()))
  expect_no_message(gp(z ~ 1, d, ~ a + b, exponential(1, 0.3), estimate = "REML"))
})

test_that("no warning names an effect if the variance of the field is far above that of the response", {
  withr::local_seed(2)
  d <- data.frame(a = runif(120), b = runif(120), g = sample(1:8, 120, TRUE))
  d$z <- 3 * d$a + d$b^2 + 0.03 * rnorm(8)[d$g] + rnorm(120, sd = 0.005)
  expect_no_message(fit <- gp(z ~ 1 + (1 | g), d, ~ a + b, squared_exponential() + nugget()))
  expect_gt(fit$theta[["squared_exponential.variance"]], 4e4 * fit$theta[["(1 | g).variance"]])
})

test_that("vanished variances of user-defined covariances are found in any unit of the response", {
  withr::local_seed(1)
  d <- data.frame(a = runif(120), g = rep(letters[1:6], 20))
  d$z <- 1e-4 * (sin(6 * d$a) + rnorm(6)[match(d$g, letters)] + rnorm(120, sd = 0.2))
  own <- covariance("s * Exp(-SqDist(x, y) / l)", list(s = 1, l = 0.1))
  expect_no_message(gp(z ~ 1 + (1 | g), d, ~ a, own + nugget()))
})
