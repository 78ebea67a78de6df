# Empirical variograms, against gstat and loops in plain R.

meuse_points <- function() {
  data("meuse", package = "sp", envir = environment())
  meuse
}
theirs <- \(formula, data, ...) gstat::variogram(formula, ~ x + y, data, ...)
expect_same_variogram <- function(ours, expected) {
  columns <- c("np", "dist", "gamma", "dir.hor")
  expect_equal(as.data.frame(ours)[columns], as.data.frame(expected)[columns], ignore_attr = TRUE, tolerance = 1e-10)
}

test_that("variograms of residuals, distance classes and directions agree with gstat", {
  skip_if_not_installed("gstat")
  skip_if_not_installed("sp")
  d <- meuse_points()
  for (formula in c(log(zinc) ~ 1, log(zinc) ~ sqrt(dist) + x)) {
    expect_same_variogram(gp_variogram(formula, d, coords = ~ x + y), theirs(formula, d))
    expect_same_variogram(gp_variogram(formula, d, coords = ~ x + y, cutoff = 1000, width = 90),
                          theirs(formula, d, cutoff = 1000, width = 90))
    expect_same_variogram(gp_variogram(formula, d, coords = ~ x + y, alpha = c(0, 45, 90, 135)),
                          theirs(formula, d, alpha = c(0, 45, 90, 135)))
    expect_same_variogram(gp_variogram(formula, d, coords = ~ x + y, alpha = 30, tol = 17),
                          theirs(formula, d, alpha = 30, tol.hor = 17))
    expect_same_variogram(gp_variogram(formula, d, coords = ~ x + y, estimator = "cressie"),
                          theirs(formula, d, cressie = TRUE))
  }
})

test_that("a variogram cloud has the pairs of gstat", {
  skip_if_not_installed("gstat")
  skip_if_not_installed("sp")
  d <- meuse_points()[1:60, ]
  in_order <- \(v) as.data.frame(v)[order(v$dist, v$gamma), ]
  for (alpha in list(NULL, c(20, 110))) {
    ours <- gp_variogram(log(zinc) ~ dist, d, coords = ~ x + y, cutoff = 500, cloud = TRUE, alpha = alpha)
    expected <- theirs(log(zinc) ~ dist, d, cutoff = 500, cloud = TRUE, alpha = alpha %||% 0)
    columns <- c("dist", "gamma", "dir.hor", "left", "right")
    expect_equal(in_order(ours)[columns], in_order(expected)[columns], ignore_attr = TRUE)
  }
})

test_that("cross-variograms agree with gstat where both variables have a value", {
  skip_if_not_installed("gstat")
  skip_if_not_installed("sp")
  d <- meuse_points()
  ours <- gp_variogram(cbind(a = log(zinc), b = sqrt(lead)) ~ dist, d, coords = ~ x + y, cutoff = 1200)
  g <- gstat::gstat(NULL, "a", log(zinc) ~ dist, ~ x + y, d)
  expected <- gstat::variogram(gstat::gstat(g, "b", sqrt(lead) ~ dist, ~ x + y, d), cutoff = 1200)
  expect_setequal(levels(ours$id), c("a", "b", "a.b"))
  # gstat counts each pair of two variables twice
  expected$np <- expected$np / ifelse(expected$id == "a.b", 2, 1)
  for (id in levels(ours$id)) expect_same_variogram(ours[ours$id == id, ], expected[expected$id == id, ])
  # gstat fits a model to the variogram
  model <- gstat::fit.lmc(ours, gstat::gstat(g, "b", sqrt(lead) ~ dist, ~ x + y, d), gstat::vgm(1, "Sph", 800, 1))
  expect_s3_class(model, "gstat")
  gap <- transform(d, lead = replace(lead, 1:30, NA))
  ours <- gp_variogram(cbind(a = log(zinc), b = sqrt(lead)) ~ 1, gap, coords = ~ x + y)
  expect_same_variogram(ours[ours$id == "a", ], theirs(log(zinc) ~ 1, d))
  expect_same_variogram(ours[ours$id == "b", ], theirs(sqrt(lead) ~ 1, d[-(1:30), ], cutoff = max(ours$upper),
                                                       width = max(ours$upper) / 15))
})

test_that("the robust estimator agrees with a loop", {
  withr::local_seed(1)
  d <- smooth_case(30)
  ours <- gp_variogram(z ~ 1, d, c(0, 0.2, 0.5), coords = ~ a + b, estimator = "cressie")
  h <- as.matrix(dist(d[c("a", "b")]))
  gap <- abs(outer(d$z, d$z, `-`))
  for (k in 1:2) {
    pair <- lower.tri(h) & h > c(0, 0.2)[k] & h <= c(0.2, 0.5)[k]
    expect_equal(ours$gamma[k], mean(sqrt(gap[pair]))^4 / (0.457 + 0.494 / sum(pair)) / 2)
  }
})

