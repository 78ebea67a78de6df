# Models with Vecchia's approximation, random effects and smooths, against the exact method, plain R, nlme and mgcv.

plots <- local({
  withr::local_seed(47)
  d <- transform(smooth_case(90), x = runif(90), g = sample(letters[1:6], 90, TRUE), h = sample(1:9, 90, TRUE),
                 day = rep_len(c("mon", "tue"), 90), known = runif(90, 0.01, 0.05), times = sample(1:4, 90, TRUE))
  transform(d, z = z + rnorm(6)[match(g, letters)] + w * rnorm(9, sd = 0.5)[h])
})
new_plots <- data.frame(a = c(0.2, 0.7, 0.4, 0.5), b = c(0.3, 0.6, 0.1, 0.1), w = c(0.5, 1, -2, 1),
                        x = c(0.1, 0.5, 0.9, 0.3), g = c("q", "b", "z", "q"), h = c(3, 99, 99, 1),
                        day = c("mon", "tue", "tue", "wed"))
plot_effects <- function() random_effect(~ 1 | g, 0.7) + random_effect(~ 0 + w | h, 0.4) + nugget(0.05)
given_plots <- function() matern(3/2, 1.3, 0.4) + plot_effects()

# A fit with all other observations as neighbours, and a fit by the exact method.
both_fits <- function(...) {
  list(exact = gp(..., method = "exact"), vecchia = gp(..., method = "vecchia", neighbours = 89))
}
expect_same_fits <- function(fits, newdata = new_plots, tolerance = 1e-7) {
  parts <- lapply(fits, \(fit) {
    joint <- predict(fit, newdata, se.fit = TRUE, interval = "confidence", cov = TRUE)
    one <- gp_cv(fit)
    list(loglik = fit$loglik, coef = coef(fit), fit = as.matrix(joint$fit), cov = joint$cov, fitted = fitted(fit),
         cv = as.matrix(one[c("fit", "se.fit")]), vcov = vcov(fit))
  })
  for (part in names(parts$exact)) {
    expect_equal(parts$vecchia[[part]], parts$exact[[part]], tolerance = tolerance, info = part)
  }
}

test_that("with all neighbours, results agree with the exact method", {
  fits <- both_fits(z ~ w, plots, ~ a + b, given_plots(), estimate = "none")
  expect_same_fits(fits)
  skip_if_not_installed("nlme")
  expect_equal(nlme::ranef(fits$vecchia), nlme::ranef(fits$exact), tolerance = 1e-8)
  expect_equal(gp_cv(fits$vecchia, folds = 3), gp_cv(fits$exact, folds = 3), tolerance = 1e-8)
})

test_that("smooths, groups, weights, known noise and offsets agree with the exact method", {
  skip_if_not_installed("mgcv")
  case <- given_plots()
  expect_same_fits(both_fits(z ~ w + s(x), plots, ~ a + b, case + smooth_effect(~ s(x), 2), estimate = "none"))
  expect_same_fits(both_fits(z ~ s(x, k = 5) + s(w, bs = "cr", k = 4), plots, ~ a + b, estimate = "none",
                             matern(3/2, 1.3, 0.4) + smooth_effect(~ s(x, k = 5), 2) + nugget(0.05) +
                               smooth_effect(~ s(w, bs = "cr", k = 4), 0.3)))
  expect_same_fits(both_fits(z ~ w, plots, ~ a + b, case, estimate = "none", group = day))
  expect_same_fits(both_fits(z ~ w + offset(x), plots, ~ a + b, case, estimate = "none", weights = times,
                             known = list(noise = plots$known)))
  expect_same_fits(both_fits(z ~ w, plots, ~ a + b, exponential(0.5, 0.2, dims = 1) + case, estimate = "none"))
  correlated <- random_effect(~ w | h, c(0.4, 0.3), correlation = -0.5) + random_effect(~ 1 | g:day, 0.2)
  expect_same_fits(both_fits(z ~ w, plots, ~ a + b, case + correlated, estimate = "none"))
  expect_same_fits(both_fits(z ~ 0, plots, ~ a + b, case, estimate = "none", known = list(beta = 0.3)))
  twice <- rbind(plots, transform(plots, z = z + 0.1))
  again <- lapply(c(exact = "exact", vecchia = "vecchia"), \(method) {
    gp(z ~ w, twice, ~ a + b, case, method = method, estimate = "none", neighbours = 179)
  })
  expect_same_fits(again)
})

