# The oracle computes log-densities point by point, and makes an EM step from the matrix of probabilities.
log_normal <- function(x, mean, covariance) {
  root <- t(chol(covariance))
  white <- forwardsolve(root, t(x) - mean)
  -colSums(white^2) / 2 - sum(log(diag(root))) - ncol(x) / 2 * log(2 * pi)
}
joint_densities <- function(x, fit) {
  vapply(seq_along(fit$weights), \(k) log(fit$weights[k]) +
    log_normal(x, fit$means[k, ], matrix(fit$covariances[, , k], ncol(x))), numeric(nrow(x)))
}
log_row_sums <- \(l) apply(l, 1, \(row) max(row) + log(sum(exp(row - max(row)))))
em_step <- function(x, probability, weights, covariance, equal) {
  d <- ncol(x)
  mass <- weights * probability
  size <- colSums(mass)
  means <- t(vapply(seq_along(size), \(k) colSums(mass[, k] * x) / size[k], numeric(d)))
  means <- matrix(means, length(size), d)
  scatter <- lapply(seq_along(size), \(k) {
    gap <- t(x) - means[k, ]
    own <- gap %*% (mass[, k] * t(gap)) / size[k]
    if (covariance == "full") own else diag(diag(own), d)
  })
  if (equal) scatter <- rep(list(Reduce(`+`, Map(`*`, scatter, size)) / sum(size)), length(size))
  if (covariance == "spherical") scatter <- lapply(scatter, \(s) diag(mean(diag(s)), d))
  list(weights = size / sum(size), means = means, covariances = array(unlist(scatter), c(d, d, length(size))))
}
without_names <- \(fit) lapply(fit, \(part) `dimnames<-`(part, NULL))
mixture_cloud <- function(n, d, seed = d) withr::with_seed(seed, {
  label <- sample(3, n, TRUE)
  matrix(rnorm(n * d), n) %*% (diag(d) + 0.4) * (1 + label / 2) + 12 * label + 100
})
kinds <- expand.grid(covariance = c("full", "diagonal", "spherical"), equal = c(FALSE, TRUE), stringsAsFactors = FALSE)

test_that("a fit is a fixed point of EM steps, and its likelihood agrees with the oracle", {
  for (d in 1:3) for (row in seq_len(nrow(kinds))) for (backend in backends()) {
    x <- mixture_cloud(120, d)
    weights <- rep(c(1, 0.5, 0, 2), 30)
    label <- 1 + (rank(x[, 1]) > 40) + (rank(x[, 1]) > 80)
    kind <- kinds[row, ]
    fit <- suppressWarnings(mixture_model(x, 3, kind$covariance, kind$equal, weights, label, tol = 0, iter.max = 400,
                                          backend = backend), classes = "kernops_not_converged")
    joint <- joint_densities(x, fit)
    expect_equal(fit$loglik, sum(weights * log_row_sums(joint)), tolerance = 1e-11)
    step <- em_step(x, exp(joint - log_row_sums(joint)), weights, kind$covariance, kind$equal)
    expect_equal(without_names(fit[names(step)]), step, tolerance = 1e-5)
    expect_equal(unname(predict(fit, x, "log_density")), log_row_sums(joint), tolerance = 1e-11)
    expect_equal(predict(fit, x, "density"), exp(log_row_sums(joint)), tolerance = 1e-10)
    expect_equal(predict(fit, x, "probability"), exp(joint - log_row_sums(joint)), tolerance = 1e-9)
    expect_identical(fit$cluster, max.col(joint, "first"))
  }
})

test_that("an iteration agrees with an EM step in plain R", {
  x <- mixture_cloud(60, 2)
  label <- rep(1:2, 30)
  for (row in seq_len(nrow(kinds))) {
    kind <- kinds[row, ]
    first <- em_step(x, outer(label, 1:2, "=="), 1, kind$covariance, kind$equal)
    joint <- joint_densities(x, first)
    second <- em_step(x, exp(joint - log_row_sums(joint)), 1, kind$covariance, kind$equal)
    expect_warning(fit <- mixture_model(x, 2, kind$covariance, kind$equal, start = label, tol = 0, iter.max = 1),
                   class = "kernops_not_converged")
    expect_equal(without_names(fit[names(second)]), second, tolerance = 1e-10)
  }
})

test_that("mixture_model() agrees with the package mclust", {
  models <- c("VVV", "VVI", "VII", "EEE", "EEI", "EII")
  x <- as.matrix(iris[1:4])
  label <- as.integer(iris$Species)
  z <- peer("mclust", "unmap")(label)
  control <- peer("mclust", "emControl")(tol = 1e-13, itmax = 2000)
  for (row in seq_len(nrow(kinds))) {
    kind <- kinds[row, ]
    fit <- mixture_model(x, 3, kind$covariance, kind$equal, start = label, tol = 1e-14, iter.max = 5000)
    true <- peer("mclust", paste0("me", models[[row]]))(x, z, control = control)
    expect_equal(fit$loglik, true$loglik, tolerance = 1e-10)
    expect_equal(BIC(fit), -peer("mclust", "bic")(models[[row]], true$loglik, 150, 4, 3), tolerance = 1e-10)
    expect_equal(unname(fit$means), unname(t(true$parameters$mean)), tolerance = 1e-4)
  }
})

test_that("random starting values find the components of distant clusters", {
  x <- withr::with_seed(1, rbind(matrix(rnorm(100, 0), 50), matrix(rnorm(60, 30), 30), matrix(rnorm(40, -30), 20)))
  fit <- withr::with_seed(2, mixture_model(x, 3, nstart = 3))
  expect_equal(sort(fit$weights), c(0.2, 0.3, 0.5))
  expect_identical(withr::with_seed(2, mixture_model(x, 3, nstart = 3)), fit)
  one <- mixture_model(x, 1)
  expect_equal(one$means[1, ], colMeans(x))
  expect_equal(one$covariances[, , 1], cov(x) * 99 / 100)
  far <- mixture_model(x * 1e-180, 1)
  expect_equal(far$loglik, one$loglik + 200 * 180 * log(10))
})

test_that("mixture_model() refuses invalid arguments", {
  x <- mixture_cloud(10, 2)
  expect_snapshot(error = TRUE, {
    mixture_model(c(1, NA), 1)
    mixture_model(x, 11)
    mixture_model(x, 2, "round")
    mixture_model(x, 2, equal = NA)
    mixture_model(x, 2, start = rep(1, 10))
    mixture_model(x, 2, weights = -(1:10))
    mixture_model(cbind(1:5, 1:5), 1)
    mixture_model(rep(1:2, 5), 2, start = rep(1:2, 5), nstart = 2)
    mixture_model(x, 2, tol = -1)
    predict(mixture_model(x, 1), 1:3)
    predict(mixture_model(x, 1), x, "rank")
    predict(mixture_model(x, 1), x, size = 1)
  })
  expect_snapshot(mixture_model(faithful, 1))
})
