# The models of gstat: variograms, kriging, anisotropy in space, and intrinsic models.

variogram_of <- \(object, h, d = 1) {
  values <- covariance_values(object, matrix(0, 1, d), cbind(h, matrix(0, length(h), d - 1)))
  sum(kernops:::covariance_model(object, d)$parameters$value[1]) - as.vector(values)
}

gstat_models <- function() list(
  Exp = gstat::vgm(1, "Exp", 0.4), Sph = gstat::vgm(1, "Sph", 0.6), Gau = gstat::vgm(1, "Gau", 0.2),
  Exc = gstat::vgm(1, "Exc", 0.3, kappa = 1.3), Mat = gstat::vgm(1, "Mat", 0.2, kappa = 1.2),
  Ste = gstat::vgm(1, "Ste", 0.4, kappa = 1.2), Cir = gstat::vgm(1, "Cir", 0.7), Bes = gstat::vgm(1, "Bes", 0.2),
  Pen = gstat::vgm(1, "Pen", 0.8), Wav = gstat::vgm(1, "Wav", 0.5), Hol = gstat::vgm(1, "Hol", 0.2),
  Lin = gstat::vgm(1, "Lin", 0.6), Per = gstat::vgm(1, "Per", 0.6), Lin0 = gstat::vgm(1, "Lin", 0),
  Pow = gstat::vgm(1, "Pow", 1.3), Log = gstat::vgm(1, "Log", 1.3), Log1 = gstat::vgm(0.1, "Log", 0.5)
)
in_a_plane <- \(name) !name %in% c("Lin", "Per")

test_that("variograms agree with gstat", {
  skip_if_not_installed("gstat")
  h <- c(0.01, 0.1, 0.3, 0.55, 0.8, 2)
  for (name in setdiff(names(gstat_models()), c("Lin0", "Pow", "Log", "Log1"))) {
    model <- gstat_models()[[name]]
    expect_equal(variogram_of(as_gp(model), h, if (in_a_plane(name)) 2 else 1),
                 gstat::variogramLine(model, dist_vector = h)$gamma, tolerance = 1e-10, info = name)
  }
})

test_that("kriging with each model agrees with gstat", {
  skip_if_not_installed("gstat")
  skip_if_not_installed("sp")
  withr::local_seed(1)
  d <- smooth_case(60)
  new <- smooth_case(10)
  for (name in names(gstat_models())) for (formula in c(z ~ 1, z ~ w)) {
    flat <- \(d) if (in_a_plane(name)) d else transform(d, b = 0)
    at <- \(d) sp::SpatialPointsDataFrame(as.matrix(flat(d)[c("a", "b")]), d)
    model <- gstat::vgm(0.1, "Nug", 0, add.to = gstat_models()[[name]])
    expected <- gstat::krige(formula, at(d), at(new), model, debug.level = 0)
    fit <- gp(formula, d, if (in_a_plane(name)) ~ a + b else ~ a, model, estimate = "none")
    ours <- predict(fit, new, se.fit = TRUE, interval = "prediction")
    expect_false(anyNA(expected$var1.pred), info = name)
    expect_equal(ours$fit, expected$var1.pred, tolerance = 1e-8, info = name)
    expect_equal(ours$se.fit^2, expected$var1.var, tolerance = 1e-8, info = name)
  }
})

