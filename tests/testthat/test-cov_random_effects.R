# Random effects against nlme, and against dense plain R.

# The REML criterion of gp() minus the REML criterion of nlme. The criteria differ because gp() uses error contrasts of
# unit length.
contrasts_term <- \(X) as.numeric(determinant(crossprod(X))$modulus) / 2

test_that("mixed models agree with nlme::lme()", {
  skip_if_not_installed("nlme")
  d <- as.data.frame(nlme::Orthodont)
  for (method in c("ML", "REML")) {
    fits <- list(
      gp(distance ~ age + Sex + (1 | Subject), d, covariance = nugget(), estimate = method),
      gp(distance ~ age + Sex + (age || Subject), d, covariance = nugget(), estimate = method)
    )
    peers <- list(nlme::lme(distance ~ age + Sex, d, ~ 1 | Subject, method = method),
                  nlme::lme(distance ~ age + Sex, d, list(Subject = nlme::pdDiag(~ age)), method = method))
    for (k in 1:2) {
      fit <- fits[[k]]
      peer <- peers[[k]]
      X <- model.matrix(~ age + Sex, d)
      gap <- if (method == "REML") contrasts_term(X) else 0
      expect_equal(as.numeric(logLik(fit)), as.numeric(logLik(peer)) + gap, tolerance = 1e-8)
      expect_equal(coef(fit), nlme::fixef(peer), tolerance = 1e-5)
      expect_equal(sigma(fit), sigma(peer), tolerance = 1e-4)
      expected <- nlme::ranef(peer)
      blups <- nlme::ranef(fit)$Subject[rownames(expected), , drop = FALSE]
      expect_equal(as.matrix(blups), as.matrix(expected), tolerance = 1e-4)
      expect_equal(unname(fitted(fit)), as.vector(fitted(peer)), tolerance = 1e-5)
    }
  }
  expect_length(kernops:::factor_of(fits[[1]]), 27)
  nested <- gp(pixel ~ day + I(day^2) + (1 | Dog / Side), as.data.frame(nlme::Pixel), covariance = nugget())
  peer <- nlme::lme(pixel ~ day + I(day^2), nlme::Pixel, ~ 1 | Dog / Side, method = "ML")
  expect_equal(as.numeric(logLik(nested)), as.numeric(logLik(peer)), tolerance = 1e-8)
  expect_length(kernops:::factor_of(nested), 10)
  expect_equal(nlme::ranef(nested)$Dog[rownames(nlme::ranef(peer)$Dog), ], nlme::ranef(peer)$Dog[[1]], tolerance = 1e-4)
})

trial <- local({
  withr::local_seed(41)
  transform(smooth_case(70), g = factor(sample(c("p", "q", "r", "s"), 70, TRUE)), h = sample(1:12, 70, TRUE))
})
new_trial <- data.frame(a = c(0.2, 0.7, 0.4), b = c(0.3, 0.6, 0.1), w = c(0.5, 1, -2), g = c("q", "t", "s"),
                        h = c(3, 12, 99))
effects_given <- function() {
  matern(3/2, 1.3, 0.4) + random_effect(~ 1 | g, 0.7) + random_effect(~ 0 + w | h, 0.4)
}
effects_of <- function(d, e) {
  both <- rbind(d[c("a", "b")], e[c("a", "b")])
  field <- covariance_of(both, tau = 0)[seq_len(nrow(d)), nrow(d) + seq_len(nrow(e))]
  field + 0.7 * outer(as.character(d$g), as.character(e$g), `==`) + 0.4 * outer(d$w, e$w) * outer(d$h, e$h, `==`)
}

test_that("models with random effects and a field agree with dense algebra in likelihood, gradient and kriging", {
  skip_if_not_installed("nlme")
  K <- effects_of(trial, trial) + diag(0.05, 70)
  X <- cbind(1, trial$w)
  prior <- diag(effects_of(new_trial, new_trial))
  expected <- oracle_kriging(K, effects_of(trial, new_trial), prior, trial$z, X, cbind(1, new_trial$w))
  for (method in c("exact", "iterative")) {
    fit <- gp(z ~ w, trial, ~ a + b, effects_given() + nugget(0.05), method, "none", cg_tol = 1e-11)
    at <- predict(fit, new_trial, se.fit = TRUE, interval = "confidence")
    expect_close(matrix(at$fit), expected$mean, tolerance = 1e-8)
    expect_close(matrix(at$se.fit), sqrt(expected$variance), tolerance = 1e-7)
    alpha <- solve(K, trial$z - X %*% coef(fit))
    blups <- nlme::ranef(fit)
    expect_equal(blups$g[["(Intercept)"]], as.vector(0.7 * rowsum(alpha, trial$g)), tolerance = 1e-7)
    expect_equal(blups$h[["w"]], as.vector(0.4 * rowsum(alpha * trial$w, trial$h)), tolerance = 1e-7)
  }
  fit <- gp(z ~ w, trial, ~ a + b, effects_given() + nugget(0.05), estimate = "none")
  expect_equal(fit$loglik, -oracle_likelihood(K, trial$z, X)$value / 2, tolerance = 1e-11)
  expect_length(kernops:::factor_of(fit), 1)
  for (reml in c(TRUE, FALSE)) {
    expect_profile_slope(kernops:::exact_likelihood(fit$data, fit$model, reml), unname(fit$theta))
  }
})

