# Points and maps of sf, stars, terra and sp: predictions agree with those of data frames, and have the class of the
# input.

plain_case <- function(n = 40) {
  withr::local_seed(41)
  transform(smooth_case(n), x = a, y = b)
}
grid_case <- function() {
  grid <- expand.grid(x = seq(0.1, 0.9, 0.2), y = seq(0.1, 0.7, 0.2))
  transform(grid, w = ifelse(x > 0.8 & y > 0.6, NA, x - y))
}
plain_fit <- function(d, ...) gp(z ~ w, d, ~ x + y, given(), estimate = "none", ...)
expected_at <- function(grid) {
  predict(plain_fit(plain_case()), grid, se.fit = TRUE, interval = "prediction")
}
predicted <- function(fit, newdata) predict(fit, newdata, se.fit = TRUE, interval = "prediction")
columns <- c("fit", "se.fit", "lwr", "upr")

test_that("predictions for a SpatRaster are a SpatRaster, and for a SpatVector a SpatVector", {
  skip_if_not_installed("terra")
  d <- plain_case()
  grid <- grid_case()
  raster <- terra::rast(grid, type = "xyz")
  points <- terra::vect(d, geom = c("x", "y"))
  for (fit in list(plain_fit(d), gp(z ~ w, points, covariance = given(), estimate = "none"))) {
    map <- predicted(fit, raster)
    expect_s4_class(map, "SpatRaster")
    expect_named(map, columns)
    cells <- terra::cellFromXY(raster, as.matrix(grid[c("x", "y")]))
    expect_equal(terra::values(map)[cells, ], as.matrix(expected_at(grid)), ignore_attr = TRUE)
    expect_identical(sum(is.na(terra::values(map)[, "fit"])), 1L)
  }
  expect_equal(terra::values(predict(fit, raster)), terra::values(map)[, "fit", drop = FALSE])
  expect_named(simulate(fit, 2, 1, raster), c("sim1", "sim2"))
  own <- predicted(fit, points[1:3, ])
  expect_s4_class(own, "SpatVector")
  expect_identical(names(points), c("a", "b", "z", "w"))
  expect_equal(as.data.frame(own), expected_at(d[1:3, ]), ignore_attr = "row.names")
  expect_equal(terra::crds(own), terra::crds(points)[1:3, ])
  expect_error(gp(z ~ 1, terra::buffer(points, 0.1)), "must be points", class = "kernops_input_error")
})

test_that("all cells of a raster without layers are predicted, with a trend of the coordinates", {
  skip_if_not_installed("terra")
  d <- plain_case()
  empty <- terra::rast(xmin = 0, xmax = 1, ymin = 0, ymax = 1, resolution = 0.25, crs = "")
  fit <- gp(z ~ x, d, ~ x + y, given(), estimate = "none")
  at <- as.data.frame(terra::xyFromCell(empty, 1:16))
  expect_equal(as.vector(terra::values(predict(fit, empty))), unname(predict(fit, at)))
  # terra calls predict() for each block of rows
  expect_equal(as.vector(terra::values(terra::interpolate(empty, fit))), unname(predict(fit, at)), tolerance = 1e-6)
})

test_that("maps can be the data of a fit, and categorical layers of a map are factors", {
  skip_if_not_installed("terra")
  grid <- transform(grid_case(), g = rep(1:2, 10), z = sin(5 * x) + y + w)
  raster <- terra::rast(grid, type = "xyz")
  levels(raster[["g"]]) <- data.frame(id = 1:2, class = c("p", "q"))
  names(raster)[2] <- "g"
  fit <- gp(z ~ g, raster, covariance = given(), estimate = "none")
  plain <- gp(z ~ g, transform(grid, g = factor(c("p", "q")[g])), ~ x + y, given(), estimate = "none")
  expect_equal(fit$loglik, plain$loglik)
  expect_identical(nobs(fit), 19L)
  cells <- terra::cellFromXY(raster, as.matrix(grid[!is.na(grid$z), c("x", "y")]))
  expect_equal(terra::values(predict(fit, raster))[cells], unname(predict(plain)))
})

