# Joint predictions of fits by Vecchia's approximation. With all points as neighbours, joint predictions equal the
# predictions of the exact method; with fewer neighbours, they are near the exact predictions.

case <- withr::with_seed(1, {
  case <- data.frame(a = runif(120), b = runif(120))
  field <- sin(5 * case$a) + case$b
  transform(case, z = field + rnorm(120, sd = 0.2), other = cos(4 * case$b) + case$a + rnorm(120, sd = 0.2),
            count = rpois(120, exp(field)), g = factor(sample(c("p", "q"), 120, TRUE)),
            noise = runif(120, 0.01, 0.1))
})
# some new points coincide with each other, and some with observations
new <- withr::with_seed(2, {
  new <- data.frame(a = runif(30), b = runif(30))
  new <- rbind(new, new[1:2, ], case[1:2, c("a", "b")])
  transform(new, g = factor(rep(c("p", "q"), 17)))
})
of <- matern(3/2, 1, 0.3)
fit_by <- \(method, formula = z ~ a, k = of + nugget(0.05), ...) {
  gp(formula, case, ~ a + b, k, method, "none", ..., control = gp_control(neighbours = 500))
}
numbers <- \(x) as.numeric(unlist(x))
expect_exact <- \(fit, ..., tolerance = 1e-7) {
  exact <- predict(fit("exact"), new, ...)
  joint <- predict(fit("vecchia"), new, ..., joint = TRUE, control = list(neighbours = 10000))
  expect_lt(max(abs(numbers(joint) - numbers(exact))), tolerance)
}

test_that("with all points as neighbours, means, standard errors and covariances are exact", {
  fields <- list(noisy = \(method) fit_by(method), exact = \(method) fit_by(method, k = of),
                 known = \(method) fit_by(method, known = list(noise = case$noise, beta = c(0.5, 1))),
                 smooth = \(method) fit_by(method, k = matern(5/2, 1, 0.3) + nugget(0.1)))
  for (fit in fields) {
    expect_exact(fit, se.fit = TRUE, interval = "confidence", cov = TRUE, tolerance = 1e-8)
    expect_exact(fit, tolerance = 1e-11)
    expect_exact(fit, se.fit = TRUE, interval = "prediction", probs = 0.1, above = 1)
    expect_exact(fit, se.fit = TRUE, interval = "confidence", block = c(0.1, 0.2), cov = TRUE, tolerance = 1e-6)
  }
})

test_that("with all neighbours, means are also exact with little noise, and if observations share a location", {
  for (noise in c(1e-3, 1e-6)) {
    expect_exact(\(method) fit_by(method, k = matern(5/2, 1, 0.3) + nugget(noise)), tolerance = 1e-9)
  }
  twice <- rbind(case, transform(case[1:40, ], z = z + 0.1))
  by <- \(method) gp(z ~ a, twice, ~ a + b, of + nugget(0.05), method, "none", control = gp_control(neighbours = 500))
  expect_exact(by, tolerance = 1e-9)
})

test_that("with all neighbours, groups, transformations, families and several variables are exact", {
  expect_exact(\(method) fit_by(method, group = g), se.fit = TRUE, interval = "confidence", cov = TRUE)
  expect_exact(\(method) fit_by(method, exp(z) ~ 1, transform = "log"), se.fit = TRUE, interval = "prediction")
  counts <- \(method) fit_by(method, count ~ 1, of, family = poisson())
  expect_exact(counts, se.fit = TRUE, cov = TRUE, tolerance = 1e-6)
  expect_exact(counts, se.fit = TRUE, type = "link", block = c(0.1, 0.1), tolerance = 1e-6)
  several <- lmc(matern(3/2, range = 0.3), nugget(), sills = list(matrix(c(1, 0.4, 0.4, 0.8), 2), c(0.05, 0.06)))
  two <- \(method) fit_by(method, cbind(z, other) ~ 1, several)
  expect_exact(two, se.fit = TRUE, interval = "confidence", cov = TRUE)
  expect_exact(two, se.fit = TRUE, interval = "confidence", cov = "variables")
})

