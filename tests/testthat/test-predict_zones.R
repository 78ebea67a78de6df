# Means, totals and areas of exceedance over zones of a map, against the joint distribution of all cells in plain R.

skip_if_not_installed("terra")
zone_cells <- function(map) {
  x <- terra::xyFromCell(map, 1:108)[, 1]
  complete <- !is.na(terra::values(map)[, "w"])
  list(west = which(complete & x < 500), east = which(complete & x > 700))
}
zone_layer <- function(map) {
  layer <- terra::rast(map, nlyrs = 1, vals = NA_real_)
  cells <- zone_cells(map)
  layer[cells$west] <- 10
  layer[cells$east] <- 2
  layer
}
# The joint distribution of all cells by universal kriging with dense matrices.
dense_joint <- function(map, d, cells) {
  new <- cbind(as.data.frame(terra::xyFromCell(map, cells)), terra::as.data.frame(map, na.rm = FALSE)[cells, ])
  k <- \(a, b) {
    h <- sqrt(3) * sqrt(outer(a$x, b$x, "-")^2 + outer(a$y, b$y, "-")^2) / 300
    (1 + h) * exp(-h)
  }
  X <- model.matrix(~ w + g, d)
  X0 <- model.matrix(~ w + g, new)
  V <- k(d, d) + diag(0.04, nrow(d))
  c0 <- k(d, new)
  inverse <- solve(V)
  G <- solve(t(X) %*% inverse %*% X)
  beta <- G %*% t(X) %*% inverse %*% d$z
  gap <- X0 - t(c0) %*% inverse %*% X
  list(mean = drop(X0 %*% beta + t(c0) %*% inverse %*% (d$z - X %*% beta)),
       C = k(new, new) - t(c0) %*% inverse %*% c0 + gap %*% G %*% t(gap))
}

test_that("means, totals and areas of exceedance have the standard errors of the joint distribution", {
  map <- on_disk(small_map())
  d <- map_case()
  cells <- zone_cells(map)
  file <- withr::local_tempfile(fileext = ".tif")
  limits <- c(1, 2)
  ours <- predict(map_fit(), map, what = "fit", above = limits, zones = zone_layer(map), filename = file, window = 30,
                  nsim = 4000)
  expect_named(ours, c("fit", "zones"))
  expect_named(ours$fit, "fit")
  zones <- ours$zones
  expect_identical(zones$zone, rep(c("2", "10"), 4))
  expect_identical(zones$quantity, rep(c("mean", "total", "above1", "above2"), each = 2))
  for (zone in c("2", "10")) {
    of_zone <- zones[zones$zone == zone, ]
    joint <- dense_joint(map, d, cells[[if (zone == "2") "east" else "west"]])
    area <- 1e4 * length(joint$mean)
    expect_equal(of_zone$area, rep(area, 4))
    sd_of_sum <- 1e4 * sqrt(sum(joint$C))
    expect_equal(of_zone$fit[1:2], c(mean(joint$mean), 1e4 * sum(joint$mean)), tolerance = 1e-8)
    expect_equal(of_zone$se.fit[1:2], sd_of_sum / c(area, 1), tolerance = 1e-8)
    expect_equal(of_zone$upr[2], 1e4 * sum(joint$mean) + qnorm(0.975) * sd_of_sum, tolerance = 1e-8)
    draws <- withr::with_seed(5, joint$mean + t(chol(joint$C)) %*% matrix(rnorm(2e4 * length(joint$mean)), ncol = 2e4))
    for (k in 1:2) {
      areas <- 1e4 * colSums(draws > limits[k])
      expect_equal(of_zone$fit[2 + k], 1e4 * sum(pnorm(limits[k], joint$mean, sqrt(diag(joint$C)), lower.tail = FALSE)),
                   tolerance = 1e-8)
      expect_equal(of_zone$se.fit[2 + k], sd(areas), tolerance = 0.06)
      expect_equal(of_zone$lwr[2 + k], quantile(areas, 0.025, names = FALSE), tolerance = 0.05)
    }
  }
})

