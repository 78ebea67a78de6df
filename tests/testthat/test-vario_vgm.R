# Conversion of covariances to variogram models of gstat, against the variograms of gstat.

test_that("variograms of gstat's models agree with the covariances, and are converted back", {
  skip_if_not_installed("gstat")
  h <- c(0.01, 0.1, 0.3, 0.55, 0.8, 2)
  correlations <- list(
    exponential(2, 0.4), squared_exponential(2, 0.3), powered_exponential(2, 0.4, 1.3), matern(5/2, 2, 0.4),
    matern(0.8, 2, 0.4), spherical(2, 0.6), circular(2, 0.6), pentaspherical(2, 0.6), wave(2, 0.2),
    3 * exponential(2, 0.4)
  )
  for (covariance in correlations) {
    model <- as_vgm(covariance + microscale(0.1) + nugget(0.2))
    expect_identical(as.character(model$model[2:3]), c("Nug", "Err"))
    field <- covariance_values(covariance, matrix(0, 1, 2), cbind(h, 0))
    total <- covariance_values(covariance, matrix(0, 1, 2), matrix(0, 1, 2))[[1]]
    expect_equal(gstat::variogramLine(model, dist_vector = h)$gamma, total + 0.3 - as.vector(field), tolerance = 1e-10)
    back <- as_gp(model)
    expect_equal(covariance_values(back, matrix(0, 1, 2), cbind(h, 0)), field, tolerance = 1e-12)
    expect_equal(as_vgm(back), model)
  }
  gamma <- \(covariance) gstat::variogramLine(as_vgm(covariance), dist_vector = h)$gamma
  expect_equal(gamma(power_law(2, 1.3)), 2 * h^1.3)
  for (range in c(0.3, 1.7)) {
    expect_equal(gamma(logarithmic(2, range) + microscale(0.1)), 0.1 + 2 * log(1 + h / range))
    expect_identical(format(as_gp(as_vgm(logarithmic(2, range)))), format(logarithmic(2, range)))
  }
  expect_equal(gamma(triangular(2, 0.6)), pmin(2 * h / 0.6, 2))
  expect_equal(gamma(cosine(2, 0.6)), 2 - 2 * cos(2 * pi * h / 0.6))
  for (case in list(list(-30, 0.4), list(c(30, 20, 50), c(0.6, 0.3)))) {
    model <- suppressWarnings(as_vgm(exponential(1, 2, angle = case[[1]], ratio = case[[2]]))) # gstat warns
    angles <- unlist(model[c("ang1", "ang2", "ang3")])[seq_along(case[[1]])]
    expect_equal(unname(angles), case[[1]] %% 360)
    expect_equal(unlist(model[c("anis1", "anis2")], use.names = FALSE)[seq_along(case[[2]])], case[[2]])
  }
})

test_that("parameters that are NA or omitted in a gstat model are estimated", {
  skip_if_not_installed("gstat")
  expect_identical(as_gp(gstat::vgm("Sph")), spherical() + microscale())
  expect_identical(as_gp(gstat::vgm(0.5, "Mat", NA, kappa = 1.5, nugget = 0.1), fixed = TRUE),
                   matern(1.5, 0.5, fixed = "variance") + microscale(0.1, fixed = "variance"))
  expect_identical(as_gp(gstat::vgm(NA, "Log", NA)), logarithmic() + microscale())
  expect_identical(as_gp(gstat::vgm(NA, "Exp", 2, anis = c(30, 0.5))), exponential(range = 2, angle = 30, ratio = 0.5))
  expect_identical(as_gp(gstat::vgm(NA, "Lin", 0)), power_law(power = 1, fixed = "power"))
  seen <- withr::with_seed(83, smooth_case(40, noise = 0.3))
  expect_equal(logLik(gp(z ~ 1, seen, ~ a + b, gstat::vgm("Exp"))),
               logLik(gp(z ~ 1, seen, ~ a + b, exponential() + microscale())))
  v <- gp_variogram(z ~ 1, seen, coords = ~ a + b)
  expect_identical(fit_variogram(v, gstat::vgm("Exp")), fit_variogram(v, exponential() + microscale()))
})

test_that("predictions of gstat from a converted fit agree with the fit", {
  skip_if_not_installed("gstat")
  skip_if_not_installed("sp")
  seen <- withr::with_seed(81, smooth_case(40, noise = 0.3))
  new <- rbind(withr::with_seed(82, smooth_case(5)), seen[1:3, ])
  fit <- gp(z ~ w, seen, ~ a + b, matern(3/2, angle = 30, ratio = 0.5) + nugget(), estimate = "REML")
  at <- \(d) sp::SpatialPointsDataFrame(as.matrix(d[c("a", "b")]), d)
  theirs <- gstat::krige(z ~ w, at(seen), at(new), as_vgm(fit), debug.level = 0)
  ours <- predict(fit, new, se.fit = TRUE, interval = "confidence")
  expect_equal(ours$fit, theirs$var1.pred, tolerance = 1e-8)
  expect_equal(ours$se.fit^2, theirs$var1.var, tolerance = 1e-8)
})

test_mistakes("kernops_input_error", alist(
  `no covariance` = as_vgm(1),
  `no values` = as_vgm(matern() + nugget(0.1)),
  `a product` = as_vgm(matern(3/2, 1, 1) * exponential(1, 1)),
  `a covariance that gstat lacks` = as_vgm(linear(1)),
  `a range for each coordinate` = as_vgm(exponential(1, c(1, 2))),
  `sills without values` = as_vgm(lmc(exponential(range = 1), nugget()))
), needs = "gstat")
