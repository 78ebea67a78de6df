# Smooths against mgcv, and against dense plain R.

skip_if_not_installed("mgcv")

wavy <- local({
  withr::local_seed(43)
  d <- transform(smooth_case(80), x = runif(80), g = factor(sample(1:6, 80, TRUE)))
  transform(d, y = sin(6 * x) + w * x + rnorm(6, sd = 0.4)[g] + rnorm(80, sd = 0.2))
})
new_wavy <- data.frame(a = c(0.2, 0.7, 0.4), b = c(0.3, 0.6, 0.1), w = c(0.5, 1, -2), x = c(0.1, 0.55, 0.8),
                       g = c(1, 2, 9))

test_that("additive models agree with mgcv::gam()", {
  formulas <- list(v ~ h + s(x, by = h, k = 6), v ~ o + s(x) + s(x, by = o, k = 5),
                   y ~ w + s(x), y ~ s(x, bs = "cr", k = 8) + s(w, bs = "ts"), y ~ s(x, bs = "cc") + s(x, by = w),
                   y ~ s(x, w, k = 12))
  d <- transform(wavy, h = factor(rep_len(c("one", "two", "three"), 80), c("two", "one", "three", "none")))
  d$v <- d$y + ifelse(d$h == "one", sin(9 * d$x), cos(9 * d$x))
  d$o <- factor(d$h == "one", ordered = TRUE)
  new_wavy <- cbind(new_wavy, d[c(1, 2, 3), c("h", "o")])
  d$w[4] <- d$x[9] <- NA
  for (formula in formulas) for (method in c("ML", "REML")) {
    fit <- gp(formula, d, covariance = nugget(), estimate = method, subset = a < 0.95)
    peer <- mgcv::gam(formula, data = d, method = method, subset = a < 0.95)
    gap <- if (method == "REML") as.numeric(determinant(crossprod(model.matrix(fit)))$modulus) / 2 else 0
    expect_equal(fit$loglik - gap, -as.vector(peer$gcv.ubre), tolerance = 1e-6)
    expect_equal(as.vector(fitted(fit)), as.vector(fitted(peer)), tolerance = 1e-3)
    expect_equal(unname(predict(fit, new_wavy)), as.vector(predict(peer, new_wavy)), tolerance = 1e-3)
    if (method == "ML") next
    expect_equal(unname(coef(fit, "covariance")[-1]), unname(peer$sig2 / peer$sp), tolerance = 0.01)
    expect_equal(unname(summary(fit)$edf), as.vector(summary(peer)$edf), tolerance = 1e-3)
  }
})

# The covariance matrix X S^- X' of the random part of a smooth, where X is the design matrix and S is the penalty; and
# the unpenalised columns of the smooth.
smooth_of <- function(smooth, d, e = d) {
  made <- mgcv::smoothCon(smooth, wavy, absorb.cons = TRUE)[[1]]
  S <- svd(made$S[[1]])
  k <- seq_len(made$rank)
  X <- lapply(list(d, e), \(d) mgcv::PredictMat(made, d))
  list(K = X[[1]] %*% S$u[, k] %*% (t(X[[2]] %*% S$u[, k]) / S$d[k]), X = X[[2]] %*% S$u[, -k])
}
given_smooth <- function() {
  matern(3/2, 1.3, 0.4) + smooth_effect(~ s(x), 2) + smooth_effect(~ s(w, bs = "cr", k = 6), 0.1) +
    random_effect(~ 1 | g, 0.7)
}
model_of <- function(e) {
  both <- rbind(wavy[c("a", "b")], e[c("a", "b")])
  parts <- list(smooth_of(mgcv::s(x), wavy, e), smooth_of(mgcv::s(w, bs = "cr", k = 6), wavy, e))
  field <- covariance_of(both, tau = 0)[1:80, 80 + seq_len(nrow(e))]
  list(K = field + 2 * parts[[1]]$K + 0.1 * parts[[2]]$K + 0.7 * outer(as.character(wavy$g), as.character(e$g), `==`),
       X = cbind(1, parts[[1]]$X, parts[[2]]$X))
}
new_variance <- function(e) {
  1.3 + 0.7 + 2 * diag(smooth_of(mgcv::s(x), e)$K) + 0.1 * diag(smooth_of(mgcv::s(w, bs = "cr", k = 6), e)$K)
}

test_that("models with smooths, a field and random effects agree with dense algebra", {
  known <- model_of(wavy)
  K <- known$K + diag(0.05, 80)
  new <- model_of(new_wavy)
  expected <- oracle_kriging(K, new$K, new_variance(new_wavy), wavy$y, known$X, new$X)
  for (method in c("exact", "iterative")) {
    fit <- gp(y ~ 1, wavy, ~ a + b, given_smooth() + nugget(0.05), method, "none", cg_tol = 1e-11)
    at <- predict(fit, new_wavy, se.fit = TRUE, interval = "confidence")
    expect_close(matrix(at$fit), expected$mean, tolerance = 1e-8)
    expect_close(matrix(at$se.fit), sqrt(expected$variance), tolerance = 1e-7)
  }
  fit <- gp(y ~ s(x), wavy, ~ a + b, given_smooth() + nugget(0.05), estimate = "none")
  expect_equal(fit$loglik, -oracle_likelihood(K, wavy$y, known$X)$value / 2, tolerance = 1e-11)
  for (reml in c(TRUE, FALSE)) {
    expect_profile_slope(kernops:::exact_likelihood(fit$data, fit$model, reml), unname(fit$theta))
  }
  one <- oracle_kriging(K[-7, -7], known$K[-7, 7, drop = FALSE], known$K[7, 7] + 0.05, wavy$y[-7], known$X[-7, ],
                        known$X[7, , drop = FALSE])
  expect_equal(unlist(gp_cv(fit)[7, c("fit", "se.fit")]), c(one$mean, sqrt(one$variance)), tolerance = 1e-9,
               ignore_attr = TRUE)
  expect_equal(gp_cv(fit, folds = 1:80)[c("fit", "se.fit")], gp_cv(fit)[c("fit", "se.fit")], tolerance = 1e-9)
})