test_that("draws have the covariance of the model, also at many points", {
  fit <- gp(z ~ 0, trial, ~ a + b, effects_given() + random_effect(~ 1 | h, 1) * exponential(0.5, 0.2) +
              nugget(0.05), estimate = "none")
  both <- rbind(new_trial, transform(new_trial, a = a + 0.1))
  distance <- as.matrix(dist(both[c("a", "b")]))
  K <- effects_of(both, both) + 0.5 * exp(-distance / 0.2) * outer(both$h, both$h, `==`)
  for (limit in c(1e4, 1)) {
    draws <- simulate(update(fit, exact_limit = limit, method = "exact"), 4000, seed = 1, newdata = both,
                      conditional = FALSE)
    expect_lt(max(abs(cov(t(draws)) - K)), 0.25)
  }
})

test_that("effects in the formula are estimated, and update() keeps these effects", {
  fit <- gp(z ~ w + (1 | g), trial, ~ a + b, estimate = "REML")
  same <- gp(z ~ w, trial, ~ a + b, matern(3/2) + nugget() + random_effect(~ 1 | g), estimate = "REML")
  expect_equal(fit$loglik, same$loglik, tolerance = 1e-8)
  expect_identical(labels(terms(fit)), "w")
  expect_identical(formula(update(fit, . ~ . - w, estimate = "ML")), z ~ (1 | g), ignore_formula_env = TRUE)
  again <- update(fit, covariance = fit$covariance, estimate = "none")
  expect_equal(coef(again), coef(fit), tolerance = 1e-6)
  expect_identical(names(coef(again, "covariance")), names(coef(fit, "covariance")))
  expect_identical(nrow(gp_cv(fit, folds = 3)), 70L)
  limits <- suppressWarnings(confint(fit), classes = "kernops_no_standard_error") # one variance is nearly zero
  expect_true("(1 | g).variance" %in% rownames(limits))
  withr::local_pdf(NULL)
  expect_no_error(plot(fit))
  # levels that are specific to groups, and levels that several groups share
  grouped <- gp(z ~ w, trial, ~ a + b, effects_given() + nugget(0.05), estimate = "none", group = ~ g)
  within <- outer(trial$g, trial$g, `==`)
  common <- 0.4 * outer(trial$w, trial$w) * outer(trial$h, trial$h, `==`)
  K <- (covariance_of(trial[c("a", "b")], tau = 0) + 0.7) * within + common + diag(0.05, 70)
  expect_equal(grouped$loglik, -oracle_likelihood(K, trial$z, cbind(1, trial$w))$value / 2, tolerance = 1e-11)
})

test_that("correlated intercepts and slopes agree with nlme::lme()", {
  skip_if_not_installed("nlme")
  d <- as.data.frame(nlme::Orthodont)
  for (method in c("ML", "REML")) {
    fit <- gp(distance ~ age + Sex + (age | Subject), d, covariance = nugget(), estimate = method)
    peer <- nlme::lme(distance ~ age + Sex, d, ~ age | Subject, method = method)
    gap <- if (method == "REML") contrasts_term(model.matrix(~ age + Sex, d)) else 0
    expect_equal(as.numeric(logLik(fit)), as.numeric(logLik(peer)) + gap, tolerance = 1e-8)
    varcorr <- nlme::VarCorr(peer)
    expect_equal(unname(coef(fit, "covariance")[2:4]), as.numeric(c(varcorr[1:2, "Variance"], varcorr["age", "Corr"])),
                 tolerance = 2e-3)
    expected <- nlme::ranef(peer)
    expect_equal(as.matrix(nlme::ranef(fit)$Subject[rownames(expected), ]), as.matrix(expected), tolerance = 1e-3)
  }
  nested <- gp(pixel ~ day + (day | Dog) + (1 | Dog:Side), as.data.frame(nlme::Pixel), covariance = nugget())
  peer <- nlme::lme(pixel ~ day, nlme::Pixel, list(Dog = ~ day, Side = ~ 1), method = "ML")
  expect_equal(as.numeric(logLik(nested)), as.numeric(logLik(peer)), tolerance = 1e-6)
})