test_that("the likelihood agrees with plain R with the same neighbours, and its gradient with differences", {
  fit <- gp(z ~ w, plots, ~ a + b, given_plots(), method = "vecchia", estimate = "none", neighbours = 5)
  likelihood <- \(reml) kernops:::likelihood_for(fit$data, fit$model, replace(fit$how, "reml", reml))
  theta <- unname(fit$theta)
  D <- 0.7 * outer(plots$g, plots$g, `==`) + 0.4 * outer(plots$w, plots$w) * outer(plots$h, plots$h, `==`)
  for (reml in c(FALSE, TRUE)) {
    one <- likelihood(reml)
    value <- one$evaluate(theta)$value
    sets <- one$sets()
    near <- lapply(seq_len(90), \(i) setdiff(sets$neighbours[, i], 0))
    U <- oracle_factor(covariance_of(plots[sets$order, c("a", "b")]), near)
    K <- solve(crossprod(U)) + D[sets$order, sets$order]
    expected <- oracle_likelihood(K, plots$z[sets$order], cbind(1, plots$w)[sets$order, ], reml)
    expect_equal(value, expected$value, tolerance = 1e-10)
    expect_profile_slope(one, theta)
    slope <- central_difference(\(t) one$evaluate(t)$value, theta, 1e-4)
    expect_close(matrix(one$evaluate(theta, search = TRUE)$gradient(), 1), slope, tolerance = 1e-5)
  }
})

test_that("the information is the average information of the exact method", {
  fit <- gp(z ~ w, plots, ~ a + b, given_plots(), method = "vecchia", estimate = "none", neighbours = 89)
  theta <- unname(fit$theta)
  for (profile in c(FALSE, TRUE)) {
    states <- lapply(list(kernops:::exact_likelihood(fit$data, fit$model, FALSE),
                          kernops:::likelihood_for(fit$data, fit$model, fit$how)), \(likelihood) {
                            state <- likelihood$evaluate(theta, profile, TRUE)
                            state$gradient()
                            state$information()
                          })
    expect_equal(states[[2]], states[[1]], tolerance = 1e-3)
  }
})

test_that("estimates agree with the exact method, nlme::lme() and mgcv::gam()", {
  fits <- both_fits(z ~ w + (1 | g), plots, ~ a + b, estimate = "REML", gain = 1e-8)
  expect_equal(coef(fits$vecchia, "covariance"), coef(fits$exact, "covariance"), tolerance = 1e-3)
  expect_equal(fits$vecchia$loglik, fits$exact$loglik, tolerance = 1e-7)
  skip_if_not_installed("nlme")
  d <- as.data.frame(nlme::Orthodont)
  fit <- gp(distance ~ age + Sex + (age || Subject), d, covariance = nugget(), method = "vecchia")
  peer <- nlme::lme(distance ~ age + Sex, d, list(Subject = nlme::pdDiag(~ age)), method = "ML")
  expect_equal(as.numeric(logLik(fit)), as.numeric(logLik(peer)), tolerance = 1e-8)
  expect_equal(as.vector(fitted(fit)), as.vector(fitted(peer)), tolerance = 1e-4)
  expected <- nlme::ranef(peer)
  expect_equal(as.matrix(nlme::ranef(fit)$Subject[rownames(expected), ]), as.matrix(expected), tolerance = 1e-3)
  skip_if_not_installed("mgcv")
  fit <- gp(z ~ w + s(x) + s(a), plots, covariance = nugget(), method = "vecchia", estimate = "REML")
  peer <- mgcv::gam(z ~ w + s(x) + s(a), data = plots, method = "REML")
  gap <- as.numeric(determinant(crossprod(model.matrix(fit)))$modulus) / 2
  expect_equal(fit$loglik - gap, -as.vector(peer$gcv.ubre), tolerance = 1e-6)
  expect_equal(unname(summary(fit)$edf), as.vector(summary(peer)$edf), tolerance = 1e-3)
})

