# Joint predictions by Vecchia's approximation for fits with a family, random effects and smooths. With all locations as
# neighbours, the oracle is the exact method with dense matrices. With few neighbours, predictions are compared with
# draws, and with predictions by other tiles.

d <- withr::with_seed(2, {
  d <- data.frame(a = runif(70, 0, 10), b = runif(70, 0, 10), z = rnorm(70), site = factor(sample(1:8, 70, TRUE)))
  d[69:70, c("a", "b")] <- d[1:2, c("a", "b")] # repeated locations
  d$count <- rpois(70, exp(1 + sin(d$a) + 0.3 * d$z + rnorm(8, 0, 0.7)[d$site]))
  d
})
# two points at one location, a new level at two points, and the location of an observation
new <- data.frame(a = c(1, 1.2, 5, 9, 9, d$a[3]), b = c(1, 1.2, 5, 2, 2, d$b[3]), z = c(0, 1, 0, 2, 1, 0),
                  site = c("1", "1", "9", "9", "10", "2"))
field <- matern(3/2, 1, 2, fixed = c("variance", "range"))
fits <- list(
  levels = gp(count ~ z + (1 | site), d, ~ a + b, field, family = poisson()),
  slopes = gp(count ~ 1 + (z | site), d, ~ a + b, field, family = negative_binomial(2)),
  nugget = gp(count ~ z + (1 | site), d, ~ a + b, field + nugget(0.2, fixed = "variance"), family = poisson())
)
by_all <- \(fit) update(fit, method = "vecchia", neighbours = 69)
# by default, points are conditioned jointly unless all locations are neighbours
joint <- \(fit, ...) predict(fit, new, joint = TRUE, ...)

for (name in names(fits)) test_that(paste("joint predictions with all neighbours are exact:", name), {
  exact <- fits[[name]]
  near <- by_all(exact)
  link <- \(f, fit, ...) f(fit, ..., type = "link", se.fit = TRUE, cov = TRUE)
  plain <- \(fit, ...) predict(fit, new, ...)
  expect_equal(link(joint, near), link(plain, exact), tolerance = 1e-5)
  sums <- cbind(rep(1, 6), c(1, -1, 0, 2, 0, 1))
  expect_equal(link(joint, near, sums = sums), link(plain, exact, sums = sums), tolerance = 1e-5)
  expect_equal(link(joint, near, block = c(0.5, 0.5)), link(plain, exact, block = c(0.5, 0.5)), tolerance = 1e-5)
  expect_equal(joint(near, sums = sums, se.fit = TRUE), plain(exact, sums = sums, se.fit = TRUE), tolerance = 1e-4)
  for (part in c("trend", names(kernops:::covariance_terms(exact$model$covariance)))) {
    expect_equal(joint(near, se.fit = TRUE, type = "link", exclude = part),
                 plain(exact, se.fit = TRUE, type = "link", exclude = part), tolerance = 1e-4)
  }
})

test_that("draws have the mean and the covariance of the joint distribution", {
  near <- update(fits$levels, method = "vecchia", neighbours = 10)
  moments <- predict(near, new, type = "link", cov = TRUE)
  drawn <- simulate(near, 4000, seed = 1, newdata = new)
  se <- sqrt(diag(moments$cov))
  expect_lt(max(abs(rowMeans(drawn) - moments$fit) / se), 4 / sqrt(4000))
  expect_lt(max(abs(cov(t(drawn)) - moments$cov) / tcrossprod(se)), 0.08)
  # the points 4 and 5 share a location but have different levels
  expect_equal(cov2cor(moments$cov)[4, 5], cov2cor(predict(fits$levels, new, type = "link", cov = TRUE)$cov)[4, 5],
               tolerance = 0.05)
})

test_that("results do not depend on tiles", {
  near <- update(fits$levels, method = "vecchia", neighbours = 10)
  many <- withr::with_seed(1, data.frame(a = runif(120, 0, 10), b = runif(120, 0, 10), z = 0,
                                         site = sample(c("1", "2", "new", "other"), 120, TRUE)))
  results <- \() list(predict(near, many, type = "link", se.fit = TRUE), simulate(near, 3, seed = 1, newdata = many),
                      predict(near, many, sums = cbind(rep(1, 120), 1:120), se.fit = TRUE, type = "link", cov = TRUE))
  whole <- results()
  limit <- kernops:::joint_tile
  withr::defer(utils::assignInNamespace("joint_tile", limit, "kernops"))
  utils::assignInNamespace("joint_tile", 20, "kernops")
  expect_equal(results(), whole, tolerance = 1e-10)
})

test_that("conditioning on neighbouring new points improves predictions", {
  near <- update(fits$levels, method = "vecchia", neighbours = 8)
  grid <- expand.grid(a = seq(0, 10, length.out = 20), b = seq(0, 10, length.out = 20))
  grid <- data.frame(grid, z = 0, site = "1")
  total <- \(fit, ...) predict(fit, grid, sums = rep(1 / 400, 400), se.fit = TRUE, type = "link", ...)$se.fit
  exact <- total(fits$levels)
  expect_lt(abs(total(near) / exact - 1), 0.02)
  expect_lt(abs(total(near) / exact - 1), abs(total(near, joint = FALSE) / exact - 1) + 0.002)
})

test_that("joint predictions work with smooths, and with effects without a field", {
  skip_if_not_installed("mgcv")
  smooth <- gp(count ~ s(z, k = 5) + (1 | site), d, ~ a + b, field, family = poisson())
  expect_equal(joint(by_all(smooth), type = "link", se.fit = TRUE, cov = TRUE),
               predict(smooth, new, type = "link", se.fit = TRUE, cov = TRUE), tolerance = 1e-4)
  alone <- gp(count ~ z + (1 | site), d, covariance = nugget(0.1, fixed = "variance"), family = poisson())
  expect_equal(joint(update(alone, method = "vecchia"), type = "link", se.fit = TRUE),
               predict(alone, new, type = "link", se.fit = TRUE), tolerance = 1e-5)
})
