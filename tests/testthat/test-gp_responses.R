fit_responses_of <- function(data, ..., null_draws = 0, covariance = exponential() + nugget(),
                             responses = "independent") {
  x <- data$x
  Y <- data$Y
  gp(Y ~ x, data$sites, ~ a + b, covariance, responses = responses, null_draws = null_draws, ...)
}

test_that("with all neighbours, log-likelihoods agree with dense Gaussian densities", {
  data <- some_responses(40)
  table <- as.data.frame(fit_responses_of(data, neighbours = 39))
  distance <- as.matrix(dist(data$sites))
  X <- cbind(1, data$x)
  for (j in 1:4) {
    K <- table$exponential.variance[j] * exp(-distance / table$exponential.range[j]) +
      diag(table$nugget.variance[j], 40)
    expect_equal(table$logLik[j], dense_loglik(data$Y[, j], X, K), tolerance = 1e-9)
    expect_equal(table$logLik[j], dense_loglik(data$Y[, j], X, K, c(table[j, "(Intercept)"], table$x[j])),
                 tolerance = 1e-9)
    loss <- function(p) -dense_loglik(data$Y[, j], X, exp(p[1]) * exp(-distance / exp(p[2])) + diag(exp(p[3]), 40))
    starts <- expand.grid(log(c(0.1, 1)), log(c(0.03, 0.1, 0.4)), log(c(0.1, 0.7)))
    best <- min(apply(starts, 1, function(start) optim(start, loss, control = list(maxit = 2000))$value))
    expect_gt(table$logLik[j], -best - 1e-5)
  }
})

test_that("log-likelihoods agree with Vecchia's densities in plain R", {
  data <- some_responses()
  table <- as.data.frame(fit_responses_of(data, neighbours = 5))
  graph <- gp_neighbours(data$sites, 5)
  distance <- as.matrix(dist(data$sites))
  for (j in 1:4) {
    K <- table$exponential.variance[j] * exp(-distance / table$exponential.range[j]) +
      diag(table$nugget.variance[j], 80)
    beta <- c(table[j, "(Intercept)"], table$x[j])
    expect_equal(table$logLik[j], vecchia_loglik(data$Y[, j], cbind(1, data$x), K, graph, beta), tolerance = 1e-9)
  }
})

test_that("fits of many responses agree with single fits", {
  data <- some_responses(120)
  table <- as.data.frame(fit_responses_of(data))
  for (j in 1:4) {
    single <- estimated_fit(data$Y[, j], y ~ x, cbind(data$sites, x = data$x))
    expect_gt(table$logLik[j], single$loglik - 1e-5)
    same <- single_fit(data$Y[, j], table[j, ], y ~ x, cbind(data$sites, x = data$x), exponential)
    expect_equal(table$logLik[j], same$loglik, tolerance = 1e-9)
    expect_equal(unname(unlist(table[j, c("(Intercept)", "x")])), unname(same$beta), tolerance = 1e-6)
  }
})

test_that("restricted likelihoods, weights, offsets and subsets agree with single fits", {
  data <- some_responses(60, 2)
  frame <- data.frame(data$sites, x = data$x, w = rep(1:2, 30), o = rep(0:2, 20))
  Y <- data$Y
  kept <- c(1:20, 25:60)
  fit <- gp(Y ~ x + offset(o), frame, ~ a + b, exponential() + nugget(), estimate = "REML", weights = w, subset = kept,
            responses = "independent", null_draws = 0)
  table <- as.data.frame(fit)
  for (j in 1:2) {
    covariance <- exponential(table$exponential.variance[j], table$exponential.range[j]) +
      nugget(table$nugget.variance[j])
    single <- estimated_fit(Y[, j], y ~ x + offset(o), frame, estimate = "REML", weights = w, subset = kept)
    expect_equal(table$logLik[j], single$loglik, tolerance = 1e-6)
    same <- gp(y ~ x + offset(o), cbind(frame, y = Y[, j]), ~ a + b, covariance, "vecchia", "none", weights = w,
               subset = kept, neighbours = 10)
    expect_equal(table[j, "x"], same$beta[["x"]], tolerance = 1e-6)
  }
})

