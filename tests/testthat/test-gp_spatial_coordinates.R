# Coordinates by name: stars maps with dimensions in any order, multipoints, measures, heights and empty geometries.

seen <- withr::with_seed(71, transform(smooth_case(50), z = 5 * a + b, x = a, y = b))
turned_model <- function() exponential(1, 0.5, angle = 30, ratio = 0.3) + nugget(0.05)
plain <- function(data, ...) gp(z ~ 1, data, ..., covariance = turned_model(), estimate = "none")
fit <- plain(seen, coords = ~ x + y)
predicted <- function(points) predict(fit, data.frame(x = points[, 1], y = points[, 2]), se.fit = TRUE)

# A stars map with dimensions x, y. expect_map() compares predictions for a map with predictions at the centres of the
# cells, in array order.
map_of <- function(values = NULL) {
  box <- sf::st_bbox(c(xmin = 0, ymin = 0, xmax = 1, ymax = 0.8))
  map <- stars::st_as_stars(box, nx = 4, ny = 3)
  map$v <- values %||% matrix(sin(1:12), 4)
  map["v"]
}
expect_map <- function(map, centres) {
  skip_if_not_installed("sf")
  skip_if_not_installed("stars")
  ours <- predict(fit, map, se.fit = TRUE)
  expected <- predicted(cbind(as.vector(centres$x), as.vector(centres$y)))
  expect_identical(dim(ours), dim(map))
  expect_equal(as.vector(ours$fit), unname(expected$fit))
  expect_equal(as.vector(ours$se.fit), expected$se.fit)
  draws <- simulate(fit, 2, seed = 1, newdata = map)
  expect_identical(dim(draws), dim(map))
  invisible(draws)
}
centres <- function() {
  list(x = matrix(rep((1:4 - 0.5) / 4, 3), 4), y = matrix(rep(0.8 - (1:3 - 0.5) / 3 * 0.8, each = 4), 4))
}

test_that("predictions for stars maps with dimensions y, x are the transposes of predictions for dimensions x, y", {
  skip_if_not_installed("sf")
  skip_if_not_installed("stars")
  map <- map_of()
  turned <- aperm(map, 2:1)
  draws <- expect_map(map, centres())
  expect_equal(expect_map(turned, lapply(centres(), t))$sim2, t(draws$sim2), ignore_attr = TRUE)
  noisy <- function(map) simulate(fit, 1, seed = 3, newdata = map, noise = TRUE)$sim1
  expect_equal(noisy(turned), t(noisy(map)), ignore_attr = TRUE)
  expect_equal(diag(predict(fit, turned, cov = TRUE)$cov), as.vector(predict(fit, turned, se.fit = TRUE)$se.fit)^2,
               ignore_attr = TRUE)
  # y increases with the index, and dimensions are named as in NetCDF files
  named <- stars::st_as_stars(list(v = matrix(0, 3, 4)), dimensions = stars::st_dimensions(
    lat = 0:3 / 3 * 0.8, lon = 0:4 / 4, .raster = c("lon", "lat")
  ))
  expect_map(named, list(x = t(centres()$x), y = t(centres()$y)[3:1, ]))
})

test_that("stars maps with dimensions in any order can be data of fits, variograms, neighbours and cross-validation", {
  skip_if_not_installed("sf")
  skip_if_not_installed("stars")
  map <- map_of()
  names(map) <- "z"
  turned <- aperm(map, 2:1)
  fits <- lapply(list(map, turned), plain)
  cells <- data.frame(z = sin(1:12), x = as.vector(centres()$x), y = as.vector(centres()$y))
  expect_equal(fits[[1]]$loglik, plain(cells, coords = ~ x + y)$loglik)
  expect_equal(fits[[2]]$loglik, fits[[1]]$loglik)
  expect_equal(fits[[2]]$parts$u[, 1], as.vector(t(centres()$x)), ignore_attr = TRUE)
  cv <- lapply(fits, gp_cv)
  expect_equal(matrix(cv[[2]]$fit, 3), t(matrix(cv[[1]]$fit, 4)))
  expect_equal(sf::st_coordinates(cv[[2]])[, 2], as.vector(t(centres()$y)), ignore_attr = TRUE)
  north <- lapply(list(map, turned), function(map) gp_variogram(z ~ 1, map, breaks = c(0, 0.3, 0.6), alpha = 0))
  expect_equal(north[[2]], north[[1]])
  expect_equal(gp_neighbours(turned, 3, "coordinate")$order, order(t(centres()$x), t(centres()$y)))
})

