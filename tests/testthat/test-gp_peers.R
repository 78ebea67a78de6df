# Results of packages gstat and fields, if these packages are installed.

test_that("kriging of meuse agrees with gstat, with both kinds of nugget, also at sampled points", {
  skip_if_not_installed("gstat")
  skip_if_not_installed("sp")
  data("meuse", "meuse.grid", package = "sp", envir = environment())
  columns <- c("x", "y", "dist")
  places <- rbind(meuse.grid[seq(1, nrow(meuse.grid), 14), columns], meuse[seq(1, 155, 6), columns])
  as_points <- \(d) sp::SpatialPointsDataFrame(as.matrix(d[c("x", "y")]), d)
  models <- list(gstat::vgm(0.5, "Exp", 300, nugget = 0.05), gstat::vgm(0.5, "Exp", 300, nugget = 0, Err = 0.05),
                 gstat::vgm(0.5, "Exp", 300, nugget = 0.03, Err = 0.02))
  cases <- list(list(log(zinc) ~ 1), list(log(zinc) ~ sqrt(dist)), list(log(zinc) ~ 0, beta = 5.9))
  for (case in cases) for (model in models) {
    simple <- !is.null(case$beta)
    fit <- gp(case[[1]], meuse, ~ x + y, model, estimate = "none", known = case["beta"][simple])
    expected <- gstat::krige(if (simple) log(zinc) ~ 1 else case[[1]], as_points(meuse), as_points(places), model,
                             beta = case$beta, debug.level = 0)
    ours <- predict(fit, places, se.fit = TRUE, interval = "confidence")
    expect_equal(ours$fit, expected$var1.pred, tolerance = 1e-8)
    expect_equal(ours$se.fit^2, expected$var1.var, tolerance = 1e-8)
    # the variance of a new measurement includes the variance of the measurement error
    error <- sum(model$psill[model$model == "Err"])
    expect_equal(predict(fit, places, se.fit = TRUE, interval = "prediction")$se.fit^2, expected$var1.var + error,
                 tolerance = 1e-8)
  }
})

test_that("variogram models of gstat are converted to covariances", {
  skip_if_not_installed("gstat")
  skip_if_not_installed("sp")
  withr::local_seed(1)
  d <- smooth_case(50)
  new <- smooth_case(10)
  as_points <- \(d) sp::SpatialPointsDataFrame(as.matrix(d[c("a", "b")]), d)
  models <- list(
    gstat::vgm(1, "Sph", 0.8, 0.1), gstat::vgm(1, "Gau", 0.3, 0.1), gstat::vgm(1, "Mat", 0.3, 0.1, kappa = 1.5),
    gstat::vgm(1, "Ste", 0.3, 0.1, kappa = 2.5), gstat::vgm(1, "Exp", 0.3, 0.1, anis = c(30, 0.4))
  )
  for (model in models) {
    expected <- gstat::krige(z ~ 1, as_points(d), as_points(new), model, debug.level = 0)
    ours <- predict(gp(z ~ 1, as_points(d), covariance = as_gp(model), estimate = "none"), as_points(new),
                    se.fit = TRUE, interval = "prediction")
    expect_s4_class(ours, "SpatialPointsDataFrame")
    expect_equal(ours$fit, expected$var1.pred, tolerance = 1e-8)
    expect_equal(ours$se.fit^2, expected$var1.var, tolerance = 1e-8)
  }
})

test_that("predictions agree with package fields, and the likelihood is at least as high", {
  skip_if_not_installed("fields")
  withr::local_package("fields")
  data("ozone2", package = "fields", envir = environment())
  y <- ozone2$y[16, ]
  good <- !is.na(y)
  x <- ozone2$lon.lat[good, ]
  y <- y[good]
  theirs <- fields::mKrig(x, y, cov.function = "stationary.cov",
                          cov.args = list(Covariance = "Matern", smoothness = 1.5),
                          aRange = 1.2, sigma2 = 400, tau = 5, lambda = 25 / 400, m = 2)
  fit <- gp(y ~ lon + lat, data.frame(lon = x[, 1], lat = x[, 2]), ~ lon + lat,
            matern(3/2, 400, 1.2 * sqrt(3)) + nugget(25), estimate = "none")
  new <- cbind(lon = seq(-92, -84, length.out = 20), lat = seq(38, 44, length.out = 20))
  ours <- predict(fit, as.data.frame(new), se.fit = TRUE)
  expect_equal(ours$fit, as.vector(predict(theirs, new)), tolerance = 1e-6)
  expect_equal(ours$se.fit, as.vector(fields::predictSE(theirs, new)), tolerance = 1e-6)

  best <- fields::spatialProcess(x, y, smoothness = 1.5, mKrig.args = list(m = 2), REML = FALSE)
  found <- gp(y ~ lon + lat, data.frame(lon = x[, 1], lat = x[, 2]), ~ lon + lat)
  expect_gt(found$loglik, best$summary[["lnProfileLike.FULL"]] - 1e-3)
})

