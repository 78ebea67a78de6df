# The numbers that plots show.

seen <- withr::with_seed(101, smooth_case(60, noise = 0.3))
fit <- gp(z ~ 1, seen, ~ a + b, given(), estimate = "none")
withr::local_pdf(NULL)
# The panel of plot() that has a map over the observations.
map_of <- \(object, n, mask = FALSE, which = "field") {
  kernops:::panels_of(object, which, n, 0.95, mask, NULL, list())[[1]]
}

test_that("a map shows predictions within the convex hull of the observations only", {
  skip_if_not_installed("sp")
  map <- map_of(fit, 400, mask = TRUE)
  grid <- expand.grid(a = map$axes[[1]], b = map$axes[[2]])
  whole <- map_of(fit, 400)$z
  expect_equal(as.vector(whole), unname(predict(fit, grid)))
  expect_equal(map$z[!is.na(map$z)], whole[!is.na(map$z)])
  hull <- seen[chull(seen$a, seen$b), ]
  inside <- sp::point.in.polygon(grid$a, grid$b, hull$a, hull$b) > 0
  expect_identical(kernops:::in_hull(as.matrix(grid), as.matrix(seen[c("a", "b")])), inside)
  # cells that the hull crosses are drawn
  expect_true(all(!is.na(map$z[inside])) && anyNA(map$z))
  errors <- map_of(fit, 400, which = "se")
  expect_equal(as.vector(errors$z), predict(fit, grid, se.fit = TRUE, interval = "confidence")$se.fit)
})

test_that("the drawn variogram of the model is the sill minus the covariance", {
  parts <- kernops:::variogram_of(fit)
  h <- parts$model$dist
  expect_equal(parts$model$gamma, 1.35 - 1.3 * (1 + sqrt(3) * h / 0.4) * exp(-sqrt(3) * h / 0.4))
  u <- as.matrix(seen[c("a", "b")])
  expect_equal(parts$empirical, gp_variogram(u, seen$z), tolerance = 1e-8)
  field <- gp(z ~ 1, seen, ~ a + b, matern(3/2, 1.3, c(0.4, 0.1)) + microscale(0.05), estimate = "none")
  both <- kernops:::variogram_of(field)$model
  robust <- kernops:::variogram_of(fit, list(estimator = "cressie", cutoff = 0.4, width = 0.1))
  expect_equal(robust$empirical, gp_variogram(u, seen$z, estimator = "cressie", cutoff = 0.4, width = 0.1),
               tolerance = 1e-8)
  expect_lte(max(robust$model$dist), 0.4)
  expect_silent(plot(fit, c("residuals", "variogram"), estimator = "genton", main = "Genton"))
  expect_identical(unique(both$along), c("a", "b"))
  h <- both$dist / ifelse(both$along == "a", 0.4, 0.1)
  expect_equal(both$gamma, 1.35 - 1.3 * (1 + sqrt(3) * h) * exp(-sqrt(3) * h), tolerance = 1e-6)
})

test_that("distances on the globe are drawn in km", {
  places <- withr::with_seed(102, data.frame(lon = runif(40, 0, 5), lat = runif(40, 45, 50), z = rnorm(40)))
  globe <- gp(z ~ 1, places, ~ lon + lat, exponential(1, 200, distance = "great_circle"), estimate = "none")
  parts <- kernops:::variogram_of(globe)
  expect_equal(parts$model$gamma, 1 - exp(-parts$model$dist / 200), tolerance = 1e-6)
  expect_identical(parts$xlab, "distance in km")
})

test_that("the model over a variogram of any kind is the sill minus the covariance, along each direction", {
  along <- gp_variogram(z ~ 1, seen, coords = ~ a + b, alpha = c(90, 0), estimator = "cressie")
  curves <- kernops:::variogram_curves(along, exponential(1.3, 0.4, angle = 0, ratio = 0.5) + nugget(0.05))
  expect_identical(unique(curves$dir.hor), c(0, 90))
  expect_equal(max(curves$dist), max(along$upper))
  expect_equal(curves$gamma, 0.05 + 1.3 * (1 - exp(-curves$dist / ifelse(curves$dir.hor == 0, 0.4, 0.2))))
  plain <- gp_variogram(z ~ 1, seen, coords = ~ a + b)
  h <- kernops:::variogram_curves(plain, fit)$dist
  expected <- 1.35 - 1.3 * (1 + sqrt(3) * h / 0.4) * exp(-sqrt(3) * h / 0.4)
  expect_equal(kernops:::variogram_curves(plain, fit)$gamma, expected)
  cloud <- gp_variogram(z ~ 1, seen, coords = ~ a + b, cloud = TRUE)
  expect_equal(kernops:::variogram_curves(cloud, power_law(2, 1.3))$gamma, 2 * (max(cloud$dist) * h / max(h))^1.3)
  for (v in list(along, plain, cloud)) expect_identical(plot(v, fit), v)
  skip_if_not_installed("ggplot2")
  for (v in list(along, plain, cloud)) {
    layers <- ggplot2::ggplot_build(ggplot2::autoplot(v, fit))$data
    expect_equal(sort(layers[[2]]$y), sort(kernops:::variogram_curves(v, fit)$gamma))
  }
  skip_if_not_installed("gstat")
  expect_equal(kernops:::variogram_curves(plain, as_vgm(fit))$gamma, expected)
})

