# Posterior draws of fits with a family: densities and mixtures by plain R with dense matrices.

withr::local_options(kernops.backend = "auto")  # families are fitted on the CPU

case <- withr::with_seed(5, data.frame(x = sort(runif(15, 0, 3)), hours = runif(15, 1, 2)))
case$y <- withr::with_seed(6, rpois(15, case$hours * exp(1 + sin(2 * case$x))))
fit <- gp(y ~ 1 + offset(log(hours)), case, ~ x, exponential(range = 0.8, fixed = "range"), family = poisson(),
          prior = list(variance = pc_sd(2, 0.05)))
new <- data.frame(x = c(1.2, 3.4), hours = 1)

# The Laplace approximation at a variance v and an intercept b, and the normal distribution of the linear predictor at
# `x`.
laplace_joint <- function(v, b, x = new$x) {
  K <- v * exp(-abs(outer(case$x, case$x, "-")) / 0.8)
  k <- v * exp(-abs(outer(case$x, x, "-")) / 0.8)
  f <- numeric(15)
  for (step in 1:50) {
    mu <- case$hours * exp(b + f)
    f <- as.vector(K %*% solve(K + diag(1 / mu), f + (case$y - mu) / mu))
  }
  mu <- case$hours * exp(b + f)
  loglik <- sum(dpois(case$y, mu, log = TRUE)) - sum(f * solve(K, f)) / 2 -
    determinant(diag(15) + sqrt(mu) * t(sqrt(mu) * K))$modulus / 2
  list(loglik = as.numeric(loglik), mean = b + as.vector(crossprod(k, solve(K, f))),
       cov = v * exp(-abs(outer(x, x, "-")) / 0.8) - crossprod(k, solve(K + diag(1 / mu), k)))
}
laplace <- function(v, b) {
  found <- laplace_joint(v, b)
  c(found, list(variance = diag(found$cov)))
}

draws <- gp_posterior(fit, 300)
test_that("posterior draws agree with the likelihood times the priors, which are uniform for the trend", {
  grid <- expand.grid(s = seq(-4, 4, length.out = 33), b = seq(-2, 5, length.out = 33))
  log_density <- mapply(function(s, b) {
    laplace(exp(s), b)$loglik + dexp(exp(s / 2), -log(0.05) / 2, log = TRUE) + s / 2
  }, grid$s, grid$b)
  weight <- exp(log_density - max(log_density))
  weight <- weight / sum(weight)
  ours <- as.data.frame(draws)
  expect_named(ours, c("exponential.variance", "(Intercept)"))
  for (pair in list(list(grid$s, log(ours[[1]])), list(grid$b, ours[[2]]))) {
    mean <- sum(weight * pair[[1]])
    sd <- sqrt(sum(weight * (pair[[1]] - mean)^2))
    expect_lt(abs(mean(pair[[2]]) - mean) / sd, 0.15)
    expect_equal(sd(pair[[2]]), sd, tolerance = 0.1)
  }
})

few <- suppressWarnings(gp_posterior(fit, 6))
each <- Map(laplace, as.data.frame(few)[[1]], as.data.frame(few)[[2]])
m <- vapply(each, `[[`, numeric(2), "mean")
v <- vapply(each, `[[`, numeric(2), "variance")

test_that("predictions agree with the mixture over the draws, on the scales of the predictor and of the response", {
  link <- predict(few, new, type = "link", se.fit = TRUE, interval = "confidence")
  expect_equal(link$fit, rowMeans(m), tolerance = 1e-6)
  expect_equal(link$se.fit, sqrt(rowMeans(v) + rowMeans((m - rowMeans(m))^2)), tolerance = 1e-6)
  # the moments of a log-normal variable
  first <- rowMeans(exp(m + v / 2))
  second <- rowMeans(exp(2 * m + 2 * v))
  field <- predict(few, new, se.fit = TRUE, interval = "confidence")
  expect_equal(field$fit, first, tolerance = 1e-6)
  expect_equal(field$se.fit, sqrt(second - first^2), tolerance = 1e-5)
  expect_equal(as.matrix(field[c("lwr", "upr")]), exp(as.matrix(link[c("lwr", "upr")])), tolerance = 1e-8)
  seen <- predict(few, new, se.fit = TRUE, interval = "prediction")
  expect_equal(seen$se.fit, sqrt(second - first^2 + first), tolerance = 1e-5)
  for (k in 1:2) {
    below <- function(q) mean(mapply(function(mean, sd) {
      integrate(function(eta) ppois(q, exp(eta)) * dnorm(eta, mean, sd), mean - 9 * sd, mean + 9 * sd)$value
    }, m[k, ], sqrt(v[k, ])))
    for (end in list(c(seen$lwr[k], 0.025), c(seen$upr[k], 0.975))) {
      expect_gte(below(end[[1]]), end[[2]])
      if (end[[1]] > 0) expect_lt(below(end[[1]] - 1), end[[2]])
    }
  }
  expect_equal(predict(few, new), setNames(first, 1:2), tolerance = 1e-6)
  expect_equal(predict(few, new, interval = "prediction", probs = c(0.025, 0.975))[c("q0.025", "q0.975")],
               seen[c("lwr", "upr")], ignore_attr = TRUE)
  levels <- predict(few, new, interval = "confidence", probs = 0.975, above = c(-1, 3))
  expect_equal(levels$q0.975, field$upr)
  expect_equal(levels[["above-1"]], c(1, 1))
  expect_equal(levels$above3, rowMeans(pnorm(log(3), m, sqrt(v), lower.tail = FALSE)), tolerance = 1e-6)
  more <- predict(few, new, interval = "prediction", above = 3)$above3
  for (k in 1:2) {
    expect_equal(more[k], mean(mapply(function(mean, sd) {
      integrate(function(eta) ppois(3, exp(eta), lower.tail = FALSE) * dnorm(eta, mean, sd), mean - 9 * sd,
                mean + 9 * sd)$value
    }, m[k, ], sqrt(v[k, ]))), tolerance = 1e-6)
  }
})

