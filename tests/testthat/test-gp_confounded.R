# Terms that the data of a fit can hardly distinguish.

test_that("summary() names a smooth of a coordinate and a field along this coordinate, and no other terms", {
  skip_if_not_installed("mgcv")
  withr::local_seed(1)
  n <- 80
  d <- data.frame(x = runif(n), y = runif(n), w = runif(n), g = rep(letters[1:8], 10))
  d$z <- sin(5 * d$x) + d$w^2 + rnorm(n, sd = 0.3)
  fit <- gp(z ~ 1, d, ~ x, matern(5/2, 1, 0.5) + smooth_effect(~ s(x), 2) + smooth_effect(~ s(w), 1) +
              random_effect(~ 1 | g, 0.1) + nugget(0.1), estimate = "none")
  table <- kernops:::confounded_terms(fit, worst = 2)
  # the expected correlation, computed from the centred covariance matrices of prediction errors
  rows <- unique(round(seq(1, n, length.out = 50)))
  centre <- diag(50) - 1 / 50
  variation <- \(terms) sum(diag(centre %*% predict(fit, d[rows, ], terms = terms, cov = TRUE)$cov %*% centre))
  one <- variation("matern")
  other <- variation("s(x)")
  expect_equal(table$correlation[table$first == "matern" & table$second == "s(x)"],
               (variation(c("matern", "s(x)")) - one - other) / (2 * sqrt(one * other)), tolerance = 1e-8)
  expect_identical(nrow(table), 6L)
  expect_true(all(table$correlation[-1] > -0.5))
  fixed <- gp(z ~ 1, d, ~ x, matern(5/2, 1, 0.5) + smooth_effect(~ s(x), 2) + nugget(0.1), estimate = "none")
  expect_output(print(summary(fixed)), "Hardly told apart: matern and s(x)", fixed = TRUE)
  expect_identical(nrow(kernops:::confounded_terms(gp(z ~ 1 + (1 | g), d, ~ x + y, exponential() + nugget()))), 0L)
})
