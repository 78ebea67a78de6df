# Trans-Gaussian kriging, against the bordered system in plain R, simulated means and package gstat.

seen <- withr::with_seed(61, {
  d <- smooth_case(70, noise = 0.2)
  transform(d, v = exp(1 + 0.7 * z))
})
new <- withr::with_seed(62, data.frame(a = runif(20), b = runif(20), w = rnorm(20)))
logged <- gp(v ~ w, seen, ~ a + b, given(), estimate = "none", transform = "log")
plain <- gp(log(v) ~ w, seen, ~ a + b, given(), estimate = "none")

test_that("likelihoods are densities of the untransformed response", {
  expect_equal(as.numeric(logLik(logged)), as.numeric(logLik(plain)) - sum(log(seen$v)))
  half <- update(logged, transform = 0.5)
  other <- gp(I(2 * (sqrt(v) - 1)) ~ w, seen, ~ a + b, given(), estimate = "none")
  expect_equal(as.numeric(logLik(half)), as.numeric(logLik(other)) - 0.5 * sum(log(seen$v)))
  # the transform with lambda = 1 has the density of the Gaussian response
  shifted <- update(logged, transform = 1)
  none <- update(logged, transform = NULL)
  expect_equal(as.numeric(logLik(shifted)), as.numeric(logLik(none)))
  expect_equal(predict(shifted, new), predict(none, new))
  expect_lt(AIC(logged, none)["logged", "AIC"], AIC(logged, none)["none", "AIC"])
  expect_output(print(half), "Box-Cox, lambda = 0.5")
  expect_output(print(summary(logged)), "response: log")
})

test_that("lognormal kriging agrees with the bordered system", {
  u <- as.matrix(seen[c("a", "b")])
  v <- as.matrix(new[c("a", "b")])
  both <- unname(covariance_of(rbind(u, v), tau = 0))
  X <- cbind(1, seen$w)
  X0 <- cbind(1, new$w)
  K <- unname(covariance_of(u))
  theirs <- oracle_kriging(K, both[1:70, 71:90], rep(1.3, 20), log(seen$v), X, X0)
  weights <- solve(rbind(cbind(K, X), cbind(t(X), matrix(0, 2, 2))), rbind(both[1:70, 71:90], t(X0)))
  # Cressie (1993, 3.2.40): half the variance of the value, minus half the variance of its prediction
  spread <- colSums(weights[1:70, ] * (K %*% weights[1:70, ]))
  for (method in c("exact", "vecchia", "iterative")) for (tau in c(0, 0.05)) {
    fit <- update(logged, method = method, control = gp_control(neighbours = 69, cg_tol = 1e-12))
    ours <- predict(fit, new, se.fit = TRUE, interval = if (tau > 0) "prediction" else "confidence", level = 0.9)
    expect_equal(ours$fit, exp(theirs$mean + (1.3 + tau - spread) / 2), tolerance = 1e-7)
    total <- theirs$variance + tau
    expect_equal(ours$se.fit^2, exp(2 * theirs$mean + total) * (exp(total) - 1), tolerance = 1e-6)
    expect_equal(log(ours$upr), theirs$mean + qnorm(0.95) * sqrt(total), tolerance = 1e-7)
  }
  nearest <- predict(logged, new, nmax = 70, interval = "confidence")
  expect_equal(nearest, predict(logged, new, interval = "confidence"), tolerance = 1e-8)
})

boxcox_inverse <- \(t, lambda) if (lambda == 0) exp(t) else (1 + lambda * t)^(1 / lambda)

test_that("back-transformed means are unbiased over many simulated fields", {
  u <- as.matrix(seen[1:25, c("a", "b")])
  target <- data.frame(a = 0.5, b = 0.5)
  root <- chol(covariance_of(rbind(u, unlist(target)), v = 0.3))
  draws <- withr::with_seed(63, t(root) %*% matrix(rnorm(26 * 150), 26) + 4)
  for (lambda in c(0, 0.5, 0.4)) {
    values <- boxcox_inverse(draws, lambda)
    off <- vapply(seq_len(ncol(values)), function(k) {
      fit <- gp(v ~ 1, data.frame(u, v = values[1:25, k]), ~ a + b, matern(3/2, 0.3, 0.4) + nugget(0.05),
                estimate = "none", transform = lambda)
      predict(fit, target, interval = "prediction")$fit - values[26, k]
    }, 0)
    expect_lt(abs(mean(off)), 3 * sd(off) / sqrt(ncol(values)))
  }
})

