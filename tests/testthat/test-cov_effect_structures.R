# Effects that are correlated between variables, given as structures of lmc(), against dense matrices in plain R.

pond <- withr::with_seed(71, {
  d <- data.frame(a = runif(40), b = runif(40), w = rnorm(40), g = sample(letters[1:6], 40, TRUE),
                  h = sample(1:5, 40, TRUE), year = sample(2001:2006, 40, TRUE))
  field <- sin(5 * d$a) + cos(4 * d$b)
  effect <- rnorm(6)[match(d$g, letters)]
  d$p <- field + effect + rnorm(40, sd = 0.2)
  d$q <- 10 * field - 5 * effect + rnorm(40, sd = 2)
  d$p[c(1:4, 9)] <- NA
  d$q[c(5:9)] <- NA
  d
})
new_pond <- data.frame(a = c(0.2, 0.7, 0.4), b = c(0.3, 0.6, 0.1), w = c(0.5, 1, -2), g = c("q", "b", "a"),
                       h = c(3, 99, 99), year = c(2003, 2010, 2010))
sills_of_pond <- list(field = matrix(c(1, 8, 8, 90), 2), g = matrix(c(1, 3, 3, 20), 2),
                      h = matrix(c(0.2, -0.4, -0.4, 9), 2), year = matrix(c(0.3, 0.5, 0.5, 2), 2), noise = c(0.05, 4))
correlated <- function() {
  lmc(matern(3/2, range = 0.4), random_effect(~ 1 | g), random_effect(~ 0 + w | h), ar1(~ year, range = 2), nugget(),
      sills = unname(sills_of_pond))
}
by_pond <- function(method, ...) {
  gp(cbind(p, q) ~ w, pond, ~ a + b, correlated(), method, "none", inducing = 20, ...)
}
seen_pond <- which(!is.na(pond[c("p", "q")]), arr.ind = TRUE)
all_pond <- rbind(cbind(pond[seen_pond[, 1], names(new_pond)], v = seen_pond[, 2]),
                  cbind(rbind(new_pond, new_pond), v = rep(1:2, each = 3)))
dense_pond <- with(all_pond, {
  far <- sqrt(3) * unname(as.matrix(dist(cbind(a, b)))) / 0.4
  of <- function(name) sills_of_pond[[name]][v, v]
  of("field") * (1 + far) * exp(-far) + of("g") * outer(g, g, `==`) + of("h") * outer(w, w) * outer(h, h, `==`) +
    of("year") * exp(-abs(outer(year, year, `-`)) / 2)
})

test_that("likelihoods, predictions and effects agree with dense matrices, by each method", {
  rows <- seq_len(nrow(seen_pond))
  K <- dense_pond[rows, rows] + diag(sills_of_pond$noise[seen_pond[, 2]])
  y <- as.matrix(pond[c("p", "q")])[seen_pond]
  X <- with(all_pond, cbind(v == 1, (v == 1) * w, v == 2, (v == 2) * w))
  theirs <- oracle_likelihood(K, y, X[rows, ])
  kriged <- oracle_kriging(K, dense_pond[rows, -rows], diag(dense_pond)[-rows], y, X[rows, ], X[-rows, ])
  alpha <- solve(K, y - X[rows, ] %*% theirs$beta)
  sums <- rowsum(cbind(alpha * (seen_pond[, 2] == 1), alpha * (seen_pond[, 2] == 2)), all_pond$g[rows])
  for (method in c("exact", "vecchia", "vif")) {
    fit <- by_pond(method, neighbours = 100)
    expect_equal(fit$loglik, -theirs$value / 2, tolerance = 1e-7, info = method)
    ours <- predict(fit, new_pond, se.fit = TRUE, interval = "confidence")
    expect_equal(c(ours$p.fit, ours$q.fit), kriged$mean, tolerance = 1e-6, info = method)
    expect_equal(c(ours$p.se.fit, ours$q.se.fit)^2, kriged$variance, tolerance = 1e-6, info = method)
    skip_if_not_installed("nlme")
    effects <- nlme::ranef(fit)$g
    expect_named(effects, c("p:(Intercept)", "q:(Intercept)"))
    expect_equal(unname(as.matrix(effects)), unname(sums %*% sills_of_pond$g), tolerance = 1e-5, info = method)
  }
})

test_that("gradients agree with finite differences, also near singular matrices", {
  fit <- by_pond("vecchia", neighbours = 6)
  likelihood <- kernops:::likelihood_for(fit$data, fit$model, fit$how)
  theta <- unname(fit$theta) * seq(0.9, 1.1, length.out = length(fit$theta))
  root <- which(fit$model$parameters$name == "(1 | g).sill.q")
  for (at in list(theta, replace(theta, root, 1e-6), replace(theta, root, -theta[[root]]))) {
    slope <- central_difference(\(t) likelihood$evaluate(t)$value, at, 1e-4)
    expect_close(matrix(likelihood$evaluate(at, search = TRUE)$gradient(), 1), slope, tolerance = 1e-5)
  }
})

test_that("parts, joint covariances, estimates and draws agree with the exact method", {
  fits <- lapply(c(exact = "exact", vecchia = "vecchia", vif = "vif"), by_pond, neighbours = 100)
  same <- function(f) for (name in c("vecchia", "vif")) expect_equal(f(fits[[name]]), f(fits$exact), tolerance = 1e-5)
  same(\(fit) predict(fit, new_pond, interval = "confidence", cov = TRUE))
  same(\(fit) predict(fit, new_pond, interval = "confidence", exclude = "(1 | g)"))
  same(\(fit) predict(fit, new_pond, interval = "confidence", terms = c("trend", "ar1(year)")))
  same(\(fit) as.matrix(gp_cv(fit)[c("fit", "se.fit")]))
  draws <- lapply(fits, simulate, 2000, seed = 1, newdata = new_pond, conditional = FALSE)
  sd <- vapply(draws, \(x) apply(x[, grep("^q", colnames(x))], 1, sd), numeric(3))
  expect_equal(unname(sd), matrix(sqrt(diag(dense_pond)[74 + 1:3 - 1]), 3, 3), tolerance = 0.1)
  estimated <- lapply(c(exact = "exact", vecchia = "vecchia"), \(method) {
    gp(cbind(p, q) ~ w, pond, ~ a + b, lmc(matern(3/2), random_effect(~ 1 | g), nugget()), method, neighbours = 100,
       gain = 1e-8)
  })
  expect_equal(estimated$vecchia$loglik, estimated$exact$loglik, tolerance = 1e-6)
  expect_lt(coef(estimated$exact, "covariance")[["(1 | g).sill.p.q"]], 0)
  independent <- gp(cbind(p, q) ~ w + (1 | g), pond, ~ a + b)
  expect_gt(estimated$exact$loglik, independent$loglik)
  expect_equal(anova(independent, estimated$exact)$Df[[2]], 1)
})

test_mistakes("kernops_input_error", alist(
  `a smooth as a structure` = lmc(matern(), smooth_effect(~ s(x))),
  `several coefficients as a structure` = lmc(matern(), random_effect(~ w | g)),
  `an effect of one variable as a structure` = lmc(matern(), random_effect(p ~ 1 | g)),
  `an effect with a variance as a structure` = lmc(matern(), random_effect(~ 1 | g, 2))
))
