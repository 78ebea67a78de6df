# Models with Vecchia's approximation and random effects of many levels: the sparse representation of the coefficients
# of effects is compared with the dense representation and with plain R.

regions <- local({
  withr::local_seed(61)
  n <- 400
  d <- data.frame(a = runif(n), b = runif(n), w = rnorm(n), x = runif(n), times = sample(1:3, n, TRUE))
  d$plot <- paste0(ceiling(8 * d$a), ceiling(8 * d$b)) # plots are clustered in space
  d$tree <- paste(d$plot, sample(3, n, TRUE))          # trees are nested in plots
  d$line <- sample(20, n, TRUE)                        # lines are crossed with plots
  d$day <- sample(2, n, TRUE)
  transform(d, z = sin(4 * a) + rnorm(64, sd = 0.5)[as.integer(factor(plot))] + w * rnorm(20, sd = 0.3)[line] +
              rnorm(n, sd = 0.2))
})
new_regions <- data.frame(a = c(0.2, 0.7, 0.4, 0.51, 3), b = c(0.3, 0.6, 0.1, 0.1, 3), w = c(0.5, 1, -2, 1, 0),
                          x = c(0.1, 0.5, 0.9, 0.3, 0), plot = c("23", "65", "none", "new", "11"),
                          tree = c("23 1", "65 4", "new 1", "new 2", "11 1"), line = c(3, 99, 99, 1, 2), day = 1)
field <- function() matern(3/2, 0.5, 0.2)
structures <- function() list(
  nested = random_effect(~ 1 | plot, 0.3) + random_effect(~ 1 | tree, 0.2),
  crossed = random_effect(~ 1 | plot, 0.3) + random_effect(~ 0 + w | line, 0.1),
  correlated = random_effect(~ w | plot, c(0.3, 0.1), correlation = -0.4) + random_effect(~ 1 | line, 0.2),
  times = random_effect(~ 1 | tree, 0.3) + ar1(~ line, 0.2, range = 3)
)

use_kind <- function(kind, frame = parent.frame()) {
  local_constant("dense_coefficients", if (kind == "dense") Inf else 0, frame)
  local_constant("sparse_cost", 0, frame)
  if (kind == "iterative") {
    local_constant("most_products", 1, frame)
    local_constant("most_coefficients", 1, frame)
  }
}
by_both_kinds <- function(f) {
  lapply(c(dense = "dense", sparse = "sparse"), \(kind) {
    use_kind(kind)
    f()
  })
}
expect_both_alike <- function(f, tolerance = 1e-9, info = NULL) {
  both <- by_both_kinds(f)
  for (part in names(both$dense)) {
    expect_equal(both$sparse[[part]], both$dense[[part]], tolerance = tolerance, info = paste(info, part))
  }
}

test_that("likelihood, derivatives and information of both representations are equal", {
  for (name in names(structures())) for (reml in c(FALSE, TRUE)) {
    expect_both_alike(\() {
      fit <- gp(z ~ w, regions, ~ a + b, field() + structures()[[name]] + nugget(0.05), method = "vecchia",
                estimate = "none", neighbours = 7, weights = times)
      likelihood <- kernops:::likelihood_for(fit$data, fit$model, replace(fit$how, "reml", reml))
      state <- likelihood$evaluate(1.1 * unname(fit$theta))
      list(value = state$value, gradient = state$gradient(), information = state$information(),
           profiled = state$information(TRUE), beta = state$beta)
    }, info = name)
  }
})

test_that("predictions, coefficients, standard errors and cross-validation of both representations are equal", {
  for (name in names(structures())) {
    expect_both_alike(\() {
      fit <- gp(z ~ w + offset(x), regions, ~ a + b, field() + structures()[[name]] + nugget(0.05),
                method = "vecchia", estimate = "none", neighbours = 7, weights = times)
      errors <- function(...) predict(fit, new_regions, se.fit = TRUE, interval = "confidence", ...)
      list(points = errors(joint = FALSE), joint = errors(joint = TRUE, cov = TRUE)$cov,
           block = errors(block = c(0.1, 0.1)), sums = errors(sums = cbind(c(1, 0, 2, 1, 0), 1)),
           parts = errors(terms = "matern"), mean = predict(fit, new_regions), vcov = vcov(fit),
           cv = as.matrix(gp_cv(fit)[c("fit", "se.fit")]),
           draws = if (name == "nested") cov(t(simulate(fit, 2000, seed = 1, newdata = new_regions)))[1, 1] > 0)
    }, info = name)
  }
})

