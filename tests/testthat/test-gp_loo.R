# Packages loo and posterior: leave-one-out densities, against refits and formulas in plain R.

d <- withr::with_seed(1, {
  d <- data.frame(x = sort(runif(30)))
  transform(d, y = sin(6 * x) + rnorm(30, sd = 0.3), k = rpois(30, exp(1 + sin(6 * x))))
})
field <- matern(3/2, 1, 0.3) + nugget(0.1)

test_that("loo() has the density of each observation given the others", {
  skip_if_not_installed("loo")
  fit <- gp(y ~ 1, d, ~ x, field, estimate = "none")
  one_by_one <- vapply(1:30, function(i) {
    without <- gp(y ~ 1, d[-i, ], ~ x, field, estimate = "none")
    p <- predict(without, d[i, ], se.fit = TRUE, interval = "prediction")
    dnorm(d$y[[i]], p$fit, p$se.fit, log = TRUE)
  }, 0)
  result <- loo::loo(fit)
  expect_s3_class(result, "loo")
  expect_equal(unname(result$pointwise[, 1]), one_by_one, tolerance = 1e-8)
  counts <- gp(k ~ 1, d, ~ x, matern(3/2, 1, 0.3), family = poisson(), estimate = "none")
  expect_equal(unname(loo::loo(counts)$pointwise[, 1]), gp_cv(counts)$log_density)
  compared <- loo::loo_compare(list(a = result, b = loo::loo(update(fit, covariance = nugget(1)))))
  expect_identical(rownames(compared), c("a", "b"))
  expect_error(loo::loo(fit, typo = 1), class = "kernops_input_error")
})

test_that("loo() is on the scale of the response if the response is transformed", {
  skip_if_not_installed("loo")
  logged <- gp(y ~ 1, d, ~ x, field, estimate = "none")
  fit <- gp(exp(y) ~ 1, d, ~ x, field, estimate = "none", transform = "log")
  expect_equal(loo::loo(fit)$pointwise[, 1], loo::loo(logged)$pointwise[, 1] - d$y)
})

test_that("posterior draws have leave-one-out densities, and are converted to the formats of package posterior", {
  prior <- list(range = pc_range(0.1), variance = pc_sd(3), nugget = pc_sd(1))
  draws <- suppressWarnings(gp_posterior(gp(y ~ 1, d, ~ x, matern(3/2) + nugget(), prior = prior), 40))
  if (requireNamespace("loo", quietly = TRUE)) {
    result <- suppressWarnings(loo::loo(draws, cores = 1))
    density <- t(apply(as.matrix(as.data.frame(draws)), 1, function(theta) {
      at <- matern(3/2, theta[["matern.variance"]], theta[["matern.range"]]) + nugget(theta[["nugget.variance"]])
      loo::loo(gp(y ~ 1, d, ~ x, at, estimate = "none"))$pointwise[, 1]
    }))
    expected <- suppressWarnings(loo::loo(density, r_eff = rep(1, 30), cores = 1))
    expect_equal(result$pointwise, expected$pointwise, tolerance = 1e-6)
  }
  skip_if_not_installed("posterior")
  table <- posterior::as_draws(draws)
  expect_s3_class(table, "draws_df")
  expect_identical(posterior::variables(table), names(as.data.frame(draws)))
  expect_equal(as.numeric(posterior::summarise_draws(table, "mean")$mean), unname(colMeans(as.data.frame(draws))))
  expect_equal(unclass(posterior::as_draws_matrix(draws))[, 1], as.data.frame(draws)[[1]], ignore_attr = TRUE)
})

test_that("as_draws() of a fit recommends gp_posterior()", {
  skip_if_not_installed("posterior")
  fit <- gp(y ~ 1, d, ~ x, field, estimate = "none")
  error <- expect_error(posterior::as_draws(fit), class = "kernops_input_error")
  expect_match(conditionMessage(error), "as_draws(gp_posterior(fit))", fixed = TRUE)
  expect_error(posterior::as_draws_df(fit), class = "kernops_input_error")
})