space <- withr::with_seed(7, {
  space <- data.frame(x = runif(70), y = runif(70), h = runif(70))
  transform(space, z = rnorm(70) + 2 * h, w = rnorm(70) - h)
})

test_that("horizontal and vertical directions in three-dimensional space agree with gstat", {
  skip_if_not_installed("gstat")
  for (alpha in list(NULL, c(0, 45))) {
    ours <- gp_variogram(z ~ x, space, coords = ~ x + y + h, cutoff = 0.6, width = 0.2, alpha = alpha, beta = c(0, 90),
                         tol.ver = 30)
    expected <- gstat::variogram(z ~ x, ~ x + y + h, space, cutoff = 0.6, width = 0.2, alpha = alpha %||% 0,
                                 beta = c(0, 90), tol.ver = 30)
    expect_same_variogram(ours, expected)
    expect_equal(ours$dir.ver, expected$dir.ver)
  }
})

test_that("the pairs in a direction agree with a loop over angles, whatever the order of the points", {
  # If the direction of a pair in the plane differs from alpha by more than 90 degrees, the pair is reversed. Without
  # alpha, the sign of the difference in h is ignored.
  loop <- function(alpha, beta) {
    variograms <- list()
    for (i in 2:70) for (j in 1:(i - 1)) {
      gap <- unlist(space[i, c("x", "y", "h")] - space[j, c("x", "y", "h")])
      flat <- sqrt(sum(gap[1:2]^2))
      azimuth <- if (is.null(alpha)) 0 else (atan2(gap[1], gap[2]) * 180 / pi - alpha) %% 360
      turned <- !is.null(alpha) && azimuth > 90 && azimuth < 270
      off <- min(azimuth %% 180, 180 - azimuth %% 180)
      dip <- atan2(if (is.null(alpha)) abs(gap[3]) else if (turned) -gap[3] else gap[3], flat) * 180 / pi
      beside <- abs((dip - beta + 90) %% 180 - 90)
      if ((is.null(alpha) || off <= 40) && beside <= 20 && sum(gap^2) <= 0.6^2) variograms <- c(variograms,
                                                                                                list(c(i, j)))
    }
    do.call(rbind, variograms)
  }
  for (alpha in list(NULL, 30, 200)) for (beta in c(0, 35, -50, 90)) {
    if (is.null(alpha) && beta < 0) next
    pairs <- loop(alpha, beta)
    of <- \(data, ...) gp_variogram(z ~ 1, data, c(0, 0.6), coords = ~ x + y + h, alpha = alpha, tol = 40, beta = beta,
                                    tol.ver = 20, ...)
    for (data in list(space, space[70:1, ])) {
      expect_equal(of(data)$np, nrow(pairs))
      expect_equal(of(data)$gamma, mean((space$z[pairs[, 1]] - space$z[pairs[, 2]])^2) / 2)
      expect_equal(of(data)$dir.ver, beta)
    }
    cloud <- of(space, cloud = TRUE)
    expect_setequal(paste(cloud$left, cloud$right), paste(pairs[, 1], pairs[, 2]))
    expect_equal(of(space, estimator = "genton")$np, nrow(pairs))
    expect_equal(of(space, estimator = "genton")$dir.ver, beta)
    both <- gp_variogram(cbind(z, w) ~ 1, space, c(0, 0.6), coords = ~ x + y + h, alpha = alpha, tol = 40, beta = beta,
                         tol.ver = 20)
    gap <- space[pairs[, 1], ] - space[pairs[, 2], ]
    expect_equal(both$gamma[both$id == "z.w"], mean(gap$z * gap$w) / 2)
  }
})

test_that("a model in three dimensions is fitted to directional variograms, and a plot shows model and variograms", {
  model <- exponential(1.3, c(0.4, 0.4, 0.1)) + nugget(0.05)
  v <- gp_variogram(z ~ 1, space, coords = ~ x + y + h, cutoff = 0.6, alpha = c(0, 90), beta = c(0, 90), tol = 45,
                    tol.ver = 45)
  curves <- kernops:::variogram_curves(v, model)
  up <- curves$dir.ver == 90
  expect_equal(curves$gamma, 0.05 + 1.3 * (1 - exp(-curves$dist / ifelse(up, 0.1, 0.4))))
  v$gamma <- 0.05 + 1.3 * (1 - exp(-v$dist / ifelse(v$dir.ver == 90, 0.1, 0.4)))
  found <- fit_variogram(v, exponential(1, c(0.3, 0.3, 0.2)) + nugget(0.1))
  expect_equal(unname(coef(gp(z ~ 1, space, ~ x + y + h, found, estimate = "none"), "covariance")),
               c(1.3, 0.4, 0.4, 0.1, 0.05), tolerance = 1e-3)
  withr::local_pdf(NULL)
  expect_silent(plot(v, model))
  skip_if_not_installed("ggplot2")
  expect_s3_class(ggplot2::ggplot_build(ggplot2::autoplot(v, model))$plot, "ggplot")
})

