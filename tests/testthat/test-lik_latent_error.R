# The error of the incomplete factor for a field and levels in cells, against dense matrices in plain R.

# A field at n points with m neighbours, levels in side^2 cells, and the dense posterior precision matrix H.
cells_case <- function(n = 500, side = 3, m = 10, wide = 0, probes = 64, weight = NULL) {
  withr::local_seed(11)
  u <- matrix(runif(2 * n), n)
  d <- data.frame(a = u[, 1], b = u[, 2], g = floor(u[, 1] * side) * side + floor(u[, 2] * side), y = rpois(n, 2))
  fit <- gp(y ~ 1, d, ~ a + b, matern(3/2, 0.3, 0.2) + random_effect(~ 1 | g, 0.2), method = "vecchia",
            family = poisson(), estimate = "none", neighbours = m)
  theta <- unname(fit$theta)
  parts <- kernops:::latent_parts(fit$model, fit$data$u)
  parts$wide <- kernops:::wide_sets(count = wide, probes = probes)
  places <- kernops:::places_of_parts(parts)
  sets <- kernops:::latent_sets(places, parts$field, theta[parts$rows], m, fit$how, parts, theta)
  system <- kernops:::latent_system(sets, parts$field, theta[parts$rows], whole = theta)
  near <- sets$neighbours
  U <- diag(n)
  for (i in seq_len(n)) U[i, near[near[, i] > 0, i]] <- -system$factor$weights[near[, i] > 0, i]
  Q <- crossprod(U / system$factor$sd)
  B <- outer(d$g, sort(unique(d$g)), `==`) * sqrt(theta[3])
  A <- matrix(0, n, n)
  A[cbind(seq_len(n), sets$of)] <- 1
  W <- if (is.null(weight)) runif(n, 0.5, 10) else rep(weight, n)
  C <- cbind(B, A)
  H <- crossprod(C, W * C)
  q <- ncol(B)
  H[seq_len(q), seq_len(q)] <- H[seq_len(q), seq_len(q)] + diag(q)
  H[-seq_len(q), -seq_len(q)] <- H[-seq_len(q), -seq_len(q)] + Q
  log_sd <- 2 * sum(log(system$factor$sd))
  list(fit = fit, sets = sets, system = system, W = W, H = H, C = C, q = q,
       logdet = as.numeric(determinant(H)$modulus) + log_sd)
}

test_that("the log-determinant plus its estimated error agrees with dense algebra", {
  case <- cells_case()
  logdet <- case$system$logdet(case$W)
  error <- case$system$error()
  expect_gt(abs(logdet - case$logdet), 4 * error$std_error)
  expect_lt(abs(logdet + error$logdet - case$logdet), 4 * error$std_error)
  wide <- cells_case(wide = 20)
  expect_lt(abs(wide$system$logdet(wide$W) - wide$logdet), abs(logdet - case$logdet) / 5)
})

test_that("quadratic forms of the matrix logarithm agree with dense algebra", {
  # the sparsity pattern contains all pairs, so that the factor is exact
  full <- cells_case(wide = 499)
  expect_equal(full$system$logdet(full$W), full$logdet, tolerance = 1e-12)
  expect_lt(abs(full$system$error()$logdet), 1e-9)
  # log_forms() returns z' log(A) z for each column z of its argument, where A = L^-1 H L'^-1 and L is the factor. For
  # the unit vectors, the sum of these forms is the trace of log A, which equals log det H - log det L L'.
  case <- cells_case(n = 60, side = 2, m = 5)
  logdet <- case$system$logdet(case$W)
  forms <- case$system$posterior$log_forms(diag(nrow(case$H)))
  expect_equal(sum(forms), case$logdet - logdet, tolerance = 1e-3)
  expect_gt(abs(sum(forms)), 0.001)
})