test_that("lambda is estimated at the maximum of the likelihood of the response", {
  fit <- gp(v ~ w, seen, ~ a + b, matern(3/2) + nugget(), transform = "boxcox")
  lambda <- coef(fit, "transform")[["lambda"]]
  value <- function(lambda) as.numeric(logLik(gp(v ~ w, seen, ~ a + b, matern(3/2) + nugget(), transform = lambda)))
  expect_equal(as.numeric(logLik(fit)), value(lambda), tolerance = 1e-8)
  best <- optimize(value, c(-0.6, 0.8), maximum = TRUE, tol = 1e-2)
  expect_equal(as.numeric(logLik(fit)), best$objective, tolerance = 1e-5)
  expect_equal(attr(logLik(fit), "df"), 6)
  near <- update(fit, method = "vecchia", control = gp_control(neighbours = 69))
  expect_equal(near$transform$lambda, lambda, tolerance = 0.02)
})

test_that("lambda is a separate coefficient", {
  expect_identical(coef(logged, "transform"), c(lambda = 0))
  expect_identical(coef(update(logged, transform = 0.5), "transform"), c(lambda = 0.5))
  expect_identical(coef(update(logged, transform = NULL), "transform"), numeric())
})

test_that("probabilities, quantiles and draws agree with the transformed normal distribution", {
  for (lambda in c(0, 0.5, -0.5)) {
    fit <- update(logged, transform = lambda)
    link <- predict(fit, new, se.fit = TRUE, interval = "prediction", type = "link")
    ours <- predict(fit, new, interval = "prediction", probs = c(0.1, 0.5), above = c(-1, 3))
    expect_equal(ours$q0.5, boxcox_inverse(link$fit, lambda))
    expect_equal(ours$q0.1, boxcox_inverse(link$fit + qnorm(0.1) * link$se.fit, lambda))
    expect_equal(ours$above3, 1 - pnorm((kernops:::boxcox(3, lambda) - link$fit) / link$se.fit))
    # the response is positive
    least <- if (lambda > 0) 1 - pnorm((-1 / lambda - link$fit) / link$se.fit) else rep(1, 20)
    expect_equal(ours[["above-1"]], least)
  }
  draws <- simulate(logged, 3, seed = 1, newdata = new)
  expect_equal(log(draws), simulate(plain, 3, seed = 1, newdata = new))
})

test_that("fitted values, residuals, cross-validation and type = \"link\" are on the transformed scale", {
  expect_equal(fitted(logged), fitted(plain))
  expect_equal(residuals(logged), residuals(plain))
  expect_equal(predict(logged, new, type = "link"), predict(plain, new))
  expect_equal(gp_cv(logged)$fit, gp_cv(plain)$fit)
  expect_equal(predict(logged, new, type = "link", cov = TRUE), predict(plain, new, cov = TRUE))
})

test_that("trans-Gaussian kriging agrees with gstat where its expansion is exact", {
  skip_if_not_installed("gstat")
  skip_if_not_installed("sp")
  where <- seen
  sp::coordinates(where) <- c("a", "b")
  at <- new
  sp::coordinates(at) <- c("a", "b")
  theirs <- suppressWarnings(gstat::krigeTg(v ~ 1, where, at, gstat::vgm(1.2, "Sph", 0.5, 0.1), lambda = 0.5,
                                            debug.level = 0))
  fit <- gp(v ~ 1, seen, ~ a + b, spherical(1.2, 0.5) + nugget(0.1), estimate = "none", transform = 0.5)
  ours <- predict(fit, new, interval = "prediction")
  # the second derivative of back(t) = (1 + t / 2)^2 is constant for t above -2
  expect_equal(ours$fit, theirs$var1TG.pred, tolerance = 1e-4)
})

