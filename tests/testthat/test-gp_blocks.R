# Fits of tables that are read in chunks, against fits in memory. A table is divided into cells: boxes of locations
# whose observations are processed together.

test_that("a fit of a table of one cell has the estimates of a fit in memory", {
  d <- table_data(800)
  fit <- fit_of_table(d, z ~ w + kind, matern(3/2) + nugget(), estimate = "ML", neighbours = 20)
  same <- gp(z ~ w + kind, d, ~ x + y, matern(3/2) + nugget(), "vecchia", neighbours = 20)
  expect_equal(fit$loglik, same$loglik, tolerance = 1e-6)
  expect_equal(coef(fit, "both"), coef(same, "both"), tolerance = 1e-2)
  expect_equal(vcov(fit, "both"), vcov(same, "both"), tolerance = 0.05)
  expect_identical(nobs(fit), 800)
  expect_equal(attr(logLik(fit), "df"), 7)
})

test_that("a fit of a table with many cells ends at its optimum, also with a range for each coordinate", {
  small_cells()
  d <- table_data(3000)
  for (covariance in list(matern(3/2) + nugget(), matern(3/2, ard = TRUE) + nugget())) {
    fit <- fit_of_table(d, z ~ w, covariance, estimate = "ML")
    expect_gt(length(fit$blocks$units), 8)
    same <- fit_in_memory(d, order_of_table(fit), z ~ w, covariance, "ML")
    expect_equal(fit$loglik, same$loglik, tolerance = 1e-4)
    expect_equal(fit$theta, same$theta, tolerance = 0.1)
    state <- block_likelihood(fit$blocks, fit$model, fit$how)$evaluate(fit$theta, search = TRUE)
    step <- state$gradient() * search_slope(fit$model$parameters, fit$theta)
    expect_lt(sum(step * solve(fit$search$information, step)) / 4, 0.02)
  }
})

test_that("a table whose covariance matrix is not positive definite is an error", {
  small_cells()
  expect_error(fit_of_table(table_data(800), z ~ 1, squared_exponential(0.5, 100)), "not positive definite[.]",
               class = "kernops_singular_error")
})

test_that("distances on the sphere and priors agree with fits in memory", {
  small_cells()
  withr::local_seed(2)
  d <- data.frame(long = runif(1200, -180, 180), lat = runif(1200, -60, 80))
  d$z <- sin(d$long / 30) + rnorm(1200, sd = 0.2)
  covariance <- exponential(0.5, 2000, distance = "great_circle") + nugget(0.05)
  fit <- gp(z ~ 1, gp_table(d), ~ long + lat, covariance, estimate = "none", neighbours = 10)
  same <- gp(z ~ 1, d[order_of_table(fit), ], ~ long + lat, covariance, "vecchia", "none", neighbours = 10,
             ordering = "given")
  expect_equal(fit$loglik, same$loglik, tolerance = 1e-6)
  prior <- list(range = pc_range(0.3, p = 0.05))
  d <- table_data(500)
  fit <- gp(z ~ w, gp_table(d), ~ x + y, estimate = "REML", prior = prior, neighbours = 15)
  same <- gp(z ~ w, d, ~ x + y, estimate = "REML", prior = prior, method = "vecchia", neighbours = 15)
  expect_equal(fit$theta, same$theta, tolerance = 1e-2)
})

test_that("rows with missing values are omitted, or raise an error on request", {
  d <- table_data(300)
  d$z[c(5, 200)] <- NA
  d$w[[7]] <- NA
  fit <- fit_of_table(d)
  expect_identical(nobs(fit), 297)
  expect_equal(fit$loglik, gp(z ~ w, d, ~ x + y, known_covariance(), "vecchia", "none", neighbours = 10)$loglik)
  expect_error(fit_of_table(d, na.action = na.fail), class = "kernops_input_error")
  d$z[[9]] <- Inf
  expect_error(fit_of_table(d), "must be finite: see row 9", class = "kernops_input_error")
})

test_that("coefficients of rare levels are estimated", {
  small_cells()
  replaced_locally(sample_size = 200)
  d <- table_data(2000)
  d$kind[[1999]] <- "rare"
  fit <- fit_of_table(d, z ~ kind)
  expect_identical(names(fit$beta), c("(Intercept)", "kindb", "kindc", "kindrare"))
  same <- fit_in_memory(d, order_of_table(fit), z ~ kind)
  expect_equal(fit$beta, same$beta, tolerance = 1e-9)
})

# Returns a function that reads a table. While `stops` is TRUE, the function raises an error from its seventh call on;
# `reads` counts the calls.
stopping_table <- function(d, state) {
  function(chunk) {
    state$reads <- state$reads + 1
    if (state$stops && state$reads > 3) stop("interrupted")
    rows <- (chunk - 1) * 250 + seq_len(250)
    if (rows[[1]] <= nrow(d)) d[rows, ]
  }
}

