# Models of families with Vecchia's approximation of the field, random effects and smooths, against the dense Laplace
# approximation and plain R.

surveys <- local({
  withr::local_seed(53)
  d <- transform(smooth_case(90), x = runif(90), g = sample(letters[1:6], 90, TRUE), h = sample(1:9, 90, TRUE),
                 size = sample(2:6, 90, TRUE))
  d[81:90, c("a", "b")] <- d[1:10, c("a", "b")] # several observations at a location
  eta <- d$z / 2 + rnorm(6, sd = 0.6)[match(d$g, letters)] + 0.4 * d$w * rnorm(9)[d$h]
  transform(d, k = rpois(90, exp(eta)), s = rbinom(90, size, plogis(eta)))
})
new_surveys <- data.frame(a = c(0.2, 0.7, 0.4, 0.5), b = c(0.3, 0.6, 0.1, 0.1), w = c(0.5, 1, -2, 1),
                          x = c(0.1, 0.5, 0.9, 0.3), g = c("q", "b", "z", "q"), h = c(3, 99, 99, 1))
survey_effects <- function() {
  random_effect(~ 1 | g, 0.7) + random_effect(~ w | h, c(0.2, 0.4), correlation = 0.3)
}
given_surveys <- function() matern(3/2, 0.8, 0.4) + survey_effects()

# The exact method fits families on the CPU only.
backend_of <- \(method) if (method == "exact") "cpu" else kernops:::default_backend()

both_laplace <- function(formula, ..., covariance = given_surveys()) {
  lapply(c(exact = "exact", vecchia = "vecchia"), \(method) {
    gp(formula, surveys, ~ a + b, covariance, method = method, estimate = "none", neighbours = 89,
       backend = backend_of(method), ...)
  })
}
expect_same_laplace <- function(fits, tolerance = 5e-5, block = c(0.1, 0.1)) {
  parts <- lapply(fits, \(fit) {
    joint <- predict(fit, new_surveys, se.fit = TRUE, interval = "confidence", type = "link", cov = TRUE)
    block <- predict(fit, new_surveys, se.fit = TRUE, interval = "confidence", type = "link", block = block)
    one <- gp_cv(fit)
    list(loglik = fit$loglik, coef = coef(fit), fit = as.matrix(joint$fit), cov = joint$cov, block = as.matrix(block),
         fitted = fitted(fit), cv = as.matrix(one[c("fit", "se.fit")]), vcov = vcov(fit))
  })
  for (part in names(parts$exact)) {
    expect_equal(parts$vecchia[[part]], parts$exact[[part]], tolerance = tolerance, info = part)
  }
}

test_that("with all neighbours, fits of families agree with the dense Laplace approximation", {
  fits <- both_laplace(k ~ w, family = poisson())
  expect_equal(fits$vecchia$loglik, fits$exact$loglik, tolerance = 1e-8)
  expect_same_laplace(fits)
  expect_same_laplace(both_laplace(s / size ~ w, family = binomial(), weights = size))
  expect_same_laplace(both_laplace(k ~ w, family = negative_binomial(3), covariance = given_surveys() + nugget(0.1)))
  expect_same_laplace(both_laplace(z ~ w, family = student(5, 0.2)))
  skip_if_not_installed("nlme")
  expect_equal(nlme::ranef(fits$vecchia), nlme::ranef(fits$exact), tolerance = 1e-5)
  skip_if_not_installed("mgcv")
  smooth <- both_laplace(k ~ w + s(x), family = poisson(), covariance = given_surveys() + smooth_effect(~ s(x), 0.5))
  expect_same_laplace(smooth)
  expect_equal(summary(smooth$vecchia)$edf, summary(smooth$exact)$edf, tolerance = 1e-6)
})

test_that("families by name, effects of time and parts of predictions agree with the dense approximation", {
  d <- transform(surveys, k = ifelse(x < 0.2, 0, k), hour = rep_len(1:7, 90))
  new <- transform(new_surveys, hour = c(1, 4, 7, 12))
  for (name in c("zero_inflated_poisson", "hurdle_negative_binomial", "tweedie")) {
    family <- switch(name, zero_inflated_poisson = gp_family(name, zi = 0.2),
                     tweedie = gp_family(name, dispersion = 1.2, power = 1.5),
                     gp_family(name, theta = 2, zero = 0.3))
    fits <- lapply(c("exact", "vecchia"), \(method) {
      gp(k ~ w, d, ~ a + b, given_surveys() + ar1(~ hour, 0.3, range = 2), method = method, estimate = "none",
         family = family, neighbours = 89, backend = backend_of(method))
    })
    expect_equal(fits[[2]]$loglik, fits[[1]]$loglik, tolerance = 1e-7)
    for (part in list(NULL, "(w | h)", c("trend", "matern"))) {
      parts <- lapply(fits, predict, new, se.fit = TRUE, interval = "confidence", type = "link", terms = part)
      expect_equal(parts[[2]], parts[[1]], tolerance = 1e-4)
    }
  }
})

