# gp_propose(): criteria against numerical integration, gradients against differences, maxima against grids.

hills <- withr::with_seed(3, {
  d <- data.frame(a = runif(18, -1, 2), b = runif(18, 0, 4))
  transform(d, y = sin(3 * a) + (b - 2)^2 / 4 + 0.3 * a)
})
smooth <- gp(y ~ 1, hills, ~ a + b, matern(5/2, 1, c(0.8, 2)) + nugget(1e-4), estimate = "none")
box <- kernops:::proposal_box(smooth, NULL, NULL)
target_of <- function(criterion, fit = smooth, sign = 1, ...) {
  settings <- list(sign = sign, best = -0.5, threshold = 0.4, sds = 1.5, box = box)
  kernops:::proposal_target(criterion, fit, utils::modifyList(settings, list(...)))
}

slope_at <- function(...) as.vector(central_difference(...))

test_that("the logarithm of the expected excess agrees with the integral, even far in the tail", {
  z <- c(-1e4, -300, -30.01, -29.99, -12, -3, -1.01, -0.99, 0, 2, 9)
  expected <- vapply(z, \(z) {
    scale <- max(1, -z)
    integral <- integrate(\(v) v * exp(min(z, 0) * v / scale - (v / scale - max(z, 0))^2 / 2), 0, Inf,
                          rel.tol = 1e-12)$value / scale^2
    log(integral) + if (z > 0) -log(2 * pi) / 2 else dnorm(z, log = TRUE)
  }, 0)
  expect_equal(kernops:::log_expected_excess(z), expected, tolerance = 1e-10)
  expect_identical(kernops:::log_expected_excess(-Inf), -Inf)
})

test_that("criteria are integrals over the distribution of the field, and their derivatives agree with differences", {
  improvement <- \(m, s) integrate(\(y) (0.3 - y) * dnorm(y, m, s), -Inf, 0.3, rel.tol = 1e-10)$value
  near <- \(m, s) integrate(\(y) ((1.5 * s)^2 - (y - 0.3)^2) * dnorm(y, m, s), 0.3 - 1.5 * s, 0.3 + 1.5 * s,
                            rel.tol = 1e-10)$value
  measures <- list(kernops:::log_improvement(0.3), kernops:::log_contour(0.3, 1.5))
  for (m in c(-1, 0.2, 2)) for (s in c(0.4, 3)) {
    values <- c(improvement(m, s), near(m, s))
    for (k in 1:2) {
      measure <- measures[[k]](m, s)
      expect_equal(measure$value, log(values[[k]]), tolerance = 1e-8)
      expect_equal(measure$of_mean, slope_at(\(m) measures[[k]](m, s)$value, m), tolerance = 1e-5)
      expect_equal(measure$of_sd, slope_at(\(s) measures[[k]](m, s)$value, s), tolerance = 1e-5)
    }
  }
  far <- kernops:::log_contour(0, 2)(-40, 1) # far in the tail, the integral is computed from its leading terms
  expect_equal(far$value, dnorm(38, log = TRUE) + log(4 / 38^2 - 2 / 38^3 - 12 / 38^4), tolerance = 1e-6)
  expect_identical(kernops:::log_improvement(1)(c(2, 0.5), c(0, 0))$value, c(-Inf, log(0.5)))
})

test_that("moments of the field agree with predict(), and gradients of criteria with finite differences", {
  own <- covariance("v * Exp(-SqDist(x, y) / r + c * (x | y))", list(v = 1, r = 1.2, c = 0.1))
  fits <- list(smooth, update(smooth, . ~ a + I(b^2)), update(smooth, known = list(beta = 0.7)),
               update(smooth, covariance = own + nugget(1e-4)), update(smooth, y / 1e5 ~ offset(b) + sin(b)))
  x <- cbind(a = 0.41, b = 2.7)
  for (fit in fits) {
    predicted <- predict(fit, data.frame(x), se.fit = TRUE, interval = "confidence")
    expect_equal(target_of("ucb", fit)$posterior$moments(x), list(mean = predicted$fit, sd = predicted$se.fit),
                 ignore_attr = TRUE)
    for (criterion in c("log_ei", "ucb", "contour", "integrated variance")) for (sign in c(1, -1)) {
      target <- target_of(criterion, fit, sign)
      both <- target$both(x)
      expect_equal(both$value, target$value(x), tolerance = 1e-10)
      expect_equal(both$gradient, vapply(1:2, \(k) {
        slope_at(\(v) target$value(replace(x, k, v)), x[[k]], 2^-14)
      }, 0), tolerance = 1e-5, info = paste(criterion, sign))
    }
  }
})

