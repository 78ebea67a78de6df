# Each kind of plot, rendered to SVG: texts lie within the device and do not overlap.

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
  boxes <- expect_legible(\() plot(binary, c("field", "above0.75"), n = 400), 7, 4)
  expect_true("Probability that the probability of b exceeds 0.75" %in% boxes$text)
})

test_that("texts of curves, dates, variograms and cross-validation are legible", {
  days <- data.frame(when = as.Date("2024-01-01") + 0:59, z = 1e5 + 1e4 * sin(0:59 / 9))
  timed <- gp(z ~ 1, days, ~ when, matern(3/2, 1e8, 20) + nugget(1e6), estimate = "none")
  boxes <- expect_legible(\() plot(timed, c("field", "se")), 10, 5)
  expect_true(any(grepl("Jan|Feb", boxes$text)))
  # the coordinates are a time and a length, which have no common scale
  days <- transform(days, s = sin(0:59), hour = as.POSIXct(when, tz = "UTC") + 3600 * (0:59 %% 24))
  both <- gp(z ~ 1, days, ~ when + s, matern(3/2, 1e8, c(20, 1)) + nugget(1e6), estimate = "none")
  drawn <- \() plot(both, "field", n = 400)
  expect_identical(kernops:::panels_of(both, "field", 400, 0.95, FALSE, NULL, list())[[1]]$aspect, NA)
  expect_true(all(c("Jan 15", "Field of z") %in% expect_legible(drawn)$text))
  expect_true("Jan 15" %in% expect_legible(\() plot(gp_cv(both), "map"))$text)
  timed <- gp(z ~ 1, days, ~ hour, matern(3/2, 1e8, 20) + nugget(1e6), estimate = "none")
  boxes <- expect_legible(\() plot(timed, "field"), 10, 5)
  expect_true(any(grepl("Jan|Feb", boxes$text)))
  panel <- kernops:::panels_of(timed, "field", NULL, 0.95, FALSE, NULL, list())[[1]]
  expect_equal(panel$points$x, days$hour)
  expect_equal(range(panel$curves$x), range(days$hour))
  along <- gp_variogram(z ~ 1, wide, coords = ~ x + y, alpha = c(0, 45, 90, 135))
  expect_true("135 degrees" %in% expect_legible(\() plot(along, fit))$text)
  expect_legible(\() plot(gp_cv(fit)))
  both <- gp(cbind(z, w) ~ 1, wide, ~ x + y, estimate = "none",
             covariance = lmc(matern(3/2, range = 8000), nugget(), sills = list(diag(c(1e6, 90)), diag(c(1e4, 9)))))
  expect_legible(\() plot(both))
})

test_that("texts of each further kind of plot are legible", {
  variogram <- \(formula, ...) gp_variogram(formula, wide, coords = ~ x + y, ...)
  expect_legible(\() plot(variogram(z ~ 1, cloud = TRUE), fit))
  crossed <- expect_legible(\() plot(variogram(cbind(z, w) ~ 1)))
  expect_true(any(grepl("z.w", crossed$text, fixed = TRUE)))
  along <- at(covariance = matern(3/2, 1e6, c(8000, 2000)) + nugget(1e4))
  expect_true(all(c("x", "y") %in% expect_legible(\() plot(along, c("covariance", "variogram")), 8, 4)$text))
  both <- gp(cbind(z, w) ~ 1, wide, ~ x + y, estimate = "none",
             covariance = lmc(matern(3/2, range = 8000), nugget(), sills = list(diag(c(1e6, 90)), diag(c(1e4, 9)))))
  boxes <- expect_legible(\() plot(both, c("field", "se", "q0.9"), n = 400), 10, 7)
  expect_true(all(c("Field of w", "Standard errors of z", "Quantile 0.9 of w") %in% boxes$text))
  long <- transform(wide, the_concentration_of_zinc_in_the_upper_soil = z, easting_of_the_sample_in_metres = x)
  long <- gp(log(the_concentration_of_zinc_in_the_upper_soil + 1000) ~ 1, long, ~ easting_of_the_sample_in_metres + y,
             field, estimate = "none")
  expect_legible(\() plot(long, c("field", "residuals", "q0.5", "se"), n = 400), 7, 7)
  solid <- gp(z ~ 1, transform(wide, depth = w), ~ x + y + depth, exponential(1e6, c(8000, 8000, 10)) + nugget(1e4),
              estimate = "none")
  expect_true("Fitted z" %in% expect_legible(\() plot(solid))$text)
})

test_that("fits without coordinates have residuals and effects", {
  plain <- gp(z ~ w, wide, covariance = nugget(1e4), estimate = "none")
  expect_true("Residuals" %in% expect_legible(\() plot(plain))$text)
  grouped <- gp(z ~ w, transform(wide, g = b), covariance = random_effect(~ 1 | g, 10) + nugget(1e4), estimate = "none")
  expect_true(all(c("(1 | g)", "Residuals") %in% expect_legible(\() plot(grouped))$text))
  expect_snapshot(error = TRUE, plot(plain, "field"))
})
