# Weighted least-squares fits of variograms, against gstat and known variograms.

test_that("fits of variogram models agree with gstat", {
  skip_if_not_installed("gstat")
  skip_if_not_installed("sp")
  data("meuse", package = "sp", envir = environment())
  v <- gp_variogram(log(zinc) ~ 1, meuse, coords = ~ x + y)
  start <- gstat::vgm(0.6, "Sph", 900, 0.05)
  for (case in list(list("np/h^2", 7), list("np/gamma^2", 2), list("np", 1), list("equal", 6))) {
    expected <- gstat::fit.variogram(v, start, fit.method = case[[2]])
    ours <- fit_variogram(v, spherical() + nugget(), case[[1]])
    values <- kernops:::covariance_model(ours, 1)$parameters$value
    theirs <- c(expected$psill[2], expected$range[2], expected$psill[1])
    # gstat holds the weights fixed in each iteration, so that its fit is not the minimum of Cressie's criterion (1985)
    if (case[[2]] != 2) expect_equal(values, theirs, tolerance = 1e-3, info = case[[1]])
    fitted <- gstat::variogramLine(expected, dist_vector = v$dist)$gamma
    weight <- switch(case[[2]], v$np, v$np / fitted^2, NA, NA, NA, 1, v$np / v$dist^2)
    least <- sum(weight * (v$gamma - fitted)^2)
    expect_lt(attr(ours, "sum_of_squares"), least * (1 + 1e-6))
  }
  expect_equal(fit_variogram(gstat::variogram(log(zinc) ~ 1, ~ x + y, meuse), start), fit_variogram(v, start))
})

test_that("the fit to the exact variogram of a model returns its parameters, with anisotropy and without a sill", {
  h <- seq(0.05, 1, length.out = 12)
  made <- expand.grid(dist = h, dir.hor = c(0, 30, 60, 90, 120, 150))
  a <- made$dir.hor * pi / 180
  x <- made$dist * sin(a)
  y <- made$dist * cos(a)
  t <- 40 * pi / 180
  q <- sqrt(((x * sin(t) + y * cos(t)) / 0.7)^2 + ((x * cos(t) - y * sin(t)) / 0.28)^2)
  v <- transform(made, np = 100, gamma = 0.2 + 1.5 * (1 - exp(-q)))
  found <- fit_variogram(v, exponential(angle = 0, ratio = 0.5) + nugget())
  expect_equal(kernops:::covariance_model(found, 2)$parameters$value, c(1.5, 0.7, 40, 0.4, 0.2), tolerance = 1e-4)
  flat <- data.frame(dist = h, np = 50, gamma = 0.1 + 2 * h^1.3)
  found <- fit_variogram(flat, power_law() + nugget())
  expect_equal(kernops:::covariance_model(found, 2)$parameters$value, c(2, 1.3, 0.1), tolerance = 1e-4)
  expect_output(print(found), "power_law")
})

test_mistakes("kernops_input_error", alist(
  `variogram that is none` = fit_variogram(cars, exponential()),
  `covariance that is none` = fit_variogram(data.frame(np = 1, dist = 1, gamma = 1), "Sph"),
  `covariance without a variogram` = fit_variogram(data.frame(np = 1, dist = 1, gamma = 1), linear()),
  `two variables` = fit_variogram(data.frame(np = 1, dist = 1, gamma = 1, id = 1:2), exponential())
))