test_that("the gradient agrees with differences of the likelihood, with few neighbours and with all", {
  for (m in c(6, 89)) for (noise in list(NULL, nugget(0.1))) {
    covariance <- if (is.null(noise)) given_surveys() else given_surveys() + noise
    fit <- gp(k ~ w, surveys, ~ a + b, covariance, method = "vecchia", estimate = "none", family = poisson(),
              neighbours = m)
    likelihood <- kernops:::likelihood_for(fit$response, fit$outer, fit$how)
    theta <- fit$outer_theta
    likelihood$evaluate(theta)
    slope <- central_difference(\(t) likelihood$evaluate(t)$value, theta, 1e-4)
    state <- likelihood$evaluate(theta, search = TRUE)
    # reuses the memory of an earlier state; the gradient of `state` must not change
    likelihood$evaluate(1.1 * theta)$gradient()
    expect_close(matrix(state$gradient(), 1), slope, tolerance = 1e-5, scale = max(abs(slope)))
  }
})

test_that("estimates agree with the dense approximation, also without a field", {
  fits <- lapply(c("exact", "vecchia"), \(method) {
    gp(k ~ w + (1 | g), surveys, ~ a + b, matern(3/2), method = method, family = poisson(), neighbours = 89,
       backend = backend_of(method))
  })
  expect_equal(fits[[2]]$loglik, fits[[1]]$loglik, tolerance = 1e-6)
  expect_equal(coef(fits[[2]]), coef(fits[[1]]), tolerance = 1e-3)
  alone <- lapply(c("exact", "vecchia"), \(method) {
    gp(k ~ w, surveys, covariance = survey_effects() + nugget(0.1), method = method, family = poisson(),
       estimate = "none", backend = backend_of(method))
  })
  expect_same_laplace(stats::setNames(alone, c("exact", "vecchia")), tolerance = 1e-8, block = NULL)
})

# Poisson counts with clustered levels of ten observations each, and with crossed levels.
counts_of_levels <- function(n, seed = 7) {
  withr::local_seed(seed)
  q <- n / 10
  k <- sample(q, n, TRUE)
  d <- data.frame(a = runif(q)[k] + rnorm(n, sd = 0.4 / sqrt(q)), b = runif(q)[k] + rnorm(n, sd = 0.4 / sqrt(q)), k = k,
                  line = sample(25, n, TRUE), w = rnorm(n))
  transform(d, y = rpois(n, exp(sin(5 * a) + rnorm(q, sd = 0.5)[k] + rnorm(25, sd = 0.3)[line])))
}
levels_effects <- function() random_effect(~ w | k, c(0.3, 0.1), correlation = 0.2) + random_effect(~ 1 | line, 0.1)

test_that("without a field, hundreds of levels agree with the dense approximation", {
  d <- counts_of_levels(600)
  fits <- lapply(c(exact = "exact", vecchia = "vecchia"), \(method) {
    gp(y ~ 1, d, covariance = levels_effects() + nugget(0.05), family = poisson(), method = method, estimate = "none",
       backend = backend_of(method))
  })
  new <- data.frame(w = c(0, 1, -1), k = c(3, 999, 20), line = c(1, 2, 99))
  parts <- lapply(fits, \(fit) {
    errors <- predict(fit, new, se.fit = TRUE, interval = "confidence", type = "link")
    list(loglik = fit$loglik, coef = coef(fit), predicted = as.matrix(errors), vcov = vcov(fit))
  })
  expect_equal(parts$vecchia, parts$exact, tolerance = 1e-7)
})

test_that("with a field and levels, likelihoods are near the dense approximation, gradients agree with differences", {
  d <- counts_of_levels(800)
  covariance <- matern(3/2, 0.6, 0.2) + levels_effects()
  fit <- function(...) gp(y ~ 1, d, ~ a + b, covariance, family = poisson(), estimate = "none", ...)
  vecchia <- fit(method = "vecchia", neighbours = 50)
  expect_equal(vecchia$loglik, fit(method = "exact", backend = "cpu")$loglik, tolerance = 0.02 / abs(vecchia$loglik))
  likelihood <- kernops:::likelihood_for(vecchia$response, vecchia$outer, vecchia$how)
  theta <- vecchia$outer_theta
  slope <- central_difference(\(t) likelihood$evaluate(t)$value, theta, 1e-4)
  gradient <- likelihood$evaluate(theta, search = TRUE)$gradient()
  expect_close(matrix(gradient, 1), slope, tolerance = 2e-3, scale = max(abs(slope)))
})