test_mistakes("kernops_input_error", alist(
  `directions of space in the plane` = gp_variogram(z ~ 1, space, coords = ~ x + y, beta = 90),
  `directions of space that are no numbers` = gp_variogram(z ~ 1, space, coords = ~ x + y + h, beta = "up"),
  `a vertical tolerance above 90` = gp_variogram(z ~ 1, space, coords = ~ x + y + h, beta = 90, tol.ver = 100),
  `directions on a line` = gp_variogram(dist ~ 1, cars, coords = ~ speed, alpha = 0),
  `robust cross-variogram` = gp_variogram(cbind(dist, speed) ~ 1, cars, coords = ~ speed, estimator = "cressie"),
  `cutoff of 0` = gp_variogram(dist ~ 1, cars, coords = ~ speed, cutoff = 0),
  `width of 0` = gp_variogram(dist ~ 1, cars, coords = ~ speed, width = 0),
  `tolerance above 90` = gp_variogram(dist ~ 1, cars, coords = ~ speed + dist, alpha = 0, tol = 91),
  `variable that is missing` = gp_variogram(height ~ 1, cars, coords = ~ speed)
))

test_that("Genton's estimator agrees with its definition, and resists outliers", {
  withr::local_seed(51)
  u <- cbind(runif(40), round(runif(40), 1))
  u[2, 1] <- u[1, 1] # equal first coordinates, so that the second coordinate decides
  y <- round(rnorm(40), 2)
  breaks <- c(0, 0.05, 0.1, 0.3, 0.6)
  pairs <- t(combn(40, 2))
  h <- u[pairs[, 1], ] - u[pairs[, 2], ]
  gap <- y[pairs[, 1]] - y[pairs[, 2]]
  gap <- ifelse(h[, 1] > 0 | h[, 1] == 0 & h[, 2] > 0, gap, -gap)
  distance <- sqrt(rowSums(h^2))
  small <- c(0.399, 0.994, 0.512, 0.844, 0.611, 0.857, 0.669, 0.872)
  expected <- t(sapply(seq_len(4), \(k) {
    v <- gap[distance > breaks[k] & distance <= breaks[k + 1]]
    n <- length(v)
    d <- if (n < 10) small[n - 1] else n / (n + if (n %% 2) 1.4 else 3.8)
    c(n, (d * 2.219144465985076 * sort(dist(v))[choose(n %/% 2 + 1, 2)])^2 / 2)
  }))
  variogram <- gp_variogram(u, y, breaks, estimator = "genton")
  expect_equal(as.matrix(variogram[c("np", "gamma")]), expected, tolerance = 1e-12, ignore_attr = TRUE)
  order <- sample(40)
  expect_equal(gp_variogram(u[order, ], y[order], breaks, estimator = "genton"), variogram, tolerance = 1e-12)
  # the estimator is consistent for normal values, and 10 % of outliers hardly change the estimate
  u <- cbind(runif(800), runif(800))
  y <- rnorm(800, sd = 2)
  expect_equal(gp_variogram(u, y, 3, estimator = "genton")$gamma, rep(4, 3), tolerance = 0.1)
  y[1:40] <- 50
  expect_lt(max(gp_variogram(u, y, 3, estimator = "genton")$gamma), 8)
  expect_gt(min(gp_variogram(u, y, 3)$gamma), 50)
})

test_that("cross-variograms of different pairs of variables are different classes, whatever the names", {
  withr::local_seed(41)
  d <- data.frame(x = runif(40), p = rnorm(40), q = rnorm(40), r = rnorm(40), s = rnorm(40))
  plain <- gp_variogram(cbind(p, q, r, s) ~ 1, d, breaks = 3, coords = ~ x)
  dotted <- gp_variogram(cbind(a = p, a.b = q, b.c = r, c = s) ~ 1, d, breaks = 3, coords = ~ x)
  expect_identical(as.vector(table(dotted$id)), as.vector(table(plain$id)))
  expect_identical(dotted$gamma, plain$gamma)
})
