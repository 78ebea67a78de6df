# Neighbours by correlation, for covariances that are given by a formula.

turned <- "s * Exp(-Sqrt(SqDist(x, y) + 30 * Square(Elem(x, 0) + Elem(x, 1) - Elem(y, 0) - Elem(y, 1))) / r)"
correlation_of <- function(u, v) exp(-sqrt(outer(seq_len(nrow(u)), seq_len(nrow(v)), Vectorize(\(i, j) {
  sum((u[i, ] - v[j, ])^2) + 30 * (sum(u[i, ]) - sum(v[j, ]))^2
}))) / 0.3)
case <- local({
  withr::local_seed(4)
  smooth_case(90)
})
fit_by <- function(method = "vecchia", m = 8, ...) {
  gp(z ~ 1, case, ~ a + b, covariance(turned, c(s = 1.3, r = 0.3)) + nugget(0.05), method, "none", neighbours = m,
     ordering = "given", ...)
}

test_that("neighbours are the earlier points with the largest correlation", {
  u <- as.matrix(case[c("a", "b")])
  K <- correlation_of(u, u)
  neighbours <- lapply(1:90, \(i) utils::head(order(-K[i, seq_len(i - 1)]), 8))
  expected <- oracle_vecchia(1.3 * K + diag(0.05, 90), neighbours, case$z, cbind(rep(1, 90)))
  expect_equal(fit_by()$loglik, -expected$value / 2, tolerance = 1e-9)
})

test_that("candidates are ranked by correlation, with the same result for blocks of points", {
  fit <- fit_by()
  u <- unname(fit$data$u)
  candidates <- gp_neighbours(u, 20, "given")$neighbours
  candidates[is.na(candidates)] <- 0L
  rank <- kernops:::ranked_by_correlation(fit$model, fit$theta, width = 200)
  found <- rank(candidates, u, u, 5)
  K <- correlation_of(u, u)
  for (i in c(2, 7, 50, 90)) {
    near <- candidates[candidates[, i] > 0, i]
    best <- utils::head(near[order(-K[i, near])], 5)
    expect_equal(found[, i], c(best, integer(5 - length(best))))
  }
  expect_identical(kernops:::ranked_by_correlation(fit$model, fit$theta)(candidates, u, u, 5), found)
})

test_that("local predictions use the observations with the largest correlation", {
  fit <- fit_by()
  new <- data.frame(a = c(0.2, 0.55), b = c(0.4, 0.8))
  found <- predict(fit, new, se.fit = TRUE, interval = "confidence", joint = FALSE, control = list(neighbours = 10))
  u <- as.matrix(case[c("a", "b")])
  for (k in 1:2) {
    across <- 1.3 * drop(correlation_of(u, as.matrix(new[k, ])))
    near <- utils::head(order(-across), 10)
    weights <- solve(1.3 * correlation_of(u[near, ], u[near, ]) + diag(0.05, 10), across[near])
    expect_equal(found$fit[[k]], unname(fit$beta + sum(weights * (case$z[near] - fit$beta))), tolerance = 1e-8)
  }
})

test_that("with all points as neighbours, fits are exact; other covariances use the nearest points", {
  expect_equal(fit_by(m = 89)$loglik, fit_by("exact")$loglik, tolerance = 1e-9)
  search <- function(m, of = NULL) "nearest"
  model <- gp(z ~ 1, case, ~ a + b, matern(3/2, 1, 0.3) + nugget(0.1), "vecchia", "none")$model
  expect_identical(kernops:::correlated_search(search, model, 1, NULL), search)
})

test_that("the neighbours follow the correlation at the estimates", {
  field <- covariance(turned, c(s = 1, r = 0.5), positive = c("s", "r"))
  free <- function(method) gp(z ~ 1, case, ~ a + b, field + nugget(0.05, fixed = "variance"), method, neighbours = 25)
  expect_equal(free("vecchia")$loglik, free("exact")$loglik, tolerance = 0.02)
})
