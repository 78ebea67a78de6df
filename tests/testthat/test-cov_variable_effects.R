# Random effects, smooths and effects of time of several variables, against dense matrices in plain R.

meadow <- withr::with_seed(91, {
  d <- data.frame(a = runif(40), b = runif(40), w = rnorm(40), x = runif(40), g = sample(letters[1:6], 40, TRUE),
                  h = sample(1:5, 40, TRUE), year = sample(2001:2006, 40, TRUE), times = sample(1:3, 40, TRUE))
  field <- sin(5 * d$a) + cos(4 * d$b)
  d$p <- field + rnorm(6)[match(d$g, letters)] + rnorm(40, sd = 0.2)
  d$q <- 10 * field + 5 * rnorm(6)[match(d$g, letters)] + d$w * rnorm(5, sd = 4)[d$h] + rnorm(40, sd = 2)
  d$p[c(1:4, 9)] <- NA
  d$q[c(5:9)] <- NA
  d
})
new_meadow <- data.frame(a = c(0.2, 0.7, 0.4), b = c(0.3, 0.6, 0.1), w = c(0.5, 1, -2), x = c(0.1, 0.5, 0.9),
                         g = c("q", "b", "a"), h = c(3, 99, 99), year = c(2003, 2010, 2010))
sills_of_meadow <- list(matrix(c(1, 8, 8, 90), 2), c(0.05, 4))
structures <- function() lmc(matern(3/2, range = 0.4), nugget(), sills = sills_of_meadow)
by_meadow <- function(method, formula = cbind(p, q) ~ w, covariance = given_meadow(), ...) {
  gp(formula, meadow, ~ a + b, covariance, method, "none", neighbours = 100, inducing = 20, ...)
}
given_meadow <- function() {
  structures() + random_effect(p ~ 1 | g, 0.7) + random_effect(q ~ w | h, c(20, 12), correlation = -0.3) +
    random_effect(q ~ 1 | g, 15) + random_walk(p ~ year, 0.1)
}

# The observations, then the new points, ordered by variable, and their covariance without noise.
seen_meadow <- which(!is.na(meadow[c("p", "q")]), arr.ind = TRUE)
all_meadow <- rbind(cbind(meadow[seen_meadow[, 1], names(new_meadow)], v = seen_meadow[, 2]),
                    cbind(rbind(new_meadow, new_meadow), v = rep(1:2, each = 3)))
dense_meadow <- with(all_meadow, {
  far <- sqrt(3) * as.matrix(dist(cbind(a, b))) / 0.4
  S <- matrix(c(20, rep(-0.3 * sqrt(20 * 12), 2), 12), 2)
  both <- function(k) outer(v == k, v == k)
  time <- year - 2001
  sills_of_meadow[[1]][v, v] * (1 + far) * exp(-far) +
    both(1) * (0.7 * outer(g, g, `==`) + 0.1 * outer(time, time, pmin)) +
    both(2) * (15 * outer(g, g, `==`) + outer(h, h, `==`) *
                 (cbind(1, w) %*% S %*% t(cbind(1, w))))
})
observed_meadow <- seq_len(nrow(seen_meadow))
noise_of_meadow <- diag(sills_of_meadow[[2]][seen_meadow[, 2]])
response_meadow <- as.matrix(meadow[c("p", "q")])[seen_meadow]
design_meadow <- with(all_meadow, cbind(v == 1, (v == 1) * w, v == 2, (v == 2) * w))

test_that("likelihoods, predictions and effects agree with dense matrices, by each method", {
  K <- dense_meadow[observed_meadow, observed_meadow] + noise_of_meadow
  X <- design_meadow[observed_meadow, ]
  theirs <- oracle_likelihood(K, response_meadow, X)
  kriged <- oracle_kriging(K, dense_meadow[observed_meadow, -observed_meadow],
                           diag(dense_meadow)[-observed_meadow], response_meadow, X, design_meadow[-observed_meadow, ])
  alpha <- solve(K, response_meadow - X %*% theirs$beta)
  of_q <- seen_meadow[, 2] == 2
  blup <- 15 * rowsum(of_q * alpha, all_meadow$g[observed_meadow])[, 1]
  for (method in c("exact", "vecchia", "vif")) {
    fit <- by_meadow(method)
    expect_equal(fit$loglik, -theirs$value / 2, tolerance = 1e-7, info = method)
    expect_equal(unname(coef(fit)), theirs$beta, tolerance = 1e-6, info = method)
    ours <- predict(fit, new_meadow, se.fit = TRUE, interval = "confidence")
    expect_equal(c(ours$p.fit, ours$q.fit), kriged$mean, tolerance = 1e-6, info = method)
    expect_equal(c(ours$p.se.fit, ours$q.se.fit)^2, unname(kriged$variance), tolerance = 1e-6, info = method)
    skip_if_not_installed("nlme")
    effects <- nlme::ranef(fit)
    expect_equal(effects$g[["q:(Intercept)"]], unname(blup), tolerance = 1e-5, info = method)
    of_p <- 0.7 * rowsum((1 - of_q) * alpha, all_meadow$g[observed_meadow])[, 1]
    expect_equal(effects$g[["p:(Intercept)"]], unname(of_p), tolerance = 1e-5, info = method)
    expect_named(effects$h, c("q:(Intercept)", "q:w"))
  }
})

