# The plots of ggplot2 show the numbers of plot(); their texts lie within the device and do not overlap.

skip_if_not_installed("ggplot2")
seen <- withr::with_seed(101, smooth_case(60, noise = 0.3))
fit <- gp(z ~ 1, seen, ~ a + b, given(), estimate = "none")
curve <- gp(z ~ 1, seen, ~ a, given(), estimate = "none")
autoplot <- ggplot2::autoplot
layer_of <- \(plot, k) ggplot2::ggplot_build(plot)$data[[k]]

test_that("autoplot() has the same numbers as predict()", {
  map <- autoplot(fit, n = 100)
  expect_equal(map$data$value, unname(predict(fit, stats::setNames(map$data[1:2], c("a", "b")))))
  drawn <- autoplot(curve, n = 50)
  expect_equal(drawn$data$upr, predict(curve, data.frame(a = drawn$data$x), interval = "confidence")$upr)
  errors <- autoplot(curve, "se", n = 50)
  theirs <- predict(curve, data.frame(a = errors$data$x), se.fit = TRUE, interval = "none")
  expect_equal(errors$data$fit, theirs$se.fit)
  covariate <- gp(z ~ w, transform(seen, w = a^2), ~ a + b, given(), estimate = "none")
  observations <- autoplot(covariate)
  expect_equal(observations$data$value, unname(fitted(covariate)))
  new <- transform(expand.grid(a = 1:5 / 5, b = 1:4 / 4), w = a^2)
  above <- autoplot(covariate, "above0.3", newdata = new)
  expect_equal(above$data$value, predict(covariate, new, above = 0.3, interval = "none")$above0.3)
  expect_identical(above$labels[c("title", "fill")],
                   list(title = "Probability that z exceeds 0.3", fill = "probability"))
  several <- autoplot(fit, c("residuals", "covariance"))
  expect_s3_class(several, "gp_panels")
  expect_equal(layer_of(several[[1]], 2)$y, unname(residuals(fit)))
  expect_equal(layer_of(several[[2]], 1)$y[[1]], 1.3)
})

test_that("autoplot() accepts the estimator of a variogram", {
  drawn <- autoplot(fit, "variogram", estimator = "cressie")
  expect_equal(layer_of(drawn, 2)$y, kernops:::variogram_of(fit, list(estimator = "cressie"))$empirical$gamma)
})

test_that("overlays of sf, terra and functions are layers with the vertices of the overlays", {
  skip_if_not_installed("sf")
  ring <- rbind(c(0, 0), c(1, 0), c(1, 1), c(0, 0))
  shapes <- sf::st_sfc(sf::st_polygon(list(ring)), sf::st_polygon(list(ring + 2)))
  path <- layer_of(autoplot(fit, n = 100, add = shapes), 3)
  expect_equal(unname(as.matrix(path[c("x", "y")])), rbind(ring, ring + 2))
  expect_identical(lengths(split(path$x, path$group), use.names = FALSE), c(4L, 4L))
  points <- layer_of(autoplot(fit, n = 100, add = sf::st_sfc(sf::st_point(c(0.2, 0.3)))), 3)
  expect_equal(c(points$x, points$y), c(0.2, 0.3))
  line <- layer_of(autoplot(fit, n = 100, add = \() ggplot2::geom_hline(yintercept = 0.5)), 3)
  expect_equal(line$yintercept, 0.5)
  skip_if_not_installed("terra")
  path <- layer_of(autoplot(fit, n = 100, add = terra::vect(ring[1:3, ], "lines")), 3)
  expect_equal(unname(as.matrix(path[c("x", "y")])), ring[1:3, ])
  expect_error(autoplot(fit, add = 1), class = "kernops_input_error")
})

test_that("texts of ggplot2 plots are legible", {
  skip_if_not_installed("svglite")
  wide <- transform(seen, x = 4e5 + 3e4 * a, y = 5.2e6 + 3e4 * b, k = as.integer(z > 0))
  far <- gp(z ~ 1, wide, ~ x + y, matern(3/2, 1.3, 8000) + nugget(0.1), estimate = "none")
  names <- c("field", "se", "q0.9", "above1", "residuals", "covariance", "variogram")
  for (name in names) expect_legible(\() print(autoplot(far, name, n = 100)), 6, 4.5)
  boxes <- expect_legible(\() print(autoplot(far, names, n = 100)), 12, 9)
  expect_true(all(c("Field of z", "standard error", "Variogram") %in% boxes$text))
  binary <- gp(k ~ 1, wide, ~ x + y, matern(3/2, 1, 8000), estimate = "none", family = binomial())
  expect_identical(sum(expect_legible(\() print(autoplot(binary, n = 100)), 6, 4)$text == "Probability of k"), 2L)
  expect_legible(\() print(autoplot(curve, c("field", "se"))))
  crossed <- gp_cv(far)
  for (name in c("observed", "qq", "map")) expect_legible(\() print(autoplot(crossed, name)))
  along <- gp_variogram(z ~ 1, wide, coords = ~ x + y, alpha = c(0, 45, 90, 135))
  expect_true("135 degrees" %in% expect_legible(\() print(autoplot(along, far)))$text)
})