test_that("draws of smooths have the covariance of the model, also at many points", {
  fit <- gp(y ~ 0, wavy, ~ a + b, smooth_effect(~ s(x, bs = "cc"), 0.1) + exponential(0.5, 0.2) + nugget(0.05),
            estimate = "none")
  K <- 0.1 * smooth_of(mgcv::s(x, bs = "cc"), new_wavy)$K + 0.5 * exp(-as.matrix(dist(new_wavy[c("a", "b")])) / 0.2)
  for (limit in c(1e4, 1)) {
    draws <- simulate(update(fit, exact_limit = limit, method = "exact"), 4000, seed = 1, newdata = new_wavy,
                      conditional = FALSE)
    expect_lt(max(abs(cov(t(draws)) - K)), 0.1 * max(K))
  }
})

test_that("update() and saveRDS() keep smooths", {
  # the field is nearly a plane, so that its range ends at a bound
  fit <- suppressWarnings(gp(y ~ w + s(x) + (1 | g), wavy, ~ a + b, estimate = "REML"), classes = "kernops_at_bound")
  expect_identical(labels(terms(fit)), "w")
  expect_identical(names(coef(fit)), c("(Intercept)", "w", "s(x).1"))
  expect_identical(colnames(model.matrix(fit)), names(coef(fit)))
  without <- suppressWarnings(update(fit, . ~ . - w), classes = "kernops_degenerate")
  expect_identical(formula(without), y ~ s(x) + (1 | g), ignore_formula_env = TRUE)
  again <- update(fit, covariance = fit$covariance, estimate = "none")
  expect_equal(coef(again), coef(fit), tolerance = 1e-6)
  expect_identical(names(coef(again, "covariance")), names(coef(fit, "covariance")))
  file <- withr::local_tempfile()
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file), new_wavy), predict(fit, new_wavy))
  expect_identical(is.na(predict(fit, transform(new_wavy, x = c(0.1, NA, 2)))), c(`1` = FALSE, `2` = TRUE, `3` = FALSE))
  expect_length(predict(fit, new_wavy[0, ]), 0)
  quiet <- \(code) suppressWarnings(code, classes = "kernops_no_standard_error")
  limits <- quiet(confint(fit))
  expect_identical(rownames(limits)[is.na(limits[, 1])], "matern.range")
  expect_output(print(quiet(summary(fit))), "Effective degrees of freedom: s(x) = ", fixed = TRUE)
  withr::local_pdf(NULL)
  expect_no_error(plot(fit))
})

test_mistakes("kernops_error", alist(
  `no penalty` = gp(y ~ te(x, w, fx = TRUE), wavy, ~ a + b),
  `smooth in a product` = gp(y ~ w * s(x), wavy, ~ a + b),
  `bar in an interaction` = gp(y ~ w:(1 | g), wavy, ~ a + b),
  `product with a smooth` = gp(y ~ 1, wavy, ~ a + b, smooth_effect(~ s(x)) * matern()),
  `penalties without common eigenvectors` = gp(y ~ s(x, w, bs = "ad", k = 6), wavy, ~ a + b),
  `given smoothing parameter` = gp(y ~ s(x, sp = 1), wavy, ~ a + b),
  `too large a basis` = gp(y ~ s(x, k = 100), wavy, ~ a + b),
  `factor as by` = gp(y ~ 1, wavy, ~ a + b, smooth_effect(~ s(x, by = g)) + nugget()),
  `factor alone` = gp(y ~ 1, wavy, ~ a + b, smooth_effect(~ s(g, bs = "fs")) + nugget()),
  `factor in a basis of numbers` = gp(y ~ s(x, h), transform(wavy, h = letters[g]), covariance = nugget()),
  `factor twice` = gp(y ~ s(x, h, bs = "fs", by = h), transform(wavy, h = letters[g]), covariance = nugget()),
  `too few variances` = gp(y ~ 1, wavy, ~ a + b, smooth_effect(~ te(x, w), 1) + nugget()),
  `negative variance` = smooth_effect(~ te(x, w), c(1, -1)),
  `variance that is no number` = smooth_effect(~ te(x, w), "one"),
  `fixed without a value` = smooth_effect(~ te(x, w), fixed = "variance"),
  `select that is no flag` = gp(y ~ s(x, select = 2), wavy, ~ a + b),
  `level without observations` = gp(y ~ g + s(x, by = g, k = 5), wavy, ~ a + b, nugget(), subset = g != "2"),
  `variable missing in newdata` = predict(gp(y ~ s(x), wavy, covariance = nugget()), wavy["w"]),
  `effect that is no smooth` = smooth_effect(~ x)
))
