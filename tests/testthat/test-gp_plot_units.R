# Units and scales of axes, overlays, maps at new data, and subsamples of many observations.

skip_if_not_installed("svglite")
wide <- withr::with_seed(1, {
  d <- data.frame(x = 4e5 + 3e4 * runif(80), y = 5.2e6 + 3e4 * runif(80), b = rbinom(80, 1, 0.5))
  transform(d, z = 12345 + 1000 * sin((x - 4e5) / 6000) + rnorm(80, sd = 100), w = x / 1000 + rnorm(80))
})
at <- function(formula = z ~ 1, ...) gp(formula, wide, ~ x + y, estimate = "none", ...)
field <- matern(3/2, 1e6, 8000) + nugget(1e4)
fit <- at(covariance = field)
grid <- expand.grid(x = seq(4e5, 4.3e5, length.out = 12), y = seq(5.2e6, 5.23e6, length.out = 12))

test_that("distances have the unit of the reference system, and maps in degrees the aspect ratio of their latitude", {
  skip_if_not_installed("sf")
  points <- sf::st_as_sf(wide, coords = c("x", "y"), crs = 32632)
  projected <- gp(z ~ 1, points, field, estimate = "none")
  expect_true("distance in m" %in% expect_legible(\() plot(projected, "covariance"))$text)
  degrees <- sf::st_transform(points, 4326)
  globe <- suppressMessages(gp(z ~ 1, degrees, matern(3/2, 1e6, 8) + nugget(1e4), estimate = "none"))
  expect_true("distance in km" %in% expect_legible(\() plot(globe, "covariance"))$text)
  expect_true(all(c("longitude", "latitude") %in% expect_legible(\() plot(globe, "field", n = 400))$text))
  expect_true(all(c("longitude", "latitude") %in% expect_legible(\() plot(gp_cv(globe), "map"))$text))
  expect_true(all(c("X (m)", "5220000") %in% expect_legible(\() plot(projected, "field", n = 400))$text))
  expect_true("distance in m" %in% svg_texts(\() plot(gp_variogram(z ~ 1, points)))$text)
  expect_true("distance in km" %in% svg_texts(\() plot(suppressMessages(gp_variogram(z ~ 1, degrees))))$text)
  expect_equal(attr(gp_cv(globe), "aspect"), 1 / cos(mean(sf::st_coordinates(degrees)[, 2]) * pi / 180))
  coast <- sf::st_sfc(sf::st_linestring(cbind(c(4e5, 4.3e5), 5.21e6)), crs = 32632)
  plain <- svg_texts(\() plot(projected, "field", n = 400))
  expect_identical(svg_texts(\() plot(projected, "field", n = 400, add = coast)), plain)
  # sf and terra draw a line over the map
  lines_of <- \(add) {
    file <- withr::local_tempfile(fileext = ".svg")
    svglite::svglite(file, 9, 7)
    tryCatch(plot(projected, "field", n = 400, add = add), finally = grDevices::dev.off())
    length(grep("<(polyline|line|path)", readLines(file)))
  }
  without <- lines_of(NULL)
  expect_identical(lines_of(coast), without + 1L)
  if (requireNamespace("terra", quietly = TRUE)) expect_identical(lines_of(terra::vect(coast)), without + 1L)
  ran <- FALSE
  expect_legible(\() plot(projected, "field", n = 400, add = \() ran <<- TRUE))
  expect_true(ran)
})

test_that("a map of a fit with covariates shows the predictions at newdata", {
  covariate <- at(z ~ w, covariance = field)
  new <- transform(grid, w = x / 1000)
  at_rows <- \(which, rows) kernops:::panels_at_rows(covariate, which, rows)[[which]][[1]]
  map <- at_rows("field", new)
  expect_equal(map$z[3, 5], predict(covariate, new[(5 - 1) * 12 + 3, ])[[1]])
  errors <- at_rows("se", new[sample(144), ])
  expect_equal(errors$z[3, 5], predict(covariate, new[51, ], se.fit = TRUE, interval = "none")$se.fit)
  expect_legible(\() plot(covariate, c("field", "se"), newdata = new), 12, 6)
  boxes <- expect_legible(\() plot(covariate, c("field", "se", "q0.9", "above13000"), newdata = new), 12, 9)
  expect_true(all(c("Quantile 0.9 of z", "Probability that z exceeds 13000") %in% boxes$text))
  expect_legible(\() plot(covariate, newdata = wide[1:30, ]))
  expect_error(plot(covariate, newdata = new["x"]), class = "kernops_input_error")
  expect_error(plot(covariate, "residuals", newdata = new), class = "kernops_input_error")
  expect_error(plot(fit, "field", add = 1), class = "kernops_input_error")
})

test_that("a plot of many observations shows predictions at a random sample of the observations", {
  many <- withr::with_seed(2, data.frame(x = runif(12000), y = runif(12000)))
  many$z <- sin(6 * many$x)
  large <- gp(z ~ 1, many, ~ x + y, exponential(1, 0.3) + nugget(0.1), "vecchia", "none", neighbours = 5)
  some <- kernops:::fitted_sample(large, residuals = TRUE)
  expect_length(some$fitted, 1000)
  expect_equal(some$fitted, unname(fitted(large))[some$rows], tolerance = 1e-8)
  expect_equal(some$residual, many$z[some$rows] - some$fitted)
  boxes <- svg_texts(\() plot(large, "residuals"))
  expect_true("Residuals of 1000 observations" %in% boxes$text)
})

test_that("plots of many cross-validated observations show a part of them, including the smallest and the largest", {
  z <- withr::with_seed(3, rnorm(20000))
  drawn <- kernops:::normal_quantiles(z)
  all <- qqnorm(sort(z), plot.it = FALSE)
  expect_identical(nrow(drawn), 5000L)
  expect_equal(drawn[c(1, 5000), ], data.frame(x = range(all$x), y = range(z)), ignore_attr = TRUE)
  expect_true(all(drawn$y %in% z))
  expect_equal(drawn$x, all$x[match(drawn$y, sort(z))])
})