test_that("without a Cholesky factor, results agree with the dense representation up to the Monte Carlo error", {
  for (name in c("crossed", "correlated")) {
    both <- lapply(c(dense = "dense", iterative = "iterative"), \(kind) {
      use_kind(kind)
      fit <- suppressWarnings(gp(z ~ w, regions, ~ a + b, field() + structures()[[name]] + nugget(0.05),
                                 method = "vecchia", estimate = "none", neighbours = 7, weights = times),
                              "kernops_monte_carlo_error")
      likelihood <- kernops:::likelihood_for(fit$data, fit$model, fit$how)
      theta <- unname(fit$theta)
      state <- likelihood$evaluate(theta)
      along <- cos(seq_along(theta))
      slope <- if (kind == "iterative") central_difference(\(t) likelihood$evaluate(theta + t * along)$value, 0, 1e-4)
      errors <- function(...) predict(fit, new_regions, se.fit = TRUE, interval = "confidence", ...)
      list(value = state$value, error = state$logdet_error, gradient = state$gradient(),
           slope = slope, slope_of_gradient = sum(along * state$gradient()),
           same = list(state$information(), state$beta, errors(joint = FALSE), errors(joint = TRUE, cov = TRUE)$cov,
                       errors(block = c(0.1, 0.1)), predict(fit, new_regions), vcov(fit)),
           edf = vapply(kernops:::added_effects(fit$model$covariance), kernops:::conditioning_for(fit)$determined, 0),
           draws = apply(simulate(fit, 1000, seed = 1, newdata = new_regions), 1, sd))
    })
    expect_equal(both$iterative$same, both$dense$same, tolerance = 1e-7, info = name)
    expect_equal(both$iterative$edf, both$dense$edf, tolerance = 0.02)
    expect_equal(both$iterative$draws, both$dense$draws, tolerance = 0.1)
    expect_lt(abs(both$iterative$value - both$dense$value), 4 * both$iterative$error)
    expect_lt(both$iterative$error, 0.5)
    expect_equal(both$iterative$gradient, both$dense$gradient, tolerance = 0.01)
    expect_equal(both$iterative$slope_of_gradient, as.vector(both$iterative$slope), tolerance = 1e-5)
  }
})

test_that("a warning reports the Monte Carlo error, which decreases with more probes", {
  use_kind("iterative")
  fit <- function(...) {
    gp(z ~ w, regions, ~ a + b, field() + structures()$nested + nugget(0.05), method = "vecchia", estimate = "none",
       neighbours = 7, ...)
  }
  local_constant("allowed_monte_carlo", 1e-9)
  expect_warning(few <- fit(), class = "kernops_monte_carlo_error")
  many <- suppressWarnings(fit(probes = 400), "kernops_monte_carlo_error")
  expect_lt(many$state$logdet_error, few$state$logdet_error)
  expect_match(paste(capture.output(print(summary(few))), collapse = " "), "Monte Carlo error of the log-likelihood")
})

test_that("smooths with many levels, fits without a trend and blocks of groups agree with the dense representation", {
  skip_if_not_installed("mgcv")
  cases <- list(
    smooth = \(...) gp(z ~ s(x, k = 5), ..., covariance = field() + smooth_effect(~ s(x, k = 5), 0.2) +
                         structures()$crossed + nugget(0.05)),
    no_trend = \(...) gp(z ~ 0, ..., covariance = field() + structures()$nested + nugget(0.05)),
    groups = \(...) gp(z ~ w, ..., covariance = field() + structures()$correlated + nugget(0.05), group = day),
    no_field = \(...) gp(z ~ w, ..., covariance = structures()$crossed + nugget(0.05))
  )
  for (name in names(cases)) {
    expect_both_alike(\() {
      fit <- cases[[name]](data = regions, coords = ~ a + b, method = "vecchia", estimate = "none", neighbours = 7)
      list(loglik = fit$loglik, edf = summary(fit)$edf,
           predicted = predict(fit, new_regions, se.fit = TRUE, interval = "confidence"))
    }, info = name)
  }
})

test_that("with all neighbours, the sparse representation agrees with the exact method", {
  sample <- regions[1:150, ]
  fits <- lapply(c("exact", "vecchia"), \(method) {
    use_kind("sparse")
    gp(z ~ w, sample, ~ a + b, field() + structures()$correlated + nugget(0.05), method = method, estimate = "none",
       neighbours = 149)
  })
  expect_equal(fits[[2]]$loglik, fits[[1]]$loglik, tolerance = 1e-9)
  errors <- lapply(fits, predict, new_regions, se.fit = TRUE, interval = "confidence")
  expect_equal(errors[[2]], errors[[1]], tolerance = 1e-7)
  skip_if_not_installed("nlme")
  expect_equal(nlme::ranef(fits[[2]]), nlme::ranef(fits[[1]]), tolerance = 1e-8)
})

test_that("the likelihood of the sparse representation agrees with plain R, and its gradient with differences", {
  use_kind("sparse")
  fit <- gp(z ~ w, regions, ~ a + b, field() + structures()$nested + nugget(0.05), method = "vecchia",
            estimate = "none", neighbours = 5)
  likelihood <- kernops:::likelihood_for(fit$data, fit$model, fit$how)
  theta <- unname(fit$theta)
  value <- likelihood$evaluate(theta)$value
  sets <- likelihood$sets()
  d <- regions[sets$order, ]
  near <- lapply(seq_len(400), \(i) setdiff(sets$neighbours[, i], 0))
  h <- as.matrix(dist(d[c("a", "b")])) * sqrt(3) / 0.2
  U <- oracle_factor(0.5 * (1 + h) * exp(-h) + diag(0.05, 400), near)
  K <- solve(crossprod(U)) + 0.3 * outer(d$plot, d$plot, `==`) + 0.2 * outer(d$tree, d$tree, `==`)
  expect_equal(value, oracle_likelihood(K, d$z, cbind(1, d$w), FALSE)$value, tolerance = 1e-10)
  slope <- central_difference(\(t) likelihood$evaluate(t)$value, theta, 1e-4)
  expect_close(matrix(likelihood$evaluate(theta)$gradient(), 1), slope, tolerance = 1e-5)
})