test_that("leave-one-out agrees with gstat", {
  skip_if_not_installed("gstat")
  skip_if_not_installed("sp")
  data("meuse", package = "sp", envir = environment())
  model <- gstat::vgm(0.2, "Exp", 300, nugget = 0.05)
  ours <- gp_cv(gp(log(zinc) ~ sqrt(dist), meuse, ~ x + y, as_gp(model), estimate = "none"))
  sp::coordinates(meuse) <- ~ x + y
  expected <- gstat::krige.cv(log(zinc) ~ sqrt(dist), meuse, model, verbose = FALSE, debug.level = 0)
  expect_equal(ours$fit, expected$var1.pred, tolerance = 1e-8)
  expect_equal(ours$se.fit^2, expected$var1.var, tolerance = 1e-8)
})

test_that("variograms of all pairs agree with gstat, for points of any class", {
  skip_if_not_installed("gstat")
  skip_if_not_installed("sf")
  data("meuse", package = "sp", envir = environment())
  breaks <- seq(0, 1500, 300)
  ours <- gp_variogram(meuse[c("x", "y")], log(meuse$zinc), breaks)
  points <- sf::st_as_sf(meuse, coords = c("x", "y"))
  expected <- gstat::variogram(log(zinc) ~ 1, points, boundaries = breaks[-1])
  expect_equal(ours$np, expected$np)
  expect_equal(ours$gamma, expected$gamma)
  expect_equal(ours$dist, expected$dist)
  expect_equal(gp_variogram(points, log(meuse$zinc), breaks), ours)
  expect_equal(gp_variogram(sf::as_Spatial(points), log(meuse$zinc), breaks), ours)
})

test_that("gstat fits the same model to a variogram of kernops and to a variogram of gstat", {
  skip_if_not_installed("gstat")
  data("meuse", package = "sp", envir = environment())
  breaks <- c(0, 1, seq(100, 1500, 100)) # no pair of points is closer than 1
  ours <- gp_variogram(meuse[c("x", "y")], log(meuse$zinc), breaks)
  expect_identical(ours$lower[[1]], 1)
  theirs <- gstat::variogram(log(zinc) ~ 1, ~ x + y, meuse, boundaries = breaks[-1])
  expect_equal(as.data.frame(ours)[names(theirs)], as.data.frame(theirs), ignore_attr = TRUE)
  start <- gstat::vgm(0.6, "Sph", 900, 0.05)
  expect_equal(gstat::fit.variogram(ours, start), gstat::fit.variogram(theirs, start), ignore_attr = TRUE)
})

test_that("sf objects are accepted, and predictions are sf objects", {
  skip_if_not_installed("sf")
  skip_if_not_installed("generics")
  withr::local_seed(2)
  d <- smooth_case(40)
  points <- sf::st_as_sf(d, coords = c("a", "b"))
  covariance <- matern(3/2, 1, 0.4) + nugget(0.01)
  fit <- gp(z ~ w, points, covariance = covariance, estimate = "none")
  plain <- gp(z ~ w, d, ~ a + b, covariance, estimate = "none")
  expect_equal(fit$loglik, plain$loglik)
  ours <- predict(fit, points[1:4, ], se.fit = TRUE)
  expect_s3_class(ours, "sf")
  expect_equal(ours$fit, unname(predict(plain, d[1:4, ])))
  expect_named(sf::st_drop_geometry(simulate(fit, 2, 1, points[1:4, ])), c("sim1", "sim2"))
  expect_s3_class(generics::augment(fit, newdata = points[1:4, ]), "sf")
  dutch <- gp(z ~ w, sf::st_set_crs(points, 28992), covariance = covariance, estimate = "none")
  expect_equal(predict(dutch, sf::st_set_crs(points, 28992)[1:4, ])$fit, ours$fit)
  expect_equal(predict(dutch, points[1:4, ])$fit, ours$fit)
  expect_error(predict(dutch, sf::st_set_crs(points, 3035)), "reference system", class = "kernops_input_error")
})

