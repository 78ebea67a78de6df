# Indicator kriging, against package gstat; code in plain R corrects the order of gstat's probabilities.

seen <- withr::with_seed(91, smooth_case(70, noise = 0.4))
new <- withr::with_seed(92, data.frame(a = runif(40), b = runif(40)))
cuts <- c(-0.5, 0, 0.3, 0.8)
covariance <- spherical(0.2, 0.4) + nugget(0.02)
fits <- gp_indicator(z ~ 1, seen, ~ a + b, cuts, covariance, estimate = "none")
corrected <- function(p) {
  p <- pmin(pmax(p, 0), 1)
  # the average of the upward correction by cummax() and the downward correction by cummin()
  (cummax(p) + rev(cummin(rev(p)))) / 2
}

test_that("probabilities agree with gstat after the correction of their order", {
  skip_if_not_installed("gstat")
  skip_if_not_installed("sp")
  where <- seen
  targets <- new
  sp::coordinates(where) <- sp::coordinates(targets) <- c("a", "b")
  for (nmax in c(12, Inf)) {
    theirs <- vapply(cuts, function(cut) {
      where$i <- as.numeric(where$z <= cut)
      gstat::krige(i ~ 1, where, targets, gstat::vgm(0.2, "Sph", 0.4, 0.02), nmax = nmax, debug.level = 0)$var1.pred
    }, numeric(40))
    expect_true(any(theirs < 0 | theirs > 1) && any(apply(theirs, 1, is.unsorted)))
    ours <- predict(fits, new, nmax = nmax)
    expect_identical(names(ours), c("below-0.5", "below0", "below0.3", "below0.8"))
    expect_equal(unname(as.matrix(ours)), t(apply(theirs, 1, corrected)), tolerance = 1e-8, ignore_attr = TRUE)
  }
})

test_that("quantiles are interpolated between the cut-offs, and missing beyond the cut-offs", {
  ours <- predict(fits, new, probs = c(0.3, 0.5))
  for (row in 1:40) {
    below <- unlist(ours[row, 1:4])
    for (p in c(0.3, 0.5)) {
      q <- ours[row, paste0("q", p)]
      if (p < below[[1]] || p > below[[4]]) expect_identical(q, NA_real_) else {
        expect_equal(approx(cuts, below, q)$y, p)
      }
    }
  }
})

test_that("predictions of maps are maps, and fits are estimated for each cut-off", {
  free <- exponential() + nugget(0.02, fixed = "variance")
  estimated <- gp_indicator(z ~ 1, seen, ~ a + b, c(0, 0.5), free)
  expect_output(print(estimated), "up to 0.5")
  theta <- coef(estimated$fits[[2]], "covariance")
  alone <- gp(as.numeric(z <= 0.5) ~ 1, seen, ~ a + b, free)
  expect_equal(theta, coef(alone, "covariance"))
  skip_if_not_installed("sf")
  ours <- predict(gp_indicator(z ~ 1, sf::st_as_sf(seen, coords = c("a", "b")), NULL, cuts, covariance,
                               estimate = "none"), sf::st_as_sf(new, coords = c("a", "b")))
  expect_s3_class(ours, "sf")
  expect_equal(ours$below0, predict(fits, new)$below0)
})

test_mistakes("kernops_input_error", alist(
  `cut-offs that do not ascend` = gp_indicator(z ~ 1, seen, ~ a + b, c(1, 0)),
  `a cut-off above all observations` = gp_indicator(z ~ 1, seen, ~ a + b, 99, covariance, estimate = "none"),
  `covariances for other cut-offs` = gp_indicator(z ~ 1, seen, ~ a + b, c(0, 1), list(covariance)),
  `an argument of indicator predictions that is not there` = predict(fits, new, se.fit = TRUE)
))

test_that("a single cut-off gives a data frame", {
  one <- gp_indicator(z ~ 1, seen, ~ a + b, 0.3, covariance, estimate = "none")
  ours <- predict(one, new)
  expect_named(ours, "below0.3")
  kriged <- predict(gp(as.numeric(z <= 0.3) ~ 1, seen, ~ a + b, covariance, estimate = "none"), new)
  expect_equal(ours$below0.3, unname(pmin(pmax(kriged, 0), 1)))
})
