# microscale(), a nugget that belongs to the field, against noise, package gstat and plain R.

seen <- withr::with_seed(71, smooth_case(60, noise = 0.3))
new <- withr::with_seed(72, data.frame(a = runif(15), b = runif(15), w = rnorm(15)))
in_field <- \(...) matern(3/2, 1.3, 0.4) + microscale(0.05)
fits <- function(covariance, formula = z ~ w, ...) gp(formula, seen, ~ a + b, covariance, estimate = "none", ...)

test_that("predictions of new observations include the microscale variation, except at observed locations", {
  for (method in c("exact", "vecchia", "iterative")) {
    settings <- gp_control(neighbours = 59, cg_tol = 1e-12, probes = 0)
    field <- fits(in_field(), method = method, control = settings)
    noise <- fits(given(), method = method, control = settings)
    expect_equal(predict(field, new, se.fit = TRUE, interval = "confidence"),
                 predict(noise, new, se.fit = TRUE, interval = "prediction"), tolerance = 1e-5, info = method)
    # at observed locations, the field equals the observation
    here <- predict(field, seen[1:20, ], se.fit = TRUE, interval = "confidence")
    expect_equal(here$fit, seen$z[1:20], tolerance = 1e-6)
    expect_lt(max(here$se.fit), 1e-3, label = paste("the largest standard error of", method))
  }
})

test_that("means over blocks contain neither the nugget nor the microscale variation, as in gstat", {
  skip_if_not_installed("gstat")
  skip_if_not_installed("sp")
  where <- seen
  sp::coordinates(where) <- c("a", "b")
  targets <- rbind(new, seen[1:10, c("a", "b", "w")])
  there <- targets
  sp::coordinates(there) <- c("a", "b")
  model <- gstat::vgm(1.2, "Sph", 0.5, 0.1, Err = 0.2)
  both <- fits(model)
  theirs <- as.data.frame(gstat::krige(z ~ w, where, sp::SpatialPointsDataFrame(sp::coordinates(there), there@data),
                                       model, block = c(0.1, 0.1), debug.level = 0))
  away <- seq_len(nrow(new))
  ours <- predict(both, targets, se.fit = TRUE, interval = "confidence", block = c(0.1, 0.1))
  expect_equal(ours$fit[away], theirs$var1.pred[away], tolerance = 1e-7)
  expect_equal(ours$se.fit[away]^2, theirs$var1.var[away], tolerance = 1e-6)
  expect_equal(unname(diag(predict(both, targets, cov = TRUE, block = c(0.1, 0.1))$cov)), ours$se.fit^2,
               tolerance = 1e-8)
})

test_that("in a model without a nugget, microscale variation has the estimate that a nugget would have", {
  noise <- gp(z ~ w, seen, ~ a + b, matern(3/2) + nugget())
  field <- gp(z ~ w, seen, ~ a + b, matern(3/2) + microscale())
  expect_equal(as.numeric(logLik(field)), as.numeric(logLik(noise)), tolerance = 1e-6)
  expect_equal(unname(coef(field, "covariance")), unname(coef(noise, "covariance")), tolerance = 1e-3)
  near <- update(field, method = "vecchia", control = gp_control(neighbours = 59))
  expect_equal(as.numeric(logLik(near)), as.numeric(logLik(noise)), tolerance = 1e-4)
})

test_that("with several observations at a location, the nugget and the microscale variation are both estimated", {
  twice <- rbind(seen, withr::with_seed(73, transform(seen, z = z + rnorm(60, sd = 0.2))))
  fit <- gp(z ~ 1, twice, ~ a + b, matern(3/2) + microscale() + nugget())
  theta <- coef(fit, "covariance")
  same <- as.matrix(dist(twice[c("a", "b")])) == 0
  value <- function(s) {
    K <- covariance_of(twice[c("a", "b")], exp(s[1]), exp(s[2]), 0) + exp(s[3]) * same + diag(exp(s[4]), 120)
    oracle_likelihood(K, twice$z, matrix(1, 120))$value
  }
  expect_equal(value(log(theta)), deviance(fit), tolerance = 1e-8)
  found <- optim(log(theta), value, method = "BFGS")
  expect_equal(found$value, deviance(fit), tolerance = 1e-6)
})

test_that("draws have a single value of microscale variation at each location", {
  fit <- fits(matern(3/2, 0.001, 0.4) + microscale(1), z ~ 0, known = list(beta = 0))
  at <- rbind(new, new)
  for (limit in c(1e4, 10)) {
    fit$how$control$exact_limit <- limit
    draws <- simulate(fit, 200, seed = 1, newdata = at, conditional = FALSE)
    expect_equal(unname(draws[1:15, ]), unname(draws[16:30, ]))
    expect_equal(var(as.vector(draws[1:15, ])), 1, tolerance = 0.1)
  }
  expect_equal(unname(simulate(fits(in_field()), 2, seed = 1, newdata = seen[1:5, ])[, 1]), seen$z[1:5],
               tolerance = 1e-6)
})

test_mistakes("kernops_input_error", alist(
  `two parts of a nugget that cannot be told apart` =
    gp(z ~ 1, seen, ~ a + b, matern(3/2) + microscale() + nugget()),
  `a product with microscale variation` = microscale() * matern()
))
