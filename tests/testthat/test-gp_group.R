# Replicates, gp(group = ), compared with a dense matrix for each group in plain R.

days <- local({
  withr::local_seed(31)
  transform(smooth_case(60), day = sample(c("mon", "tue", "wed", "thu"), 60, TRUE), y = 3 * w + rnorm(60))
})
fresh <- data.frame(a = c(0.2, 0.7, 0.4, 0.4), b = c(0.3, 0.6, 0.1, 0.1), w = c(0, 1, 2, 2),
                    day = c("tue", "mon", "sun", "tue"))
within_days <- function(d, e) {
  h <- sqrt(3) * sqrt(outer(d$a, e$a, `-`)^2 + outer(d$b, e$b, `-`)^2) / 0.4
  1.3 * (1 + h) * exp(-h) * outer(as.character(d$day), as.character(e$day), `==`)
}
fit_days <- function(formula = y ~ w, ...) {
  do.call("gp", list(formula, quote(days), ~ a + b, given(), group = ~ day, estimate = "none", ...))
}

test_that("with a known trend, the log-likelihood is the sum of the log-likelihoods of the groups", {
  fit <- fit_days(known = list(beta = c(0, 3)))
  each <- vapply(split(days, days$day), \(d) {
    oracle_likelihood(covariance_of(d[c("a", "b")]), d$y - 3 * d$w, matrix(0, nrow(d), 0))$value
  }, 0)
  expect_equal(fit$loglik, -sum(each) / 2, tolerance = 1e-12)
  expect_length(kernops:::factor_of(fit), 4)
})

test_that("likelihood, gradient and kriging agree with dense algebra, by each method", {
  K <- within_days(days, days) + diag(0.05, 60)
  X <- model.matrix(y ~ w, days)
  k0 <- within_days(days, fresh)
  expected <- oracle_kriging(K, k0, rep(1.3, 4), days$y, X, cbind(1, fresh$w))
  for (method in c("exact", "vecchia", "iterative")) {
    fit <- fit_days(method = method, neighbours = 59, cg_tol = 1e-10)
    predictions <- predict(fit, fresh, se.fit = TRUE, interval = "confidence")
    expect_close(matrix(predictions$fit), expected$mean, tolerance = 1e-8, info = method)
    expect_close(matrix(predictions$se.fit), sqrt(expected$variance), tolerance = 1e-7, info = method)
    cov <- predict(fit, fresh, cov = TRUE)$cov
    expect_equal(diag(cov), expected$variance, tolerance = 1e-7, ignore_attr = TRUE)
    if (method == "iterative") next
    expect_equal(fit$loglik, -oracle_likelihood(K, days$y, X)$value / 2, tolerance = 1e-10)
    for (reml in c(TRUE, FALSE)) {
      how <- c(list(method = method, reml = reml), fit$how[-(1:2)])
      expect_profile_slope(kernops:::likelihood_for(fit$data, fit$model, how), unname(fit$theta))
    }
  }
  expect_length(predict(fit_days(), fresh[0, ]), 0)
  unseen <- predict(fit_days(), fresh[3, ], type = "terms")
  expect_equal(unseen$process, 0)
})

test_that("the neighbours of a point are in its group", {
  given_trend <- list(known = list(beta = c(0, 3)), method = "vecchia", neighbours = 4, ordering = "coordinate")
  fit <- do.call(fit_days, given_trend)
  each <- lapply(split(days, days$day), \(d) {
    do.call(gp, c(list(y ~ w, d, ~ a + b, given(), estimate = "none"), given_trend))
  })
  expect_equal(fit$loglik, sum(vapply(each, \(fit) fit$loglik, 0)), tolerance = 1e-12)
  at <- \(fit) predict(fit, fresh[1, ], se.fit = TRUE, interval = "confidence", control = gp_control(neighbours = 6))
  expect_equal(at(fit), at(each$tue), tolerance = 1e-10)
})

test_that("leave-one-out, folds, blocks and local kriging stay within groups", {
  fit <- fit_days()
  K <- within_days(days, days) + diag(0.05, 60)
  X <- model.matrix(y ~ w, days)
  left <- sapply(1:60, \(i) {
    one <- oracle_kriging(K[-i, -i], K[-i, i, drop = FALSE], 1.35, days$y[-i], X[-i, ], X[i, , drop = FALSE])
    c(one$mean, sqrt(one$variance))
  })
  expect_close(t(gp_cv(fit)[c("fit", "se.fit")]), left, tolerance = 1e-9)
  expect_close(t(gp_cv(fit, folds = 1:60)[c("fit", "se.fit")]), left, tolerance = 1e-9)
  expect_close(t(gp_cv(update(fit, method = "vecchia", neighbours = 59))[c("fit", "se.fit")]), left, tolerance = 1e-8)

  tuesday <- days[days$day == "tue", ]
  near <- order((tuesday$a - 0.2)^2 + (tuesday$b - 0.3)^2)[1:7]
  expected <- oracle_kriging(covariance_of(tuesday[near, c("a", "b")]), within_days(tuesday[near, ], fresh[1, ]), 1.3,
                             tuesday$y[near], cbind(1, tuesday$w[near]), cbind(1, 0))
  local <- predict(fit, fresh[1, ], nmax = 7, se.fit = TRUE, interval = "confidence")
  expect_equal(c(local$fit, local$se.fit), c(expected$mean, sqrt(expected$variance)), tolerance = 1e-9)
  alone <- gp(y ~ w, tuesday, ~ a + b, given(), estimate = "none", known = list(beta = c(0, 3)))
  both <- fit_days(known = list(beta = c(0, 3)))
  block <- \(fit) {
    predict(fit, fresh[c(1, 4), ], block = c(0.1, 0.2), se.fit = TRUE, interval = "confidence", cov = TRUE)
  }
  expect_equal(block(both), block(alone), tolerance = 1e-9)
})

