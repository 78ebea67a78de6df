# Each kind of plot, rendered to SVG: texts are within the device and do not overlap.

skip_if_not_installed("svglite")
wide <- withr::with_seed(1, {
  d <- data.frame(x = 4e5 + 3e4 * runif(80), y = 5.2e6 + 3e4 * runif(80), b = rbinom(80, 1, 0.5))
  transform(d, z = 12345 + 1000 * sin((x - 4e5) / 6000) + rnorm(80, sd = 100), w = x / 1000 + rnorm(80))
})
at <- function(formula = z ~ 1, ...) gp(formula, wide, ~ x + y, estimate = "none", ...)
field <- matern(3/2, 1e6, 8000) + nugget(1e4)
fit <- at(covariance = field)
grid <- expand.grid(x = seq(4e5, 4.3e5, length.out = 12), y = seq(5.2e6, 5.23e6, length.out = 12))

test_that("texts of maps and panels are legible", {
  boxes <- expect_legible(\() plot(fit, n = 400))
  expect_true(all(c("Field of z", "Residuals", "Covariance", "5220000") %in% boxes$text))
  for (size in list(c(9, 7), c(6, 4), c(12, 5))) expect_legible(\() plot(fit, "field", n = 400), size[[1]], size[[2]])
  expect_legible(\() plot(fit, c("field", "se", "residuals", "variogram"), n = 400))
  expect_legible(\() plot(at(z ~ w, covariance = field), "field"))
  binary <- at(b ~ 1, covariance = matern(3/2, 1, 8000), family = binomial())
  expect_true("Probability of b" %in% expect_legible(\() plot(binary, "field", n = 400))$text)
})

test_that("texts of curves, dates, variograms and cross-validation are legible", {
  days <- data.frame(when = as.Date("2024-01-01") + 0:59, z = 1e5 + 1e4 * sin(0:59 / 9))
  timed <- gp(z ~ 1, days, ~ when, matern(3/2, 1e8, 20) + nugget(1e6), estimate = "none")
  boxes <- expect_legible(\() plot(timed, c("field", "se")), 10, 5)
  expect_true(any(grepl("Jan|Feb", boxes$text)))
  along <- gp_variogram(z ~ 1, wide, coords = ~ x + y, alpha = c(0, 45, 90, 135))
  expect_true("135 degrees" %in% expect_legible(\() plot(along, fit))$text)
  expect_legible(\() plot(gp_cv(fit)))
  both <- gp(cbind(z, w) ~ 1, wide, ~ x + y, estimate = "none",
             covariance = lmc(matern(3/2, range = 8000), nugget(), sills = list(diag(c(1e6, 90)), diag(c(1e4, 9)))))
  expect_legible(\() plot(both))
})

test_that("distances have the unit of the reference system, and maps of degrees their aspect", {
  skip_if_not_installed("sf")
  points <- sf::st_as_sf(wide, coords = c("x", "y"), crs = 32632)
  projected <- gp(z ~ 1, points, field, estimate = "none")
  expect_true("distance in m" %in% expect_legible(\() plot(projected, "covariance"))$text)
  degrees <- sf::st_transform(points, 4326)
  globe <- suppressMessages(gp(z ~ 1, degrees, matern(3/2, 1e6, 8) + nugget(1e4), estimate = "none"))
  expect_true("distance in km" %in% expect_legible(\() plot(globe, "covariance"))$text)
  expect_equal(attr(gp_cv(globe), "aspect"), 1 / cos(mean(sf::st_coordinates(degrees)[, 2]) * pi / 180))
  coast <- sf::st_sfc(sf::st_linestring(cbind(c(4e5, 4.3e5), 5.21e6)), crs = 32632)
  plain <- svg_texts(\() plot(projected, "field", n = 400))
  expect_identical(svg_texts(\() plot(projected, "field", n = 400, add = coast)), plain)
  ran <- FALSE
  expect_legible(\() plot(projected, "field", n = 400, add = \() ran <<- TRUE))
  expect_true(ran)
})

test_that("a map of a fit with covariates has the predictions at newdata", {
  covariate <- at(z ~ w, covariance = field)
  new <- transform(grid, w = x / 1000)
  map <- kernops:::map_of_rows(covariate, new, "fit")
  expect_equal(map$z[3, 5], predict(covariate, new[(5 - 1) * 12 + 3, ])[[1]])
  errors <- kernops:::map_of_rows(covariate, new[sample(144), ], "se.fit")
  expect_equal(errors$z[3, 5], predict(covariate, new[51, ], se.fit = TRUE, interval = "none")$se.fit)
  expect_legible(\() plot(covariate, c("field", "se"), newdata = new), 12, 6)
  expect_legible(\() plot(covariate, newdata = wide[1:30, ]))
  expect_error(plot(covariate, newdata = new["x"]), class = "kernops_input_error")
  expect_error(plot(covariate, "residuals", newdata = new), class = "kernops_input_error")
  expect_error(plot(fit, "field", add = 1), class = "kernops_input_error")
})

test_that("a plot of many observations predicts a sample of them", {
  many <- withr::with_seed(2, data.frame(x = runif(12000), y = runif(12000)))
  many$z <- sin(6 * many$x)
  large <- gp(z ~ 1, many, ~ x + y, exponential(1, 0.3) + nugget(0.1), "vecchia", "none", neighbours = 5)
  some <- kernops:::fitted_sample(large, residuals = TRUE)
  expect_length(some$fitted, 5000)
  expect_equal(some$fitted, unname(fitted(large))[some$rows], tolerance = 1e-8)
  expect_equal(some$residual, many$z[some$rows] - some$fitted)
  boxes <- svg_texts(\() plot(large, "residuals"))
  expect_true("Residuals of 5000 observations" %in% boxes$text)
})
