# The oracle iterates with stored matrices in plain R until the potentials are stationary, and evaluates the primal
# cost.
transport_cost <- function(x, y, cost) {
  square <- outer(rowSums(x^2), rowSums(y^2), `+`) - 2 * tcrossprod(x, y)
  if (cost == "squared") pmax(square, 0) else sqrt(pmax(square, 0))
}
divergence <- \(p, q) sum(ifelse(p > 0, p * log(p / q), 0) - p + q)
plan_by_matrix <- function(C, a, b, epsilon, rho, steps = 5000) {
  power <- if (rho == Inf) 1 else rho / (rho + epsilon)
  K <- exp(-C / epsilon)
  u <- rep(1, length(a))
  for (step in seq_len(steps)) {
    v <- drop(crossprod(K, a * u))^-power
    u <- drop(K %*% (b * v))^-power
  }
  a * u * K * rep(b * v, each = length(a))
}
transport_by_matrix <- function(x, y, a, b, epsilon, cost, rho) {
  C <- transport_cost(x, y, cost)
  P <- plan_by_matrix(C, a, b, epsilon, rho)
  free <- if (rho == Inf) 0 else rho * (divergence(rowSums(P), a) + divergence(colSums(P), b))
  list(plan = P, value = sum(P * C) + epsilon * divergence(P, outer(a, b)) + free)
}
divergence_by_matrix <- function(x, y, a, b, ...) {
  of <- \(...) transport_by_matrix(...)$value
  epsilon <- list(...)[[1]]
  of(x, y, a, b, ...) - of(x, x, a, a, ...) / 2 - of(y, y, b, b, ...) / 2 + epsilon / 2 * (sum(a) - sum(b))^2
}
clouds <- \(n, m, d) withr::with_seed(d, list(x = matrix(runif(n * d), n) + 5, y = matrix(runif(m * d), m) + 5.3,
                                              a = runif(n), b = runif(m)))
settings <- expand.grid(cost = c("squared", "distance"), rho = c(Inf, 0.5), stringsAsFactors = FALSE)

test_that("cost and plan agree with stored matrices", {
  for (d in c(1, 3)) for (row in seq_len(nrow(settings))) for (backend in backends()) for (scaling in c(0, 0.5)) {
    set <- settings[row, ]
    cloud <- clouds(15, 12, d)
    a <- if (set$rho == Inf) proportions(cloud$a) else cloud$a
    b <- if (set$rho == Inf) proportions(cloud$b) else cloud$b
    true <- transport_by_matrix(cloud$x, cloud$y, a, b, 0.1, set$cost, set$rho)
    fit <- with(cloud, sinkhorn(x, y, 0.1, a, b, set$cost, set$rho, scaling = scaling, tol = 1e-12, iter.max = 5000,
                                backend = backend))
    expect_true(fit$converged)
    expect_equal(fit$value, true$value, tolerance = 1e-10)
    expect_close(as.matrix(fit$plan), true$plan, tolerance = 1e-9)
  }
  plain <- sinkhorn(cloud$x, cloud$y, 0.1)
  expect_equal(plain$value, transport_by_matrix(cloud$x, cloud$y, rep(1 / 15, 15), rep(1 / 12, 12), 0.1, "squared",
                                                Inf)$value, tolerance = 1e-6)
})

test_that("the plan is an operator with the marginals of the problem", {
  cloud <- clouds(40, 30, 2)
  fit <- sinkhorn(cloud$x, cloud$y, 0.05, cloud$a, tol = 1e-10)
  expect_equal(drop(rowSums(fit$plan)), proportions(cloud$a), tolerance = 1e-9)
  expect_equal(drop(colSums(fit$plan)), rep(1 / 30, 30), tolerance = 1e-9)
  expect_equal(fit$plan %*% cloud$y, as.matrix(fit$plan) %*% cloud$y)
  expect_s4_class(fit$plan, "LazyTensor")
})