test_that("draws of different groups are independent, and draws within a group agree with draws without groups", {
  fit <- fit_days(known = list(beta = c(0, 3)))
  for (fit in list(fit, update(fit, method = "vecchia"), update(fit, exact_limit = 1, method = "exact"))) {
    draws <- simulate(fit, 4000, seed = 1, newdata = fresh, conditional = FALSE) - 3 * fresh$w
    expect_equal(cov(t(draws)), within_days(fresh, fresh), tolerance = 0.1, ignore_attr = TRUE)
  }
  given <- simulate(fit_days(), 2000, seed = 1, newdata = fresh)
  expect_equal(rowMeans(given), predict(fit_days(), fresh), tolerance = 0.05)
})

test_that("estimates agree with the joint likelihood of separate fits, whatever the names of the groups", {
  withr::local_seed(5)
  d <- data.frame(x = rep(seq(0, 1, length.out = 25), 8), site = rep(1:8, each = 25))
  d$y <- unlist(lapply(1:8, \(k) t(chol(exp(-as.matrix(dist(d$x[1:25])) / 0.3) + diag(0.1, 25))) %*% rnorm(25)))
  value <- function(p) {
    K <- exp(p[1]) * exp(-as.matrix(dist(d$x[1:25])) / exp(p[2])) + diag(exp(p[3]), 25)
    root <- chol(K)
    white <- sapply(split(d$y, d$site), \(y) backsolve(root, y, transpose = TRUE))
    8 * sum(log(diag(root))) + sum(white^2) / 2 + 100 * log(2 * pi)
  }
  best <- optim(c(0, -1, -2), value, method = "BFGS", control = list(reltol = 1e-14))
  fits <- list(gp(y ~ 0, d, ~ x, exponential() + nugget(), group = ~ site),
               gp(y ~ 0, d, ~ x, exponential() + nugget(), group = site),
               gp(y ~ 0, d, ~ x, exponential() + nugget(), group = "site", method = "vecchia", neighbours = 24))
  for (fit in fits) {
    expect_equal(fit$loglik, -best$value, tolerance = 1e-7)
    expect_equal(unname(coef(fit, "covariance")), exp(best$par), tolerance = 1e-2)
  }
  expect_identical(fits[[1]]$parts$columns[[1]]$levels, paste(1:8))
})

test_that("an intrinsic field needs a constant for each group", {
  fit <- gp(y ~ 0 + day, days, ~ a + b, power_law(1, 1) + nugget(0.1), group = ~ day, estimate = "none")
  own <- days[days$day == "tue", ]
  alone <- gp(y ~ 1, own, ~ a + b, power_law(1, 1) + nugget(0.1), estimate = "none")
  both <- lapply(list(fit, alone), predict, fresh[1, ], se.fit = TRUE, interval = "confidence")
  expect_equal(both[[1]], both[[2]], tolerance = 1e-9)
})

test_that("plots, tables and saved fits contain the groups", {
  fit <- fit_days()
  expect_output(print(fit), "4 (day), independent fields", fixed = TRUE)
  expect_output(print(summary(fit)), "Groups: 4", fixed = TRUE)
  withr::local_pdf(NULL)
  expect_no_error(plot(fit, which = "variogram"))
  expect_identical(sum(kernops:::variogram_of(fit)$empirical$np), sum(vapply(split(days, days$day), \(d) {
    spans <- c(diff(range(days$a)), diff(range(days$b)))
    sum(dist(d[c("a", "b")]) <= sqrt(sum(spans^2)) / 3)
  }, 0)))
  file <- withr::local_tempfile()
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file), fresh), predict(fit, fresh))
  again <- update(fit, subset = day != "wed")
  expect_identical(again$parts$columns[[1]]$levels, c("mon", "thu", "tue"))
  expect_identical(sum(is.na(predict(fit, transform(fresh, day = c(NA, "mon", "mon", "mon"))))), 1L)
})

test_mistakes("kernops_error", alist(
  `group that is not there` = gp(y ~ 1, days, ~ a + b, group = ~ week),
  `group with a response` = gp(y ~ 1, days, ~ a + b, group = y ~ day),
  `group of another length` = gp(y ~ 1, days, ~ a + b, group = 1:3 + nrow(days)),
  `group that is missing in newdata` = predict(fit_days(), fresh[c("a", "b", "w")]),
  `intrinsic field of groups with one constant` = gp(y ~ 1, days, ~ a + b, power_law() + nugget(), group = ~ day),
  `group of several responses` = gp(cbind(y, z) ~ 1, days, ~ a + b, group = ~ day),
  `neighbours of a fit with groups` = gp_neighbours(days[c("a", "b")], covariance = fit_days())
))