test_that("rows with missing values are omitted from the fit", {
  data <- some_responses(90)
  data$Y[c(3, 17, 40), 2] <- NA
  data$Y[5:30, 3] <- NaN
  fit <- fit_responses_of(data)
  table <- as.data.frame(fit)
  expect_equal(table$n, c(90, 87, 64, 90))
  for (j in 2:3) {
    rows <- which(!is.na(data$Y[, j]))
    y <- data$Y[rows, j]
    sites <- cbind(data$sites, x = data$x)[rows, ]
    single <- estimated_fit(y, y ~ x, sites)
    expect_gt(table$logLik[j], single$loglik - 1e-5)
    same <- single_fit(y, table[j, ], y ~ x, sites, exponential)
    expect_equal(table$logLik[j], same$loglik, tolerance = 1e-9)
    new <- data.frame(a = c(0.2, 0.7), b = 0.4, x = c(0.5, 1))
    one <- predict(same, new, joint = FALSE, control = list(neighbours = 20))
    expect_equal(unname(predict(fit, new, nmax = 20)[, j]), unname(one), tolerance = 1e-8)
  }
})

test_that("responses without variation or values have rows of NA", {
  data <- some_responses(40)
  data$Y[, 1] <- 3
  data$Y[, 2] <- NA
  data$Y[-(1:3), 4] <- NA
  expect_snapshot(fit <- fit_responses_of(data))
  expect_message(fit_responses_of(data), class = "kernops_no_fit")
  table <- as.data.frame(fit)
  expect_equal(is.na(table$logLik), c(TRUE, TRUE, FALSE, TRUE))
  expect_equal(table$n[[3]], 40)
  expect_true(all(is.na(predict(fit, data.frame(a = 0.5, b = 0.5, x = 1))[, -3])))
})

test_that("a large mean and scale of the responses do not change results", {
  data <- some_responses(50, 1)
  data$Y <- cbind(data$Y, 1e9 + data$Y, 1e-20 * data$Y)
  table <- as.data.frame(fit_responses_of(data))
  expect_equal(table$exponential.range[[2]], table$exponential.range[[1]], tolerance = 1e-4)
  expect_equal(table$logLik[[2]], table$logLik[[1]], tolerance = 1e-6)
  expect_equal(table$logLik[[3]], table$logLik[[1]] + 50 * log(1e20), tolerance = 1e-9)
  expect_equal(table[2, "(Intercept)"], 1e9 + table[1, "(Intercept)"])
})

test_that("for all stationary kernels, likelihoods agree with single fits", {
  data <- some_responses(60, 2)
  kernels <- list(
    squared_exponential(), exponential(), matern(1/2), matern(5/2), matern(0.8), matern(NA), rational_quadratic(),
    spherical(), wendland(), circular(), pentaspherical(), powered_exponential(), matern(3/2, ard = TRUE),
    exponential() + matern(5/2), matern(3/2, angle = 30, ratio = 0.5), exponential(distance = "great_circle")
  )
  for (kernel in kernels) {
    fit <- fit_responses_of(data, covariance = kernel + nugget(), neighbours = 59)
    theta <- coef(fit)
    expect_true(all(is.finite(logLik(fit))), info = fit$model$formula)
    for (j in 1:2) {
      values <- with_values(fit$model, fit$theta[, j])
      single <- gp(y ~ x, data.frame(data$sites, x = data$x, y = data$Y[, j]), ~ a + b, values, "exact", "none")
      expect_equal(logLik(fit)[[j]], single$loglik, tolerance = 1e-8, info = fit$model$formula)
    }
  }
})

test_that("predictions agree with single fits", {
  data <- some_responses(70, 3)
  fit <- fit_responses_of(data)
  table <- as.data.frame(fit)
  new <- data.frame(a = runif(5), b = runif(5), x = runif(5))
  new$x[[4]] <- NA
  for (interval in c("confidence", "prediction")) {
    all <- predict(fit, new, se.fit = TRUE, interval = interval, nmax = 15)
    expect_equal(dim(all$fit), c(5, 3))
    for (j in 1:3) {
      single <- single_fit(data$Y[, j], table[j, ], y ~ x, cbind(data$sites, x = data$x), exponential)
      one <- predict(single, new, se.fit = TRUE, interval = interval, joint = FALSE,
                     control = list(neighbours = 15))
      expect_equal(unname(all$fit[, j]), one$fit, tolerance = 1e-7)
      expect_equal(unname(all$se.fit[, j]), one$se.fit, tolerance = 1e-6)
    }
  }
  expect_identical(predict(fit, new, responses = "y2", nmax = 15), predict(fit, new, nmax = 15)[, 2, drop = FALSE])
  expect_equal(dim(predict(fit)), c(70, 3))
  expect_identical(predict(fit[2:3], new), predict(fit[c("y2", "y3")], new))
})

