# Means over polygons, against means over dense grids of the points that lie within the polygons by sf.

skip_if_not_installed("sf")

ring <- function(...) rbind(..., ..1)
polygon <- function(...) sf::st_polygon(list(ring(...)))
square <- function(x, y, side = 1) polygon(c(x, y), c(x + side, y), c(x + side, y + side), c(x, y + side))
areas <- function(..., crs = sf::NA_crs_) sf::st_sf(geometry = sf::st_sfc(..., crs = crs))
seen <- withr::with_seed(61, transform(smooth_case(60), x = 10 * a, y = 10 * b))
seen <- transform(seen, z = sin(x / 2) + y / 5)
fit <- gp(z ~ 1, sf::st_as_sf(seen, coords = c("x", "y")), covariance = exponential(1, 3) + nugget(0.01),
          estimate = "none")
mean_over <- function(shapes, block = NULL) {
  sf::st_drop_geometry(predict(fit, shapes, block = block, se.fit = TRUE, interval = "none"))
}

points_in <- function(shape, n) {
  box <- sf::st_bbox(shape)
  along <- function(from, to) from + (seq_len(n) - 0.5) / n * (to - from)
  grid <- expand.grid(x = along(box[["xmin"]], box[["xmax"]]), y = along(box[["ymin"]], box[["ymax"]]))
  points <- sf::st_as_sf(grid, coords = c("x", "y"))
  points[lengths(sf::st_intersects(points, shape)) > 0, ]
}
# The predicted mean over the shape, from a fine grid of points, and the standard error of this mean, from a coarser
# grid.
by_points <- function(shape, n = 150, few = 25) {
  joint <- predict(fit, points_in(shape, few), cov = TRUE)
  data.frame(fit = mean(predict(fit, points_in(shape, n))$fit), se.fit = sqrt(mean(joint$cov)))
}
expect_mean_of_points <- function(shape, ..., tolerance = 1e-2) {
  expect_equal(mean_over(areas(shape)), by_points(shape, ...), tolerance = tolerance)
}

test_that("polygons with holes, several parts or any orientation, and collections, have the mean of their points", {
  hole <- sf::st_polygon(list(ring(c(1, 1), c(8, 2), c(7, 8), c(2, 9)), ring(c(3, 3), c(5, 3), c(5, 6))))
  expect_mean_of_points(hole)
  two <- list(list(ring(c(1, 1), c(4, 1), c(2, 5))), list(ring(c(6, 6), c(6, 9), c(9, 9))))
  expect_mean_of_points(sf::st_multipolygon(two))
  clockwise <- sf::st_polygon(lapply(hole, function(ring) ring[rev(seq_len(nrow(ring))), ]))
  expect_equal(mean_over(areas(clockwise)), mean_over(areas(hole)), tolerance = 1e-10)
  collection <- sf::st_geometrycollection(list(hole, sf::st_point(c(9, 9)), sf::st_linestring(diag(2))))
  expect_equal(mean_over(areas(collection)), mean_over(areas(hole)), tolerance = 1e-10)
  expect_equal(mean_over(sf::st_zm(areas(hole), drop = FALSE, what = "Z")), mean_over(areas(hole)), tolerance = 1e-10)
})

test_that("thin polygons of any direction have the mean along their line, in a time independent of the width", {
  for (to in list(c(9, 9), c(9, 1.5), c(1, 8.5), c(4, 9))) for (width in c(0.1, 1e-4, 1e-7)) {
    line <- sf::st_linestring(rbind(c(1, 1), to))
    across <- c(to[[2]] - 1, 1 - to[[1]]) / sqrt(sum((to - 1)^2)) * width / 2
    strip <- polygon(c(1, 1) + across, to + across, to - across, c(1, 1) - across)
    along <- data.frame(x = seq(1, to[[1]], length.out = 401), y = seq(1, to[[2]], length.out = 401))
    joint <- predict(fit, sf::st_as_sf(along, coords = c("x", "y")), cov = TRUE)
    cpu <- sum(system.time(ours <- mean_over(areas(strip)))[1:2])
    expect_equal(ours$fit, mean(joint$fit$fit), tolerance = 3e-3)
    expect_equal(ours$se.fit, sqrt(mean(joint$cov)), tolerance = 0.02)
    expect_lt(cpu, 2)
  }
})

