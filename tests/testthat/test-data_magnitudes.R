# Units and offsets near the limits of double precision. The oracle is the same fit in ordinary units.

withr::with_seed(1, {
  plain <- data.frame(x = runif(50), z = runif(50), g = factor(rep(1:2, 25)))
  plain$y <- sin(5 * plain$x) + rnorm(50, sd = 0.2)
  plain$k <- rpois(50, exp(plain$y))
})
in_unit <- \(d, unit) transform(d, x = x * unit, z = z * unit)

test_that("fits, predictions and parameters agree for coordinates in any unit", {
  new <- plain[1:5, ]
  new[c("x", "z")] <- new[c("x", "z")] + 0.02
  usual <- gp(y ~ 1, plain, ~ x + z)
  for (unit in c(1e-150, 1e-40, 1e40, 1e150)) {
    fit <- gp(y ~ 1, in_unit(plain, unit), ~ x + z)
    there <- in_unit(new, unit)
    expect_equal(as.numeric(logLik(fit)), as.numeric(logLik(usual)), tolerance = 1e-9)
    expect_equal(coef(fit, "covariance") / c(1, unit, 1), coef(usual, "covariance"), tolerance = 1e-6)
    expect_equal(unname(fit$covariance$parts[[1]]$parameters$range / unit), unname(usual$theta[["matern.range"]]),
                 tolerance = 1e-6)
    both <- \(f) expect_equal(f(fit, there, unit), f(usual, new, 1), tolerance = 1e-6)
    both(\(fit, new, unit) predict(fit, new, se.fit = TRUE, interval = "confidence"))
    both(\(fit, new, unit) predict(fit, new, block = c(0.1, 0.2) * unit))
    both(\(fit, new, unit) predict(fit, new, maxdist = 0.3 * unit))
    both(\(fit, new, unit) simulate(fit, 2, seed = 1, newdata = new))
    both(\(fit, new, unit) confint(fit, "matern.range") / unit)
    both(\(fit, new, unit) gp_cv(fit, folds = 5)$fit)
  }
})

test_that("given ranges are in the unit of the coordinates, for every method and with families", {
  tiny <- in_unit(plain, 1e-120)
  value <- \(...) as.numeric(logLik(suppressWarnings(gp(...))))
  known <- \(unit) exponential(1, 0.3 * unit) + nugget(0.05)
  expect_equal(value(y ~ 1, tiny, ~ x + z, known(1e-120), estimate = "none"),
               value(y ~ 1, plain, ~ x + z, known(1), estimate = "none"), tolerance = 1e-9)
  for (method in c("vecchia", "iterative")) {
    expect_equal(value(y ~ 1, tiny, ~ x + z, method = method), value(y ~ 1, plain, ~ x + z, method = method),
                 tolerance = 1e-4)
  }
  counts <- lapply(list(tiny, plain), \(d) gp(k ~ 1, d, ~ x + z, family = poisson()))
  expect_equal(counts[[1]]$loglik, counts[[2]]$loglik, tolerance = 1e-7)
  expect_equal(coef(counts[[1]], "covariance") / c(1, 1e-120), coef(counts[[2]], "covariance"), tolerance = 1e-4)
  ard <- lapply(list(tiny, plain), \(d) suppressWarnings(gp(y ~ 1, d, ~ x + z, matern(5/2, ard = TRUE) +
                                                                      nugget())))
  expect_equal(ard[[1]]$loglik, ard[[2]]$loglik, tolerance = 1e-7)
  wave <- lapply(list(tiny, plain), \(d) gp(y ~ 1, d, ~ x, periodic() + nugget()))
  expect_equal(coef(wave[[1]], "covariance")[[3]] / 1e-120, coef(wave[[2]], "covariance")[[3]], tolerance = 1e-4)
})

test_that("the log-likelihood of a response in another unit agrees with the density", {
  usual <- gp(y ~ z, plain, ~ x)
  for (unit in c(1e-55, 1e-20, 1e-9, 1e20, 1e55)) {
    fit <- gp(I(y * unit) ~ z, plain, ~ x)
    expect_equal(fit$loglik + 50 * log(unit), usual$loglik, tolerance = 1e-6)
    expect_equal(unname(coef(fit)) / unit, unname(coef(usual)), tolerance = 1e-4)
  }
})

