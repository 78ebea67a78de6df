# Thin-plate splines whose basis functions the engine evaluates, against mgcv.
skip_if_not_installed("mgcv")

set.seed(1)
n <- 2600
d <- data.frame(x = rnorm(n, 5), z = runif(n), w = runif(n), v = rexp(n), tied = sample(400, n, TRUE))

expect_same_basis <- function(term, d) {
  made <- \(spec) mgcv::smoothCon(spec, d, absorb.cons = TRUE)[[1]]
  ours <- made(with_plate_functions(term, nrow(d)))
  mgcv <- made(term)
  expect_s3_class(ours, "kernops_plate")
  expect_equal(ours$X, mgcv$X, tolerance = 1e-8)
  expect_equal(ours$S, mgcv$S, tolerance = 1e-8)
  new <- d[1:40, ] + 0.1
  expect_equal(mgcv::PredictMat(ours, new), mgcv::PredictMat(mgcv, new), tolerance = 1e-8)
}

test_that("bases for many observations agree with mgcv", {
  terms <- list(
    mgcv::s(x), mgcv::s(x, m = 3), mgcv::s(tied, k = 20), mgcv::s(x, by = z),
    mgcv::s(x, xt = list(max.knots = 300, seed = 4)), mgcv::s(x, z, k = 50), mgcv::s(x, z, m = 3, k = 40),
    mgcv::s(x, z, w, k = 40), mgcv::s(x, z, w, v, k = 60)
  )
  for (term in terms) expect_same_basis(term, d)
})

test_that("fits with few observations, other bases and smooths without a null space use the bases of mgcv", {
  classes <- \(term, n) class(with_plate_functions(term, n))
  expect_identical(classes(mgcv::s(x), 2000), "tp.smooth.spec")
  expect_identical(classes(mgcv::s(x, m = c(2, 0)), 1e5), "tp.smooth.spec")
  for (basis in c("ts", "cr", "ds")) {
    expect_identical(classes(mgcv::s(x, bs = basis), 1e5), paste0(basis, ".smooth.spec"))
  }
})

test_that("a fit of many observations agrees with mgcv", {
  d$y <- sin(d$x) + cos(5 * d$z) + rnorm(n, sd = 0.3)
  fit <- gp(y ~ s(x) + s(z), d, covariance = nugget(), estimate = "REML")
  gam <- mgcv::gam(y ~ s(x) + s(z), data = d, method = "REML")
  gap <- as.numeric(determinant(crossprod(model.matrix(fit)))$modulus) / 2 # difference from the REML criterion of mgcv
  expect_equal(fit$loglik - gap, -as.vector(gam$gcv.ubre), tolerance = 1e-6)
  new <- data.frame(x = c(4, 5.5), z = c(0.2, 0.7))
  expect_equal(as.vector(predict(fit, new)), as.vector(predict(gam, new)), tolerance = 1e-4)
})