test_that("fitted values, residuals and criteria agree with single fits, and update() changes the trend", {
  data <- some_responses(70, 3)
  data$Y[5, 2] <- NA
  data$x[[7]] <- NA
  x <- data$x
  fit <- fit_responses_of(data)
  table <- as.data.frame(fit)
  expect_equal(nobs(fit), c(y1 = 69, y2 = 68, y3 = 69))
  expect_equal(AIC(fit), setNames(10 - 2 * table$logLik, table$response))
  expect_equal(BIC(fit), setNames(5 * log(table$n) - 2 * table$logLik, table$response))
  expect_equal(unname(fitted(fit)), unname(predict(fit, cbind(data$sites, x = x)[-7, ])), tolerance = 1e-10)
  expect_equal(unname(residuals(fit)), unname(data$Y[-7, ] - fitted(fit)))
  expect_identical(formula(fit), Y ~ x, ignore_formula_env = TRUE)
  Y <- data$Y
  simple <- gp(Y ~ 1, data$sites, ~ a + b, exponential() + nugget(), responses = "independent", null_draws = 0)
  expect_equal(logLik(update(simple, . ~ x)), logLik(fit))
  expect_error(vcov(fit), "no standard errors", class = "kernops_input_error")
  expect_error(confint(fit), "no standard errors", class = "kernops_input_error")
  expect_error(AIC(fit_responses_of(data, responses = "common")), "common", class = "kernops_input_error")
})

test_that("sparse matrices, assays and columns of data may be matrices of responses", {
  skip_if_not_installed("Matrix")
  data <- some_responses(40)
  data$Y[abs(data$Y) < 0.7] <- 0
  whole <- as.data.frame(fit_responses_of(data))
  sparse <- Matrix::Matrix(data$Y, sparse = TRUE)
  expect_identical(as.data.frame(fit_responses_of(replace(data, "Y", list(sparse)))), whole)
  frame <- data.frame(data$sites, x = data$x)
  frame$Y <- data$Y
  of <- function(formula, frame, coords = ~ a + b) {
    as.data.frame(gp(formula, frame, coords, exponential() + nugget(), responses = "independent", null_draws = 0))
  }
  expect_identical(of(Y ~ x, frame), whole)
  frame[colnames(data$Y)] <- as.data.frame(data$Y)
  expect_identical(of(cbind(y1, y2, y3, y4) ~ x, frame), whole)
  experiment <- list(assays = list(logcounts = t(data$Y)), colData = data.frame(x = data$x),
                     spatialCoords = as.matrix(data$sites))
  expect_identical(of(logcounts ~ x, experiment), whole)
  # an object with the slots of a SpatialExperiment
  where <- new.env()
  setClass("StandInFrame", representation(listData = "list"), where = where)
  setClass("StandInAssays", representation(data = "ANY"), where = where)
  setClass("StandInExperiment", representation(assays = "ANY", colData = "ANY", int_colData = "ANY"), where = where)
  frame_of <- function(...) new("StandInFrame", listData = list(...))
  object <- new("StandInExperiment", colData = frame_of(x = data$x),
                int_colData = frame_of(spatialCoords = as.matrix(data$sites)),
                assays = new("StandInAssays", data = frame_of(logcounts = Matrix::Matrix(t(data$Y), sparse = TRUE))))
  expect_identical(of(logcounts ~ x, object), whole)
})

test_that("the number of threads and the size of blocks do not change results", {
  data <- some_responses(50, 40)
  one <- with_kernops(fit_responses_of(data), threads = 1)
  expect_identical(as.data.frame(with_kernops(fit_responses_of(data), threads = 3)), as.data.frame(one))
  expect_equal(coef(fit_responses_of(replace(data, "Y", list(data$Y[, 7:9])))), coef(one)[7:9, ], tolerance = 1e-10)
})