test_that("results for zones do not depend on windows, and agree with predict(sums = )", {
  map <- small_map()
  cells <- zone_cells(map)
  weights <- matrix(0, 108, 2)
  weights[cells$east, 1] <- weights[cells$west, 2] <- 1e4
  log_fit <- map_fit("vecchia", exp(z / 3) ~ w + g, transform = "log", control = eight_near)
  counts <- map_fit("vecchia", count ~ w, family = poisson(), control = eight_near)
  for (fit in list(map_fit("vecchia", control = eight_near), log_fit, counts)) {
    whole <- predict(fit, map, sums = weights, se.fit = TRUE, interval = "confidence")
    cells <- as.vector(terra::values(predict(fit, map)))
    cells[is.na(cells)] <- 0
    for (window in c(12, 40, 1e5)) {
      zones <- predict(fit, map, zones = zone_layer(map), window = window)$zones
      total <- zones[zones$quantity == "total", ]
      expect_equal(total$fit, drop(cells %*% weights), tolerance = 1e-10)
      expect_equal(total$se.fit, whole$se.fit, tolerance = 1e-10)
      # predict(sums = ) predicts all cells jointly, so that a cell has other cells among its neighbours
      expect_equal(total[c("fit", "lwr", "upr")], whole[c("fit", "lwr", "upr")], tolerance = 2e-3, ignore_attr = TRUE)
    }
  }
})

test_that("polygons that are zones may overlap", {
  map <- small_map()
  square <- \(x0, x1) sprintf("POLYGON ((%g 0, %g 0, %g 900, %g 900, %g 0))", x0, x1, x1, x0, x0)
  polygons <- terra::vect(c(square(0, 700), square(500, 1200)))
  fit <- map_fit("vecchia", control = eight_near)
  all <- predict(fit, map, zones = polygons, above = 1, window = 24)$zones
  x <- terra::xyFromCell(map, 1:108)[, 1]
  complete <- !is.na(terra::values(map)[, "w"])
  expect_equal(all$area[1:2], 1e4 * c(sum(complete & x < 700), sum(complete & x > 500)))
  cells <- as.vector(terra::values(predict(fit, map)))
  expect_equal(all$fit[1:2], c(mean(cells[complete & x < 700]), mean(cells[complete & x > 500])), tolerance = 1e-10)
  if (requireNamespace("sf", quietly = TRUE)) {
    expect_equal(predict(fit, map, zones = sf::st_as_sf(polygons), above = 1, window = 24)$zones, all)
  }
})

test_that("fewer nodes change standard errors slightly, but no estimates, and results do not depend on windows", {
  map <- terra::rast(nrows = 40, ncols = 60, xmin = 0, xmax = 1200, ymin = 0, ymax = 900, crs = "")
  zones <- terra::rast(map, vals = 1 + (terra::xFromCell(map, 1:2400) > 300))
  # nodes are sampled from rectangles of cells; a rectangle is longer than the first range and shorter than the second
  for (range in c(30, 300)) {
    fit <- gp(z ~ 1, map_case(), ~ x + y, matern(3/2, 1, range) + nugget(0.04), "vecchia", "none", control = eight_near)
    all <- predict(fit, map, zones = zones, above = 1)$zones
    by_window <- lapply(c(60, 1000, 1e5), function(window) {
      predict(fit, map, zones = zones, above = 1, window = window, nodes = 200)$zones
    })
    expect_equal(by_window[[2]], by_window[[1]], tolerance = 1e-10)
    expect_equal(by_window[[3]], by_window[[1]], tolerance = 1e-10)
    same <- c("zone", "quantity", "area", "fit")
    expect_equal(by_window[[1]][same], all[same], tolerance = 1e-10)
    linear <- all$quantity != "above1"
    expect_equal(by_window[[1]]$se.fit[linear], all$se.fit[linear], tolerance = 0.08)
    expect_equal(by_window[[1]]$se.fit[!linear], all$se.fit[!linear], tolerance = 0.2)
    expect_true(all(all$lwr < all$fit & all$fit < all$upr))
  }
})

test_that("layers of zones and masks are read for each tile", {
  map <- small_map()
  fit <- map_fit()
  tiles <- list(map[1:4, 1:5, drop = FALSE], map[1:4, 6:12, drop = FALSE], map[5:9, , drop = FALSE])
  mask <- terra::rast(map, nlyrs = 1, vals = replace(rep(1, 108), c(1, 30:40, 77), NA))
  for (layer in list(zone_layer(map), on_disk(zone_layer(map)))) {
    whole <- predict(fit, map, zones = layer, mask = mask)
    parts <- predict(fit, tiles, zones = layer, mask = mask, filename = withr::local_tempfile(fileext = ".vrt"))
    expect_equal(parts$zones, whole$zones, tolerance = 1e-8)
    expect_equal(cell_values(parts$fit), cell_values(whole$fit), tolerance = 1e-10)
    expect_identical(dim(layer), c(9, 12, 1))
  }
  expect_error(predict(fit, tiles, mask = terra::shift(mask, 10), filename = withr::local_tempfile(fileext = ".vrt")),
               "extent", class = "kernops_input_error")
})