test_that("a winding river, a comb and an archipelago have the mean of their points, with about `block` nodes", {
  s <- seq(0, 1, length.out = 200)
  river <- sf::st_buffer(sf::st_sfc(sf::st_linestring(cbind(1 + 8 * s, 5 + 3 * sin(12 * s)))), 0.02)
  comb <- sf::st_union(do.call(c, lapply(0:40, function(k) sf::st_sfc(polygon(c(k / 5, 1), c(k / 5 + 0.1, 1),
                                                                                c(k / 5 + 0.1, 9), c(k / 5, 9))))))
  islands <- withr::with_seed(62, sf::st_as_sf(data.frame(x = runif(600, 0, 10), y = runif(600, 0, 10)), coords = 1:2))
  islands <- sf::st_union(sf::st_buffer(islands, 0.03))
  for (shape in list(river, comb, islands)) {
    expect_equal(mean_over(sf::st_sf(geometry = shape))$fit, by_points(shape, 700, 4)$fit, tolerance = 1e-2)
    nodes <- area_points(shape, 300)
    expect_lt(abs(length(nodes$weight[[1]]) - 300), 60)
    expect_equal(as.vector(nodes$centre), as.vector(sf::st_coordinates(sf::st_centroid(shape))), tolerance = 1e-5)
  }
})

test_that("parts that are far from each other have numbers of nodes in proportion to their areas", {
  for (far in c(1e2, 1e5, 1e8)) {
    two <- sf::st_sfc(sf::st_multipolygon(list(unclass(square(0, 0, 2)), unclass(square(far, far, 1)))))
    cpu <- sum(system.time(nodes <- area_points(two, 500))[1:2])
    expect_lt(cpu, 2)
    expect_equal(mean(nodes$u[[1]][, 1] > 10), 0.2, tolerance = 0.1)
    expect_equal(sum(nodes$weight[[1]][nodes$u[[1]][, 1] > 10]), 0.2)
  }
})

test_that("overlapping parts count once, and invalid polygons agree with st_make_valid()", {
  overlapping <- sf::st_multipolygon(list(unclass(square(1, 1, 4)), unclass(square(3, 3, 4)), unclass(square(1, 1, 4))))
  union <- sf::st_union(sf::st_sfc(square(1, 1, 4), square(3, 3, 4)))
  expect_equal(mean_over(areas(overlapping)), mean_over(sf::st_sf(geometry = union)), tolerance = 1e-3)
  bow <- polygon(c(0, 0), c(8, 8), c(8, 0), c(0, 4))
  star <- sf::st_polygon(list(t(c(5, 5) + 4 * rbind(cos(4 * pi / 5 * 0:5), sin(4 * pi / 5 * 0:5)))[c(1:5, 1), ]))
  spike <- polygon(c(0, 0), c(4, 0), c(9, 0), c(4, 0), c(4, 4), c(0, 4))
  outside <- sf::st_polygon(list(square(1, 1, 4)[[1]], square(4, 4, 3)[[1]]))
  for (shape in list(bow, star, spike, outside)) {
    valid <- sf::st_make_valid(sf::st_sfc(shape))
    expect_equal(mean_over(areas(shape)), mean_over(sf::st_sf(geometry = valid)), tolerance = 1e-8)
    expect_equal(mean_over(areas(shape))$fit, by_points(valid, 120, 5)$fit, tolerance = 1e-2)
  }
})