test_that("the posterior precision of thousands of levels has a sparse factor", {
  d <- counts_of_levels(21000)
  fit <- gp(y ~ 1, d, ~ a + b, matern(3/2, 0.6, 0.2) + random_effect(~ 1 | k, 0.25), method = "vecchia",
            family = poisson(), estimate = "none", neighbours = 8)
  expect_gt(length(unique(d$k)), 2000)
  expect_true(is.finite(fit$loglik))
})

test_that("draws have the covariance of the model, and given the data the conditional covariance", {
  fits <- both_laplace(k ~ 1, family = poisson())
  for (conditional in c(FALSE, TRUE)) {
    draws <- simulate(fits$vecchia, 4000, seed = 1, newdata = new_surveys, type = "link", conditional = conditional)
    expected <- simulate(fits$exact, 4000, seed = 2, newdata = new_surveys, type = "link", conditional = conditional)
    expect_lt(max(abs(cov(t(draws)) - cov(t(expected)))), 0.25)
    expect_lt(max(abs(rowMeans(draws) - rowMeans(expected))), 0.12)
  }
})

test_that("the posterior precision of coefficients and locations agrees with dense algebra", {
  withr::local_seed(3)
  n <- 12
  near <- rbind(c(0L, seq_len(n - 1)), c(0L, 0L, seq_len(n - 2)))
  weights <- matrix(runif(2 * n, 0, 0.4), 2) * (near > 0)
  sd <- runif(n, 0.5, 1)
  U <- diag(n)
  for (i in seq_len(n)) U[i, near[near[, i] > 0, i]] <- -weights[near[, i] > 0, i]
  Q <- crossprod(U / sd)
  B <- cbind(runif(n), 1:0, 0:1, runif(n)) # dense columns, for which nothing is dropped
  B[, 2:3] <- B[, 2:3] * runif(n)
  W <- runif(n, 0.2, 2)
  H <- rbind(cbind(diag(4) + t(B) %*% (W * B), t(W * B)), cbind(W * B, Q + diag(W)))
  pairs <- which(t(B) != 0, arr.ind = TRUE)
  together <- which((t(B != 0) %*% (B != 0) > 0) & lower.tri(diag(4), TRUE), arr.ind = TRUE)
  within <- (t(B) %*% (W * B))[together]
  within <- kernops:::sparse_symmetric(c(0L, cumsum(tabulate(together[, 2], 4))), together[, 1] - 1L, within)
  effects <- list(count = 4L, columns = pairs[, 1], start = c(0, cumsum(tabulate(pairs[, 2], n))), within = within)
  one <- kernops:::sparse_posterior(kernops:::sparse_pattern(near, effects), list(weights = weights, sd = sd))
  precision <- list(diagonal = c(colSums(W * B^2), W), within = within, across = (W * B)[pairs[, 2:1]])
  b <- cbind(rnorm(16))
  expect_equal(c(one$solve(precision, b)), c(solve(H, b)), tolerance = 1e-10)
  expect_equal(one$logdet(precision), as.numeric(determinant(H)$modulus), tolerance = 0.02)
  expect_equal(one$effects()$value, solve(H)[1:4, 1:4][together], tolerance = 0.05)
})

