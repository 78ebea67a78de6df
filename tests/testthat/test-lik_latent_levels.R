# Fits of families with too many levels for a factor of the posterior precision: the coefficients are computed by
# products with the Schur complement of this matrix. The oracles are Laplace's approximation with dense matrices in
# plain R, and the sparse factor.

n <- 60
places <- local({
  withr::local_seed(8)
  d <- data.frame(a = runif(n), b = runif(n), g = sample(12, n, TRUE), h = sample(4, n, TRUE), z = rnorm(n),
                  x = runif(n), hour = rep_len(1:7, n))
  d$eta <- 0.5 + 0.3 * d$z + sin(5 * d$a) + rnorm(12, sd = 0.6)[d$g]
  transform(d, y = rpois(n, exp(eta)), t = eta + 0.3 * rt(n, 3))
})
new_places <- data.frame(a = c(0.2, 0.5, 3), b = c(0.3, 0.1, 3), g = c(1, 99, 4), h = c(1, 2, 99), z = c(0, 1, -1),
                         x = c(0.1, 0.5, 0.9), hour = c(1, 4, 12))
near_places <- transform(new_places[c(1, 1:3, 2), ], a = a + c(0, 0.01, 0, 0, 0.02))
field <- function() matern(3/2, 0.5, 0.2)
levels_of <- function() random_effect(~ z | g, c(0.3, 0.1), correlation = 0.3) + random_effect(~ 1 | h, 0.2)
counts_at <- function(covariance = field() + levels_of(), data = places, neighbours = n - 1, ...) {
  gp(y ~ z, data, ~ a + b, covariance, method = "vecchia", family = poisson(), neighbours = neighbours, ...)
}

# Makes gp() treat the precision of effects as too large for a factor. `basis` is the number of directions in which the
# log-determinant is computed without a Monte Carlo error.
local_iteration <- function(basis = Inf, frame = parent.frame()) {
  local_constant("most_products", 1, frame)
  local_constant("level_basis", basis, frame)
}
# -2 log-likelihood of Poisson counts by Laplace's approximation; K is the covariance of the process.
dense_laplace <- function(K, y, mean) {
  h <- 0 * y
  for (step in 1:50) {
    W <- exp(mean + h)
    h <- drop(K %*% solve(diag(length(y)) + W * K, W * h + y - W))
  }
  W <- exp(mean + h)
  -2 * sum(dpois(y, W, log = TRUE)) + sum(h * solve(K, h)) + as.numeric(determinant(diag(length(y)) + W * K)$modulus)
}
dense_covariance <- function(d) {
  S <- outer(sqrt(c(0.3, 0.1)), sqrt(c(0.3, 0.1))) * matrix(c(1, 0.3, 0.3, 1), 2)
  B <- cbind(1, d$z)
  u <- as.matrix(d[1:2])
  as.matrix(covariance_values(field(), u, u)) + B %*% S %*% t(B) * outer(d$g, d$g, `==`) +
    0.2 * outer(d$h, d$h, `==`)
}

laplace_at <- function(fit) dense_laplace(dense_covariance(places), places$y, drop(cbind(1, places$z) %*% coef(fit)))

test_that("quadratic forms of functions of a matrix, and their derivatives, agree with the eigenvectors", {
  withr::local_seed(1)
  q <- 40
  off <- matrix(rnorm(q^2), q) / sqrt(q)
  A <- diag(runif(q, 0.4, 2)) + 0.1 * (off + t(off))
  change <- crossprod(off) - diag(q)
  z <- matrix(sample(c(-1, 1), 20 * q, TRUE), q)
  e <- eigen(A)
  along <- t(e$vectors) %*% z
  scalar <- list(matrix_logarithm = log, log_beyond_square = \(t) log(t) - (t - 1) + (t - 1)^2 / 2)
  for (name in names(scalar)) {
    forms <- \(by) {
      kernops:::lanczos_forms(\(x, ...) (A + by * change) %*% x, z, get(name, asNamespace("kernops")))
    }
    expect_equal(unname(forms(0)$value), colSums(along^2 * scalar[[name]](e$values)), tolerance = 1e-10)
    slopes <- with(forms(0), tapply(signs * colSums(directions * (change %*% directions)), of, sum))
    expect_equal(as.vector(slopes), unname((forms(1e-4)$value - forms(-1e-4)$value) / 2e-4), tolerance = 1e-6)
  }
  expect_null(kernops:::lanczos_forms(\(x, ...) (A - diag(q)) %*% x, z, kernops:::matrix_logarithm))
  one <- kernops:::lanczos_forms(\(x, ...) 3 * x, diag(2), kernops:::matrix_logarithm) # Krylov spaces have dimension 1
  expect_equal(one$value, rep(log(3), 2), ignore_attr = TRUE)
  expect_equal(abs(one$directions), diag(2) / sqrt(3))
})

test_that("the likelihood agrees with Laplace's approximation with dense matrices in plain R", {
  local_iteration()
  fit <- counts_at(estimate = "none")
  expect_true(fit$vecchia$iterative)
  expect_equal(-2 * fit$loglik, laplace_at(fit), tolerance = 1e-8)
})

