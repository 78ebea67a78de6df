# Local kriging, block kriging and joint covariances, against package gstat and the bordered system in plain R.

seen <- withr::with_seed(51, smooth_case(80, noise = 0.2))
new <- withr::with_seed(52, data.frame(a = runif(25), b = runif(25), w = rnorm(25)))
fits <- function(formula, method = "exact", ...) {
  gp(formula, seen, ~ a + b, spherical(1.2, 0.5) + nugget(0.1), estimate = "none", method = method,
     control = gp_control(neighbours = 79, cg_tol = 1e-12), ...)
}
by_gstat <- function(formula, ...) {
  skip_if_not_installed("gstat")
  skip_if_not_installed("sp")
  sp::coordinates(seen) <- c("a", "b")
  sp::coordinates(new) <- c("a", "b")
  as.data.frame(gstat::krige(formula, seen, new, gstat::vgm(1.2, "Sph", 0.5, 0.1), debug.level = 0, ...))
}
expect_kriged <- function(ours, theirs, tolerance = 1e-8) {
  expect_equal(ours$fit, theirs$var1.pred, tolerance = tolerance)
  expect_equal(ours$se.fit^2, theirs$var1.var, tolerance = tolerance)
}
observed <- function(fit, ...) predict(fit, new, se.fit = TRUE, interval = "prediction", ...)
of_field <- function(fit, ...) predict(fit, new, se.fit = TRUE, interval = "confidence", ...)

test_that("local kriging agrees with gstat", {
  for (formula in list(z ~ 1, z ~ w + a)) for (method in c("exact", "vecchia")) {
    fit <- fits(formula, method)
    expect_kriged(observed(fit, nmax = 12), by_gstat(formula, nmax = 12))
    expect_kriged(observed(fit, maxdist = 0.4), by_gstat(formula, maxdist = 0.4))
    expect_kriged(observed(fit, nmax = 9, maxdist = 0.35), by_gstat(formula, nmax = 9, maxdist = 0.35))
  }
  known <- fits(z ~ 0, known = list(beta = 0.5))
  expect_kriged(observed(known, nmax = 12), by_gstat(z ~ 1, nmax = 12, beta = 0.5))
  # the prediction at a point without neighbours is the known mean
  expect_kriged(observed(known, maxdist = 0.02), by_gstat(z ~ 1, maxdist = 0.02, beta = 0.5))
})

test_that("predictions are missing if the neighbours do not determine the trend", {
  far <- predict(fits(z ~ 1), rbind(new, data.frame(a = 9, b = 9, w = 0)), maxdist = 0.5, se.fit = TRUE)
  expect_identical(is.na(far$fit), rep(c(FALSE, TRUE), c(25, 1)))
  expect_true(all(is.na(predict(fits(z ~ w + a), new, nmax = 2))))
  few <- predict(fits(z ~ w + a), new, nmax = 3, type = "terms")
  expect_equal(few$trend + few$process, unname(predict(fits(z ~ w + a), new, nmax = 3)))
})

test_that("local kriging from all observations agrees with global kriging", {
  for (formula in trends[-1]) {
    expect_equal(observed(fits(formula), nmax = 80), observed(fits(formula)), tolerance = 1e-9)
  }
})

test_that("means over blocks agree with gstat, by each method", {
  for (formula in list(z ~ 1, z ~ w)) {
    theirs <- by_gstat(formula, block = c(0.1, 0.2))
    for (method in c("exact", "vecchia", "iterative")) {
      # gstat stores the quadrature nodes with ten digits
      expect_kriged(of_field(fits(formula, method), block = c(0.1, 0.2)), theirs, tolerance = 1e-7)
    }
    expect_kriged(of_field(fits(formula), block = c(0.1, 0.2), nmax = 12),
                  by_gstat(formula, block = c(0.1, 0.2), nmax = 12), tolerance = 1e-7)
  }
  expect_equal(of_field(fits(z ~ w), block = c(0, 0)), of_field(fits(z ~ w)), tolerance = 1e-10)
})