test_that("for many levels in clusters, the factor of the posterior precision is nearly exact", {
  skip_if_not_installed("Matrix")
  withr::local_seed(4)
  n <- 4000
  side <- 25
  u <- matrix(runif(2 * n), n)
  model <- kernops:::covariance_model(matern(3/2, 0.5, 0.1), 2)
  theta <- model$parameters$value
  how <- list(backend = "cpu", control = gp_control())
  sets <- kernops:::latent_sets(kernops:::field_places(u, model), model, theta, 20, how)
  rows <- kernops:::latent_factor(sets, theta)
  u <- u[order(sets$of), ]
  g <- match(floor(u[, 1] * side) * side + floor(u[, 2] * side), seq_len(side^2) - 1)
  W <- runif(n, 0.5, 2)
  near <- sets$neighbours
  entries <- which(near > 0, arr.ind = TRUE)
  U <- Matrix::sparseMatrix(c(entries[, 2], seq_len(n)), c(near[near > 0], seq_len(n)),
                            x = c(-rows$weights[near > 0], rep(1, n)) / rows$sd[c(entries[, 2], seq_len(n))])
  A <- cbind(Matrix::sparseMatrix(seq_len(n), g, x = 0.4, dims = c(n, side^2)), Matrix::Diagonal(n))
  D <- Matrix::crossprod(A, W * A)
  H <- Matrix::bdiag(Matrix::Diagonal(side^2), Matrix::crossprod(U)) + D
  exact <- Matrix::Cholesky(Matrix::forceSymmetric(H))
  within <- kernops:::sparse_symmetric(0:side^2, seq_len(side^2) - 1L, as.vector(Matrix::diag(D))[seq_len(side^2)])
  effects <- list(count = side^2, columns = g, start = 0:n, within = within)
  one <- kernops:::sparse_posterior(kernops:::sparse_pattern(near, effects), rows)
  precision <- list(diagonal = as.vector(Matrix::diag(D)), within = within, across = 0.4 * W)
  b <- cbind(rnorm(n + side^2))
  expect_equal(c(one$solve(precision, b)), as.vector(Matrix::solve(exact, b)), tolerance = 1e-9)
  log_determinant <- as.numeric(Matrix::determinant(H)$modulus)
  expect_equal(one$logdet(precision), log_determinant, tolerance = 0.2 / log_determinant)
  some <- c(1, 300, side^2 + c(1, 500, n))
  variances <- Matrix::diag(Matrix::solve(exact, Matrix::Diagonal(n + side^2)[, some])[some, ])
  expect_equal(one$variances()[some], variances, tolerance = 1e-3)
})

test_that("a factor is refused if there are too many pairs of coefficients", {
  withr::local_seed(5)
  count <- 30000L
  points <- 45000L
  columns <- as.vector(vapply(seq_len(points), \(i) sort(sample.int(count, 4)), integer(4)))
  within <- list(start = 0:count, row = seq_len(count) - 1L)
  start <- as.integer(c(integer(count), 4 * (0:points)))
  none <- matrix(0L, 0, count + points)
  expect_error(kernops:::posterior_hold_effects(matrix(0L, 1, count + points), none, start, columns, within,
                                                integer(), 1L),
               "too many pairs", class = "kernops_input_error")
})

test_that("the sparse posterior checks its input", {
  one <- kernops:::sparse_symmetric(0:1, 0L, 1)
  near <- matrix(0L, 1, 3)
  wide <- matrix(0L, 0, 3)
  hold <- kernops:::posterior_hold_effects
  expect_error(hold(near, wide, 0:1, 1L, one, integer(), 1L), "each point has effects")
  expect_error(hold(near, wide[, 1:2], 0:3, 1:3, one, integer(), 1L), "each point has a wide set")
  none <- list(start = 0L, row = integer())
  expect_error(hold(near, wide, 0:3, 1:3, none, integer(), 1L), "each effect is observed with itself")
  expect_error(hold(near, wide, 0:3, 1L, one, 3L, 1L), "dense effects are effects")
})

test_that("the likelihood on a GPU agrees with the CPU", {
  skip_if_not("cuda" %in% backends(), "there is no GPU")
  fits <- lapply(c("cpu", "cuda"), \(backend) {
    gp(k ~ w, surveys, ~ a + b, given_surveys(), method = "vecchia", estimate = "none", neighbours = 8,
       family = poisson(), backend = backend)
  })
  expect_equal(fits[[2]]$loglik, fits[[1]]$loglik, tolerance = 1e-9)
  expect_equal(coef(fits[[2]]), coef(fits[[1]]), tolerance = 1e-5)
  links <- lapply(fits, predict, new_surveys, se.fit = TRUE, interval = "confidence", type = "link")
  expect_equal(links[[2]], links[[1]], tolerance = 1e-5)
})

test_that("summaries and predictions share a factor of the posterior precision", {
  fit <- both_laplace(k ~ w, family = poisson())$vecchia
  vcov(fit) # vcov() evaluates likelihoods, and stores the matrix
  calls <- 0
  factor <- kernops:::posterior_factor
  withr::defer(utils::assignInNamespace("posterior_factor", factor, "kernops"))
  utils::assignInNamespace("posterior_factor", function(...) {
    calls <<- calls + 1
    factor(...)
  }, "kernops")
  summary(fit)
  predict(fit, new_surveys, se.fit = TRUE)
  # at most one factorisation for the terms of a summary, and one for predictions
  expect_lte(calls, 2)
})