test_that("stars maps can be zones and masks, also without a reference system", {
  skip_if_not_installed("stars")
  map <- small_map()
  fit <- map_fit(formula = z ~ w)
  layer <- zone_layer(map)
  expected <- predict(fit, map, zones = layer)$zones
  read <- function(layer, proxy) {
    file <- withr::local_tempfile(fileext = ".tif", .local_envir = parent.frame(2))
    stats::setNames(stars::read_stars(terra::sources(on_disk(layer, file)), proxy = proxy), names(layer)[[1]])
  }
  proxy <- read(map[["w"]], TRUE)
  for (zones in list(layer, read(layer, FALSE), read(layer, TRUE))) {
    expect_equal(predict(fit, proxy, zones = zones)$zones, expected, tolerance = 1e-10)
  }
  masked <- predict(fit, map, mask = layer, filename = withr::local_tempfile(fileext = ".tif"))
  ours <- predict(fit, proxy, mask = read(layer, TRUE), filename = withr::local_tempfile(fileext = ".tif"))
  expect_equal(as.vector(stars::st_as_stars(ours)[[1]]), as.vector(terra::values(masked)), tolerance = 1e-10)
  expect_error(predict(fit, proxy, zones = c(read(layer, FALSE), read(map[["w"]], FALSE))), "one layer",
               class = "kernops_input_error")
  # terra assumes that a file with such an extent has longitudes and latitudes
  small <- terra::rast(nrows = 9, ncols = 12, xmin = 0, xmax = 1.2, ymin = 0, ymax = 0.9, crs = "",
                       vals = terra::values(layer), names = "w")
  near <- transform(map_case(), x = x / 1000, y = y / 1000)
  fit <- gp(z ~ 1, near, ~ x + y, matern(3/2, 1, 0.3) + nugget(0.04), estimate = "none")
  zones <- terra::rast(terra::sources(on_disk(small)))
  of_stars <- predict(fit, read(small, TRUE), zones = zones)$zones
  expect_equal(of_stars, predict(fit, small, zones = small)$zones, tolerance = 1e-10)
})

test_that("areas for longitude and latitude are in square kilometres, and labels name zones", {
  map <- terra::rast(nrows = 4, ncols = 6, xmin = 0, xmax = 6, ymin = 50, ymax = 54)
  d <- withr::with_seed(3, data.frame(x = runif(40, 0, 6), y = runif(40, 50, 54), z = rnorm(40)))
  points <- terra::vect(d, geom = c("x", "y"), crs = "EPSG:4326")
  fit <- gp(z ~ 1, points, covariance = exponential(1, 200) + nugget(0.1), estimate = "none")
  zones <- terra::rast(map, vals = rep(1:2, 12))
  levels(zones) <- data.frame(id = 1:2, name = c("odd", "even"))
  ours <- predict(fit, map, zones = zones)$zones
  area <- as.vector(terra::values(terra::cellSize(map, unit = "km")))
  cells <- as.vector(terra::values(predict(fit, map)))
  expect_identical(ours$zone[1:2], c("even", "odd"))
  expect_equal(ours$area[2:1], c(tapply(area, rep(1:2, 12), sum)), ignore_attr = TRUE)
  expect_equal(ours$fit[4:3], c(tapply(area * cells, rep(1:2, 12), sum)), ignore_attr = TRUE)
})

test_that("errors name invalid zones", {
  map <- small_map()
  fit <- map_fit()
  layer <- zone_layer(map)
  expect_snapshot(error = TRUE, {
    predict(fit, map, zones = 1)
    predict(fit, map, zones = c(layer, layer))
    predict(fit, map, zones = terra::aggregate(layer, 2))
    predict(fit, map, zones = layer, interval = "prediction")
    predict(fit, map, zones = layer, block = c(1, 1))
    predict(fit, map, zones = layer, what = "trend")
    predict(fit, map, zones = layer, nodes = 0)
    predict(fit, map_case(), zones = layer)
  })
  lake <- terra::vect("POLYGON ((0 0, 1 0, 1 1, 0 0))", crs = "EPSG:4326")
  terra::crs(map) <- "EPSG:3857"
  expect_error(predict(fit, map, zones = lake), "same reference system", class = "kernops_crs_error")
})