test_that("a mean over points agrees with kriging by the bordered system", {
  x <- seq(0, 1, 0.1)
  y <- sin(5 * x)
  fit <- gp(y ~ 1, coords = ~ x, covariance = squared_exponential(1, 0.3) + nugget(0.01),
            estimate = "none")
  k <- \(a, b) exp(-outer(a, b, "-")^2 / (2 * 0.3^2))
  nodes <- 1.5 + 0.05 * ((1:2000) - 1000.5) / 1000
  theirs <- oracle_kriging(k(x, x) + diag(0.01, 11), cbind(rowMeans(k(x, nodes))), mean(k(nodes, nodes)), y,
                           matrix(1, 11), matrix(1))
  ours <- predict(fit, data.frame(x = 1.5), block = 0.1, se.fit = TRUE, interval = "none")
  expect_equal(ours$fit, theirs$mean, tolerance = 1e-6)
  expect_equal(ours$se.fit^2, theirs$variance, tolerance = 1e-6)
})

test_that("joint covariances agree with the bordered system, by each method", {
  u <- as.matrix(seen[c("a", "b")])
  v <- as.matrix(new[c("a", "b")])
  k <- pairs_apply(\(p, q) {
    h <- min(sqrt(sum((p - q)^2)) / 0.5, 1)
    1.2 * (1 - 1.5 * h + 0.5 * h^3)
  })
  X <- cbind(1, seen$w)
  inverse <- solve(rbind(cbind(k(u, u) + diag(0.1, 80), X), cbind(t(X), matrix(0, 2, 2))))
  right <- rbind(k(u, v), t(cbind(1, new$w)))
  theirs <- k(v, v) - t(right) %*% inverse %*% right
  for (method in c("exact", "vecchia", "iterative")) {
    fit <- fits(z ~ w, method)
    ours <- predict(fit, new, cov = TRUE, interval = "prediction", se.fit = TRUE)
    expect_equal(unname(ours$cov), unname(theirs + diag(0.1, 25)), tolerance = 1e-8)
    expect_equal(unname(diag(ours$cov)), ours$fit$se.fit^2, tolerance = 1e-8)
    expect_equal(unname(predict(fit, new, cov = TRUE, nmax = 80)$cov), unname(theirs), tolerance = 1e-8)
  }
})

test_that("the variance of a sum of local predictions follows from their joint covariance", {
  # the variances of blocks, and of points with few neighbours, are those of separate predictions
  for (method in c("exact", "vecchia")) {
    fit <- gp(z ~ w, seen, ~ a + b, spherical(1.2, 0.5) + nugget(0.1), estimate = "none", method = method,
              control = gp_control(neighbours = 5))
    for (arguments in list(list(), list(se = "local"), list(nmax = 7))) {
      means <- do.call(of_field, c(list(fit, block = c(0.05, 0.1)), arguments))
      joint <- do.call(predict, c(list(fit, new, block = c(0.05, 0.1), cov = TRUE), arguments))
      expect_equal(unname(diag(joint$cov)), means$se.fit^2, tolerance = 1e-8)
      expect_true(all(eigen(joint$cov, symmetric = TRUE)$values > -1e-10))
    }
  }
})

test_that("points without a prediction have missing covariances", {
  far <- rbind(new, data.frame(a = 9, b = 9, w = 0))
  ours <- predict(fits(z ~ 1), far, cov = TRUE, maxdist = 0.5)
  expect_identical(unname(is.na(diag(ours$cov))), unname(is.na(ours$fit)))
  expect_equal(ours$cov[1:25, 1:25], predict(fits(z ~ 1), new, cov = TRUE, maxdist = 0.5)$cov)
})

test_that("rows with missing values have missing covariances", {
  gaps <- new
  gaps$w[[3]] <- NA
  ours <- predict(fits(z ~ w), gaps, cov = TRUE)
  expect_identical(which(is.na(ours$fit)), c(`3` = 3L))
  expect_true(all(is.na(ours$cov[3, ])) && all(is.na(ours$cov[, 3])) && !anyNA(ours$cov[-3, -3]))
})

