# Coefficients that every observation contains, ordered before and after the coefficients of levels, against dense
# matrices in plain R.

n <- 60
d <- withr::with_seed(9, data.frame(a = runif(n), b = runif(n), w = runif(n), x = rnorm(n), y = rpois(n, 2)))
d <- transform(d, g = floor(2 * a) * 2 + floor(2 * b), all = "one")
fit_of_counts <- function(neighbours) {
  covariance <- matern(3/2, 0.3, 0.2) + random_effect(~ 0 + w | all, 0.3) + random_effect(~ 1 | g, 0.2) +
    random_effect(~ 0 + x | all, 0.4)
  gp(y ~ 1, d, ~ a + b, covariance, method = "vecchia", family = poisson(), estimate = "none", neighbours = neighbours)
}
# All pairs of points are neighbours, so that no entry is dropped.
fit <- fit_of_counts(n - 1)
parts <- kernops:::latent_parts(fit$model, fit$data$u)
theta <- unname(fit$theta)
sets <- kernops:::latent_sets(kernops:::places_of_parts(parts), parts$field, theta[parts$rows], n - 1, fit$how, parts,
                              theta)
system <- kernops:::latent_system(sets, parts$field, theta[parts$rows], whole = theta)
ordered <- as.matrix(d[1:2])[order(sets$of), ]
K <- covariance_values(matern(3/2, 0.3, 0.2), ordered, ordered)
B <- cbind(sqrt(0.3) * d$w, sqrt(0.2) * outer(d$g, 0:3, `==`), sqrt(0.4) * d$x)
A <- diag(n)[sets$of, ]
C <- cbind(B, A)
prior <- diag(n + 6)
prior[6 + 1:n, 6 + 1:n] <- solve(K)

test_that("the posterior agrees with dense algebra, for weights of both signs", {
  expect_equal(sets$observed$dense, c(1, 6))
  for (least in c(0.5, -0.05)) {
    W <- withr::with_seed(2, runif(n, least, 3))
    H <- prior + t(C) %*% (W * C)
    inverse <- solve(H)
    log_det <- \(x) as.numeric(determinant(x)$modulus)
    expect_equal(system$logdet(W), log_det(H) + log_det(K), tolerance = 1e-7)
    b <- withr::with_seed(3, matrix(rnorm(2 * (n + 6)), n + 6))
    expect_equal(c(system$mean(W, b)), c(inverse %*% b), tolerance = 1e-7)
    expect_equal(system$posterior$variances(), diag(inverse), tolerance = 1e-6)
    expect_equal(system$variances(system$posterior), diag(C %*% inverse %*% t(C)), tolerance = 1e-6)
    covariances <- system$posterior$effects()
    expect_equal(covariances$diagonal(covariances$value), diag(inverse)[1:6], tolerance = 1e-6)
    sums <- vapply(1:3, \(k) {
      kernops:::sum_of_blocks(covariances, c(0, 1, 5)[k], 1, c(1, 4, 1)[k])[1, 1]
    }, 0)
    expect_equal(sums, c(inverse[1, 1], sum(diag(inverse)[2:5]), inverse[6, 6]), tolerance = 1e-6)
    combined <- list(neighbours = matrix(c(1L, 3L, 6L, 9L, 20L, 6L), 3), weights = matrix(c(1, -1, 2, 0.5, 1, 1), 3))
    dense <- matrix(0, n + 6, 2)
    for (k in 1:2) dense[combined$neighbours[, k], k] <- combined$weights[, k]
    expect_equal(crossprod(system$posterior$parts(combined)), t(dense) %*% inverse %*% dense, tolerance = 1e-6)
    expect_equal(system$posterior$sums(combined), diag(t(dense) %*% inverse %*% dense), tolerance = 1e-6)
  }
  expect_lt(abs(system$error()$logdet), 1e-6)
})

test_that("columns that are solved together have the solutions and forms of each column alone", {
  few <- kernops:::latent_sets(kernops:::places_of_parts(parts), parts$field, theta[parts$rows], 6, fit$how, parts,
                               theta)
  system <- kernops:::latent_system(few, parts$field, theta[parts$rows], whole = theta)
  W <- withr::with_seed(2, runif(n, 0.5, 3))
  b <- withr::with_seed(3, matrix(rnorm(11 * (n + 6)), n + 6))
  alone <- lapply(1:11, \(k) system$mean(W, b[, k, drop = FALSE]))
  together <- system$mean(W, b)
  expect_gt(max(attr(together, "steps")), 2)
  expect_identical(c(together), unlist(lapply(alone, c)))
  expect_identical(attr(together, "steps"), vapply(alone, attr, 0L, "steps"))
  system$logdet(W)
  forms <- system$posterior$log_forms(b)
  expect_identical(forms, vapply(1:11, \(k) system$posterior$log_forms(b[, k, drop = FALSE]), 0))
})

test_that("the gradient agrees with differences of the likelihood with few neighbours", {
  fit <- fit_of_counts(8)
  likelihood <- kernops:::likelihood_for(fit$response, fit$outer, fit$how)
  theta <- fit$outer_theta
  state <- likelihood$evaluate(theta)
  slope <- central_difference(\(t) likelihood$evaluate(t)$value, theta, 1e-4)
  expect_close(matrix(state$gradient(), 1), slope, tolerance = 1e-5, scale = max(abs(slope)))
})

test_that("observations of the border coefficients are checked", {
  held <- sets$pattern()$held
  columns <- matrix(1L, 3, n)
  observe <- \(of = seq_len(n), columns = matrix(1L, 3, n)) {
    kernops:::posterior_observe_border(held, of, columns, matrix(1, 3, n), rep(1, n))
  }
  expect_error(observe(columns = columns[, -1]), "each point has effects")
  expect_error(observe(of = c(n + 1L, seq_len(n - 1))), "there is no such effect")
  expect_error(observe(columns = 0L * columns), "there is no such effect")
})