test_that("draws have the mean and the covariance of the predictions", {
  counts <- fit_by("vecchia", count ~ 1, of, family = poisson())
  for (fit in list(fit_by("vecchia"), fit_by("vecchia", k = of), counts)) {
    fit$vecchia$joint <- TRUE
    expected <- if (is.null(fit$family)) {
      predict(fit, new, se.fit = TRUE, interval = "confidence", cov = TRUE)
    } else predict(fit, new, se.fit = TRUE, type = "link", cov = TRUE)
    draws <- kernops:::conditional_draws(fit, kernops:::new_points(fit, new, NULL), 4000, 100)
    sd <- sqrt(diag(expected$cov))
    expect_lt(max(abs(rowMeans(draws) - expected$fit$fit) / pmax(sd, 1e-6)), 5 / sqrt(4000))
    expect_lt(max(abs(cov(t(draws)) - expected$cov) / pmax(outer(sd, sd), 1e-6)), 5 * sqrt(2 / 4000))
  }
})

test_that("in a gap, joint predictions and their errors are nearer to exact results than local predictions are", {
  withr::local_seed(3)
  u <- matrix(runif(1600), 800)
  gap <- abs(u[, 1] - 0.5) < 0.2 & abs(u[, 2] - 0.5) < 0.2
  k <- exponential(1, 0.3) + nugget(0.01)
  data <- data.frame(u, z = simulate(gp(rep(0, 800) ~ 0, coords = u, covariance = k, estimate = "none"), seed = 1,
                                     conditional = FALSE)[, 1])
  fit <- \(method) gp(z ~ 1, data[!gap, ], ~ X1 + X2, k, method, "none")
  at <- \(fit, ...) predict(fit, data[gap, ], se.fit = TRUE, interval = "confidence", ...)
  few <- list(neighbours = 15)
  exact <- at(fit("exact"))
  off <- \(p) sqrt(mean((p$fit - exact$fit)^2 / exact$se.fit^2))
  joint <- at(fit("vecchia"), control = few)
  expect_lt(off(joint), 0.7 * off(at(fit("vecchia"), control = few, joint = FALSE)))
  expect_lt(max(abs(joint$se.fit / exact$se.fit - 1)), 0.1)
  # the default settings
  expect_lt(off(at(fit("vecchia"))), 0.05)
})

test_that("few observations are all neighbours by default, and predictions do not depend on other new points", {
  fit <- gp(z ~ 1, case[1:50, ], ~ a + b, of + nugget(0.05), "vecchia", "none")
  expect_equal(predict(fit, new[4:6, ]), predict(fit, new)[4:6], tolerance = 1e-12)
})

test_that("threads, missing coordinates, empty data and mistakes are treated as in local predictions", {
  fit <- gp(z ~ 1, case, ~ a + b, of + nugget(0.05), "vecchia", "none", control = gp_control(neighbours = 10))
  run <- \(threads) {
    local_kernops(threads = threads)
    predict(fit, new, se.fit = TRUE, interval = "confidence", joint = TRUE)
  }
  expect_identical(run(2), run(1))
  missing <- predict(fit, transform(new, a = replace(a, 3, NA)), joint = TRUE)
  expect_equal(which(is.na(missing)), 3, ignore_attr = TRUE)
  expect_identical(nrow(predict(fit, new[0, ], se.fit = TRUE, interval = "confidence", joint = TRUE)), 0L)
  expect_snapshot(error = TRUE, {
    predict(fit, new, joint = NA)
    predict(gp(z ~ 1, case, ~ a + b, of, "exact", "none"), new, joint = TRUE)
  })
})

test_that("predictions by tiles have the same bits as one call for all new points, for points, blocks and draws", {
  many <- withr::with_seed(4, data.frame(a = runif(700), b = runif(700)))
  many[691:700, ] <- many[1:10, ]
  many[681:690, ] <- case[1:10, c("a", "b")]
  few <- \(...) gp(..., method = "vecchia", estimate = "none", control = gp_control(neighbours = 10))
  fits <- list(few(z ~ a, case, ~ a + b, of + nugget(0.05)), few(z ~ a, case, ~ a + b, of),
               few(count ~ 1, case, ~ a + b, of, family = poisson()))
  run <- \(fit) list(predict(fit, many, type = "link", se.fit = TRUE, interval = "confidence"),
                     predict(fit, many[1:200, ], type = "link", block = c(0.1, 0.05), interval = "confidence"),
                     simulate(fit, 2, seed = 1, newdata = many))
  kept <- kernops:::joint_tile
  withr::defer(utils::assignInNamespace("joint_tile", kept, "kernops"))
  whole <- lapply(fits, run)
  for (size in c(60, 333)) {
    utils::assignInNamespace("joint_tile", size, "kernops")
    local_kernops(threads = if (size == 60) 1 else 2)
    expect_identical(lapply(fits, run), whole)
  }
})