test_that("quantiles and probabilities agree with the normal distribution", {
  fit <- fits(z ~ w)
  for (interval in c("confidence", "prediction")) {
    ours <- predict(fit, new, se.fit = TRUE, interval = interval, probs = c(0.025, 0.5), above = c(0, 1.5))
    expect_identical(names(ours), c("fit", "se.fit", "lwr", "upr", "q0.025", "q0.5", "above0", "above1.5"))
    expect_equal(ours$q0.025, ours$lwr)
    expect_equal(ours$q0.5, ours$fit)
    expect_equal(ours$above1.5, 1 - pnorm((1.5 - ours$fit) / ours$se.fit))
  }
})

test_that("means over polygons agree with means over points in the polygons, for each class", {
  skip_if_not_installed("sf")
  corner <- as.matrix(new[1:4, c("a", "b")])
  shapes <- lapply(1:4, \(k) sf::st_polygon(list(t(corner[k, ] + t(cbind(c(0, 0.1, 0, 0), c(0, 0, 0.2, 0)))))))
  areas <- sf::st_sf(w = new$w[1:4], geometry = sf::st_sfc(shapes))
  fit <- fits(z ~ w)
  ours <- predict(fit, areas, se.fit = TRUE, interval = "confidence")
  expect_s3_class(ours, "sf")
  for (k in 1:4) {
    # the points of the triangle, in plain R
    grid <- expand.grid(x = (1:100 - 0.5) / 1000, y = (1:200 - 0.5) / 1000)
    grid <- grid[2 * grid$x + grid$y < 0.2, ]
    at <- data.frame(a = corner[k, 1] + grid$x, b = corner[k, 2] + grid$y, w = new$w[[k]])
    expect_equal(ours$fit[[k]], mean(predict(fit, at)), tolerance = 1e-2)
    some <- at[seq(1, nrow(at), 97), ]
    expect_equal(ours$se.fit[[k]]^2, mean(predict(fit, some, cov = TRUE)$cov), tolerance = 0.05)
  }
  expect_equal(predict(fit, areas, block = 1600)$fit, ours$fit, tolerance = 2e-3)
  if (requireNamespace("terra", quietly = TRUE)) {
    theirs <- predict(fit, terra::vect(areas), se.fit = TRUE, interval = "confidence")
    expect_s4_class(theirs, "SpatVector")
    expect_equal(as.data.frame(theirs)$se.fit, ours$se.fit)
  }
  if (requireNamespace("sp", quietly = TRUE)) {
    theirs <- predict(fit, as(areas, "Spatial"), se.fit = TRUE, interval = "confidence")
    expect_s4_class(theirs, "SpatialPolygonsDataFrame")
    expect_equal(theirs$fit, ours$fit)
  }
})

scaled <- gp(z ~ 1, seen, ~ scale(a) + b, given(), estimate = "none")
square <- function() sf::st_sfc(sf::st_polygon(list(cbind(c(0, 1, 1, 0, 0), c(0, 0, 1, 1, 0)))))
if (requireNamespace("sf", quietly = TRUE)) test_mistakes("kernops_input_error", alist(
  `polygons for coordinates that are expressions` = predict(scaled, square())
))

test_mistakes("kernops_input_error", alist(
  `a block of one size for two coordinates` = predict(fits(z ~ 1), new, block = 1),
  `a block with noise` = predict(fits(z ~ 1), new, block = c(1, 1), interval = "prediction"),
  `no neighbours` = predict(fits(z ~ 1), new, nmax = 0),
  `a distance that is none` = predict(fits(z ~ 1), new, maxdist = "far"),
  `a probability of 1` = predict(fits(z ~ 1), new, probs = 1),
  `a threshold that is missing` = predict(fits(z ~ 1), new, above = NA)
))