test_that("predictions for a stars object are a stars object", {
  skip_if_not_installed("stars")
  grid <- grid_case()
  map <- stars::st_as_stars(grid, dims = c("x", "y"))
  own <- predicted(plain_fit(plain_case()), map)
  expect_s3_class(own, "stars")
  expect_named(own, columns)
  table <- cbind(as.data.frame(own), w = as.vector(map$w))
  expect_equal(table[columns], expected_at(table[c("x", "y", "w")]), ignore_attr = TRUE)
  expect_named(simulate(plain_fit(plain_case()), 2, 1, map), c("sim1", "sim2"))
  bands <- stars::st_as_stars(list(w = array(0, c(2, 2, 2))))
  expect_error(predict(plain_fit(plain_case()), bands), "two dimensions", class = "kernops_input_error")
})

test_that("predictions at SpatialPixels and SpatialGrid have the same class", {
  skip_if_not_installed("sp")
  grid <- grid_case()
  expected <- expected_at(grid)
  pixels <- grid
  sp::gridded(pixels) <- ~ x + y
  fit <- plain_fit(plain_case())
  predictions <- predicted(fit, pixels)
  expect_s4_class(predictions, "SpatialPixelsDataFrame")
  expect_equal(predictions@data, expected, ignore_attr = TRUE)
  sp::fullgrid(pixels) <- TRUE
  predictions <- predicted(fit, pixels)
  expect_s4_class(predictions, "SpatialGridDataFrame")
  at <- sp::coordinates(predictions)
  place <- match(paste(round(at[, 1], 6), round(at[, 2], 6)), paste(round(grid$x, 6), round(grid$y, 6)))
  expect_equal(predictions@data, expected[place, ], ignore_attr = TRUE)
  fit <- gp(z ~ 1, plain_case(), ~ x + y, given(), estimate = "none")
  expect_s4_class(predict(fit, methods::as(pixels, "SpatialGrid")), "SpatialGridDataFrame")
})

test_that("cross-validation of sf points is of class sf", {
  skip_if_not_installed("sf")
  d <- plain_case()
  points <- sf::st_as_sf(d, coords = c("x", "y"), crs = 28992)
  points$z[3] <- NA
  fit <- gp(z ~ w, points, covariance = given(), estimate = "none")
  cv <- gp_cv(fit, folds = 4)
  expect_s3_class(cv, c("gp_cv", "sf"), exact = FALSE)
  expect_equal(sf::st_coordinates(cv), sf::st_coordinates(points)[-3, ], ignore_attr = TRUE)
  expect_equal(sf::st_crs(cv), sf::st_crs(points))
  d$z[3] <- NA
  plain <- gp_cv(plain_fit(d), folds = 4)
  expect_equal(sf::st_drop_geometry(cv)$fit, plain$fit)
  expect_equal(summary(cv), summary(plain))
  expect_s3_class(gp_cv(gp(z ~ w, points, as.matrix(d[c("x", "y")]), given(), estimate = "none"), 4),
                  c("gp_cv", "data.frame"), exact = TRUE)
})