test_that("proposals are at least as good as the best points of a fine grid", {
  grid <- expand.grid(a = seq(box[1, 1], box[2, 1], length.out = 60), b = seq(box[1, 2], box[2, 2], length.out = 60))
  at <- predict(smooth, grid, se.fit = TRUE, interval = "confidence")
  best <- min(fitted(smooth))
  z <- (best - at$fit) / at$se.fit
  improvement <- at$se.fit * (dnorm(z) + z * pnorm(z))
  for (criterion in c("ei", "log_ei", "ucb")) {
    new <- gp_propose(smooth, criterion = criterion)
    most <- max(switch(criterion, ei = improvement, log_ei = log(improvement), ucb = 2 * at$se.fit - at$fit))
    expect_gte(new$criterion, most - 1e-9)
    expect_lt(new$criterion - most, 0.05)
    expect_equal(predict(smooth, new), new$mean, ignore_attr = TRUE)
  }
  flipped <- gp_propose(update(smooth, -y ~ 1), criterion = "log_ei", minimise = FALSE)
  expect_equal(flipped[c("a", "b")], gp_propose(smooth)[c("a", "b")], tolerance = 1e-4)
})

test_that("the decrease of the mean variance agrees with adding an observation", {
  new <- gp_propose(update(smooth, . ~ a), c(a = -1, b = 0), c(b = 4, a = 2), "integrated variance")
  limits <- rbind(c(a = -1, b = 0), c(a = 2, b = 4))
  sites <- as.data.frame(kernops:::in_box(kernops:::even_points(256, 2), limits))
  mean_variance <- \(fit) mean(predict(fit, sites, se.fit = TRUE, interval = "confidence")$se.fit^2)
  fit <- update(smooth, . ~ a)
  after <- update(fit, newdata = cbind(new, y = 0), refit = FALSE)
  expect_equal(new$criterion, mean_variance(fit) - mean_variance(after), tolerance = 1e-8)
})

test_that("within a batch, predictions at earlier proposals are treated as observations", {
  batch <- gp_propose(smooth, batch = 3, criterion = "ucb")
  expect_identical(nrow(batch), 3L)
  believed <- update(smooth, newdata = transform(batch[1:2, ], y = mean), refit = FALSE)
  expect_equal(predict(believed, batch[3, ]), batch$mean[[3]], tolerance = 1e-6, ignore_attr = TRUE)
  se <- predict(believed, batch[3, ], se.fit = TRUE, interval = "confidence")$se.fit
  expect_equal(se, batch$se[[3]], tolerance = 1e-3)
  expect_gt(min(dist(batch[c("a", "b")])), 0.05)
  # the second proposal treats the predicted mean at the first proposal as an observation
  x <- c(0, 0.1, 0.2, 0.8, 0.9, 1)
  for (sign in c(1, -1)) {
    valley <- data.frame(x, y = sign * (x - 0.45)^2)
    fit <- gp(y ~ 1, valley, ~ x, matern(5/2, 1, 0.6), estimate = "none")
    batch <- gp_propose(fit, batch = 2, minimise = sign == 1)
    believed <- update(fit, newdata = transform(batch[1, ], y = mean), refit = FALSE)
    expect_equal(batch[2, ], gp_propose(believed, minimise = sign == 1, seed = 2), tolerance = 1e-3, ignore_attr = TRUE)
    expect_gt(abs(diff(batch$x)), 0.02)
  }
  # candidates are the points of a matrix, and locations have several observations
  sites <- as.matrix(hills[rep(1:18, 2), c("a", "b")])
  twice <- c(hills$y, hills$y + 0.1)
  fit <- gp(twice ~ 1, coords = sites, covariance = matern(5/2, 1, c(0.8, 2)) + nugget(1e-2), estimate = "none")
  batch <- gp_propose(fit, batch = 2)
  expect_named(batch, c("a", "b", "mean", "se", "criterion"))
  expect_equal(predict(fit, as.matrix(batch[1, 1:2])), batch$mean[[1]], tolerance = 1e-10, ignore_attr = TRUE)
})

test_that("proposals keep fixed coordinates, also if the expected improvement is nearly zero everywhere", {
  new <- gp_propose(smooth, lower = c(1, 0), upper = c(1, 4), best = -40)
  expect_identical(new$a, 1)
  expect_lt(new$criterion, -500)
})

not_plain <- gp(y ~ 1, hills, ~ log(b) + a, matern(5/2, 1, 1), estimate = "none")
test_mistakes("kernops_input_error", alist(
  fit = gp_propose(lm(y ~ a, hills)),
  method = gp_propose(update(smooth, method = "vecchia")),
  coordinates = gp_propose(not_plain),
  trend = gp_propose(gp(y ~ b, hills, ~ a, matern(5/2, 1, 1) + nugget(1), estimate = "none")),
  threshold = gp_propose(smooth, criterion = "contour"),
  order = gp_propose(smooth, lower = c(0, 5)),
  names = gp_propose(smooth, lower = c(a = 0, c = 1)),
  point = gp_propose(smooth, 1, 1),
  size = gp_propose(smooth, lower = 1:3)
))