test_that("means over blocks, sums and joint predictions agree with the exact method", {
  fits <- both_fits(z ~ w, plots, ~ a + b, given_plots(), estimate = "none")
  blocks <- lapply(fits, predict, new_plots, se.fit = TRUE, interval = "confidence", block = c(0.1, 0.2), cov = TRUE)
  expect_equal(blocks$vecchia, blocks$exact, tolerance = 1e-7)
  sums <- lapply(fits, predict, new_plots, se.fit = TRUE, interval = "confidence", sums = cbind(c(1, 0, 2, 1), 1))
  expect_equal(sums$vecchia, sums$exact, tolerance = 1e-7)
  few <- gp(z ~ w, plots, ~ a + b, given_plots(), method = "vecchia", estimate = "none", neighbours = 30)
  local <- lapply(c(TRUE, FALSE), \(joint) {
    predict(few, new_plots, joint = joint, se.fit = TRUE, interval = "prediction")
  })
  expect_equal(local[[1]], local[[2]], tolerance = 0.02)
  expect_identical(predict(few, new_plots[2, ], joint = FALSE), predict(few, new_plots, joint = FALSE)[2])
  expect_s3_class(certify(few), "gp_certificate")
  expect_no_error(summary(few))
})

test_that("draws have the covariance of the model, and given the data the conditional covariance", {
  fit <- gp(z ~ 0, plots, ~ a + b, given_plots(), method = "vecchia", estimate = "none", neighbours = 89)
  for (conditional in c(FALSE, TRUE)) {
    draws <- simulate(fit, 4000, seed = 1, newdata = new_plots, conditional = conditional)
    same <- outer(new_plots$g, new_plots$g, `==`)
    slopes <- outer(new_plots$w, new_plots$w) * outer(new_plots$h, new_plots$h, `==`)
    expected <- if (conditional) predict(fit, new_plots, cov = TRUE)$cov else {
      covariance_of(new_plots[c("a", "b")], tau = 0) + 0.7 * same + 0.4 * slopes
    }
    expect_lt(max(abs(cov(t(draws)) - expected)), 0.2)
  }
  expect_lt(max(abs(rowMeans(draws) - predict(fit, new_plots))), 0.1)
})

test_that("method \"auto\" selects Vecchia's approximation with effects for many observations", {
  fit <- gp(z ~ w + (1 | g), plots, ~ a + b, exact_limit = 50)
  expect_identical(fit$method, "vecchia")
  many <- data.frame(plots, k = factor(seq_len(90)))
  expect_identical(gp(z ~ w + (1 | k), many, ~ a + b, exponential() + nugget(), exact_limit = 50)$method, "vecchia")
})

test_that("sparse products check their input", {
  rows <- list(weights = matrix(0, 0, 2), sd = c(1, 1), neighbours = matrix(0L, 0, 2))
  expect_error(kernops:::effects_gram(rows, matrix(1L, 1, 2), matrix(1, 1, 3), 1L, 1L),
               "each point has columns and values")
  expect_error(kernops:::effects_gram(rows, matrix(2L, 1, 2), matrix(1, 1, 2), 1L, 1L), "a column is out of range")
})

test_that("the likelihood on a GPU agrees with the CPU", {
  skip_if_not("cuda" %in% backends(), "there is no GPU")
  fits <- lapply(c("cpu", "cuda"), \(backend) {
    gp(z ~ w, plots, ~ a + b, given_plots(), method = "vecchia", estimate = "none", neighbours = 8, backend = backend)
  })
  states <- lapply(fits, \(fit) kernops:::likelihood_for(fit$data, fit$model, fit$how)$evaluate(unname(fit$theta)))
  expect_equal(states[[2]]$value, states[[1]]$value, tolerance = 1e-9)
  expect_equal(states[[2]]$gradient(), states[[1]]$gradient(), tolerance = 1e-7)
  expect_equal(states[[2]]$information(), states[[1]]$information(), tolerance = 1e-4)
  joint <- lapply(fits, predict, new_plots, se.fit = TRUE, interval = "confidence")
  expect_equal(joint[[2]], joint[[1]], tolerance = 1e-7)
})

test_that("standard errors of variances with all neighbours agree with the exact method", {
  withr::local_seed(2)
  d <- data.frame(a = runif(90), b = runif(90), x = rnorm(90), g = factor(rep(1:9, 10)))
  field <- drop(crossprod(chol(exp(-as.matrix(dist(d[1:2])) / 0.2) + diag(1e-9, 90)), rnorm(90)))
  d$y <- field + rnorm(9)[d$g] + rnorm(90, sd = 0.5)
  error <- function(method, formula) {
    fit <- gp(formula, d, ~ a + b, exponential(1, 0.2, fixed = "range") + nugget(), method, neighbours = 89)
    sqrt(diag(vcov(fit, "covariance")))
  }
  for (formula in list(y ~ x, y ~ x + (1 | g))) {
    expect_equal(error("vecchia", formula), error("exact", formula), tolerance = 1e-3)
  }
})