test_that("any number of nodes integrates linear functions exactly", {
  shape <- sf::st_sfc(sf::st_polygon(list(ring(c(0, 0), c(7, 1), c(5, 9), c(4, 2)), ring(c(4, 1), c(5, 1), c(5, 3)))))
  for (n in c(1, 2, 3, 10, 399, 5000)) {
    nodes <- area_points(shape, n)
    expect_equal(as.vector(nodes$weight[[1]] %*% nodes$u[[1]]), as.vector(sf::st_coordinates(sf::st_centroid(shape))),
                 tolerance = 1e-5)
  }
  expect_equal(mean_over(sf::st_sf(geometry = shape), 1)$fit,
               predict(fit, sf::st_as_sf(sf::st_centroid(shape)))$fit, tolerance = 1e-8)
  nodes <- area_points(sf::st_sfc(square(0, 0)), 400)
  expect_equal(nodes$weight[[1]], rep(1 / 400, 400))
  expect_equal(sort(unique(round(nodes$u[[1]], 9)[, 2])), (1:20 - 0.5) / 20)
  expect_identical(anyDuplicated(round(nodes$u[[1]], 9)), 0L)
})

test_that("empty polygons have missing predictions, also if all polygons are empty", {
  ours <- mean_over(areas(square(1, 1), sf::st_polygon(), square(2, 2), sf::st_multipolygon()))
  expect_identical(is.na(ours$fit), c(FALSE, TRUE, FALSE, TRUE))
  expect_equal(ours[c(1, 3), ], mean_over(areas(square(1, 1), square(2, 2))), ignore_attr = TRUE)
  expect_identical(mean_over(areas(sf::st_polygon()))$fit, NA_real_)
  expect_identical(nrow(mean_over(areas(square(1, 1))[0, ])), 0L)
})

test_that("predictions for a hundred polygons agree with separate calls and with gstat", {
  grid <- sf::st_sf(geometry = sf::st_make_grid(sf::st_sfc(square(0, 0, 10)), n = 10))
  together <- mean_over(grid)
  some <- c(1, 37, 100)
  expect_equal(together[some, ], do.call(rbind, lapply(some, function(k) mean_over(grid[k, ]))), ignore_attr = TRUE,
               tolerance = 1e-8)
  # block kriging of the same squares by gstat
  skip_if_not_installed("gstat")
  theirs <- gstat::krige(z ~ 1, sf::st_as_sf(seen, coords = c("x", "y")), grid[some, ],
                         gstat::vgm(1, "Exp", 3, 0.01), debug.level = 0)
  expect_equal(together$fit[some], theirs$var1.pred, tolerance = 1e-2)
  expect_equal(together$se.fit[some]^2, theirs$var1.var, tolerance = 0.02)
})

line <- sf::st_linestring(rbind(c(0, 0), c(1, 1)))
flat <- polygon(c(0, 0), c(1, 1), c(0.5, 0.5))
disc <- "CURVEPOLYGON (CIRCULARSTRING (0 0, 1 1, 0 2, -1 1, 0 0))"
test_mistakes("kernops_input_error", alist(
  `a polygon without area` = predict(fit, areas(square(0, 0), flat, flat)),
  `a point among polygons` = predict(fit, areas(sf::st_point(c(1, 1)), square(0, 0))),
  `lines among polygons` = predict(fit, areas(square(0, 0), line, sf::st_multilinestring(list(line)))),
  `lines` = predict(fit, areas(line)),
  `a vertex that is infinite` = predict(fit, areas(square(0, 0), square(Inf, 0))),
  `curved polygons` = predict(fit, sf::st_sf(geometry = sf::st_as_sfc(disc))),
  `a number of nodes for each coordinate` = predict(fit, areas(square(0, 0)), block = c(10, 10)),
  `draws over polygons` = simulate(fit, 2, newdata = areas(square(0, 0))),
  `polygons as data` = gp(z ~ 1, sf::st_sf(z = 1, geometry = sf::st_sfc(square(0, 0))))
))

# On the sphere: points in longitude and latitude that lie within a polygon by s2, weighted by the areas of their cells.
globe <- withr::with_seed(63, data.frame(lon = runif(150, -180, 180), lat = asin(runif(150, -1, 1)) * 180 / pi))
globe <- transform(globe, z = sin(lon * pi / 90) * cos(lat * pi / 180) + lat / 90)
round_fit <- suppressMessages(gp(z ~ 1, sf::st_as_sf(globe, coords = c("lon", "lat"), crs = 4326),
                                 covariance = exponential(1, 4000) + nugget(0.01), estimate = "none"))