test_that("each nested model has its own anisotropy in three-dimensional space", {
  skip_if_not_installed("gstat")
  skip_if_not_installed("sp")
  withr::local_seed(2)
  d <- transform(smooth_case(60), c = runif(60))
  new <- transform(smooth_case(10), c = runif(10))
  as_points <- \(d) sp::SpatialPointsDataFrame(as.matrix(d[c("a", "b", "c")]), d)
  suppressWarnings({ # gstat warns about the third angle
    model <- gstat::vgm(1, "Exp", 0.5, 0.1, anis = c(30, 20, 50, 0.6, 0.3))
    model <- gstat::vgm(0.5, "Sph", 0.8, anis = c(100, 340, 0, 0.5, 0.7), add.to = model)
    expected <- gstat::krige(z ~ w, as_points(d), as_points(new), model, debug.level = 0)
  })
  fit <- gp(z ~ w, as_points(d), covariance = model, estimate = "none")
  ours <- predict(fit, as_points(new), se.fit = TRUE, interval = "prediction")
  expect_equal(ours$fit, expected$var1.pred, tolerance = 1e-8)
  expect_equal(ours$se.fit^2, expected$var1.var, tolerance = 1e-8)

  # spectral simulation and the search for neighbours use the same distances
  p <- list(range = 2, angle = c(30, 20, 50), ratio = c(0.6, 0.3))
  u <- as.matrix(d[1:8, c("a", "b", "c")])
  expect_close(covariance_values(exponential(1, 2, angle = p$angle, ratio = p$ratio), u, u),
               exp(-as.matrix(dist(u %*% t(kernops:::anisotropic_scales(p))))))
})

test_that("intrinsic models are kriged with an unknown constant, also where gstat has no solution", {
  withr::local_seed(3)
  d <- smooth_case(50)
  new <- smooth_case(9)
  both <- rbind(d, new)[c("a", "b")]
  turned <- as.matrix(both) %*% rbind(c(sin(pi / 6), cos(pi / 6) / 0.4), c(cos(pi / 6), -sin(pi / 6) / 0.4))
  models <- list(list(power_law(2, 1.3), \(u) 2 * as.matrix(dist(both))^1.3),
                 list(logarithmic(2, 0.3), \(u) 2 * log(1 + as.matrix(dist(both)) / 0.3)),
                 list(power_law(2, 1.3, angle = 30, ratio = 0.4), \(u) 2 * as.matrix(dist(turned))^1.3),
                 list(3 * power_law(2, 1, dims = 2) + exponential(1, 0.2),
                      \(u) 6 * as.matrix(dist(both$b)) + 1 - exp(-as.matrix(dist(both)) / 0.2)))
  for (model in models) for (formula in c(z ~ 1, z ~ w)) {
    gamma <- model[[2]]()
    X <- model.matrix(formula, d)
    X0 <- model.matrix(formula, transform(new, z = 0))
    K <- diag(0.1, 50) - gamma[1:50, 1:50]
    expected <- oracle_kriging(K, -gamma[1:50, 51:59], rep(0, 9), d$z, X, X0)
    for (method in c("exact", "iterative", "vecchia")) {
      # all observations are neighbours of each other
      fit <- gp(formula, d, ~ a + b, model[[1]] + nugget(0.1), method, estimate = "none",
                control = gp_control(neighbours = 50, probes = 0, cg_tol = 1e-9))
      ours <- predict(fit, new, se.fit = TRUE, interval = "confidence")
      expect_equal(unname(ours$fit), unname(expected$mean), tolerance = 1e-6)
      expect_equal(unname(ours$se.fit^2), unname(expected$variance), tolerance = 1e-5)
    }
  }
})

test_that("the likelihood of intrinsic models agrees with the likelihood of orthonormal contrasts", {
  withr::local_seed(4)
  d <- smooth_case(30)
  K <- 0.1 * diag(30) - 2 * as.matrix(dist(d[c("a", "b")]))^0.8
  for (formula in c(z ~ 1, z ~ w)) {
    X <- model.matrix(formula, d)
    A <- qr.Q(qr(X), complete = TRUE)[, -seq_len(ncol(X))]
    V <- crossprod(A, K %*% A)
    contrasts <- crossprod(A, d$z)
    expected <- -(ncol(A) * log(2 * pi) + determinant(V)$modulus + sum(contrasts * solve(V, contrasts))) / 2
    fit <- gp(formula, d, ~ a + b, power_law(2, 0.8) + nugget(0.1), estimate = "none")
    expect_equal(fit$loglik, as.numeric(expected), tolerance = 1e-10)
  }
  free <- gp(z ~ 1, d, ~ a + b, power_law() + nugget(0.01, fixed = "variance"))
  expect_identical(free$estimate, "REML")
  expect_gt(free$loglik, gp(z ~ 1, d, ~ a + b, power_law(2, 0.8) + nugget(0.01), estimate = "none")$loglik)
})