test_that("all panels are drawn, for maps, curves and cross-validation", {
  expect_identical(plot(fit, c("field", "se", "residuals", "covariance", "variogram"), n = 100), fit)
  expect_identical(plot(fit, "field", n = 100, mask = FALSE), fit)
  curve <- gp(z ~ 1, seen, ~ a, given(), estimate = "none")
  expect_identical(plot(curve, c("field", "se", "variogram"), n = 50), curve)
  crossed <- gp_cv(fit)
  expect_identical(plot(crossed), crossed)
  expect_identical(plot(gp_cv(curve))$fit, gp_cv(curve)$fit)
  logged <- gp(exp(z) ~ 1, seen, ~ a + b, given(), estimate = "none", transform = "log")
  expect_equal(map_of(logged, 100)$z, map_of(fit, 100)$z)
})

test_that("the legend of a map has the classes and colours of the arguments", {
  skip_if_not_installed("svglite")
  words <- function(...) svg_texts(function() plot(fit, "field", n = 100, ...))$text
  expect_true(all(c("-9 to 0", "0 to 9") %in% words(breaks = c(-9, 0, 9), col = c("red", "blue"))))
  file <- withr::local_tempfile(fileext = ".svg")
  svglite::svglite(file)
  plot(fit, "field", n = 100, breaks = c(-9, 0, 9), col = c("#123456", "#654321"))
  grDevices::dev.off()
  fills <- regmatches(drawn <- readLines(file), regexpr("fill: #(123456|654321)", drawn))
  expect_setequal(fills, c("fill: #123456", "fill: #654321"))
})

test_mistakes("kernops_input_error", alist(
  `an argument that no panel has` = plot(fit, "field", newdta = seen),
  `colours of curves` = plot(fit, "covariance", col = 2),
  `symbols of cross-validation` = plot(gp_cv(fit), pch = 2),
  `a mistyped limit of a variogram` = plot(gp_variogram(z ~ 1, seen, coords = ~ a + b), ylimm = 1),
  `too few colours` = plot(fit, "field", breaks = 1:3, col = "red"),
  `descending classes` = plot(fit, "field", breaks = 3:1),
  `an estimator without a variogram` = plot(fit, "field", estimator = "cressie"),
  `directions of a variogram` = plot(fit, "variogram", alpha = c(0, 90), tol = 20),
  `an estimator that is none` = plot(fit, "variogram", estimator = "robust"),
  `an argument of autoplot() that is not there` = kernops:::autoplot.gp(fit, "variogram", estimatr = "cressie"),
  `another for cross-validation` = kernops:::autoplot.gp_cv(gp_cv(fit), type = "qq"),
  `a model that is none` = plot(gp_variogram(z ~ 1, seen, coords = ~ a + b), "Sph"),
  `a model without values` = plot(gp_variogram(z ~ 1, seen, coords = ~ a + b), spherical()),
  `a model of cross-variograms` = plot(gp_variogram(cbind(z, a) ~ 1, seen, coords = ~ a + b), fit),
  `a panel that is none` = plot(fit, "map"),
  `panels that are numbers` = plot(fit, 2),
  `a quantile above 1` = plot(fit, "q1.5"),
  `residuals of several variables` = plot(gp(
    cbind(z, a) ~ 1, seen, ~ a + b, estimate = "none",
    covariance = lmc(matern(3/2, range = 0.3), nugget(), sills = list(diag(2), diag(2)))
  ), "residuals"),
  `effects of a fit without any` = plot(fit, "effects"),
  `quantiles over covariates` = plot(gp(z ~ w, seen, ~ a + b, given(), estimate = "none"), "q0.5"),
  `standard errors over covariates` = plot(gp(z ~ w, seen, ~ a + b, given(), estimate = "none"), "se"),
  `standard errors over covariates, by ggplot2` =
    kernops:::autoplot.gp(gp(z ~ w, transform(seen, w = a^2), ~ a + b, given(), estimate = "none"), "se"),
  `a map of some cross-validated observations` = plot(gp_cv(gp(z ~ 1, seen, ~ a, given(), estimate = "none")), "map")
))
