# Fits of tables with a transformed response, against fits in memory and fits of the transformed variable.

positive_data <- function(n) transform(table_data(n), v = exp(z / 2))

test_that("likelihoods are densities of the untransformed response", {
  small_cells()
  d <- positive_data(1200)
  value <- function(fit) as.numeric(logLik(fit))
  for (case in list(list("log", log(v) ~ w, -1), list(0.5, I(2 * (sqrt(v) - 1)) ~ w, -0.5))) {
    fit <- fit_of_table(d, v ~ w, transform = case[[1]])
    plain <- fit_of_table(d, case[[2]])
    expect_equal(value(fit), value(plain) + case[[3]] * sum(log(d$v)), tolerance = 1e-12)
    expect_equal(fit$beta, plain$beta)
    same <- fit_in_memory(d, order_of_table(fit), v ~ w, transform = case[[1]])
    expect_equal(value(fit), value(same), tolerance = 1e-10)
    expect_identical(coef(fit, "transform"), coef(same, "transform"))
    expect_lt(length(serialize(fit_for_tasks(fit), NULL)), 2e5)
  }
  expect_identical(AIC(fit, fit_of_table(d, v ~ w))[["df"]], c(2L, 2L) + 0)
  expect_output(print(fit), "Box-Cox, lambda = 0.5")
  known <- list(beta = c(1, 0.2))
  expect_equal(value(fit_of_table(d, v ~ w, transform = "log", known = known)),
               value(fit_of_table(d, log(v) ~ w, known = known)) - sum(log(d$v)), tolerance = 1e-12)
})

test_that("estimates agree with those of the transformed variable, and do not depend on chunks", {
  small_cells()
  d <- positive_data(900)
  plain <- fit_of_table(d, log(v) ~ w, matern(3/2) + nugget(), "ML")
  chunks <- function(k) if (k <= 9) d[(k - 1) * 100 + 1:100, ]
  fit <- gp(v ~ w, chunks, ~ x + y, matern(3/2) + nugget(), neighbours = 10, transform = "log")
  expect_equal(fit$theta, plain$theta)
  expect_equal(fit$loglik, plain$loglik - sum(log(d$v)), tolerance = 1e-12)
})

test_that("predictions are those of the response, from a data frame, a table and a map", {
  small_cells()
  d <- positive_data(1200)
  new <- table_data(60, seed = 3)[c("x", "y", "w")]
  columns <- function(fit, ...) {
    predict(fit, new, se.fit = TRUE, interval = "prediction", probs = 0.2, above = c(-1, 3), ...)
  }
  for (lambda in c(0, 0.5, -0.5)) {
    fit <- fit_of_table(d, v ~ w, transform = lambda)
    same <- like_in_memory(fit, d, v ~ w, transform = lambda)
    expect_equal(columns(fit, joint = FALSE), columns(same, joint = FALSE), tolerance = 1e-8)
    expect_equal(predict(fit, gp_table(new), se.fit = TRUE, interval = "prediction"), columns(fit)[1:4],
                 ignore_attr = TRUE)
    expect_equal(columns(fit)$q0.2, boxcox_back(predict(fit, new, interval = "prediction", probs = 0.2,
                                                        type = "link")$q0.2, lambda))
  }
  fit <- fit_of_table(d, v ~ w, transform = "log")
  plain <- fit_of_table(d, log(v) ~ w)
  expect_equal(predict(fit, new, type = "link"), predict(plain, new))
  expect_equal(log(simulate(fit, 2, seed = 1, newdata = new)), simulate(plain, 2, seed = 1, newdata = new))
  skip_if_not_installed("terra")
  map <- terra::rast(nrows = 6, ncols = 5, xmin = 0, xmax = 1, ymin = 0, ymax = 1, vals = 0, names = "w")
  cells <- data.frame(terra::xyFromCell(map, 1:30), w = 0)
  written <- predict(fit, map, filename = withr::local_tempfile(fileext = ".tif"), window = 10)
  expect_equal(as.vector(terra::values(written)), unname(predict(fit, cells)), tolerance = 1e-6)
})

test_that("fitted values and residuals stay on the scale of the model", {
  small_cells()
  d <- positive_data(700)
  fit <- fit_of_table(d, v ~ w, transform = "log")
  plain <- fit_of_table(d, log(v) ~ w)
  expect_equal(fitted(fit), fitted(plain))
  expect_equal(residuals(fit), residuals(plain))
  expect_equal(predict(fit, se.fit = TRUE), predict(fit, gp_table(d), se.fit = TRUE))
  withr::local_pdf(NULL)
  expect_identical(plot(fit, c("field", "residuals")), fit)
})

test_that("a response that is not positive, and an unknown parameter of the transformation, are errors", {
  d <- positive_data(300)
  expect_error(fit_of_table(d, v ~ w, transform = "boxcox"), "must be given", class = "kernops_input_error")
  expect_error(fit_of_table(d, v ~ w, transform = "square"), "must be .log.", class = "kernops_input_error")
  d$v[c(7, 250)] <- c(0, -1)
  small_cells()
  replaced_locally(sample_size = 50)
  expect_error(fit_of_table(d, v ~ w, transform = "log"), "rows 7 and 250", class = "kernops_input_error")
})
