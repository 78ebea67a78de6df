# Panels of effects: means and bands, against mgcv with the same penalties and against dense matrices.

withr::local_pdf(NULL)
effects_of_fit <- \(fit, level = 0.95) kernops:::panels_of(fit, "effects", NULL, level, TRUE, NULL, list())
half_width <- \(table, level = 0.95) (table$upr - table$lwr) / 2 / qnorm((1 + level) / 2)
case <- withr::with_seed(5, {
  d <- data.frame(x = runif(120), v = runif(120), h = factor(sample(c("a", "b"), 120, TRUE)),
                  day = as.Date("2024-03-01") + sample(0:9, 120, TRUE), site = sample(letters[1:5], 120, TRUE))
  transform(d, y = sin(6 * x) + v + (site == "b") + rnorm(120, sd = 0.2))
})
noise <- nugget(0.04, fixed = "variance")

test_that("curves and surfaces of smooths agree with mgcv", {
  skip_if_not_installed("mgcv")
  terms <- \(new) predict(gam, transform(new, h = case$h[[1]]), type = "terms", se.fit = TRUE)
  alone <- gp(y ~ h, case, covariance = smooth_effect(~ s(x), 2) + noise, estimate = "none")
  gam <- mgcv::gam(y ~ h + s(x), data = case, scale = 0.04, sp = 0.04 / 2)
  curve <- effects_of_fit(alone, 0.9)[[1]]$curves
  expect_equal(range(curve$x), range(case$x))
  theirs <- terms(data.frame(x = curve$x, v = 0))
  expect_equal(curve$fit, unname(theirs$fit[, "s(x)"]), tolerance = 1e-6)
  expect_equal(half_width(curve, 0.9), unname(theirs$se.fit[, "s(x)"]), tolerance = 1e-6)
  surface <- gp(y ~ h, case, covariance = smooth_effect(~ te(x, v, k = 4), c(0.5, 1)) + noise, estimate = "none")
  gam <- mgcv::gam(y ~ h + te(x, v, k = 4), data = case, scale = 0.04, sp = 0.04 / c(0.5, 1))
  panels <- effects_of_fit(surface)
  expect_identical(vapply(panels, `[[`, "", "title"), c("te(x,v)", "Standard errors of te(x,v)"))
  theirs <- terms(expand.grid(x = panels[[1]]$axes[[1]], v = panels[[1]]$axes[[2]]))
  shown <- !is.na(panels[[1]]$z)
  expect_gt(mean(shown), 0.8)
  expect_equal(panels[[1]]$z[shown], unname(theirs$fit[, "te(x,v)"])[shown], tolerance = 1e-6)
  expect_equal(panels[[2]]$z[shown], unname(theirs$se.fit[, "te(x,v)"])[shown], tolerance = 1e-5)
})

test_that("each level of a factor has a curve of its smooth", {
  skip_if_not_installed("mgcv")
  by <- gp(y ~ h + s(x, by = h), case, covariance = noise)
  v <- coef(by, "covariance")
  gam <- mgcv::gam(y ~ h + s(x, by = h), data = case, scale = 0.04, sp = unname(0.04 / v[grepl("^s", names(v))]))
  panels <- effects_of_fit(by)
  for (k in 1:2) {
    curve <- panels[[k]]$curves
    expect_equal(range(curve$x), range(case$x[case$h == c("a", "b")[[k]]]))
    theirs <- predict(gam, data.frame(x = curve$x, h = c("a", "b")[[k]]), type = "terms", se.fit = TRUE)
    expect_equal(curve$fit, unname(theirs$fit[, 1 + k]), tolerance = 1e-5)
    expect_equal(half_width(curve), unname(theirs$se.fit[, 1 + k]), tolerance = 1e-4)
  }
  random <- gp(y ~ 1, case, covariance = smooth_effect(~ s(x, h, bs = "fs"), c(1, 1, 1)) + noise, estimate = "none")
  curve <- effects_of_fit(random)[[1]]$curves
  expect_identical(unique(curve$along), c("a", "b"))
  new <- data.frame(x = curve$x, h = curve$along)
  expect_equal(curve$fit, predict(random, new, terms = "s(x,h)"), ignore_attr = TRUE)
  expect_identical(plot(random, "effects"), random)
})