test_that("adding a large constant to the response loses only the digits that rounding of the sum loses", {
  new <- plain[1:5, ]
  for (method in c("exact", "vecchia", "iterative")) for (level in c(1e9, -1e12)) {
    far <- transform(plain, y = y + level)
    near <- transform(far, y = y - level) # the response has the same rounding errors as in `far`
    fits <- lapply(list(far, near), \(d) gp(y ~ z, d, ~ x, method = method))
    expect_equal(fits[[1]]$loglik, fits[[2]]$loglik, tolerance = 1e-8)
    expect_equal(coef(fits[[1]])[["z"]], coef(fits[[2]])[["z"]], tolerance = 1e-6)
    expect_lt(max(abs(predict(fits[[1]], new) - level - predict(fits[[2]], new))), 1e-14 * abs(level))
  }
  by_group <- gp(I(y + 1e12) ~ 0 + g, plain, ~ x)
  expect_equal(by_group$loglik, gp(I(y + 1e12 - 1e12) ~ 0 + g, plain, ~ x)$loglik, tolerance = 1e-8)
  expect_equal(unname(coef(by_group)), rep(1e12, 2), tolerance = 1e-10)
})

test_that("a response that the trend fits exactly is an error, despite rounding errors", {
  for (exact in list(3 + 2 * plain$z, 1e12 + 2 * plain$z, 1e-9 * (1 + plain$z))) {
    expect_error(gp(exact ~ z, plain, ~ x), "fitted exactly by the trend", class = "kernops_input_error")
  }
  expect_error(gp(rep(1e15, 50) ~ 1, plain, ~ x), "constant", class = "kernops_input_error")
})

test_mistakes("kernops_input_error", alist(
  `a response of 1e150` = gp(I(y * 1e150) ~ 1, plain, ~ x),
  `a response of 1e-150` = gp(I(y * 1e-150) ~ 1, plain, ~ x),
  `weights of 1e300` = gp(y ~ 1, plain, ~ x, weights = rep(1e300, 50)),
  `a covariate of 1e150` = gp(y ~ I(1e150 * z), plain, ~ x),
  `an offset of 1e150` = gp(y ~ 1 + offset(1e150 * z), plain, ~ x),
  `noise of 1e150` = gp(y ~ 1, plain, ~ x, known = list(noise = 1e150)),
  `a known mean of 1e150` = gp(y ~ 1, plain, ~ x, known = list(beta = 1e150)),
  `one tiny coordinate of two` = gp(y ~ 1, transform(plain, x = x * 1e-150), ~ x + z),
  `a formula at coordinates of 1e-150` = gp(y ~ 1, in_unit(plain, 1e-150), ~ x,
                                            covariance("s * Exp(-Norm2(x - y))", list(s = 1)) + nugget()),
  `a far point` = predict(gp(y ~ 1, plain, ~ x, given(), estimate = "none"), data.frame(x = 1e200)),
  `a variogram of tiny distances` = gp_variogram(y ~ 1, in_unit(plain, 1e-150), coords = ~ x)
))

test_that("the mode of Laplace's approximation is found for large counts", {
  for (size in c(1e6, 1e8, 1e10)) for (method in c("exact", "vecchia")) {
    withr::local_seed(2)
    d <- transform(plain, k = round(size * exp(y)))
    expect_silent(fit <- gp(k ~ 1, d, ~ x + z, exponential(1, 0.5), family = poisson(), method = method,
                            estimate = "none"))
    expect_lt(fit$latent$steps, 20)
    expect_equal(unname(fitted(fit)) / d$k, rep(1, 50), tolerance = 1e-3)
  }
  d <- transform(plain, k = 1e6 + round(1e3 * y))
  expect_no_warning(fit <- gp(k ~ z, d, ~ x, matern(3/2) + nugget(), family = poisson()))
  # logarithms of counts k are nearly normal with variance 1 / k
  expect_equal(as.vector(predict(fit, type = "link")), log(d$k), tolerance = 1e-3)
})