test_that("the verbs of broom work with fits", {
  skip_if_not_installed("generics")
  withr::local_seed(3)
  fit <- gp(z ~ w, smooth_case(40), ~ a + b)
  expect_identical(generics::tidy(fit)$term, names(coef(fit, "both")))
  expect_false(anyNA(generics::tidy(fit, conf.int = TRUE)$conf.low))
  expect_equal(generics::tidy(fit)$std.error, unname(sqrt(diag(vcov(fit, "both")))))
  expect_equal(generics::glance(fit)$AIC, AIC(fit))
  augmented <- generics::augment(fit)
  expect_named(augmented, c("z", "w", "a", "b", ".fitted", ".se.fit", ".resid"))
  expect_equal(augmented$.fitted, unname(fitted(fit)))
  expect_equal(augmented$.se.fit, predict(fit, se.fit = TRUE)$se.fit)
  new <- smooth_case(3)
  expect_equal(generics::augment(fit, newdata = new)$.fitted, unname(predict(fit, new)))
  flat <- gp(z ~ 1, new, ~ a + b, matern(3/2, 1, 0.5), estimate = "none")
  for (points in list(as.matrix(new), unname(as.matrix(new[c("a", "b")])))) {
    augmented <- generics::augment(flat, newdata = points[, 1:2])
    expect_equal(augmented[c("a", "b")], new[c("a", "b")], ignore_attr = TRUE)
    expect_equal(augmented$.fitted, new$z)
  }
})

test_that("confidence limits of a coefficient are found even if a parameter has the same name", {
  skip_if_not_installed("generics")
  withr::local_seed(5)
  d <- transform(smooth_case(40), matern.range = w)
  table <- generics::tidy(gp(z ~ matern.range, d, ~ a + b, matern(range = 0.5, fixed = "range") + nugget()),
                          conf.int = TRUE)
  expect_identical(table$term[c(2, 4)], rep("matern.range", 2))
  half <- qnorm(0.975) * table$std.error[1:2]
  expect_equal(table$conf.low[1:2], table$estimate[1:2] - half)
  expect_equal(table$conf.high[1:2], table$estimate[1:2] + half)
  own <- table[c(3, 5), ]
  expect_equal(sqrt(own$conf.low * own$conf.high), own$estimate)
  expect_identical(table$conf.low[[4]], NA_real_)
})

test_that("a formula of coordinates is evaluated with the variables of sf and sp objects", {
  skip_if_not_installed("sf")
  skip_if_not_installed("sp")
  withr::local_seed(4)
  d <- transform(smooth_case(30), lon = runif(30, 5, 6), lat = runif(30, 50, 51))
  covariance <- exponential(1, 0.3) + nugget(0.1)
  points <- sf::st_as_sf(d, coords = c("lon", "lat"), crs = 4326)
  plain <- gp(z ~ w, d, ~ a + b, covariance, estimate = "none")
  expect_silent(fit <- gp(z ~ w, points, ~ a + b, covariance, estimate = "none"))
  for (new in list(points, sf::as_Spatial(points))) {
    expect_equal(predict(fit, new)$fit, unname(fitted(plain)))
    expect_equal(predict(plain, new)$fit, unname(fitted(plain)))
    expect_equal(simulate(fit, 1, 2, new)$sim1, unname(simulate(plain, 1, 2, d)[, 1]))
  }
  scaled <- gp(z ~ 1, transform(d, a = 1000 * a), ~ I(a / 1000) + b, covariance, estimate = "none")
  ours <- sf::st_as_sf(transform(d, a = 1000 * a), coords = c("lon", "lat"))
  expect_equal(predict(scaled, ours)$fit, unname(fitted(scaled)))
  # new data are refused if their geometry lacks a coordinate of the fit
  for (at in list(list(scaled, c("a", "lat")), list(fit, c("lon", "lat")))) {
    lacking <- sf::st_as_sf(d[c("w", at[[2]])[seq_len(3)]], coords = at[[2]])
    expect_error(predict(at[[1]], lacking), "lacks `[ab]`", class = "kernops_input_error")
  }
  by_matrix <- gp(z ~ w, points, as.matrix(d[c("a", "b")]), covariance, estimate = "none")
  expect_equal(predict(by_matrix, points)$fit, unname(fitted(plain))) # `points` has columns a and b, too
  expect_error(predict(by_matrix, points["w"]), "lacks|coords", class = "kernops_input_error")
  expect_equal(predict(by_matrix, points, coords = as.matrix(d[c("a", "b")]))$fit, unname(fitted(plain)))
})