# The covariance between the rows of d and of e for three correlated coefficients. The canonical partial correlations of
# three_given() define the correlation matrix C C' of the coefficients.
three_coefficients <- function(d, e) {
  C <- rbind(c(1, 0, 0), c(0.3, sqrt(1 - 0.3^2), 0), c(-0.4, 0.6 * sqrt(1 - 0.4^2), sqrt((1 - 0.4^2) * (1 - 0.6^2))))
  S <- tcrossprod(sqrt(c(0.7, 0.3, 0.4)) * C)
  tcrossprod(cbind(1, d$w, d$a) %*% S, cbind(1, e$w, e$a)) * outer(as.character(d$g), as.character(e$g), `==`)
}
three_given <- function() {
  matern(3/2, 1.3, 0.4) + random_effect(~ w + a | g, c(0.7, 0.3, 0.4), correlation = c(0.3, -0.4, 0.6))
}

test_that("three correlated coefficients agree with dense algebra", {
  field <- \(d, e) covariance_of(rbind(d[c("a", "b")], e[c("a", "b")]), tau = 0)[seq_len(nrow(d)),
                                                                               nrow(d) + seq_len(nrow(e))]
  K <- covariance_of(trial[c("a", "b")]) + three_coefficients(trial, trial)
  X <- cbind(1, trial$w)
  prior <- 1.3 + diag(three_coefficients(new_trial, new_trial))
  expected <- oracle_kriging(K, field(trial, new_trial) + three_coefficients(trial, new_trial), prior, trial$z, X,
                             cbind(1, new_trial$w))
  for (method in c("exact", "iterative", "vecchia")) {
    fit <- gp(z ~ w, trial, ~ a + b, three_given() + nugget(0.05), method, "none", cg_tol = 1e-11, neighbours = 69)
    joint <- predict(fit, new_trial, se.fit = TRUE, interval = "confidence")
    expect_close(matrix(joint$fit), expected$mean, tolerance = 1e-8)
    expect_close(matrix(joint$se.fit), sqrt(expected$variance), tolerance = 1e-7)
    if (method != "iterative") expect_equal(fit$loglik, -oracle_likelihood(K, trial$z, X)$value / 2, tolerance = 1e-11)
  }
  for (likelihood in list(kernops:::exact_likelihood(fit$data, fit$model, TRUE),
                          kernops:::likelihood_for(fit$data, fit$model, fit$how))) {
    expect_profile_slope(likelihood, unname(fit$theta))
  }
  expect_match(format(fit$covariance), "correlation = c(0.3, -0.4, 0.6)", fixed = TRUE)
  K <- three_coefficients(new_trial, new_trial) + field(new_trial, new_trial)
  for (limit in c(1e4, 1)) {
    draws <- simulate(update(fit, exact_limit = limit, method = "exact"), 4000, seed = 1, newdata = new_trial,
                      conditional = FALSE)
    expect_lt(max(abs(cov(t(draws)) - K)), 0.08 * max(K))
  }
})

test_that("update() keeps correlated effects", {
  d <- transform(trial, z = z + c(1, -1, 0)[1 + h %% 3] + w * c(0.4, 1, -1, 0)[1 + h %% 4])
  fit <- gp(z ~ w + (w | h), d, covariance = nugget())
  expect_identical(names(coef(fit, "covariance")), c("nugget.variance", "(w | h).variance.(Intercept)",
                                                     "(w | h).variance.w", "(w | h).correlation"))
  again <- update(fit, covariance = fit$covariance, estimate = "none")
  expect_equal(again$loglik, fit$loglik, tolerance = 1e-9)
  known <- gp(z ~ w, d, covariance = nugget() + random_effect(~ w | h, correlation = 0, fixed = "correlation"))
  expect_equal(known$loglik, gp(z ~ w + (w || h), d, covariance = nugget())$loglik, tolerance = 1e-6)
})

test_mistakes("kernops_error", alist(
  `variances of two coefficients` = random_effect(~ w | g, variance = 1),
  `correlation of one` = random_effect(~ w | g, correlation = 1),
  `correlation without another coefficient` = random_effect(~ 1 | g, correlation = 0.5),
  `fixed correlation without a value` = random_effect(~ w | g, fixed = "correlation"),
  `effects of no level` = gp(z ~ (1 | k), trial, ~ a + b),
  `slope in a factor` = gp(z ~ (0 + g | h), trial, ~ a + b),
  `a field without coordinates` = gp(z ~ (1 | g), trial),
  `effect that is no bar` = random_effect(~ g),
  `level missing in newdata` = predict(gp(z ~ (1 | g), trial, covariance = nugget()), trial["w"])
))
test_mistakes("kernops_error", alist(
  `effects where there are none` = nlme::ranef(gp(z ~ 1, trial, ~ a + b, given(), estimate = "none"))
), needs = "nlme")