test_that("cross-validation of points and maps of sp, terra and stars is of class sf", {
  for (package in c("sf", "sp", "terra", "stars")) skip_if_not_installed(package)
  d <- plain_case()
  plain <- gp_cv(plain_fit(d), folds = 4)
  spots <- sp::SpatialPointsDataFrame(d[c("x", "y")], d, proj4string = sp::CRS(SRS_string = "EPSG:28992"))
  vector <- terra::vect(d, geom = c("x", "y"), crs = "EPSG:28992")
  for (points in list(spots, vector)) {
    cv <- gp_cv(gp(z ~ w, points, covariance = given(), estimate = "none"), folds = 4)
    expect_s3_class(cv, c("gp_cv", "sf", "data.frame"), exact = TRUE)
    expect_equal(unname(sf::st_coordinates(cv)), unname(as.matrix(d[c("x", "y")])))
    expect_true(sf::st_crs(cv) == sf::st_crs(points))
    expect_equal(sf::st_drop_geometry(cv)[names(plain)], as.data.frame(unclass(plain)), ignore_attr = TRUE)
    expect_equal(summary(cv), summary(plain))
  }
  plain <- sf::st_as_sf(cv)
  expect_s3_class(plain, c("sf", "data.frame"), exact = TRUE)
  expect_equal(terra::crds(terra::vect(plain)), as.matrix(d[c("x", "y")]), ignore_attr = TRUE)
  raster <- terra::rast(nrows = 5, ncols = 5, extent = c(0, 1, 0, 1), crs = "EPSG:28992")
  raster$z <- withr::with_seed(3, replace(rnorm(25), 7, NA))
  centres <- terra::crds(raster, na.rm = FALSE)[-7, ]
  for (map in list(raster, stars::st_as_stars(raster))) {
    if (inherits(map, "stars")) names(map) <- "z"
    cv <- gp_cv(gp(z ~ 1, map, covariance = given(), estimate = "none"))
    expect_equal(unname(sf::st_coordinates(cv)), unname(centres))
  }
})

test_that("augment() adds columns to points and layers to maps", {
  skip_if_not_installed("generics")
  d <- plain_case()
  fit <- plain_fit(d)
  fitted <- c(".fitted", ".se.fit")
  expected <- predict(fit, d, se.fit = TRUE, interval = "none")
  if (requireNamespace("sf", quietly = TRUE)) {
    points <- sf::st_as_sf(d, coords = c("x", "y"))
    own <- generics::augment(fit, points)
    expect_named(own, c("a", "b", "z", "w", "geometry", fitted), ignore.order = TRUE)
    expect_equal(own$.se.fit, expected$se.fit)
    flat <- gp(z ~ 1, points, covariance = given(), estimate = "none")
    expect_named(generics::augment(flat, sf::st_geometry(points)), c(fitted, "geometry"))
  }
  if (requireNamespace("terra", quietly = TRUE)) {
    own <- generics::augment(fit, terra::vect(d, geom = c("x", "y")))
    expect_equal(own$.fitted, expected$fit)
    expect_named(generics::augment(fit, terra::rast(grid_case(), type = "xyz")), c("w", fitted))
  }
  if (requireNamespace("stars", quietly = TRUE)) {
    expect_named(generics::augment(fit, stars::st_as_stars(grid_case(), dims = c("x", "y"))), c("w", fitted))
  }
  if (requireNamespace("sp", quietly = TRUE)) {
    sp::coordinates(d) <- ~ x + y
    expect_equal(generics::augment(fit, d)$.fitted, expected$fit)
    expect_named(generics::augment(flat, sp::geometry(d))@data, fitted)
  }
})

