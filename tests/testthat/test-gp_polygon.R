# Means over polygons, against means over dense grids of the points that sf has in them.

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
# the mean of many points; its standard error from fewer
by_points <- function(shape, n = 150, few = 25) {
  joint <- predict(fit, points_in(shape, few), cov = TRUE)
  data.frame(fit = mean(predict(fit, points_in(shape, n))$fit), se.fit = sqrt(mean(joint$cov)))
}
expect_mean_of_points <- function(shape, ..., tolerance = 1e-2) {
  expect_equal(mean_over(areas(shape)), by_points(shape, ...), tolerance = tolerance)
}

test_that("polygons with holes, of several parts, of any direction and collections have the mean of their points", {
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

test_that("thin polygons of any direction have the mean along their line, in a time that width does not change", {
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

test_that("a winding river, a comb and an archipelago have the mean of their points, with about the nodes of `block`", {
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

test_that("parts that are far from each other have nodes in proportion to their areas", {
  for (far in c(1e2, 1e5, 1e8)) {
    two <- sf::st_sfc(sf::st_multipolygon(list(unclass(square(0, 0, 2)), unclass(square(far, far, 1)))))
    cpu <- sum(system.time(nodes <- area_points(two, 500))[1:2])
    expect_lt(cpu, 2)
    expect_equal(mean(nodes$u[[1]][, 1] > 10), 0.2, tolerance = 0.1)
    expect_equal(sum(nodes$weight[[1]][nodes$u[[1]][, 1] > 10]), 0.2)
  }
})

test_that("parts that overlap count once, and invalid polygons are those of st_make_valid()", {
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

test_that("empty polygons are missing, also where there is nothing else", {
  ours <- mean_over(areas(square(1, 1), sf::st_polygon(), square(2, 2), sf::st_multipolygon()))
  expect_identical(is.na(ours$fit), c(FALSE, TRUE, FALSE, TRUE))
  expect_equal(ours[c(1, 3), ], mean_over(areas(square(1, 1), square(2, 2))), ignore_attr = TRUE)
  expect_identical(mean_over(areas(sf::st_polygon()))$fit, NA_real_)
  expect_identical(nrow(mean_over(areas(square(1, 1))[0, ])), 0L)
})

test_that("a hundred polygons take less time than a hundred calls", {
  grid <- sf::st_sf(geometry = sf::st_make_grid(sf::st_sfc(square(0, 0, 10)), n = 10))
  together <- mean_over(grid)
  some <- c(1, 37, 100)
  expect_equal(together[some, ], do.call(rbind, lapply(some, function(k) mean_over(grid[k, ]))), ignore_attr = TRUE,
               tolerance = 1e-8)
  # block kriging of gstat has the same squares
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
