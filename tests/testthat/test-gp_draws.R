# Posterior draws of the parameters, and predictions averaged over the draws, against quadrature on a grid in plain R.

case <- withr::with_seed(6, smooth_case(40, noise = 0.3))
prior <- list(range = pc_range(0.2, 0.05), variance = pc_sd(2, 0.05))
fit <- gp(z ~ w, case, ~ a + b, matern(3/2) + nugget(0.09, fixed = "variance"), prior = prior)
draws <- gp_posterior(fit, 1500, seed = 2)
posterior <- gp_posterior(fit, 300, seed = 3)
new <- data.frame(a = c(0.5, 1.4), b = c(0.5, -0.2), w = c(0, 1))
X <- cbind(1, case$w)
X0 <- cbind(1, new$w)

log_posterior <- function(s) {
  rate <- -log(0.05) * c(0.2, 1 / 2)
  prior <- log(rate[1]) - s[1] - rate[1] * exp(-s[1]) + log(rate[2] / 2) + s[2] / 2 - rate[2] * exp(s[2] / 2)
  prior - oracle_likelihood(covariance_of(case[c("a", "b")], exp(s[2]), exp(s[1]), 0.09), case$z, X, TRUE)$value / 2
}
# Universal kriging of the field: the mean and the variance at each new point.
kriged <- function(s) {
  all <- covariance_of(rbind(case[c("a", "b")], new[c("a", "b")]), exp(s[2]), exp(s[1]), 0)
  old <- 1:40
  inverse <- solve(all[old, old] + diag(0.09, 40))
  weights <- all[-old, old] %*% inverse
  left <- X0 - weights %*% X
  information <- t(X) %*% inverse %*% X
  beta <- solve(information, t(X) %*% inverse %*% case$z)
  c(X0 %*% beta + weights %*% (case$z - X %*% beta),
    diag(all)[-old] - rowSums(weights * all[-old, old]) + rowSums(left * t(solve(information, t(left)))))
}
mode <- log(coef(fit, "covariance")[c("matern.range", "matern.variance")])
grid <- as.matrix(expand.grid(mode[[1]] + seq(-1.5, 4, by = 0.15), mode[[2]] + seq(-2, 5, by = 0.3)))
density <- apply(grid, 1, log_posterior)
density <- exp(density - max(density)) / sum(exp(density - max(density)))

test_that("draws have the moments and quantiles of the posterior on a grid", {
  edges <- grid[, 1] %in% range(grid[, 1]) | grid[, 2] %in% range(grid[, 2])
  expect_lt(sum(density[edges]), 1e-3)
  ours <- log(as.matrix(as.data.frame(draws)[c("matern.range", "matern.variance")]))
  center <- as.vector(density %*% grid)
  spread <- stats::cov.wt(grid, density, method = "ML")$cov
  error <- sqrt(diag(spread) / draws$ess)
  expect_lt(max(abs(colMeans(ours) - center) / error), 3)
  expect_equal(unname(cov(ours)), unname(spread), tolerance = 0.1)
  for (k in 1:2) for (p in c(0.05, 0.5, 0.95)) {
    at <- quantile(ours[, k], p)
    by <- tapply(density, grid[, k], sum)
    upto <- approx(as.numeric(names(by)) + c(0.075, 0.15)[k], cumsum(by), at)$y
    expect_lt(abs(upto - p), 0.03)
  }
  expect_gt(draws$ess, 1500)
})

test_that("joint covariances are the mean conditional covariance plus the covariance of the conditional means", {
  few <- gp_posterior(fit, 20, seed = 4)
  joint <- function(range, variance) {
    all <- covariance_of(rbind(case[c("a", "b")], new[c("a", "b")]), variance, range, 0)
    inverse <- solve(all[1:40, 1:40] + diag(0.09, 40))
    weights <- all[-(1:40), 1:40] %*% inverse
    left <- X0 - weights %*% X
    information <- t(X) %*% inverse %*% X
    beta <- solve(information, t(X) %*% inverse %*% case$z)
    list(mean = X0 %*% beta + weights %*% (case$z - X %*% beta),
         cov = all[-(1:40), -(1:40)] - weights %*% all[1:40, -(1:40)] + left %*% solve(information, t(left)))
  }
  at <- as.data.frame(few)
  each <- Map(joint, at$matern.range, at$matern.variance)
  means <- sapply(each, `[[`, "mean")
  expected <- unname(Reduce(`+`, lapply(each, `[[`, "cov")) + tcrossprod(means - rowMeans(means))) / 20
  ours <- predict(few, rbind(new, NA), interval = "confidence", cov = TRUE)
  expect_equal(unname(ours$cov[1:2, 1:2]), expected, tolerance = 1e-9)
  expect_true(all(is.na(ours$cov[3, ])))
  expect_equal(ours$fit$fit[1:2], rowMeans(means), tolerance = 1e-9)
  noisy <- predict(few, new, interval = "prediction", cov = TRUE)
  expect_equal(unname(noisy$cov), expected + diag(0.09, 2), tolerance = 1e-9)
})

