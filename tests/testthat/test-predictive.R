# The contract of predictive distributions in R/predictive.R, tested by the same code for all distributions. The oracles
# are numerical integrals of the distribution functions, and draws.

package <- asNamespace("kernops")
in_package <- function(f) `environment<-`(f, package)
mean_at <- in_package(function(x) mean(x))
quantile_at <- in_package(function(x, p) quantile(x, p))

new <- list(mean = c(-0.4, 0.3, 1.1), variance = c(0.2, 0.5, 0.05), draws = 1500)
other <- list(mean = c(0, 0.5, 0.2), variance = c(0.1, 0.3, 0.4), draws = 3500)
normal_at <- \(x) package$predictive_normal(x$mean, x$variance)
fit_of <- \(family, ...) list(family = package$as_family(family), phi = c(...), model = list())
transformed_to <- \(scale) \(x) package$predictive_transformed(normal_at(x), scale)
observed_of <- \(...) {
  fit <- fit_of(...)
  \(x) package$predictive_observation(normal_at(x), fit)
}
sampled_at <- function(x) {
  draws <- withr::with_seed(1, matrix(rgamma(3 * x$draws, exp(x$mean)), 3))
  package$predictive_sample(rowMeans(draws), apply(draws, 1, \(row) mean((row - mean(row))^2)), draws)
}
kinds <- list(
  normal = normal_at,
  log = transformed_to(package$boxcox_scale(0)), root = transformed_to(package$boxcox_scale(0.5)),
  shifted = \(x) transformed_to(package$boxcox_scale(1))(replace(x, "mean", list(x$mean + 4))),
  rate = transformed_to(package$link_scale(fit_of(poisson()))),
  probability = transformed_to(package$link_scale(fit_of(binomial("cloglog")))),
  location = transformed_to(package$link_scale(fit_of(package$student()))),
  count = observed_of(poisson()), overdispersed = observed_of(package$negative_binomial(), theta = 3),
  presence = observed_of(binomial()), size = observed_of(Gamma("log"), shape = 4),
  outlying = observed_of(package$student(), df = 7, scale = 0.4),
  sample = sampled_at
)
mixtures <- lapply(kinds, \(kind) \() package$predictive_mixture(list(kind(new), kind(other)), c(0.3, 0.7)))
names(mixtures) <- paste("mixture of", names(kinds))
predictives <- c(lapply(kinds, \(kind) \() kind(new)), mixtures)
discrete <- grepl("count|overdispersed|presence", names(predictives))

each_predictive <- function(body) {
  for (k in seq_along(predictives)) body(predictives[[k]](), names(predictives)[[k]], discrete[[k]])
}

test_that("quantiles invert the distribution function", {
  each_predictive(function(x, name, discrete) {
    for (p in list(0.05, 0.5, c(0.9, 0.2, 0.6))) {
      q <- quantile_at(x, p)
      expect_length(q, 3)
      at <- package$cdf(x, q)
      if (discrete) {
        expect_identical(q, round(q), info = name)
        expect_true(all(at >= p & package$cdf(x, q - 1) < p), info = name)
      } else {
        expect_equal(at, rep_len(p, 3), tolerance = if (grepl("sample", name)) 1e-3 else 1e-8, info = name)
      }
      expect_equal(package$cdf(x, q, lower = FALSE), 1 - at, tolerance = 1e-10, info = name)
    }
  })
})

# The mean and the variance of the k-th number, from its distribution function on a grid by the midpoint rule.
moments_of <- function(x, k, discrete) {
  ends <- c(quantile_at(x, 1e-7)[[k]], quantile_at(x, 1 - 1e-7)[[k]])
  if (discrete) ends <- ends + c(-1, 1)
  step <- if (discrete) 1 else diff(ends) / 3000
  at <- seq(ends[[1]] + step / 2, ends[[2]], by = step)
  below <- vapply(at, \(q) package$cdf(x, q)[[k]], 0)
  mean <- ends[[2]] - step * sum(below)
  c(mean, (ends[[2]] - mean)^2 - step * sum(2 * (at - mean) * below))
}

test_that("means and variances agree with the distribution function", {
  each_predictive(function(x, name, discrete) {
    by_cdf <- moments_of(x, 2, discrete)
    expect_equal(mean_at(x)[[2]], by_cdf[[1]], tolerance = 2e-3, info = name)
    expect_equal(package$variance(x)[[2]], by_cdf[[2]], tolerance = 1e-2, info = name)
    expect_equal(package$predictor(x), mean_at(x), info = name)
  })
})

test_that("each predictive distribution has a row of draws, with the mean and variance of the distribution", {
  each_predictive(function(x, name, discrete) {
    draws <- withr::with_seed(2, package$draw(x, 1000))
    expect_identical(dim(draws), c(3L, 1000L), info = name)
    z <- (rowMeans(draws) - mean_at(x)) / sqrt(package$variance(x) / 1000)
    expect_lt(max(abs(z)), 4.5, label = name)
    expect_equal(apply(draws, 1, var), package$variance(x), tolerance = 0.25, info = name)
  })
})

test_that("a normal predictive agrees with pnorm() and qnorm()", {
  x <- normal_at(new)
  sd <- sqrt(new$variance)
  expect_identical(mean_at(x), new$mean)
  expect_identical(package$variance(x), new$variance)
  expect_equal(quantile_at(x, 0.3), qnorm(0.3, new$mean, sd))
  expect_equal(package$cdf(x, 0.2), pnorm(0.2, new$mean, sd))
  expect_equal(package$cdf(x, 9, lower = FALSE), pnorm(9, new$mean, sd, lower.tail = FALSE))
})

test_that("predictions of responses include a nugget, and means and quantiles given the field do not", {
  fit <- c(fit_of(poisson())[1:2], list(model = list(nugget = 1), theta = 0.3))
  x <- package$predictive_transformed(normal_at(new), package$link_scale(fit))
  expect_equal(package$predictor(x), exp(new$mean + (new$variance + 0.3) / 2))
  expect_equal(mean_at(x), exp(new$mean + new$variance / 2))
  expect_equal(quantile_at(x, 0.9), qlnorm(0.9, new$mean, sqrt(new$variance)))
})

test_that("the correction for an estimated trend changes only the mean of a transformed response", {
  x <- package$predictive_transformed(normal_at(new), package$boxcox_scale(0), c(0, 0.1, -0.1))
  expect_equal(mean_at(x), exp(new$mean + new$variance / 2 - c(0, 0.1, -0.1)))
  expect_equal(package$variance(x), exp(2 * new$mean + new$variance) * expm1(new$variance))
})

test_that("columns are named by their levels, whatever the options of R", {
  withr::local_options(digits = 2, OutDec = ",")
  request <- list(se.fit = TRUE, interval = "confidence", level = 0.9, probs = c(0.025, 1 / 3), above = -1.5)
  table <- package$predictive_columns(normal_at(new), request)
  expect_named(table, c("fit", "se.fit", "lwr", "upr", "q0.025", "q0.3333333", "above-1.5"))
  expect_equal(table$upr, quantile_at(normal_at(new), 0.95))
  expect_equal(table[["above-1.5"]], 1 - package$cdf(normal_at(new), -1.5))
})