test_that("cells of rotated, curvilinear and rectilinear grids have the right coordinates in any order", {
  skip_if_not_installed("sf")
  skip_if_not_installed("stars")
  x <- matrix(c(0.1, 0.3, 0.6, 0.15, 0.35, 0.75), 3)
  y <- matrix(c(0.1, 0.1, 0.2, 0.5, 0.6, 0.9), 3)
  plain_map <- stars::st_as_stars(list(v = x), dimensions = stars::st_dimensions(x = 1:3, y = 1:2))
  bent <- stars::st_as_stars(plain_map, curvilinear = list(x = x, y = y))
  expect_map(bent, list(x = x, y = y))
  expect_map(aperm(bent, 2:1), list(x = t(x), y = t(y)))
  sheared <- stars::st_dimensions(x = (0:2) / 3, y = (0:1) / 2, .raster = c("x", "y"), affine = c(0.1, 0.2))
  sheared <- stars::st_as_stars(list(v = x), dimensions = sheared)
  column <- row(x) - 0.5
  line <- col(x) - 0.5
  where <- list(x = column / 3 + 0.1 * line, y = 0.2 * column + line / 2)
  expect_map(sheared, where)
  expect_map(aperm(sheared, 2:1), lapply(where, t))
  uneven <- stars::st_dimensions(x = c(0, 0.2, 0.3, 0.9), y = c(0, 0.5, 0.6), .raster = c("x", "y"))
  uneven <- stars::st_as_stars(list(v = x), dimensions = uneven)
  where <- list(x = matrix(c(0.1, 0.25, 0.6), 3, 2), y = matrix(c(0.25, 0.55), 3, 2, byrow = TRUE))
  expect_map(uneven, where)
  expect_map(aperm(uneven, 2:1), lapply(where, t))
})

test_that("a time dimension of size one is a variable of a map, and longer time dimensions are refused", {
  skip_if_not_installed("sf")
  skip_if_not_installed("stars")
  cube <- stars::st_as_stars(list(v = array(1:24 + 0, c(4, 3, 2))), dimensions = stars::st_dimensions(
    x = (0:4) / 4, y = seq(0.8, 0, length.out = 4), time = as.Date("2026-01-01") + 0:1, .raster = c("x", "y")
  ))
  one <- cube[, , , 2]
  expect_map(one, centres())
  expect_map(aperm(one, c(3, 2, 1)), lapply(centres(), t))
  by_time <- transform(seen, time = as.Date("2026-01-01") + rep(0:1, 25))
  by_time <- gp(z ~ 1, by_time, ~ x + y + time, exponential(1, 0.5) + nugget(0.1), estimate = "none")
  cells <- data.frame(x = as.vector(centres()$x), y = as.vector(centres()$y), time = as.Date("2026-01-02"))
  expect_equal(as.vector(predict(by_time, one)$fit), unname(predict(by_time, cells)))
  expect_error(predict(fit, cube), "has 3 dimensions.*time", class = "kernops_input_error")
  expect_error(plain(setNames(cube, "z")), "two dimensions", class = "kernops_input_error")
})

test_that("predictions for a proxy with one band agree with those for its array", {
  skip_if_not_installed("sf")
  skip_if_not_installed("stars")
  file <- withr::local_tempfile(fileext = ".tif")
  stars::write_stars(map_of(), file)
  proxy <- stars::read_stars(file, proxy = TRUE)
  ours <- predict(fit, proxy)
  expect_equal(ours$fit, predict(fit, map_of())$fit, ignore_attr = TRUE)
})