by_cells <- function(lon, lat, shape) {
  cells <- expand.grid(lon = lon, lat = lat)
  cells <- sf::st_as_sf(transform(cells, w = cos(lat * pi / 180)), coords = c("lon", "lat"), crs = 4326)
  cells <- cells[lengths(sf::st_intersects(cells, shape)) > 0, ]
  w <- cells$w / sum(cells$w)
  joint <- predict(round_fit, cells, cov = TRUE)
  data.frame(fit = sum(w * joint$fit$fit), se.fit = sqrt(drop(w %*% joint$cov %*% w)))
}
mean_on_globe <- function(shape) {
  shape <- if (inherits(shape, "sf")) shape else areas(shape, crs = 4326)
  sf::st_drop_geometry(predict(round_fit, shape, se.fit = TRUE, interval = "none"))
}
lonlat <- function(...) sf::st_sfc(polygon(...), crs = 4326)

test_that("polygons across the dateline and around the poles agree with s2", {
  withr::defer(suppressMessages(sf::sf_use_s2(TRUE)))
  suppressMessages(sf::sf_use_s2(TRUE))
  across <- lonlat(c(160, -40), c(-150, -30), c(-160, 10), c(170, 5))
  expect_equal(mean_on_globe(across[[1]]), by_cells(c(seq(160.5, 179.5), seq(-179.5, -150)), seq(-41.5, 12), across),
               tolerance = 1e-2)
  beyond <- polygon(c(160, -40), c(210, -30), c(200, 10), c(170, 5))
  expect_equal(mean_on_globe(beyond), mean_on_globe(across[[1]]), tolerance = 1e-8)
  pole <- lonlat(c(-150, 60), c(-60, 65), c(0, 70), c(90, 55), c(150, 75))
  expect_equal(mean_on_globe(pole[[1]]), by_cells(seq(-178, 178, 6), seq(52, 89, 2), pole), tolerance = 1e-2)
  # Antarctica as in maps in longitude and latitude, with edges along the dateline to the pole and back
  shore <- cbind(seq(-180, 180, 20), -70 - 5 * sin(seq(-180, 180, 20) * pi / 90))
  south <- sf::st_polygon(list(rbind(c(-180, -90), shore, c(180, -90), c(-180, -90))))
  open <- sf::st_sfc(sf::st_polygon(list(shore[c(1:18, 1), ])), crs = 4326)
  expect_equal(mean_on_globe(south), mean_on_globe(open[[1]]), tolerance = 1e-3)
  expect_equal(mean_on_globe(south), by_cells(seq(-178, 178, 6), seq(-89, -62, 2), open), tolerance = 1e-2)
})

test_that("edges are great circles if s2 is used, and straight lines in degrees otherwise", {
  withr::defer(suppressMessages(sf::sf_use_s2(TRUE)))
  wide <- lonlat(c(-60, 40), c(60, 40), c(60, 50), c(-60, 50))
  centre <- function() area_points(wide, 1000)$centre
  suppressMessages(sf::sf_use_s2(TRUE))
  expect_equal(centre(), sf::st_coordinates(sf::st_centroid(wide)), tolerance = 1e-3, ignore_attr = TRUE)
  expect_gt(centre()[, 2], 55)
  suppressMessages(sf::sf_use_s2(FALSE))
  lat <- seq(40, 50, length.out = 1001)
  expect_equal(centre(), cbind(0, sum(lat * cos(lat * pi / 180)) / sum(cos(lat * pi / 180))), tolerance = 1e-4)
  expect_equal(sum(area_points(lonlat(c(-180, -90), c(180, -90), c(180, 90), c(-180, 90)), 100)$weight[[1]]), 1)
})