test_that("the debiased divergence agrees with stored matrices, and is zero for equal samples", {
  for (row in seq_len(nrow(settings))) {
    set <- settings[row, ]
    cloud <- clouds(12, 10, 2)
    a <- if (set$rho == Inf) proportions(cloud$a) else cloud$a
    b <- if (set$rho == Inf) proportions(cloud$b) else cloud$b
    true <- divergence_by_matrix(cloud$x, cloud$y, a, b, 0.1, set$cost, set$rho)
    fit <- with(cloud, sinkhorn(x, y, 0.1, a, b, set$cost, set$rho, debiased = TRUE, tol = 1e-12, iter.max = 5000))
    expect_equal(fit$value, true, tolerance = 1e-9)
    expect_equal(sinkhorn(cloud$x, cloud$x, 0.1, a, a, set$cost, set$rho, debiased = TRUE, tol = 1e-12)$value, 0,
                 tolerance = 1e-9)
  }
})

test_that("gradients agree with finite differences", {
  for (row in seq_len(nrow(settings))) for (debiased in c(FALSE, TRUE)) {
    set <- settings[row, ]
    cloud <- clouds(5, 4, 2)
    run <- \(part, value, ...) do.call(sinkhorn, c(replace(unname(cloud), part, list(value))[1:2], 0.2,
      replace(unname(cloud), part, list(value))[3:4], set$cost, set$rho, debiased, ..., tol = 1e-13, iter.max = 1e4))
    gradient <- run(1, cloud$x, TRUE)$gradient
    for (part in 1:4) {
      true <- central_difference(\(value) run(part, value)$value, cloud[[part]])
      expect_close(t(gradient[[part]]), if (part < 3) t(true) else true, tolerance = 1e-6)
    }
  }
})

test_that("the convergence depends neither on the scale of the coordinates, nor on float32 or weights of 0", {
  cloud <- clouds(20, 20, 2)
  one <- sinkhorn(cloud$x, cloud$y, 0.1)
  for (unit in c(2^-300, 2^300)) {
    expect_equal(sinkhorn(cloud$x * unit, cloud$y * unit, 0.1 * unit^2)$value / unit / unit, one$value)
  }
  expect_equal(sinkhorn(cloud$x, cloud$y, 0.1, precision = "float32", tol = 1e-4)$value, one$value, tolerance = 1e-3)
  without <- sinkhorn(cloud$x, cloud$y, 0.1, rep(0:1, 10), tol = 1e-10)
  expect_equal(without$value, sinkhorn(cloud$x[c(FALSE, TRUE), ], cloud$y, 0.1, tol = 1e-10)$value)
  expect_equal(sinkhorn(1, 3, 0.1)$value, 4)
  expect_equal(sinkhorn(c(1, 1), 1, 0.1)$value, 0)
})

test_that("the cost with small regularisation agrees with the cost of sorted samples", {
  x <- withr::with_seed(1, runif(30))
  y <- withr::with_seed(2, runif(30))
  fit <- sinkhorn(x, y, 1e-5, tol = 1e-3, iter.max = 20000)
  expect_equal(fit$value, mean((sort(x) - sort(y))^2) + 1e-5 * log(30), tolerance = 2e-3) # the plan is a permutation
})

test_that("sinkhorn() refuses invalid arguments", {
  expect_snapshot(error = TRUE, {
    sinkhorn(c(1, NA), 1:3, 1)
    sinkhorn(1:3, cbind(1:3, 1), 1)
    sinkhorn(1:3, 1:3, 0)
    sinkhorn(1:3, 1:3, 1, weights_x = 1:2)
    sinkhorn(1:3, 1:3, 1, weights_y = c(-1, 1, 1))
    sinkhorn(1:3, 1:3, 1, rho = 0)
    sinkhorn(1:3, 1:3, 1, cost = "cubic")
    sinkhorn(1:3, 1:3, 1, scaling = 1)
    sinkhorn(1:3, 1:3, 1, debiased = NA)
  })
  expect_snapshot(sinkhorn(c(0, 0.3, 1), c(0.1, 0.9), 0.01, iter.max = 1, scaling = 0))
})
