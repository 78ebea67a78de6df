# Matern correlations of any smoothness, against mixtures of Gaussians in plain R: the correlation at distance d is the
# mean of exp(-nu d^2 / (2 t)), where t has the gamma distribution with shape nu.

mean_over_gamma <- function(nu, f) {
  upper <- nu + 14 * sqrt(nu) + 40
  integrate(\(t) dgamma(t, nu) * f(t), 0, nu, rel.tol = 1e-12, subdivisions = 2000L)$value +
    integrate(\(t) dgamma(t, nu) * f(t), nu, upper, rel.tol = 1e-12, subdivisions = 2000L)$value
}
matern_by_mixture <- function(nu, d) {
  vapply(d, \(d) if (d == 0) 1 else mean_over_gamma(nu, \(t) exp(-nu * d^2 / (2 * t))), 0)
}
slope_by_mixture <- function(nu, d) {
  vapply(d, \(d) if (d == 0) 0 else -d * mean_over_gamma(nu, \(t) nu / t * exp(-nu * d^2 / (2 * t))), 0)
}
distances <- c(0, 1e-4, 0.03, 0.4, 1, 2.2, 4)

test_that("Matern correlations of any smoothness, and their derivatives, agree with mixtures of Gaussians", {
  for (nu in c(1.7, 7.3, 15.8, 16.2, 30, 37.5, 50, 99, 101, 160, 2000)) {
    value <- matern_by_mixture(nu, distances)
    slope <- slope_by_mixture(nu, distances)
    by_order <- 2 / nu^2 # the size of the first neglected correction
    curve <- \(nu) matern_by_mixture(nu, distances)
    order_slope <- (8 * (curve(nu * 1.01) - curve(nu * 0.99)) - (curve(nu * 1.02) - curve(nu * 0.98))) / (0.12 * nu)
    for_each_backend(function(kernel, precision) {
      for (declared in c("a = Pm(1)", "a = Vi(1)")) {
        a <- if (declared == "a = Pm(1)") nu else rep(nu, length(distances))
        op <- kernel("Sum_Reduction(Matern(a, d) * w, 1)", c(declared, "d = Vi(1)", "w = Vj(1)"))
        one <- rep(1, length(distances))
        info <- paste(nu, declared)
        expect_close(op(list(a, distances, 1)), cbind(value), precision, info = info, scale = 1)
        expect_close(keops_grad(op, "d")(list(a, distances, 1, one)), cbind(slope), precision, info = info, scale = 1)
        by_a <- keops_grad(op, "a")(list(a, distances, 1, one))
        expected <- if (declared == "a = Pm(1)") matrix(sum(order_slope)) else cbind(order_slope)
        expect_close(by_a, expected, precision, c(float64 = 1e-5, float32 = 1e-5 * nu)[[precision]], info,
                     scale = max(abs(order_slope)))
      }
    })
  }
})

test_that("the Matern correlation tends to the Gaussian one, with differences of order 1 / nu", {
  for_each_backend(function(kernel, precision) {
    op <- kernel("Sum_Reduction(Matern(a, d) * w, 1)", c("a = Pm(1)", "d = Vi(1)", "w = Vj(1)"))
    beyond <- \(nu) drop(op(list(nu, distances, 1))) - exp(-distances^2 / 2)
    orders <- if (precision == "float64") c(1e3, 1e4, 1e5, 1e6) else c(50, 500)
    scaled <- vapply(orders, \(nu) nu * beyond(nu), distances)
    tolerance <- if (precision == "float64") 1e-2 else 0.1
    for (k in seq_along(orders)[-1]) expect_equal(scaled[, k], scaled[, 1], tolerance = tolerance)
  })
})

test_that("second derivatives of smooth Matern correlations agree with finite differences", {
  op <- keops_kernel("Sum_Reduction(Matern(a, Norm2(x - y)) * w, 1)",
                     c("a = Pm(1)", "x = Vi(2)", "y = Vj(2)", "w = Vj(1)"))
  withr::local_seed(1)
  x <- uniform(4, 2)
  y <- uniform(4, 2)
  w <- uniform(4)
  eta <- uniform(4)
  for (nu in c(3.3, 40, 150)) for (var in c("a", "x")) {
    first <- keops_grad(op, var)
    input <- list(a = nu, x = x, y = y, w = w, eta = eta)
    along <- if (var == "a") 1 else uniform(4, 2)
    step <- if (var == "a") nu / 50 else 1e-3
    moved <- \(h) sum(along * first(replace(input, var, list(input[[var]] + h * along))))
    expected <- (8 * (moved(step) - moved(-step)) - (moved(2 * step) - moved(-2 * step))) / (12 * step)
    actual <- sum(along * keops_grad(first, var)(c(input, list(eta2 = along))))
    expect_equal(actual, expected, tolerance = 1e-5, info = paste(nu, var))
  }
})

test_that("Matern correlations have their limits at special arguments", {
  for (declared in c("a = Pm(1)", "a = Vi(1)")) {
    value <- \(a, b, p = 0, q = 0) {
      op <- keops_kernel(sprintf("Sum_Reduction(MaternOrder(a, b, %d, %d) * w, 1)", p, q), c(declared, "b = Vi(1)",
                                                                                             "w = Vj(1)"))
      drop(op(list(a, b, 1)))
    }
    expect_identical(value(40, 0), 1)
    expect_identical(value(40, 0, 1), 0)
    expect_equal(value(40, 0, 0, 2), 1 / (4 * 39 * 38), tolerance = 1e-14)
    expect_equal(value(40, 0, 1, 2), -(1 / 39 + 1 / 38) / (4 * 39 * 38), tolerance = 1e-14)
    expect_identical(value(0.5, 0, 0, 1), 0)
    expect_identical(value(2.5, Inf), 0)
    expect_identical(value(40, 1e6), 0)
    for (odd in list(c(-1, 1), c(NaN, 1), c(2, NaN), c(2, -1), c(Inf, 1))) expect_identical(value(odd[1], odd[2]), NaN)
    expect_equal(value(1.5, 2), 3 * exp(-2), tolerance = 1e-14)
  }
})