test_that("common parameters maximise the sum of the log-likelihoods", {
  data <- some_responses(60, 5)
  data$Y[4:6, 5] <- NA
  fit <- fit_responses_of(data, responses = "common")
  table <- as.data.frame(fit)
  expect_equal(length(unique(signif(table$exponential.range, 10))), 1)
  expect_equal(length(unique(signif(table$nugget.variance / table$exponential.variance, 10))), 1)
  graphs <- lapply(list(1:60, c(1:3, 7:60)), function(rows) gp_neighbours(data$sites[rows, ], 10))
  total <- function(range, ratio) {
    sum(vapply(1:5, function(j) {
      rows <- which(!is.na(data$Y[, j]))
      K <- exp(-as.matrix(dist(data$sites[rows, ])) / range) + diag(ratio, length(rows))
      X <- cbind(1, data$x)[rows, ]
      best <- function(scale) {
        U <- vecchia_root(scale * K, graphs[[if (j == 5) 2 else 1]])
        beta <- qr.coef(qr(U %*% X), U %*% data$Y[rows, j])
        vecchia_loglik(data$Y[rows, j], X, scale * K, graphs[[if (j == 5) 2 else 1]], beta)
      }
      optimize(best, table$exponential.variance[j] * c(0.3, 3), maximum = TRUE, tol = 1e-8)$objective
    }, 0))
  }
  range <- table$exponential.range[[1]]
  ratio <- table$nugget.variance[[1]] / table$exponential.variance[[1]]
  at <- total(range, ratio)
  expect_equal(sum(table$logLik), at, tolerance = 1e-8)
  for (factor in c(0.97, 1.03)) {
    expect_lt(total(range * factor, ratio), at)
    expect_lt(total(range, ratio * factor), at)
  }
})

test_that("p-values are uniformly distributed without a field", {
  set.seed(5)
  sites <- data.frame(a = runif(60), b = runif(60))
  Y <- matrix(rnorm(60 * 600), 60)
  fit <- gp(Y ~ 1, sites, ~ a + b, exponential() + nugget(), responses = "independent", null_draws = 600)
  table <- as.data.frame(fit, adjust = "none")
  expect_identical(table$p.adjusted, table$p.value)
  for (level in c(0.02, 0.1, 0.3)) {
    expect_lt(abs(mean(table$p.value <= level) - level), 4 * sqrt(2 * level * (1 - level) / 600))
  }
  expect_true(all(table$p.value[table$statistic == 0] == 1))
  expect_false(is.unsorted(-table$p.value[order(table$statistic)]))
  expect_equal(as.data.frame(fit)$p.adjusted, p.adjust(table$p.value, "BH"))
  # twice the difference from the log-likelihood of independent errors
  null <- apply(Y, 2, function(y) logLik(lm(y ~ 1)))
  expect_equal(table$statistic, pmax(0, 2 * (table$logLik - null)), tolerance = 1e-7)
})

test_that("small p-values follow a tail that extrapolates the draws", {
  set.seed(2)
  draws <- sort(rchisq(1000, 1))
  p <- null_p_values(c(draws[[900]], draws[[901]] + 1e-9, 25, 40), draws)
  expect_equal(p[[1]], 102 / 1001)
  expect_equal(p[[2]], 101 / 1001, tolerance = 1e-2)
  expect_true(all(diff(p) < 0))
  exact <- pchisq(c(25, 40), 1, lower.tail = FALSE)
  expect_true(all(p[3:4] / exact > 0.3 & p[3:4] / exact < 6))
  expect_equal(null_p_values(c(0, 4), NULL), c(1, pchisq(4, 1, lower.tail = FALSE) / 2))
})