test_that("joint covariances agree with those of functions of normal variables", {
  for (noisy in c("none", "prediction")) {
    linked <- function(lambda) {
      found <- predict(update(logged, transform = lambda), new, type = "link", interval = noisy, cov = TRUE)
      list(m = as.vector(if (noisy == "none") found$fit else found$fit$fit), S = unname(found$cov))
    }
    ours <- \(lambda) unname(predict(update(logged, transform = lambda), new, interval = noisy, cov = TRUE)$cov)
    with(linked(0), {
      expect_equal(ours(0), exp(outer(m, m, `+`) + outer(diag(S), diag(S), `+`) / 2) * (exp(S) - 1), tolerance = 1e-8)
    })
    with(linked(0.5), { # moments of (1 + t / 2)^2, if 1 + t / 2 is far from 0
      far <- which(1 + m / 2 > 4 * sqrt(diag(S)))
      expect_gt(length(far), 10)
      expect_equal(ours(0.5)[far, far], (outer(1 + m / 2, 1 + m / 2) * S + S^2 / 8)[far, far], tolerance = 1e-8)
    })
    expect_equal(ours(1), linked(1)$S, tolerance = 1e-8)
    for (lambda in c(0, 0.4, 1, -0.5)) {
      fit <- update(logged, transform = lambda)
      theirs <- suppressMessages(predict(fit, new, interval = noisy, se.fit = TRUE))
      expect_equal(diag(ours(lambda)), theirs$se.fit^2, tolerance = 1e-8)
    }
  }
})

test_that("means over blocks are means of the responses within the blocks", {
  side <- c(0.2, 0.1)
  targets <- new[1:3, ]
  nodes <- outer(c(-0.8611363115940526, -0.3399810435848563, 0.3399810435848563, 0.8611363115940526), side / 2)
  share <- outer(c(0.3478548451374538, 0.6521451548625461, 0.6521451548625461, 0.3478548451374538) / 2, c(1, 1))
  grid <- expand.grid(i = 1:4, j = 1:4)
  weight <- share[grid$i, 1] * share[grid$j, 1]
  inside <- \(k) data.frame(a = targets$a[k] + nodes[grid$i, 1], b = targets$b[k] + nodes[grid$j, 2], w = targets$w[k])
  for (lambda in c(0, 0.4)) for (limits in list(list(), list(nmax = 30))) {
    fit <- update(logged, transform = lambda)
    block <- \(...) do.call(predict, c(list(fit, targets, block = side), limits, list(...)))
    ours <- block(interval = "confidence", se.fit = TRUE, probs = 0.3, above = 4)
    for (k in if (length(limits)) integer() else 1:3) { # with nmax, a block has the neighbours of its centre
      expect_equal(ours$fit[[k]], sum(weight * predict(fit, inside(k))))
      S <- predict(fit, inside(k), cov = TRUE)$cov
      expect_equal(ours$se.fit[[k]]^2, sum(weight * (S %*% weight)), tolerance = 1e-7)
      link <- predict(fit, inside(k), cov = TRUE, type = "link")
      z <- withr::with_seed(k, link$fit + t(chol(link$cov + diag(1e-10, 16))) %*% matrix(rnorm(16 * 20000), 16))
      means <- as.vector(weight %*% boxcox_inverse(z, lambda))
      expect_equal(ours$above4[[k]], mean(means > 4), tolerance = 0.02)
      expect_equal(unlist(ours[k, c("lwr", "q0.3", "upr")], use.names = FALSE),
                   unname(quantile(means, c(0.025, 0.3, 0.975))), tolerance = 0.02)
    }
    expect_equal(block(cov = TRUE)$cov |> diag() |> unname(), ours$se.fit^2, tolerance = 1e-7)
  }
  expect_equal(predict(update(logged, transform = 1), targets, block = side),
               predict(update(logged, transform = NULL), targets, block = side))
})

test_mistakes("kernops_input_error", alist(
  `a transformation that is none` = update(plain, transform = "sqrt"),
  `a response that is not positive` = gp(z ~ 1, seen[1:5, ], ~ a + b, given(), estimate = "none", transform = "log"),
  `a parameter with a given covariance` = update(logged, transform = "boxcox")
))