test_that("a model with thousands of levels can be fitted", {
  withr::local_seed(5)
  d <- data.frame(a = runif(2500), b = runif(2500))
  pairs <- rbind(d, d + 0.001)
  pairs$k <- rep(seq_len(2500), 2)
  pairs$z <- sin(5 * pairs$a) + rnorm(2500, sd = 0.7)[pairs$k] + rnorm(5000, sd = 0.3)
  fit <- gp(z ~ (1 | k), pairs, ~ a + b, matern(3/2, 0.5, 0.3, fixed = c("variance", "range")) + nugget(),
            method = "vecchia", neighbours = 5)
  expect_identical(fit$method, "vecchia")
  estimates <- coef(fit, "covariance")
  expect_equal(estimates[["(1 | k).variance"]], 0.49, tolerance = 0.1)
  expect_equal(estimates[["nugget.variance"]], 0.09, tolerance = 0.1)
})

test_that("sparse products check their input", {
  rows <- list(weights = matrix(0, 0, 2), sd = c(1, 1), neighbours = matrix(0L, 0, 2))
  columns <- matrix(1:2, 1, 2)
  gram <- kernops:::effects_sparse_gram(rows, columns, matrix(3, 1, 2), 2L, 10, 1L)
  expect_identical(gram, list(start = 0:2, row = 0:1, value = c(9, 9)))
  expect_identical(kernops:::effects_sparse_gram(rows, columns, matrix(3, 1, 2), 2L, 1, 1L), list())
  held <- kernops:::effects_hold(rows, columns, matrix(3, 1, 2), 2L, 1L)
  expect_identical(held[c("diagonal", "square")], list(diagonal = c(10, 10), square = 0))
  expect_error(kernops:::effects_product(held$pointer, matrix(1, 3, 1), 1L),
               "each column of the matrix has a number")
  expect_error(kernops:::effects_sparse_adjoint(rows, columns, matrix(3, 1, 2), 0:2, 0:1, 1, 1L), "columns have rows")
})

test_that("derivatives of squares of products agree with dense matrices in plain R", {
  withr::local_seed(3)
  n <- 8
  near <- rbind(c(0L, seq_len(n - 1)), c(0L, 0L, seq_len(n - 2)))
  columns <- rbind(rep_len(1:3, n), rep_len(c(5L, 4L), n), rep_len(c(7L, 6L), n))
  values <- matrix(rnorm(3 * n), 3)
  C <- matrix(0, n, 7)
  for (i in seq_len(n)) C[i, columns[, i]] <- values[, i]
  rows <- list(weights = matrix(runif(2 * n, 0, 0.4), 2) * (near > 0), sd = runif(n, 0.5, 1), neighbours = near)
  products <- \(rows) {
    U <- diag(n)
    for (i in seq_len(n)) U[i, near[near[, i] > 0, i]] <- -rows$weights[near[, i] > 0, i]
    crossprod(U %*% C / rows$sd)
  }
  G <- products(rows)
  D <- 1 + diag(G)
  squares_of <- \(G) (G^2 / outer(D, D)) * (1 - diag(7))
  # columns 4 and 6 occur in the same rows; columns 5 and 7 occur in the same rows
  pairs <- rbind(c(1L, 4L, 4L, 5L), c(1L, 4L, 6L, 7L))
  one <- kernops:::effects_square_adjoint(rows, columns, values, D, pairs, 1L)
  expect_equal(one$squares, rowSums(squares_of(G)))
  expect_equal(one$gram, G[t(pairs)])
  off <- G * (1 - diag(7)) / outer(D, D)
  expect_equal(one$image, (off %*% G)[t(pairs)])
  half <- \(part, x) sum(squares_of(products(replace(rows, part, list(x))))) / 2
  slope <- central_difference(\(x) half("weights", matrix(x, 2)), as.vector(rows$weights), 1e-5)
  expect_equal(as.vector(one$weights)[near > 0], as.vector(slope)[near > 0], tolerance = 1e-7)
  slope <- central_difference(\(x) half("sd", exp(x)), log(rows$sd), 1e-5)
  expect_equal(one$log_sd, as.vector(slope), tolerance = 1e-7)
  square_adjoint <- \(pairs) kernops:::effects_square_adjoint(rows, columns, values, D, pairs, 1L)
  expect_error(square_adjoint(matrix(8L, 2, 1)), "out of range")
  expect_error(square_adjoint(matrix(1L, 1, 1)), "out of range")
})