test_that("simulations have the moments of the mixture, and method \"vecchia\" with all neighbours agrees", {
  sims <- simulate(few, 3000, seed = 1, newdata = new)
  sd <- sqrt(rowMeans(v) + rowMeans((m - rowMeans(m))^2))
  expect_lt(max(abs(rowMeans(sims) - rowMeans(m)) / sd), 0.08)
  expect_equal(unname(apply(sims, 1, sd)), sd, tolerance = 0.05)
  expect_true(all(simulate(few, 6, seed = 1, newdata = new, noise = TRUE) %in% 0:1000))
  near <- suppressWarnings(gp_posterior(update(fit, method = "vecchia", neighbours = 14), 6))
  expect_equal(near$theta, few$theta, tolerance = 1e-3)
  near[c("theta", "number")] <- few[c("theta", "number")]
  expect_equal(predict(near, new, se.fit = TRUE, interval = "prediction"),
               predict(few, new, se.fit = TRUE, interval = "prediction"), tolerance = 1e-5)
})

test_that("draws do not vary the parameters of the family, and have no coefficients without a trend", {
  prior <- list(variance = pc_sd(2, 0.05), range = pc_range(0.2))
  sized <- gp(I(y + 0.5) ~ x, case, ~ x, family = Gamma("log"), prior = prior)
  drawn <- suppressWarnings(gp_posterior(sized, 5))
  expect_named(as.data.frame(drawn), c("matern.variance", "matern.range", "(Intercept)", "x"))
  expect_identical(unique(drawn$theta[, "shape"]), sized$dispersion[["shape"]])
  limits <- predict(drawn, new, interval = "prediction")
  expect_true(all(limits$lwr < limits$fit & limits$fit < limits$upr))
  plain <- gp(y ~ 0, case, ~ x, family = poisson(), prior = prior, known = list(beta = 1))
  alone <- suppressWarnings(gp_posterior(plain, 5))
  expect_named(as.data.frame(alone), c("matern.variance", "matern.range"))
  expect_length(predict(alone, new), 2)
})

test_that("blocks, joint covariances and local predictions are averaged over the draws", {
  joint <- Map(laplace_joint, as.data.frame(few)[[1]], as.data.frame(few)[[2]])
  off <- m - rowMeans(m)
  total <- Reduce(`+`, lapply(joint, `[[`, "cov")) / 6 + tcrossprod(off) / 6
  expect_equal(predict(few, new, type = "link", cov = TRUE)$cov, total, tolerance = 1e-6, ignore_attr = TRUE)
  # covariances of the means, from the moments of log-normal variables
  means <- exp(m + v / 2)
  within <- lapply(joint, \(draw) {
    exp(outer(draw$mean, draw$mean, "+") + outer(diag(draw$cov), diag(draw$cov), "+") / 2) * expm1(draw$cov)
  })
  between <- Reduce(`+`, within) / 6 + tcrossprod(means - rowMeans(means)) / 6
  ours <- predict(few, new, cov = TRUE, se.fit = TRUE)
  expect_equal(ours$cov, between, tolerance = 1e-6, ignore_attr = TRUE)
  expect_equal(unname(diag(ours$cov)), ours$fit$se.fit^2, tolerance = 1e-10)
  # a block that consists of two points
  pair <- list(x = 2.3, hours = 1)
  block <- predict(few, as.data.frame(pair), block = 0.8, se.fit = TRUE, interval = "confidence", above = 2)
  nodes <- 2.3 + 0.4 * c(-0.8611363115940526, -0.3399810435848563, 0.3399810435848563, 0.8611363115940526)
  weight <- c(0.3478548451374538, 0.6521451548625461, 0.6521451548625461, 0.3478548451374538) / 2
  inside <- Map(\(v, b) laplace_joint(v, b, nodes), as.data.frame(few)[[1]], as.data.frame(few)[[2]])
  fits <- vapply(inside, \(draw) sum(weight * exp(draw$mean + diag(draw$cov) / 2)), 0)
  squares <- vapply(inside, \(draw) {
    both <- exp(outer(draw$mean, draw$mean, "+") + outer(diag(draw$cov), diag(draw$cov), "+") / 2)
    sum(weight * ((both * expm1(draw$cov)) %*% weight))
  }, 0)
  expect_equal(block$fit, mean(fits), tolerance = 1e-6)
  expect_equal(block$se.fit, sqrt(mean(squares) + mean((fits - mean(fits))^2)), tolerance = 1e-6)
  sampled <- withr::with_seed(2, unlist(lapply(inside, \(draw) {
    weight %*% exp(draw$mean + t(chol(draw$cov)) %*% matrix(rnorm(4 * 4000), 4))
  })))
  expect_equal(unlist(block[c("lwr", "upr", "above2")]), c(quantile(sampled, c(0.025, 0.975)), mean(sampled > 2)),
               tolerance = 0.03, ignore_attr = TRUE)
  expect_equal(predict(few, new, nmax = 15, interval = "prediction"), predict(few, new, interval = "prediction"),
               tolerance = 1e-8)
  expect_false(isTRUE(all.equal(predict(few, new, nmax = 2), predict(few, new), tolerance = 1e-3)))
})