test_that("areas and centroids of countries on the sphere agree with s2", {
  suppressMessages(sf::sf_use_s2(TRUE))
  counties <- sf::st_read(system.file("shape/nc.shp", package = "sf"), quiet = TRUE)
  counties <- sf::st_transform(sf::st_geometry(counties), 4326)
  nodes <- area_points(counties, 50)
  expect_equal(nodes$centre, sf::st_coordinates(sf::st_centroid(counties)), tolerance = 1e-6, ignore_attr = TRUE)
  inside <- vapply(1:100, function(k) {
    points <- sf::st_as_sf(as.data.frame(nodes$u[[k]]), coords = 1:2, crs = 4326)
    sum(nodes$weight[[k]][lengths(sf::st_intersects(points, counties[k])) > 0])
  }, 0)
  expect_gt(min(inside), 0.85)
})

test_that("invalid polygons on the sphere are made valid, and overlapping parts count once", {
  suppressMessages(sf::sf_use_s2(TRUE))
  whole <- lonlat(c(170, 0), c(-170, 0), c(-170, 20), c(170, 20))
  overlapping <- sf::st_multipolygon(list(unclass(polygon(c(170, 0), c(-175, 0), c(-175, 20), c(170, 20))),
                                          unclass(polygon(c(175, 0), c(-170, 0), c(-170, 20), c(175, 20)))))
  expect_equal(mean_on_globe(overlapping), mean_on_globe(whole[[1]]), tolerance = 1e-2)
  bow <- polygon(c(10, 0), c(30, 20), c(30, 0), c(10, 20))
  halves <- sf::st_multipolygon(list(unclass(polygon(c(10, 0), c(20, 10.15), c(10, 20))),
                                     unclass(polygon(c(30, 0), c(30, 20), c(20, 10.15)))))
  expect_equal(mean_on_globe(bow), mean_on_globe(halves), tolerance = 1e-2)
})

test_that("local kriging of a polygon uses the observations that are nearest to its centre", {
  suppressMessages(sf::sf_use_s2(TRUE))
  across <- lonlat(c(170, -10), c(-170, -10), c(-170, 10), c(170, 10))
  ours <- sf::st_drop_geometry(predict(round_fit, sf::st_sf(geometry = across), nmax = 12, se.fit = TRUE,
                                       interval = "none"))
  middle <- sf::st_sfc(sf::st_point(c(180, 0)), crs = 4326)
  km <- as.numeric(sf::st_distance(sf::st_as_sf(globe, coords = 1:2, crs = 4326), middle))
  near <- suppressMessages(gp(z ~ 1, sf::st_as_sf(globe[order(km)[1:12], ], coords = c("lon", "lat"), crs = 4326),
                              covariance = exponential(1, 4000) + nugget(0.01), estimate = "none"))
  theirs <- predict(near, sf::st_sf(geometry = across), se.fit = TRUE, interval = "none")
  expect_equal(ours, sf::st_drop_geometry(theirs), tolerance = 1e-6)
})

test_that("polygons of terra and sp agree with sf", {
  shapes <- areas(square(1, 1, 3), sf::st_multipolygon(list(unclass(square(5, 5)), unclass(square(7, 7, 2)))))
  expected <- mean_over(shapes)
  if (requireNamespace("terra", quietly = TRUE)) {
    theirs <- predict(fit, terra::vect(shapes), se.fit = TRUE, interval = "none")
    expect_equal(terra::as.data.frame(theirs), expected, ignore_attr = TRUE)
  }
  skip_if_not_installed("sp")
  theirs <- predict(fit, as(shapes, "Spatial"), se.fit = TRUE, interval = "none")
  expect_equal(theirs@data, expected, ignore_attr = TRUE)
})

test_mistakes("kernops_input_error", alist(
  `an edge that joins the poles` = predict(round_fit, sf::st_sf(geometry = lonlat(c(0, -90), c(0, 90), c(90, 0))))
))
test_that("latitudes beyond the poles are refused", {
  beyond <- lonlat(c(0, 80), c(10, 80), c(10, 91))
  expect_error(suppressWarnings(predict(round_fit, sf::st_sf(geometry = beyond))), "latitudes from -90 to 90",
               class = "kernops_input_error")
})