test_that("conditioning sets widen until the log-likelihood is precise, and the gradient agrees", {
  case <- cells_case(n = 1500, side = 4)
  fit <- case$fit
  likelihood <- kernops:::likelihood_for(fit$response, fit$outer, fit$how)
  theta <- fit$outer_theta
  state <- likelihood$evaluate(theta)
  expect_lte(state$logdet_error / 2, 0.05)
  expect_gt(likelihood$kept_neighbours(theta)$wide, 10)
  gradient <- state$gradient()
  slope <- central_difference(\(t) likelihood$evaluate(t)$value, theta, 1e-3)
  expect_close(matrix(gradient, 1), slope, tolerance = 1e-5, scale = max(abs(slope)))
  # the correction does not depend on the parameters
  expect_identical(likelihood$evaluate(1.01 * theta)$posterior$error, state$posterior$error)
  sets <- cells_case()$sets
  expect_true(kernops:::widen(sets))
  expect_equal(sets$wide$count, 15)
  # ten more neighbours divide the error by five
  expect_true(kernops:::widen(sets, 5 * sets$wide$enough))
  expect_equal(sets$wide$count, 25)
  sets$wide$most <- 25
  expect_false(kernops:::widen(sets))
})

test_that("for very many locations, the search starts with the widest sets and all neighbours", {
  case <- cells_case(n = 1500, side = 4)
  fit <- case$fit
  estimated <- function() {
    d <- data.frame(a = fit$data$u[, 1], b = fit$data$u[, 2], g = fit$data$u[, 3], y = fit$response$y)
    suppressMessages(gp(y ~ 1, d, ~ a + b, matern(3/2, range = 0.2) + random_effect(~ 1 | g), method = "vecchia",
                        family = poisson(), neighbours = 10))
  }
  usual <- estimated()
  most <- kernops:::most_wide
  withr::defer(utils::assignInNamespace("most_wide", most, "kernops"))
  utils::assignInNamespace("most_wide", 45 * 1000, "kernops")
  likelihood <- kernops:::likelihood_for(fit$response, fit$outer, fit$how)
  expect_identical(likelihood$few(), 0L)
  state <- likelihood$evaluate(fit$outer_theta)
  expect_equal(likelihood$kept_neighbours(fit$outer_theta)$wide, 30)
  # a second call with the same parameters returns the stored state
  expect_identical(likelihood$evaluate(fit$outer_theta), state)
  expect_false(identical(likelihood$evaluate(1.01 * fit$outer_theta)$value, state$value))
  at_once <- estimated()
  expect_lte(abs(as.numeric(logLik(at_once)) - as.numeric(logLik(usual))), 0.05)
  expect_equal(at_once$outer_theta, usual$outer_theta, tolerance = 0.02)
})

test_that("with wide conditioning sets, an incomplete factor exists although levels have hundreds of observations", {
  case <- cells_case(n = 1500, side = 2, m = 8, weight = 20)
  expect_identical(case$system$logdet(case$W), NaN) # NaN: no factor exists without wide sets
  wide <- cells_case(n = 1500, side = 2, m = 8, wide = 20, weight = 20)
  logdet <- wide$system$logdet(wide$W)
  error <- wide$system$error()
  expect_lt(abs(logdet + error$logdet - wide$logdet), 4 * error$std_error)
})

test_that("if there is no factor for weights of both signs, wider sets are tried before expected weights", {
  withr::local_seed(3)
  d <- data.frame(a = runif(200), b = runif(200), g = rep(1:4, 50))
  d$y <- sin(6 * d$a) + rt(200, 2) / 4
  factor <- kernops:::posterior_factor
  withr::defer(utils::assignInNamespace("posterior_factor", factor, "kernops"))
  failed <- FALSE
  utils::assignInNamespace("posterior_factor", function(held, diagonal, threads) {
    fails <- !failed && min(diagonal) < 0
    if (fails) failed <<- TRUE
    if (fails) NaN else factor(held, diagonal, threads)
  }, "kernops")
  fit <- gp(y ~ 1, d, ~ a + b, matern(3/2, 0.3, 0.2) + random_effect(~ 1 | g, 0.2), method = "vecchia",
            family = student(2, 0.25), estimate = "none", neighbours = 10)
  expect_true(failed)
  expect_lt(min(fit$latent$terms$weight), 0)
  expect_null(fit$latent$terms$curvature) # `curvature` is stored only if expected weights are used
  expect_gte(fit$vecchia$wide, 15)
})

test_that("a warning reports an imprecise factor", {
  expect_warning(kernops:::warn_of_factor(0.4), class = "kernops_monte_carlo_error")
  expect_silent(kernops:::warn_of_factor(0.08))
  expect_silent(kernops:::warn_of_factor(NULL))
})