test_that("draws of an intrinsic field have the variogram of the field", {
  withr::local_seed(5)
  d <- smooth_case(20)
  fit <- gp(z ~ 1, d, ~ a + b, power_law(2, 1.2) + nugget(0.01), estimate = "none")
  new <- smooth_case(5)
  draws <- simulate(fit, 4000, seed = 1, newdata = new, conditional = FALSE)
  gamma <- outer(1:5, 1:5, Vectorize(\(i, j) mean((draws[i, ] - draws[j, ])^2) / 2))
  expect_equal(gamma, 2 * as.matrix(dist(new[c("a", "b")]))^1.2, tolerance = 0.1, ignore_attr = TRUE)
  # an intrinsic field has no mean and no variance, but its distribution given the data has both
  given <- simulate(fit, 4000, seed = 2, newdata = new)
  ours <- predict(fit, new, se.fit = TRUE, interval = "confidence")
  expect_lt(max(abs(rowMeans(given) - ours$fit) / ours$se.fit), 0.08)
  expect_equal(unname(apply(given, 1, sd)), ours$se.fit, tolerance = 0.05)
})

test_that("covariances in one dimension agree with their spectra", {
  withr::local_seed(6)
  h <- seq(0.01, 0.5, length.out = 9)
  expected <- list(triangular = pmax(1 - h / 0.4, 0), cosine = cos(2 * pi * h / 0.4))
  objects <- list(triangular = triangular(1, 0.4), cosine = cosine(1, 0.4))
  for (name in names(objects)) {
    expect_close(covariance_values(objects[[name]], matrix(h), matrix(0)), matrix(expected[[name]]))
    term <- kernops:::spectral_terms(objects[[name]], list(d = 1))[[1]]
    waves <- cos(term$spectral[[1]]$frequencies(1e5) %*% t(h))
    expect_lt(max(abs(colMeans(waves) - expected[[name]])), 4.5 / sqrt(1e5))
  }
})

test_mistakes("kernops_input_error", alist(
  `spline of gstat` = as_gp(gstat::vgm(1, "Spl", 1)),
  `Legendre's model of gstat` = as_gp(gstat::vgm(1, "Leg", 0.1)),
  `a logarithm of negative values` = as_gp(gstat::vgm(1, "Log", 0.5, nugget = 0.1)),
  `nothing` = as_gp(gstat::vgm(0, "Nug", 0))
), needs = "gstat")
test_mistakes("kernops_input_error", alist(
  `power of 2` = power_law(1, 2),
  `power above 2` = powered_exponential(1, 1, 2.1),
  `ranges without range` = power_law(1, 1, ard = TRUE),
  `angles without ratios` = exponential(angle = c(1, 2, 3), ratio = 0.5),
  `product of intrinsic models` = power_law() * exponential(),
  `intrinsic model without constant` = gp(dist ~ 0 + speed, cars, ~ speed, power_law() + nugget()),
  `intrinsic model with a known constant` = gp(dist ~ 1, cars, ~ speed, power_law() + nugget(), known = list(beta = 1)),
  `intrinsic model by ML` = gp(dist ~ 1, cars, ~ speed, power_law() + nugget(), estimate = "ML"),
  `spectral simulation of an intrinsic model` = simulate(
    gp(dist ~ 1, cars, ~ speed, power_law(1, 1) + nugget(1), estimate = "none", exact_limit = 60), newdata = cars
  )
))
test_mistakes("kernops_dim_error", alist(
  `anisotropy in space of points in the plane` = gp(
    dist ~ 1, cars, ~ speed, exponential(angle = c(1, 2, 3), ratio = c(0.5, 0.5)) + nugget()
  ),
  `circular in space` = kernops:::covariance_model(circular(), 3),
  `triangular in the plane` = kernops:::covariance_model(triangular(), 2)
))