test_that("gradients agree with finite differences", {
  fit <- gp(cbind(p, q) ~ w, meadow, ~ a + b, given_meadow(), "vecchia", "none", neighbours = 6)
  for (reml in c(FALSE, TRUE)) {
    likelihood <- kernops:::likelihood_for(fit$data, fit$model, replace(fit$how, "reml", reml))
    theta <- unname(fit$theta)
    slope <- central_difference(\(t) likelihood$evaluate(t)$value, theta, 1e-4)
    expect_close(matrix(likelihood$evaluate(theta, search = TRUE)$gradient(), 1), slope, tolerance = 1e-5)
  }
})

test_that("fits by nearest neighbours agree with the exact method", {
  skip_if_not_installed("mgcv")
  covariance <- structures() + random_effect(~ 1 | g, 0.7) + ar1(~ year, 0.4, 2) + smooth_effect(q ~ s(x), 3)
  fits <- lapply(c(exact = "exact", vecchia = "vecchia", vif = "vif"), \(method) {
    by_meadow(method, cbind(p, q) ~ w + q:s(x), covariance, weights = times)
  })
  expect_named(coef(fits$exact), c("p:(Intercept)", "p:w", "q:(Intercept)", "q:w", "q:s(x).1"))
  same <- function(f) for (name in c("vecchia", "vif")) expect_equal(f(fits[[name]]), f(fits$exact), tolerance = 1e-5)
  confidence <- function(...) \(fit) predict(fit, new_meadow, se.fit = TRUE, interval = "confidence", ...)
  same(vcov)
  same(residuals)
  same(confidence(cov = TRUE))
  same(confidence(cov = "variables"))
  same(confidence(sums = cbind(c(1, 0, 2), 1)))
  same(confidence(block = c(0.1, 0.2)))
  same(confidence(nmax = 20))
  same(confidence(exclude = "q:s(x)"))
  same(confidence(terms = c("trend", "matern", "p:(1 | g)")))
  same(\(fit) as.matrix(gp_cv(fit)[c("fit", "se.fit")]))
  same(\(fit) as.matrix(gp_cv(fit, folds = rep_len(1:4, 40))[c("fit", "se.fit")]))
  same(\(fit) summary(fit)$edf)
  again <- by_meadow("exact", cbind(p, q) ~ w + q:s(x), fits$exact$covariance, weights = times)
  expect_equal(again$loglik, fits$exact$loglik)
  for (conditional in c(FALSE, TRUE)) {
    draws <- lapply(fits, simulate, 2000, seed = 1, newdata = new_meadow, conditional = conditional)
    sd <- lapply(draws, \(x) apply(x[, grep("^q", colnames(x))], 1, sd))
    expect_equal(sd$vecchia, sd$exact, tolerance = 0.1)
    expect_equal(sd$vif, sd$exact, tolerance = 0.1)
  }
})

test_that("the parts of a prediction add up to the prediction", {
  fit <- by_meadow("vecchia")
  parts <- c("trend", "matern", "p:(1 | g)", "q:(w | h)", "q:(1 | g)", "p:random_walk(year)")
  each <- lapply(parts, \(part) predict(fit, new_meadow, terms = part))
  expect_equal(Reduce(`+`, each), predict(fit, new_meadow), tolerance = 1e-8)
})

test_that("an effect in a formula belongs to each variable, or only to the variable that the effect names", {
  fit <- gp(cbind(p, q) ~ w + (1 | g) + q:(w || h), meadow, ~ a + b, estimate = "REML")
  names <- c("p:(1 | g)", "q:(1 | g)", "q:(1 | h)", "q:(0 + w | h)")
  expect_true(all(paste0(names, ".variance") %in% names(fit$theta)))
  expect_match(format(fit$covariance), "lmc(matern(", fixed = TRUE)
  expect_output(print(fit), "q:(0 + w | h)(variance", fixed = TRUE)
  near <- update(fit, method = "vecchia", neighbours = 69, gain = 1e-7)
  expect_equal(near$loglik, fit$loglik, tolerance = 1e-5)
  apart <- gp(cbind(p, q) ~ w + (1 | g) + p:(1 | g), meadow, ~ a + b)
  whole <- gp(cbind(p, q) ~ w + (1 | g), meadow, ~ a + b)
  expect_equal(apart$loglik, whole$loglik, tolerance = 1e-6)
  table <- anova(gp(cbind(p, q) ~ w, meadow, ~ a + b), whole)
  expect_equal(table$Df[[2]], 2)
  expect_gt(table$Chisq[[2]], 0)
  quoted <- gp(cbind(log(p + 9), zinc = q) ~ log(p + 9):(1 | g) + zinc:(1 | g), meadow, ~ a + b, estimate = "ML")
  expect_true("log(p + 9):(1 | g).variance" %in% names(quoted$theta))
  expect_message(gp(cbind(p, q) ~ w + p:(1 | h), meadow, ~ a + b), class = "kernops_vanished")
})

test_mistakes("kernops_error", alist(
  `an effect of no variable` = gp(cbind(p, q) ~ z:(1 | g), meadow, ~ a + b),
  `a covariance with an effect of no variable` = gp(cbind(p, q) ~ 1, meadow, ~ a + b,
                                                    structures() + random_effect(z ~ 1 | g)),
  `an effect of a variable of one response` = gp(p ~ 1, meadow, ~ a + b, nugget() + random_effect(p ~ 1 | g)),
  `a named effect of one response` = gp(p ~ p:(1 | g), meadow, ~ a + b),
  `effects beside those of each variable` = gp(cbind(p, q) ~ (1 | g) + p:(1 | g) + q:(1 | g), meadow, ~ a + b),
  `a field beside structures` = structures() + svc(~ w),
  `a map of gstat` = as_vgm(by_meadow("exact"))
))
