# Predictions from many noisy observations in memory, cell by cell. The tests lower the number of observations from
# which this method is used. Oracles: kriging by dense matrices in plain R, and the field at all observations.

# Noisy observations in the unit square, dense new points in its centre, and kriging with an estimated mean.
kriged_case <- function(n = 1500, new = 600, noise = 0.5, range = 0.3) {
  withr::local_seed(3)
  d <- data.frame(x = runif(n), y = runif(n))
  p <- data.frame(x = runif(new, 0.4, 0.6), y = runif(new, 0.4, 0.6))
  h <- sqrt(3) * as.matrix(dist(rbind(d, p))) / range
  k <- (1 + h) * exp(-h)
  seen <- seq_len(n)
  root <- chol(k[seen, seen] + diag(noise, n))
  d$z <- as.vector(crossprod(chol(k[seen, seen] + diag(1e-9, n)), rnorm(n))) + sqrt(noise) * rnorm(n)
  half <- backsolve(root, cbind(d$z, 1, k[seen, -seen]), transpose = TRUE)
  one <- half[, 2]
  mean <- sum(one * half[, 1]) / sum(one^2)
  gap <- 1 - crossprod(half[, -(1:2)], one)
  list(d = d, new = p, model = matern(3/2, 1, range) + nugget(noise),
       fit = mean + as.vector(crossprod(half[, -(1:2)], half[, 1] - mean * one)),
       cov = unname(k[-seen, -seen] - crossprod(half[, -(1:2)]) + tcrossprod(gap) / sum(one^2)))
}

fit_of_case <- function(case) {
  gp(z ~ 1, case$d, ~ x + y, case$model, "vecchia", "none", neighbours = 30)
}

by_cells <- function(fit) {
  fit$vecchia$observed <- fit$vecchia$new
  with_latent_field(fit)
}

errors_of <- function(fit, new, ...) predict(fit, new, se.fit = TRUE, interval = "confidence", ...)

test_that("standard errors of dense new points from noisy observations agree with kriging", {
  replaced_locally(few_latent = 0, most_latent = 0)
  case <- kriged_case()
  se <- sqrt(diag(case$cov))
  fit <- fit_of_case(case)
  expect_null(fit$vecchia$field)
  # with the default number of neighbours, standard errors are 2.5 % too small
  joint <- errors_of(fit, case$new, control = gp_control(neighbours = 120))
  expect_equal(mean(joint$se.fit / se), 1, tolerance = 0.01)
  expect_lt(sd(joint$se.fit / se), 0.02)
  expect_lt(sqrt(mean(((joint$fit - case$fit) / se)^2)), 0.2)
  total <- errors_of(fit, case$new, sums = rep(1, nrow(case$new)))
  expect_equal(total$se.fit, sqrt(sum(case$cov)), tolerance = 0.05)
  small_cells(400, 60)
  cells <- errors_of(by_cells(fit), case$new)
  expect_equal(mean(cells$se.fit / se), 1, tolerance = 0.01)
  expect_lt(sd(cells$se.fit / se), 0.02)
  expect_lt(sqrt(mean(((cells$fit - case$fit) / se)^2)), 0.1)
})

test_that("predictions by cells agree with the field at all observations if halos contain all observations", {
  small_cells(400, 60)
  case <- kriged_case(new = 40)
  case$d$w <- case$d$x^2
  case$new$w <- case$new$x^2
  fit <- gp(z ~ w, case$d, ~ x + y, case$model, "vecchia", "none", neighbours = 30)
  replaced_locally(few_latent = 0, most_latent = 0, halo_share = 1e3, small_share = 1e-18)
  fit <- by_cells(fit)
  fit$vecchia$new <- 120L
  blocks <- with_cells(fit)$blocks
  expect_gt(sum(blocks$rows > 0), 3)
  order <- order_of_table(list(blocks = blocks))
  same <- gp(z ~ w, case$d[order, ], ~ x + y, case$model, "vecchia", "none", neighbours = 30, ordering = "given")
  same[c("beta", "state")] <- fit[c("beta", "state")]
  same$vecchia[c("field", "local", "new")] <- list(25L, 120L, 120L)
  same$prepared <- nearest_conditioning(same, field_base(same, gaussian_system(same), NULL))
  expect_equal(errors_of(fit, case$new, probs = 0.2), errors_of(same, case$new, probs = 0.2), tolerance = 1e-8)
  expect_equal(predict(fit, case$new, type = "terms"), predict(same, case$new, type = "terms"), tolerance = 1e-8)
})

test_that("predictions by cells do not depend on other calls, and agree with covariances, sums, draws and maps", {
  replaced_locally(few_latent = 0, most_latent = 0)
  small_cells(400, 60)
  case <- kriged_case(new = 200)
  fit <- by_cells(fit_of_case(case))
  all <- errors_of(fit, case$new)
  expect_identical(do.call(rbind, lapply(c(7, 150), function(k) errors_of(fit, case$new[k, ]))), all[c(7, 150), ],
                   ignore_attr = TRUE)
  expect_equal(predict(fit, case$new), all$fit, ignore_attr = TRUE)
  some <- errors_of(fit, case$new[1:50, ], cov = TRUE)
  expect_equal(sqrt(diag(some$cov)), all$se.fit[1:50], ignore_attr = TRUE)
  expect_lt(max(abs(cov2cor(some$cov) - cov2cor(case$cov[1:50, 1:50]))), 0.05)
  draws <- simulate(fit, 400, seed = 1, newdata = case$new[1:50, ])
  expect_equal(mean(apply(as.matrix(draws), 1, sd) / all$se.fit[1:50]), 1, tolerance = 0.05)
  skip_if_not_installed("terra")
  map <- terra::rast(nrows = 12, ncols = 12, xmin = 0.2, xmax = 0.8, ymin = 0.2, ymax = 0.8, crs = "")
  centres <- as.data.frame(terra::xyFromCell(map, 1:144))
  file <- withr::local_tempfile(fileext = ".tif")
  layers <- errors_of(fit, map, filename = file, window = 50)
  expect_equal(terra::values(layers)[, "se.fit"], errors_of(fit, centres)$se.fit, ignore_attr = TRUE, tolerance = 1e-6)
})