test_that("features with a single point are points, whatever their geometry type", {
  skip_if_not_installed("sf")
  points <- sf::st_as_sf(seen, coords = c("x", "y"))
  several <- sf::st_cast(points, "MULTIPOINT")
  mixed <- points
  mixed$geometry[5:9] <- several$geometry[5:9]
  expected <- plain(points)
  for (data in list(several, mixed)) {
    own <- plain(data)
    expect_equal(own$loglik, expected$loglik)
    expect_identical(own$model$d, 2L)
    expect_equal(predict(expected, data)$fit, predict(expected, points)$fit)
    expect_equal(sf::st_geometry(predict(expected, data)), sf::st_geometry(data))
    expect_equal(simulate(expected, 1, 1, data)$sim1, simulate(expected, 1, 1, points)$sim1)
    expect_equal(gp_variogram(z ~ 1, data), gp_variogram(z ~ 1, points))
    expect_identical(gp_neighbours(data, 3), gp_neighbours(points, 3))
    expect_equal(gp_cv(own, 3)$fit, gp_cv(expected, 3)$fit)
  }
  if (requireNamespace("terra", quietly = TRUE)) {
    own <- plain(terra::vect(several))
    expect_equal(own$loglik, expected$loglik)
  }
  skip_if_not_installed("sp")
  lone <- sp::SpatialMultiPointsDataFrame(lapply(seq_len(50), \(k) as.matrix(seen[k, c("x", "y")])), seen)
  expect_equal(plain(lone)$loglik, expected$loglik)
  result <- predict(expected, lone)
  expect_s4_class(result, "SpatialMultiPointsDataFrame")
  expect_equal(result$fit, predict(expected, points)$fit)
})

test_that("the measure M is not a coordinate, and the height Z is a coordinate in projected systems", {
  skip_if_not_installed("sf")
  d <- transform(seen, m = 50:1, h = sin(1:50))
  flat <- plain(sf::st_as_sf(d, coords = c("x", "y")))
  measured <- sf::st_as_sf(d, coords = c("x", "y", "m"), dim = "XYM")
  expect_equal(plain(measured)$loglik, flat$loglik)
  expect_equal(plain(sf::st_cast(measured, "MULTIPOINT"))$loglik, flat$loglik)
  expect_equal(predict(flat, measured)$fit, unname(predict(flat)))
  space <- exponential(1, 0.5) + nugget(0.05)
  solid <- gp(z ~ 1, d, ~ x + y + h, space, estimate = "none")
  for (data in list(sf::st_as_sf(d, coords = c("x", "y", "h"), crs = 28992),
                    sf::st_as_sf(d, coords = c("x", "y", "h", "m"), dim = "XYZM"))) {
    expect_equal(gp(z ~ 1, data, covariance = space, estimate = "none")$loglik, solid$loglik)
  }
})

test_that("empty points have missing coordinates", {
  skip_if_not_installed("sf")
  points <- sf::st_as_sf(seen, coords = c("x", "y"))
  expected <- plain(points)
  gaps <- points
  gaps$geometry[c(2, 7)] <- sf::st_point()
  for (data in list(gaps, sf::st_cast(gaps, "MULTIPOINT"))) {
    expect_equal(plain(data)$loglik, plain(points[-c(2, 7), ])$loglik)
    ours <- predict(expected, data)$fit
    expect_identical(which(is.na(ours)), c(2L, 7L))
    expect_equal(ours[-c(2, 7)], predict(expected, points)$fit[-c(2, 7)])
  }
  none <- predict(expected, points[0, ])
  expect_identical(nrow(none), 0L)
})

if (requireNamespace("sf", quietly = TRUE)) {
  points <- sf::st_as_sf(transform(seen, h = 1), coords = c("x", "y"))
  high <- sf::st_as_sf(transform(seen, h = 1), coords = c("x", "y", "h"), crs = 4326)
  pairs <- sf::st_sf(z = 1:2, geometry = sf::st_sfc(sf::st_multipoint(cbind(0, 1)), sf::st_multipoint(diag(2))))
  test_mistakes("kernops_input_error", alist(
    `features of several points` = plain(pairs),
    `features of several points in new data` = predict(fit, pairs),
    `heights beside longitude and latitude` = plain(high),
    `heights beside longitude and latitude in new data` = gp_variogram(z ~ 1, high),
    `collections` = plain(sf::st_sf(z = 1, geometry = sf::st_sfc(sf::st_geometrycollection(list(sf::st_point(1:2))))))
  ))
}