test_that("with random signs, the likelihood is within its error, and the gradient agrees with differences", {
  local_iteration(basis = 8)
  fit <- counts_at(estimate = "none")
  error <- fit$state$logdet_error / 2
  expect_gt(error, 0)
  expect_lt(error, 0.05)
  expect_lt(abs(fit$loglik + laplace_at(fit) / 2), 4 * error)
  expect_match(paste(capture.output(print(summary(fit))), collapse = " "), "Monte Carlo error of the log-likelihood")
  fit$how$control$neighbours <- 6L
  likelihood <- kernops:::likelihood_for(fit$response, fit$outer, fit$how)
  likelihood$evaluate(fit$outer_theta) # stores these parameters as the reference of the control variate
  theta <- 1.05 * fit$outer_theta
  along <- cos(seq_along(theta))
  slope <- central_difference(\(t) likelihood$evaluate(theta + t * along)$value, 0, 1e-4)
  expect_equal(sum(along * likelihood$evaluate(theta)$gradient()), as.vector(slope), tolerance = 1e-5)
  expect_identical(likelihood$count(), 6L)
})

test_that("derivatives, predictions, coefficients and standard errors agree with the sparse factor", {
  cases <- list(
    counts = \() {
      smooth <- requireNamespace("mgcv", quietly = TRUE)
      covariance <- field() + levels_of() + ar1(~ hour, 0.2, range = 3)
      counts_at(if (smooth) covariance + smooth_effect(~ s(x, k = 5), 0.2) else covariance, estimate = "none")
    },
    not_concave_without_field = \() {
      gp(t ~ z, places, covariance = random_effect(~ 1 | g, 0.3) + random_effect(~ 1 | h, 0.2) + nugget(0.02),
         method = "vecchia", family = student(3, 0.3), estimate = "none")
    }
  )
  for (name in names(cases)) {
    results <- lapply(c(factor = FALSE, iteration = TRUE), \(iterative) {
      if (iterative) local_iteration()
      fit <- cases[[name]]()
      expect_identical(fit$vecchia$iterative, iterative)
      state <- kernops:::likelihood_for(fit$response, fit$outer, fit$how)$evaluate(1.05 * fit$outer_theta)
      predicted <- predict(fit, new_places, se.fit = TRUE, type = "link", joint = FALSE, cov = TRUE)
      joint <- if (name == "counts") {
        list(predict(fit, near_places, se.fit = TRUE, type = "link", joint = TRUE, cov = TRUE)[c("fit", "cov")],
             predict(fit, near_places, se.fit = TRUE, type = "link", joint = TRUE),
             predict(fit, near_places, se.fit = TRUE, sums = rep(2, 5), joint = TRUE))
      }
      draws <- simulate(fit, if (name == "counts") 2000 else 2, seed = 1, newdata = new_places, type = "link")
      determined <- kernops:::conditioning_for(fit)$determined
      list(same = list(
        loglik = fit$loglik, value = state$value, gradient = state$gradient(), information = state$information(),
        coef = coef(fit), fit = as.matrix(predicted$fit), cov = predicted$cov, joint = joint,
        cv = if (name == "counts") as.matrix(gp_cv(fit)[c("fit", "se.fit")]),
        ranef = if (requireNamespace("nlme", quietly = TRUE)) nlme::ranef(fit)
      ), similar = list(
        sd = if (name == "counts") apply(draws, 1, sd), mean = if (name == "counts") rowMeans(draws),
        edf = sum(vapply(kernops:::added_effects(fit$model$covariance), determined, 0))
      ))
    })
    for (part in names(results$factor$same)) {
      expect_equal(results$iteration$same[[part]], results$factor$same[[part]], tolerance = 1e-5,
                   info = paste(name, part))
    }
    expect_equal(results$iteration$similar, results$factor$similar, tolerance = 0.1, info = name)
  }
})

test_that("estimates agree with those by the sparse factor", {
  covariance <- matern(3/2, 0.5, 0.2, fixed = c("variance", "range")) + random_effect(~ 1 | g)
  fits <- lapply(c(factor = FALSE, iteration = TRUE), \(iterative) {
    if (iterative) local_iteration(basis = 3)
    counts_at(covariance, neighbours = 10)
  })
  expect_true(fits$iteration$vecchia$iterative)
  expect_equal(fits$iteration$search$convergence, 0L)
  expect_equal(coef(fits$iteration), coef(fits$factor), tolerance = 1e-3)
  expect_equal(coef(fits$iteration, "covariance"), coef(fits$factor, "covariance"), tolerance = 0.02)
  errors <- vapply(fits, \(fit) fit$state$logdet_error / 2, 0)
  expect_lt(abs(fits$iteration$loglik - fits$factor$loglik), 4 * sqrt(sum(errors^2)))
})

test_that("the reference of the control variate is replaced to reduce the error, but not by an indefinite matrix", {
  kept <- list2env(list(error = 0.2, least = 0.05))
  expect_true(kernops:::reference_moved(kept))
  kept$least <- 0.19
  expect_false(kernops:::reference_moved(kept)) # a new reference would hardly reduce the error
  kept <- kernops:::level_probes()
  expect_false(kernops:::reference_moved(kept))
  schur <- \(S) list(size = 30, product = \(x, ...) S %*% x,
                     rough = list(diagonal = \() diag(S), forms = \(x) colSums(x * (S %*% x))))
  expect_null(kernops:::logdet_of_levels(schur(-diag(30)), kept))
  saddle <- diag(30) - 0.9
  expect_null(kernops:::logdet_of_levels(schur(saddle), kept))
  expect_null(kept$reference)
  local_constant("level_basis", 2)
  off <- withr::with_seed(1, matrix(rnorm(900, sd = 0.05), 30))
  S <- diag(1:30) + off + t(off)
  estimate <- kernops:::logdet_of_levels(schur(S), kept)
  expect_equal(estimate$logdet, as.numeric(determinant(S)$modulus), tolerance = 4 * estimate$error)
  expect_lt(estimate$error, 0.1)
})