test_that("an interrupted fit resumes from its work directory", {
  small_cells()
  d <- table_data(1000)
  workdir <- withr::local_tempdir()
  state <- new.env()
  state$stops <- TRUE
  state$reads <- 0
  fit <- function(...) {
    gp(z ~ w, stopping_table(d, state), ~ x + y, known_covariance(), estimate = "none", neighbours = 10, ...)
  }
  expect_error(fit(workdir = workdir), "interrupted", class = "kernops_input_error")
  state$stops <- FALSE
  state$reads <- 0
  interrupted_at <- function(stage) {
    local_constant(stage, function(...) stop("interrupted"), environment())
    fit(workdir = workdir)
  }
  for (stage in c("sort_into_cells", "order_cells", "search_of_typical")) {
    expect_error(interrupted_at(stage), "interrupted")
  }
  expect_true(all(c("scan", "sorted", "ordered") %in% basename(list.files(workdir, recursive = TRUE))))
  # each of the three interrupted fits reads the first chunk, and the first of these fits also reads all chunks
  expect_identical(state$reads, 5 + 3)
  first <- fit(workdir = workdir)
  expect_equal(first$loglik, fit_of_table(d)$loglik, tolerance = 1e-12)
  state$reads <- 0
  again <- fit(workdir = workdir)
  expect_lte(state$reads, 1)
  expect_identical(again$loglik, first$loglik)
  # another model writes other files
  other <- gp(z ~ 1, stopping_table(d, state), ~ x + y, known_covariance(), estimate = "none", workdir = workdir)
  expect_length(list.files(workdir), 2)
})

test_that("a temporary work directory is deleted with the fit, and after an error", {
  gc(full = TRUE)
  before <- list.files(tempdir(), "^kernops-")
  fit <- fit_of_table(table_data(300))
  path <- fit$blocks$store$path
  expect_true(dir.exists(path))
  rm(fit)
  gc(full = TRUE)
  expect_false(dir.exists(path))
  expect_error(fit_of_table(table_data(300), z ~ w + I(2 * w)), "collinear", class = "kernops_input_error")
  gc(full = TRUE)
  expect_identical(setdiff(list.files(tempdir(), "^kernops-"), before), character())
})

test_that("a fit that was saved and read predicts from its work directory", {
  workdir <- withr::local_tempdir()
  d <- table_data(300)
  fit <- fit_of_table(d, workdir = workdir)
  path <- withr::local_tempfile()
  saveRDS(fit, path)
  again <- readRDS(path)
  expect_identical(predict(again, d[1:5, ]), predict(fit, d[1:5, ]))
  unlink(list.files(workdir, full.names = TRUE), recursive = TRUE)
  expect_identical(predict(again, d[1:5, ]), predict(fit, d[1:5, ])) # the field of the latest cell is in memory
  expect_error(predict(readRDS(path), d[1:5, ]), "work directory", class = "kernops_disk_error")
})

test_that("a request for a feature that fits of tables lack is an error that names the feature", {
  d <- table_data(60)
  table <- gp_table(d)
  expect_snapshot(error = TRUE, {
    gp(z ~ w, table, as.matrix(d[1:2]))
    gp(z ~ w, table, ~ x + y, family = poisson())
    gp(z ~ w, table, ~ x + y, transform = "boxcox")
    gp(z ~ w, table, ~ x + y, group = ~ kind)
    gp(z ~ w, table, ~ x + y, subset = x > 0)
    gp(z ~ w, table, ~ x + y, method = "exact")
    gp(z ~ w, table, ~ x + y, neighbours = "auto")
    gp(z ~ w, table, ~ x + y, ordering = "random")
    gp(z ~ w + (1 | kind), table, ~ x + y)
    gp(cbind(z, w) ~ 1, table, ~ x + y)
    gp(z ~ 1, table, ~ x + y, power_law())
    gp(nothing ~ w, table, ~ x + y)
    gp(z ~ w, table, ~ x + y, memory = "1 MB")
    gp(z ~ w, table, ~ x + y, memory = "much")
    gp(z ~ w, gp_table(d[0, ]), ~ x + y)
    gp(z ~ w, table, ~ x + y, weights = -weight)
  })
})

test_that("methods that need all observations raise errors, and fits of tables can be printed", {
  fit <- fit_of_table(table_data(200))
  expect_snapshot(error = TRUE, {
    weights(fit)
    model.matrix(fit)
    model.frame(fit)
    hatvalues(fit)
    rstandard(fit)
    cooks.distance(fit)
    simulate(fit)
    gp_cv(fit)
    certify(fit)
    gp_posterior(fit)
    confint(fit, method = "profile")
    augment(fit)
  })
  expect_output(print(fit), "200 observations")
  expect_output(print(summary(fit)), "Residuals")
  expect_identical(glance(fit)$nobs, 200)
})

test_that("fits of a table are compared with each other, but not with fits of other data", {
  d <- table_data(300)
  fit <- fit_of_table(d)
  expect_equal(diff(AIC(fit, fit_of_table(d, z ~ w + kind))$df), 2)
  expect_error(AIC(fit, fit_of_table(d[-1, ])), "different data", class = "kernops_input_error")
  expect_error(AIC(fit, fit_of_table(transform(d, z = 2 * z))), "different data", class = "kernops_input_error")
})