# The mean and standard error of effects given the observations y. `prior` is the covariance of the effects, `cross` the
# covariance of effects and observations, and K the covariance of the observations.
dense_effects <- function(prior, cross, K, y) {
  X <- matrix(1, length(y))
  P <- solve(K) - solve(K, X) %*% solve(crossprod(X, solve(K, X)), crossprod(X, solve(K)))
  list(fit = drop(cross %*% P %*% y), se = sqrt(diag(prior - cross %*% P %*% t(cross))))
}

test_that("effects of levels and times agree with dense matrices, and axes of dates are drawn", {
  level <- outer(case$site, letters[1:5], "==") * 1
  day <- as.numeric(case$day)
  days <- sort(unique(day))
  of_time <- \(a, b) 0.3 * exp(-abs(outer(a, b, "-")) / 4)
  K <- 0.7 * tcrossprod(level) + of_time(day, day) + diag(0.04, 120)
  fit <- gp(y ~ 1, case, estimate = "none",
            covariance = random_effect(~ 1 | site, 0.7) + ar1(~ day, 0.3, 4) + noise)
  panels <- effects_of_fit(fit)
  site <- dense_effects(diag(0.7, 5), 0.7 * t(level), K, case$y)
  expect_identical(panels[[1]]$table$level, letters[1:5])
  expect_equal(panels[[1]]$table$fit, site$fit, tolerance = 1e-8)
  expect_equal(half_width(panels[[1]]$table), site$se, tolerance = 1e-8)
  time <- dense_effects(of_time(days, days), of_time(days, day), K, case$y)
  expect_identical(panels[[2]]$curves$x, .Date(days))
  expect_equal(panels[[2]]$curves$fit, time$fit, tolerance = 1e-8)
  expect_equal(half_width(panels[[2]]$curves), time$se, tolerance = 1e-8)
})

test_that("each correlated coefficient and each variable has a panel", {
  slopes <- gp(y ~ x, case, estimate = "none",
               covariance = random_effect(~ x | site, c(0.7, 0.4), correlation = 0.3) + noise)
  panels <- effects_of_fit(slopes)
  expect_identical(vapply(panels, `[[`, "", "title"), c("(x | site): (Intercept)", "(x | site): x"))
  effects <- ranef(slopes, se.fit = TRUE)$site
  expect_equal(panels[[2]]$table$fit, effects$x)
  expect_equal(half_width(panels[[2]]$table), effects$x.se.fit)
  both <- gp(cbind(y, v) ~ 1 + (1 | site), case, ~ x, method = "exact",
             covariance = lmc(matern(3/2, range = 0.3), nugget(), sills = list(diag(2), diag(0.1, 2))))
  expect_identical(vapply(effects_of_fit(both), `[[`, "", "title"), c("y:(1 | site)", "v:(1 | site)"))
})

test_that("texts of effects are legible, also for many levels, for long names, and in ggplot2", {
  skip_if_not_installed("svglite")
  skip_if_not_installed("mgcv")
  many <- withr::with_seed(6, transform(case, site = paste("a site with a long name", sample(30, 120, TRUE))))
  fit <- gp(y ~ s(x, h, bs = "fs") + te(x, v, k = 4) + (1 | site), many,
            covariance = ar1(~ day, 0.3, 4, fixed = c("variance", "range")) + noise)
  boxes <- expect_legible(\() plot(fit, "effects"), 10, 8)
  expect_true(all(c("s(x,h)", "te(x,v)", "(1 | site)", "ar1(day)") %in% boxes$text))
  skip_if_not_installed("ggplot2")
  drawn <- ggplot2::autoplot(fit, "effects")
  expect_legible(\() print(drawn), 14, 11)
  expect_equal(drawn[[2]]$data$value, Filter(\(z) !is.na(z), as.vector(effects_of_fit(fit)[[2]]$z)))
})
