# The oracle visits all ordered pairs in plain R, and computes by angles which part of a circle is inside the rectangle.
pattern_by_pairs <- function(x, window, y, correction, value) {
  own <- is.null(y)
  if (own) y <- x
  side <- window[2, ] - window[1, ]
  total <- 0
  for (i in seq_len(nrow(x))) for (j in seq_len(nrow(y))) {
    if (own && i == j) next
    gap <- y[j, ] - x[i, ]
    d <- sqrt(sum(gap^2))
    weight <- switch(correction, none = 1, translation = min(100, prod(side) / prod(side - abs(gap))),
                     isotropic = circle_weight(x[i, ], d, window))
    total <- total + weight * value(d)
  }
  prod(side) / (nrow(x) * (if (own) nrow(x) - 1 else nrow(y))) * total
}
# The circle around p crosses the sides of the window at some angles; the midpoint of each arc decides whether the arc
# is inside.
circle_weight <- function(p, d, window) {
  crossing <- unlist(lapply(1:2, \(k) {
    ratio <- (window[, k] - p[k]) / d
    angle <- acos(ratio[abs(ratio) < 1])
    if (k == 1) c(angle, -angle) else c(pi / 2 - angle, pi / 2 + angle)
  })) %% (2 * pi)
  if (length(crossing) == 0) return(1)
  ends <- sort(crossing)
  arcs <- diff(c(ends, ends[1] + 2 * pi))
  middle <- ends + arcs / 2
  at <- rbind(p[1] + d * cos(middle), p[2] + d * sin(middle))
  inside <- colSums(at >= window[1, ] & at <= window[2, ]) == 2
  min(100, 2 * pi / sum(arcs[inside]))
}
plain <- \(table) structure(table, class = "data.frame")
half_plane <- cbind(c(-1, 3), c(10, 12.5))
points_in_unit <- \(n, seed) withr::with_seed(seed, cbind(runif(n, -1, 3), runif(n, 10, 12.5)))

test_that("Ripley's K agrees with the sum over all pairs", {
  x <- rbind(points_in_unit(25, 1), c(-1, 10), c(3, 11), points_in_unit(1, 1)) # a corner, an edge, a duplicate
  r <- c(0, 0.01, 0.3, 1, 1.5, 2.4)
  for (y in list(NULL, points_in_unit(15, 2))) for (correction in c("isotropic", "translation", "none")) {
    found <- ripley_k(x, half_plane, y, r, correction)
    true <- vapply(r, \(r) pattern_by_pairs(x, half_plane, y, correction, \(d) d <= r), 0)
    expect_equal(plain(found), data.frame(r = r, poisson = pi * r^2, K = true), tolerance = 1e-10)
  }
})

test_that("the pair correlation function agrees with the smoothed sum over all pairs", {
  x <- points_in_unit(30, 3)
  r <- c(0.02, 0.1, 0.5, 0.55, 1)
  smooth <- \(d, r, h) max(0, 0.75 / h * (1 - ((r - d) / h)^2)) / (2 * pi * r)
  for (y in list(NULL, points_in_unit(10, 4))) for (h in c(0.05, 0.4)) {
    found <- pair_correlation(x, half_plane, y, r, "translation", bandwidth = h)
    true <- vapply(r, \(r) pattern_by_pairs(x, half_plane, y, "translation", \(d) smooth(d, r, h)), 0)
    expect_equal(plain(found), data.frame(r = r, poisson = 1, g = true), tolerance = 1e-10)
  }
  expect_equal(pair_correlation(x, half_plane, r = r),
               pair_correlation(x, half_plane, r = r, bandwidth = 0.15 / sqrt(3)))
})

test_that("ripley_k() and pair_correlation() agree with the package spatstat.explore", {
  ppp <- peer("spatstat.geom", "ppp")
  x <- points_in_unit(300, 5)
  pattern <- ppp(x[, 1], x[, 2], half_plane[, 1], half_plane[, 2])
  true <- peer("spatstat.explore", "Kest")(pattern, correction = c("isotropic", "translate", "none"))
  names <- c(iso = "isotropic", trans = "translation", un = "none")
  for (name in names(names)) {
    found <- ripley_k(x, half_plane, correction = names[[name]])
    expect_equal(found$r, true$r)
    expect_equal(found$K, true[[name]], tolerance = 1e-10)
  }
  marks <- factor(rep(c("a", "b"), c(120, 180)))
  marked <- ppp(x[, 1], x[, 2], half_plane[, 1], half_plane[, 2], marks = marks)
  true <- peer("spatstat.explore", "Kcross")(marked, "a", "b", correction = c("isotropic", "translate"))
  for (name in c("iso", "trans")) {
    found <- ripley_k(x[1:120, ], half_plane, x[121:300, ], true$r, names[[name]])
    expect_equal(found$K, true[[name]], tolerance = 1e-10)
  }
  true <- peer("spatstat.explore", "pcf")(pattern, divisor = "r", correction = c("isotropic", "translate"))
  for (name in c("iso", "trans")) {
    found <- pair_correlation(x, half_plane, r = true$r, correction = names[[name]])
    expect_equal(found$g[-(1:20)], true[[name]][-(1:20)], tolerance = 0.02) # pcf() bins the distances
  }
})

test_that("results depend neither on threads nor on the unit of distances", {
  x <- points_in_unit(3000, 6)
  one <- withr::with_options(list(kernops.threads = 1), ripley_k(x, half_plane))
  expect_identical(withr::with_options(list(kernops.threads = 3), ripley_k(x, half_plane)), one)
  for (unit in c(2^-200, 2^200)) {
    expect_equal(ripley_k(x * unit, half_plane * unit, r = one$r * unit)$K / unit / unit, one$K)
    expect_equal(pair_correlation(x * unit, half_plane * unit)$g, pair_correlation(x, half_plane)$g)
  }
})

test_that("ripley_k() refuses invalid arguments", {
  unit <- cbind(0:1, 0:1)
  x <- cbind(c(0.2, 0.7), 0.5)
  expect_snapshot(error = TRUE, {
    ripley_k(cbind(c(0.1, NA), 0), unit)
    ripley_k(1:3, unit)
    ripley_k(x + 1, unit)
    ripley_k(x, unit, x + 1)
    ripley_k(x, unit[2:1, ])
    ripley_k(x, c(0, 1))
    ripley_k(x[1, , drop = FALSE], unit)
    ripley_k(x, unit, r = c(0.2, 0.1))
    ripley_k(x, unit, r = -1)
    ripley_k(x, unit, correction = "border")
    pair_correlation(x, unit, bandwidth = 0)
  })
  expect_snapshot({
    ripley_k(x, unit)
    ripley_k(x, unit, r = 0.5)
  })
})
