# Rows of sparse factors, and the derivatives of these rows in the parameters of the covariance, against plain R.

n <- 70
points <- withr::with_seed(4, matrix(runif(3 * n), n))
noise <- withr::with_seed(5, runif(n, 0.5, 1))  # so large that the sets are well conditioned in float32
ranges <- c(0.4, 0.3, 0.6)
case_of <- function(m, diagonal) {
  near <- earlier_neighbours(points, m)
  squares <- lapply(1:3, \(k) outer(points[, k], points[, k], "-")^2)
  h <- sqrt(3 * Reduce(`+`, Map(`/`, squares, ranges^2)))
  D <- sqrt(Reduce(`+`, squares))
  parts <- c(list((1 + h) * exp(-h)), Map(\(square, r) 3 * 1.3 * exp(-h) * square / r^3, squares, ranges),
             list(exp(-D / 0.5), 0.7 * D / 0.5^2 * exp(-D / 0.5)))
  times <- 1 + (diagonal - 1) * diag(n)
  K <- (1.3 * parts[[1]] + 0.7 * parts[[5]]) * times + diag(noise)
  c(oracle_rows(K, lapply(parts, `*`, times), near, m),
    list(neighbours = matrix(vapply(near, \(s) c(s, integer(m - length(s))), integer(m)), m)))
}
model <- kernops:::covariance_model(matern(3/2, 1.3, ranges) + exponential(0.7, 0.5), 3)

engines <- rbind(expand.grid(backend = "cpu", precision = "float64", isa = kernops:::cpu_isas()),
                 expand.grid(backend = setdiff(backends(), "cpu"), precision = c("float64", "float32"), isa = ""))
for (engine in asplit(as.matrix(engines), 1)) {
  test_that(paste("rows and their derivatives agree with plain R:", paste(engine, collapse = " ")), {
    local_kernops(isa = engine[["isa"]])
    tolerance <- c(float64 = 1e-10, float32 = 1e-5)[[engine[["precision"]]]]
    operators <- kernops:::set_operators(model, engine[["backend"]], engine[["precision"]])
    theta <- model$parameters$value
    for (m in c(1, 6, 33)) for (diagonal in c(1, 1.2)) {
      expected <- case_of(m, diagonal)
      computed <- kernops:::set_weights(operators$values, theta, points, noise, expected$neighbours, diagonal)
      changes <- kernops:::set_slopes(operators, theta, points, noise, expected$neighbours, diagonal)
      expect_equal(computed[c("weights", "sd")], expected[c("weights", "sd")], tolerance = tolerance,
                   ignore_attr = TRUE)
      expect_equal(c(changes$weights), c(expected$slopes), tolerance = 10 * tolerance)
      expect_equal(changes$log_sd, expected$log_sd, tolerance = 10 * tolerance)
      # derivatives for the last points alone
      last <- 41:n
      near <- expected$neighbours[, last, drop = FALSE]
      some <- kernops:::set_slopes(operators, theta, points, noise, near, diagonal)
      expect_equal(some$weights, changes$weights[, , last, drop = FALSE], tolerance = 1e-14)
      expect_equal(some$log_sd, changes$log_sd[, last], tolerance = 1e-14)
    }
  })
}

test_that("conditioning sets may have no neighbours", {
  none <- matrix(0L, 0, n)
  operators <- kernops:::set_operators(model, "cpu", "float64")
  found <- kernops:::set_slopes(operators, model$parameters$value, points, noise, none)
  expect_identical(dim(found$weights), c(0L, 6L, 70L))
  # expected: the derivatives of log(sd), where the variance is 1.3 + 0.7 + noise
  expect_equal(found$log_sd, t(outer(0.5 / (2 + noise), c(1, 0, 0, 0, 1, 0))), tolerance = 1e-14)
})

test_that("sums over the rows that contain a point agree with the transposed product", {
  near <- case_of(6, 1)
  B <- matrix(0, n, n)
  for (i in 1:n) B[i, near$neighbours[, i]] <- near$weights[near$neighbours[, i] > 0, i]
  x <- points[, 1:2]
  expect_equal(kernops:::neighbour_means(near, x, n), t(B) %*% x, tolerance = 1e-12)
  part <- list(weights = near$weights[, 51:n], neighbours = near$neighbours[, 51:n])
  expect_equal(kernops:::neighbour_means(part, x[51:n, ], n), t(B[51:n, ]) %*% x[51:n, ], tolerance = 1e-12)
  expect_equal(kernops:::neighbour_means(part, x), B[51:n, ] %*% x, tolerance = 1e-12)
})

test_that("products with the sparse factor and its inverse agree with the dense matrix, for any number of threads", {
  rows <- case_of(6, 1)
  U <- diag(n)
  for (i in 1:n) U[i, rows$neighbours[, i]] <- -rows$weights[rows$neighbours[, i] > 0, i]
  U <- U / as.vector(rows$sd)
  rows$weights[rows$neighbours == 0] <- 0
  for (threads in 1:3) for (x in list(points[, 1], points, points[, 0])) {
    local_kernops(threads = threads)
    product <- \(...) kernops:::sparse_multiply(rows, x, ...)
    expect_equal(product(), U %*% x, tolerance = 1e-12)
    expect_equal(product(transposed = TRUE), t(U) %*% x, tolerance = 1e-12)
    expect_equal(product(inverse = TRUE), solve(U) %*% x, tolerance = 1e-11, ignore_attr = TRUE)
    expect_equal(product(inverse = TRUE, transposed = TRUE), solve(t(U)) %*% x, tolerance = 1e-11, ignore_attr = TRUE)
  }
})