test_that("predictions averaged over the draws agree with quadrature", {
  each <- apply(grid, 1, kriged)
  mean <- as.vector(each[1:2, ] %*% density)
  variance <- as.vector(each[3:4, ] %*% density + (each[1:2, ] - mean)^2 %*% density)
  ours <- predict(posterior, new, se.fit = TRUE, interval = "confidence")
  expect_lt(max(abs(ours$fit - mean) / sqrt(variance)), 0.03)
  expect_equal(ours$se.fit, sqrt(variance), tolerance = 0.03)
  for (k in 1:2) {
    below <- function(q) sum(density * pnorm(q, each[k, ], sqrt(each[2 + k, ])))
    expect_equal(below(ours$lwr[k]), 0.025, tolerance = 0.15)
    expect_equal(below(ours$upr[k]), 0.975, tolerance = 0.005)
  }
})

few <- gp_posterior(fit, 12)
test_that("all columns of predictions agree with the mixture over the draws", {
  by_draw <- apply(log(few$theta[, c("matern.range", "matern.variance")]), 1, kriged)
  mean <- unname(rowMeans(by_draw[1:2, ]))
  sd <- sqrt(by_draw[3:4, ] + 0.09)
  ours <- predict(few, new, se.fit = TRUE, interval = "prediction", level = 0.8, probs = 0.3, above = 0.2)
  expect_equal(ours$fit, mean, tolerance = 1e-9)
  expect_equal(predict(few, new), c("1" = mean[1], "2" = mean[2]), tolerance = 1e-9)
  expect_equal(ours$se.fit, unname(sqrt(rowMeans(sd^2) + rowMeans((by_draw[1:2, ] - mean)^2))), tolerance = 1e-9)
  for (k in 1:2) {
    below <- function(q) mean(pnorm(q, by_draw[k, ], sd[k, ]))
    expect_equal(below(ours$lwr[k]), 0.1, tolerance = 1e-9)
    expect_equal(below(ours$upr[k]), 0.9, tolerance = 1e-9)
    expect_equal(below(ours$q0.3[k]), 0.3, tolerance = 1e-9)
    expect_equal(1 - below(0.2), ours$above0.2[k], tolerance = 1e-9)
  }
})

test_that("for a transformed response, means are averaged over the draws, and limits are transformed back", {
  logs <- update(fit, exp(z) ~ w, transform = "log")
  by_logs <- gp_posterior(logs, 12)
  expect_equal(by_logs$theta, few$theta, tolerance = 1e-6)
  link <- predict(by_logs, new, type = "link", interval = "prediction")
  back <- predict(by_logs, new, se.fit = TRUE, interval = "prediction")
  expect_equal(back[c("lwr", "upr")], exp(link[c("lwr", "upr")]))
  each <- lapply(seq_len(12), function(k) {
    of <- by_logs$theta[k, ]
    given <- matern(3/2, of[["matern.variance"]], of[["matern.range"]]) + nugget(0.09)
    fit <- gp(exp(z) ~ w, case, ~ a + b, given, transform = "log", estimate = "none")
    predict(fit, new, se.fit = TRUE, interval = "prediction")
  })
  means <- vapply(each, `[[`, numeric(2), "fit")
  errors <- vapply(each, `[[`, numeric(2), "se.fit")
  expect_equal(back$fit, rowMeans(means), tolerance = 1e-9)
  expect_equal(back$se.fit, sqrt(rowMeans(errors^2) + rowMeans((means - rowMeans(means))^2)), tolerance = 1e-9)
})

