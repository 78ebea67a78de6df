# The oracle solves the system with the stored kernel matrix in plain R.
kernel_by_name <- list(
  gaussian = \(t, w) exp(-t^2 / (2 * w^2)),
  exponential = \(t, w) exp(-t / w),
  matern32 = \(t, w) (1 + sqrt(3) * t / w) * exp(-sqrt(3) * t / w),
  matern52 = \(t, w) (1 + sqrt(5) * t / w + 5 * t^2 / (3 * w^2)) * exp(-sqrt(5) * t / w)
)
point_distances <- \(x, y) sqrt(pmax(outer(rowSums(x^2), rowSums(y^2), `+`) - 2 * tcrossprod(x, y), 0))
ridge_by_matrix <- function(x, y, new, width, lambda, kernel, centre = TRUE) {
  middle <- if (centre) colMeans(y) else 0 * colMeans(y)
  k <- \(u) kernel_by_name[[kernel]](point_distances(u, x), width)
  a <- solve(k(x) + lambda * diag(nrow(x)), t(t(y) - middle))
  list(coefficients = a, predicted = t(t(k(new) %*% a) + middle))
}
ridge_data <- \(n, d, p, seed = d) withr::with_seed(seed, {
  x <- matrix(runif(n * d), n)
  list(x = x, y = matrix(sin(6 * x[, 1]) + rnorm(n * p, sd = 0.1), n) + 10, new = matrix(runif(7 * d), 7))
})

test_that("coefficients and predictions agree with the stored system", {
  for (d in c(1, 3)) for (kernel in names(kernel_by_name)) for (backend in backends()) {
    data <- ridge_data(50, d, 2)
    fit <- kernel_ridge(data$x, data$y, 0.5, 0.1, kernel, tol = 1e-12, backend = backend)
    true <- ridge_by_matrix(data$x, data$y, data$new, 0.5, 0.1, kernel)
    expect_equal(fit$coefficients, true$coefficients, tolerance = 1e-8, ignore_attr = TRUE)
    expect_equal(predict(fit, data$new, backend = backend), true$predicted, tolerance = 1e-10)
    expect_equal(fit$fitted.values, predict(fit, data$x), tolerance = 1e-9)
  }
  fit <- kernel_ridge(data$x, data$y[, 1], 0.5, 0.1, centre = FALSE, tol = 1e-12)
  true <- ridge_by_matrix(data$x, data$y[, 1, drop = FALSE], data$new, 0.5, 0.1, "gaussian", FALSE)
  expect_equal(predict(fit, data$new), true$predicted, tolerance = 1e-10)
  expect_equal(kernel_ridge(data$x, data$y)$width, median(dist(data$x)))
})

test_that("cross-validation selects the combination of parameters with the smallest error", {
  data <- ridge_data(40, 2, 1)
  folds <- rep(1:4, 10)
  widths <- c(0.1, 0.4, 2)
  lambdas <- c(0.01, 1)
  fit <- kernel_ridge(data$x, data$y, widths, lambdas, folds = folds, tol = 1e-12)
  true <- apply(expand.grid(widths, lambdas), 1, \(one) {
    squares <- lapply(1:4, \(k) (data$y[folds == k] - ridge_by_matrix(
      data$x[folds != k, ], data$y[folds != k, , drop = FALSE], data$x[folds == k, ], one[[1]], one[[2]], "gaussian"
    )$predicted)^2)
    sqrt(mean(unlist(squares)))
  })
  expect_equal(fit$cv$rmse, true, tolerance = 1e-9)
  expect_equal(unlist(fit[c("width", "lambda")]), unlist(fit$cv[which.min(true), 1:2]), ignore_attr = TRUE)
  random <- \() withr::with_seed(1, kernel_ridge(data$x, data$y, widths)$cv)
  expect_identical(random(), random())
})

test_that("kernel_ridge() agrees with the package kernlab", {
  gausspr <- peer("kernlab", "gausspr")
  data <- ridge_data(60, 2, 1)
  fit <- kernel_ridge(data$x, data$y, 0.5, 0.1, centre = FALSE, tol = 1e-12)
  true <- gausspr(data$x, drop(data$y), scaled = FALSE, kernel = "rbfdot", kpar = list(sigma = 2), var = 0.1)
  expect_equal(predict(fit, data$new), peer("kernlab", "predict")(true, data$new), tolerance = 1e-9)
})

test_that("results keep the names of points and responses", {
  names <- rownames(swiss)
  fit <- kernel_ridge(swiss[2:4], swiss[c("Fertility", "Infant.Mortality")], 30)
  expect_identical(dimnames(predict(fit, swiss[1:3, 2:4])), list(names[1:3], c("Fertility", "Infant.Mortality")))
  expect_identical(dimnames(fit$fitted.values), list(names, c("Fertility", "Infant.Mortality")))
})

test_that("kernel_ridge() refuses invalid arguments", {
  expect_snapshot(error = TRUE, {
    kernel_ridge(c(1, NA), 1:2)
    kernel_ridge(1:3, c(1, NA, 2))
    kernel_ridge(1:3, 1:2)
    kernel_ridge(1:3, 1:3, width = 0)
    kernel_ridge(c(1, 1), 1:2)
    kernel_ridge(1:3, 1:3, lambda = 0)
    kernel_ridge(1:3, 1:3, kernel = "linear")
    kernel_ridge(1:3, 1:3, width = 1:2, folds = 4)
    kernel_ridge(1:3, 1:3, width = 1:2, folds = c(1, 1, 1))
    predict(kernel_ridge(1:3, 1:3), cbind(1, 2))
    predict(kernel_ridge(1:3, 1:3), 1, se = TRUE)
  })
  expect_snapshot(kernel_ridge(cars$speed, cars$dist, width = c(2, 5), folds = rep(1:2, 25)))
})