test_that("predictions of maps have a layer for each response", {
  skip_if_not_installed("sf")
  data <- some_responses(40, 2)
  Y <- data$Y
  places <- sf::st_as_sf(data$sites, coords = c("a", "b"))
  fit <- gp(Y ~ 1, places, covariance = exponential() + nugget(), responses = "independent", null_draws = 0)
  plain <- predict(fit, places[1:3, ], se.fit = TRUE)
  expect_s3_class(plain, "sf")
  expect_named(sf::st_drop_geometry(plain), c("y1", "y2", "y1.se.fit", "y2.se.fit"))
  values <- predict(fit, sf::st_coordinates(places)[1:3, ])
  expect_equal(plain$y2, unname(values[, 2]))
  if (requireNamespace("terra", quietly = TRUE)) {
    map <- terra::rast(nrows = 4, ncols = 5, extent = c(0, 1, 0, 1), crs = "")
    layers <- predict(fit, map)
    expect_equal(names(layers), c("y1", "y2"))
    expect_equal(unname(terra::values(layers)[, 2]), unname(predict(fit, terra::xyFromCell(map, 1:20))[, 2]))
  }
  if (requireNamespace("stars", quietly = TRUE)) {
    map <- stars::st_as_stars(sf::st_bbox(places), nx = 4, ny = 3)
    expect_named(predict(fit, map), c("y1", "y2"))
  }
})

test_that("fits and tables are printed", {
  data <- some_responses(40)
  fit <- fit_responses_of(data, null_draws = 50)
  expect_snapshot({
    print(fit, n = 2)
    summary(fit, adjust = "holm")
    print(fit_responses_of(data, responses = "common"), n = 1)
  }, transform = function(lines) gsub("[0-9]+\\.[0-9]+(e[-+]?[0-9]+)?|(?<=  ) +", "", lines, perl = TRUE))
  skip_if_not_installed("generics")
  expect_equal(as.data.frame(generics::tidy(fit)), as.data.frame(fit), ignore_attr = TRUE)
})

test_that("the engine checks the sizes of responses and starting values", {
  model <- with_bounds(covariance_model(exponential() + nugget(), 1), matrix(1:4), 1:4)
  sets <- hold_sets(matrix(c(1, 2, 3, 4)), numeric(4), rep(1, 4), matrix(1, 4, 1), matrix(c(0L, 1:3), 1))
  held <- function(n) held_responses(set_operators(model), 3, sets, matrix(0, n, 2))
  expect_error(held(3)$products(c(1, 1, 1)), "each point has a set and a value of each response",
               class = "kernops_dim_error")
  parameters <- response_parameters(model)
  starts <- response_starts(model, matrix(c(1, 2, 3, 4)), parameters, 20)
  starts$near <- starts$near[, 1:3]
  expect_error(held(4)$optima(parameters, starts, FALSE), "each start has neighbours", class = "kernops_dim_error")
})

test_that("invalid calls are errors", {
  data <- some_responses(30, 2)
  Y <- data$Y
  sites <- data$sites
  of <- function(formula = Y ~ 1, ..., responses = "independent", covariance = exponential() + nugget()) {
    gp(formula, sites, ~ a + b, covariance, responses = responses, ...)
  }
  expect_snapshot(error = TRUE, {
    of(responses = "all")
    of(method = "exact")
    of(estimate = "none")
    of(family = poisson())
    of(known = list(beta = 1))
    of(transform = "log")
    of(group = ~ a)
    of(neighbours = "auto")
    of(covariance = exponential())
    of(covariance = nugget())
    of(covariance = exponential(1, fixed = "variance") + nugget())
    of(covariance = exponential() + linear() + nugget())
    of(covariance = periodic() * exponential() + nugget())
    of(covariance = lmc(exponential()))
    of(Y ~ (1 | a))
    of("a" ~ 1)
    of(list(1) ~ 1)
    of(absent ~ 1)
    of(Y[1:20, ] ~ 1)
    of(replace(Y, 3, Inf) ~ 1)
    of(Y[, 0] ~ 1)
    gp(Y ~ 1, function(from, to) sites[from:to, ], ~ a + b, responses = "independent")
    gp(counts ~ 1, list(assays = list(logcounts = t(Y)), colData = sites), ~ a + b, responses = "independent")
  })
  fit <- of(null_draws = 0)
  expect_snapshot(error = TRUE, {
    fit["y3"]
    fit[0]
    as.data.frame(fit, adjust = "none of these")
    predict(fit, sites, responses = 3)
    predict(fit, sites, nmax = 0)
    predict(fit, data.frame(a = 1))
    predict(fit, sites, level = 0.9)
    of(null_draws = -1)
  })
})