test_that("draws for a transformed response work with means over blocks, and with joint covariances", {
  by_logs <- gp_posterior(update(fit, exp(z) ~ w, transform = "log"), 12)
  each <- lapply(seq_len(12), function(k) {
    of <- by_logs$theta[k, ]
    given <- matern(3/2, of[["matern.variance"]], of[["matern.range"]]) + nugget(0.09)
    fit <- gp(exp(z) ~ w, case, ~ a + b, given, transform = "log", estimate = "none")
    list(block = predict(fit, new, block = c(0.1, 0.2), se.fit = TRUE, interval = "confidence"),
         joint = predict(fit, new, cov = TRUE)$cov, link = predict(fit, new, type = "link", interval = "confidence"),
         sd = predict(fit, new, type = "link", se.fit = TRUE, interval = "confidence")$se.fit)
  })
  column <- \(name) vapply(each, \(x) x$block[[name]], numeric(2))
  ours <- predict(by_logs, new, block = c(0.1, 0.2), se.fit = TRUE, interval = "confidence", above = 2)
  means <- column("fit")
  expect_equal(ours$fit, rowMeans(means), tolerance = 1e-9)
  expect_equal(ours$se.fit, sqrt(rowMeans(column("se.fit")^2) + rowMeans((means - ours$fit)^2)), tolerance = 1e-9)
  expect_true(all(ours$lwr < ours$fit & ours$fit < ours$upr & ours$above2 >= 0 & ours$above2 <= 1))
  # the covariance uses conditional means given the data, which are not corrected for the estimated trend
  centres <- vapply(each, \(x) exp(x$link$fit + x$sd^2 / 2), numeric(2))
  joint <- Reduce(`+`, lapply(each, `[[`, "joint")) / 12 + tcrossprod(centres - rowMeans(centres)) / 12
  expect_equal(predict(by_logs, new, cov = TRUE)$cov, joint, tolerance = 1e-8)
})

test_that("simulations have the mean and covariance of the mixture, and depend on a seed", {
  sims <- simulate(posterior, nsim = 600, seed = 1, newdata = new)
  told <- predict(posterior, new, se.fit = TRUE, interval = "none")
  expect_lt(max(abs(rowMeans(sims) - told$fit) / told$se.fit), 0.12)
  expect_equal(apply(sims, 1, sd), told$se.fit, tolerance = 0.1, ignore_attr = TRUE)
  expect_identical(simulate(few, 3, seed = 1, newdata = new), simulate(few, 3, seed = 1, newdata = new))
  expect_identical(dim(simulate(few, 20, noise = TRUE)), c(40L, 20L))
})

test_that("Vecchia's method with all neighbours is exact; draws can be saved and do not change the fit", {
  near <- gp_posterior(update(fit, method = "vecchia", neighbours = 39), 12)
  expect_equal(near$theta, few$theta, tolerance = 1e-2)
  near$theta[] <- few$theta
  near$number <- few$number
  limits <- function(draws) predict(draws, new, interval = "confidence")
  expect_equal(limits(near), limits(few), tolerance = 1e-6)
  file <- withr::local_tempfile()
  before <- predict(fit, new, interval = "confidence")
  saveRDS(few, file)
  expect_identical(predict(readRDS(file), new), predict(few, new))
  expect_identical(predict(fit, new, interval = "confidence"), before)
})

test_that("posteriors with several modes or one parameter can be drawn, and their mixture quantiles are right", {
  target <- list(centers = list(c(-3, 0), c(3, 1)), scales = list(diag(2), diag(2)), theta_of = identity,
                 log_density = function(s) log(0.3 * prod(dnorm(s - c(-3, 0))) + 0.7 * prod(dnorm(s - c(3, 1)))),
                 names = c("a", "b"))
  pool <- withr::with_seed(1, posterior_pool(target, 2000))
  expect_equal(as.vector(pool$weight %*% pool$theta), c(-3, 0) * 0.3 + c(3, 1) * 0.7, tolerance = 0.08)
  alone <- gp(z ~ 0, case, ~ a + b, matern(3/2, 1, fixed = "variance") + nugget(0.09, fixed = "variance"),
              prior = list(range = lognormal(-1, 0.5)))
  expect_named(as.data.frame(gp_posterior(alone, 20)), "matern.range")
  chosen <- withr::with_seed(1, systematic_sample(c(0.5, 0, 0.25, 0.25), 8))
  expect_identical(tabulate(chosen, 4), c(4L, 0L, 2L, 2L))
  expect_equal(mixture_quantile(0.9, cbind(1, 3), cbind(2, 2), c(1, 0)), qnorm(0.9, 1, 2))
  expect_equal(mixture_quantile(0.9, cbind(1, 1), cbind(0, 0), c(0.5, 0.5)), 1)
})

test_that("errors name invalid arguments", {
  free <- gp(z ~ 1, case, ~ a + b, prior = list(range = pc_range(0.1)))
  expect_snapshot(error = TRUE, {
    gp_posterior(1)
    gp_posterior(fit, n = 0)
    gp_posterior(free)
    gp_posterior(update(fit, prior = NULL))
    gp_posterior(update(fit, estimate = "ML"))
    gp_posterior(update(fit, method = "iterative"))
    predict(few, new, weights = 1)
    predict(few, new, type = "terms")
    predict(few, new, block = c(1, 1), interval = "prediction")
    simulate(few, nsim = 0)
  })
  expect_snapshot(few)
  expect_warning(warn_low_ess(3, 100), class = "kernops_low_ess")
})