test_that("distances are great-circle distances if coordinates are longitude and latitude", {
  skip_if_not_installed("sf")
  withr::local_seed(42)
  d <- data.frame(lon = runif(40, 3, 9), lat = runif(40, 48, 53))
  d$z <- sin(d$lon) + d$lat / 5
  points <- sf::st_as_sf(d, coords = c("lon", "lat"), crs = 4326)
  covariance <- function(...) exponential(1, 200, ...) + nugget(0.1)
  expected <- gp(z ~ 1, d, ~ lon + lat, covariance(distance = "great_circle"), estimate = "none")
  all <- list(points, sf::as_Spatial(points))
  if (requireNamespace("terra", quietly = TRUE)) all <- c(all, terra::vect(points))
  for (data in all) {
    message <- expect_message(fit <- gp(z ~ 1, data, covariance = covariance(), estimate = "none"),
                              class = "kernops_great_circle")
    expect_match(conditionMessage(message), "great-circle distances, in km")
    expect_equal(fit$loglik, expected$loglik)
  }
  expect_silent(chosen <- gp(z ~ 1, points, covariance = covariance(distance = "great_circle"), estimate = "none"))
  expect_equal(chosen$loglik, expected$loglik)
  expect_silent(flat <- gp(z ~ 1, points, covariance = covariance(distance = "euclidean"), estimate = "none"))
  expect_equal(flat$loglik, gp(z ~ 1, d, ~ lon + lat, covariance(), estimate = "none")$loglik)
  expect_silent(gp(z ~ 1, points, covariance = nugget(1), estimate = "none"))
  expect_warning(gp(z ~ 1, points, covariance = exponential(1, c(2, 3)), estimate = "none"), "degrees")

  expect_message(v <- gp_variogram(points, d$z, c(0, 100, 200)), class = "kernops_great_circle")
  chord <- 6371.0088 * 2 * sin(as.numeric(sf::st_distance(sf::st_transform(points, "+proj=longlat +R=6371008.8"))) /
                                 6371008.8 / 2)
  expect_equal(v$np, as.vector(table(cut(chord[lower.tri(diag(40))], c(0, 100, 200)))))
  expect_message(near <- gp_neighbours(points, 3), class = "kernops_great_circle")
  same <- gp_neighbours(d[1:2], 3, covariance = covariance(distance = "great_circle"))
  expect_identical(near$neighbours, same$neighbours)
})

test_that("new points and maps are refused if their reference system differs from that of the data", {
  skip_if_not_installed("sf")
  skip_if_not_installed("terra")
  d <- plain_case()
  points <- sf::st_as_sf(transform(d, x = 6 + x, y = 50 + y), coords = c("x", "y"), crs = 4326)
  fit <- suppressMessages(gp(z ~ 1, points, covariance = given(), estimate = "none"))
  raster <- terra::rast(xmin = 6, xmax = 7, ymin = 50, ymax = 51, resolution = 0.5, crs = "EPSG:4326")
  expect_s4_class(predict(fit, raster), "SpatRaster")
  for (new in list(sf::st_transform(points, 28992), terra::project(raster, "EPSG:28992"),
                   sf::as_Spatial(sf::st_transform(points, 28992)))) {
    expect_error(predict(fit, new), "WGS 84", class = "kernops_crs_error")
    expect_error(simulate(fit, newdata = new), class = "kernops_input_error")
  }
  expect_snapshot({
    fit <- gp(z ~ 1, points, covariance = given(), estimate = "none")
    predict(fit, new)
  }, error = TRUE)
})

test_that("marginal means of the trend agree with lm() if the field has nearly no variance", {
  skip_if_not_installed("emmeans")
  withr::local_seed(43)
  d <- transform(plain_case(), g = factor(rep(c("p", "q"), 20)), z = exp(z))
  peer <- lm(log(z) ~ g + poly(w, 2), d)
  theirs <- as.data.frame(emmeans::emmeans(peer, "g"))
  noise <- nugget(summary(peer)$sigma^2)
  fit <- gp(log(z) ~ g + poly(w, 2), d, ~ x + y, exponential(1e-12, 0.3) + noise, estimate = "none")
  ours <- as.data.frame(emmeans::emmeans(fit, "g"))
  expect_equal(ours[c("emmean", "SE")], theirs[c("emmean", "SE")], tolerance = 1e-6, ignore_attr = TRUE)
  expect_true(all(is.infinite(ours$df)))
  expect_named(as.data.frame(emmeans::emmeans(fit, "g", type = "response"))[2], "response")
  known <- gp(log(z) ~ g, d, ~ x + y, given(), estimate = "none", known = list(beta = c(1, 2)))
  expect_error(emmeans::emmeans(known, "g"), "estimated", class = "kernops_input_error")
})
