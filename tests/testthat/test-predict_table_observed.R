# Fitted values, residuals and parts of predictions of fits of tables. The oracle is dense kriging in plain R.

# Kriging of the field at the observations with given parameters: fitted values, residuals divided by the standard
# deviation of the noise, and the mean of the process. `beta` contains known coefficients.
dense_fitted <- function(d, x, noise, offset = 0, beta = NULL) {
  h <- sqrt(3) * as.matrix(dist(d[c("x", "y")])) / 0.3
  field <- 0.5 * (1 + h) * exp(-h)
  whole <- field + diag(noise)
  off <- d$z - offset
  if (is.null(beta)) beta <- solve(crossprod(x, solve(whole, x)), crossprod(x, solve(whole, off)))
  process <- field %*% solve(whole, off - x %*% beta)
  fitted <- as.vector(offset + x %*% beta + process)
  list(fitted = fitted, pearson = (d$z - fitted) / sqrt(noise), process = as.vector(process))
}

test_that("fitted values and residuals agree with kriging, also with noise, weights, an offset and a known mean", {
  d <- table_data(90)
  d$shift <- d$x^2
  noise <- d$noise + 0.09 / d$weight
  x <- cbind(1, d$w)
  for (beta in list(NULL, c(1, 0.5))) {
    fit <- fit_of_table(d, z ~ w + offset(shift), neighbours = 89, weights = weight,
                        known = list(noise = ~ noise, beta = beta))
    expected <- dense_fitted(d, x, noise, d$shift, beta)
    expect_equal(fitted(fit), expected$fitted, tolerance = 1e-8)
    expect_equal(residuals(fit), d$z - expected$fitted, tolerance = 1e-7)
    expect_equal(residuals(fit, "pearson"), expected$pearson, tolerance = 1e-7)
    expect_equal(predict(fit, type = "terms")$process, expected$process, tolerance = 1e-7)
  }
  fit <- fit_of_table(d, covariance = matern(3/2, 0.5, 0.3), neighbours = 89)
  expect_equal(residuals(fit), rep(0, 90), tolerance = 1e-8)
  expect_true(all(is.na(residuals(fit, "pearson"))))
})

test_that("fitted values agree with predictions at the rows of the table, and are NA where a value is missing", {
  small_cells()
  replaced_locally(result_rows = 400)
  d <- table_data(1200)
  d$z[c(3, 700)] <- NA
  fit <- fit_of_table(d)
  all <- predict(fit, gp_table(d), what = c("fit", "se.fit"))
  all[c(3, 700), ] <- NA
  expect_equal(predict(fit, what = c("fit", "se.fit")), all, tolerance = 1e-12)
  expect_equal(fitted(fit), all$fit, tolerance = 1e-12)
  expect_equal(residuals(fit), d$z - all$fit, tolerance = 1e-12)
  file <- withr::local_tempfile(fileext = ".csv")
  expect_identical(residuals(fit, filename = file), file)
  expect_equal(utils::read.csv(file)$residual, residuals(fit), tolerance = 1e-9)
  predict(fit, se.fit = TRUE, interval = "confidence", filename = file)
  expect_identical(names(utils::read.csv(file)), c("fit", "se.fit", "lwr", "upr"))
  z <- d$z[-c(3, 700)]
  expect_equal(r2.gp(fit)$R2, c(R2 = 1 - sum(residuals(fit)[-c(3, 700)]^2) / sum((z - mean(z))^2)))
  fit$how$control$memory <- 1000
  expect_error(residuals(fit), "filename", class = "kernops_memory_error")
  expect_error(predict(fit, gp_table(d), joint = FALSE), "filename", class = "kernops_memory_error")
})

test_that("parts of predictions agree with a fit in memory, and add up to the prediction", {
  small_cells()
  d <- table_data(1200)
  covariance <- matern(3/2, 0.5, 0.3) + exponential(0.1, 0.05) + nugget(0.09)
  fit <- fit_of_table(d, covariance = covariance)
  new <- table_data(30, seed = 3)[c("x", "y", "w")]
  names <- c("trend", "matern", "exponential")
  parts <- vapply(names, function(part) unname(predict(fit, new, terms = part)), numeric(30))
  expect_equal(rowSums(parts), unname(predict(fit, new)), tolerance = 1e-8)
  expect_equal(parts[, 1], unname(predict(fit, new, type = "terms")$trend), tolerance = 1e-8, ignore_attr = TRUE)
  same <- like_in_memory(fit, d)
  what <- c("fit", "se.fit")
  expect_equal(predict(fit, new, exclude = "trend", what = what, joint = FALSE),
               predict(same, new, exclude = "trend", what = what, joint = FALSE), tolerance = 1e-6)
  # rows of a table, after a prediction of the whole table
  rows <- predict(fit, gp_table(new), terms = "exponential", what = what)
  expect_equal(rows$fit, parts[, 3], tolerance = 1e-8)
  expect_identical(predict(fit, gp_table(new)), unname(predict(fit, new)))
  expect_error(predict(fit, new, terms = "s(x)"), "among the parts", class = "kernops_input_error")
  expect_error(predict(fit, new, terms = "trend", block = 0.1), "cannot be combined", class = "kernops_input_error")
})

test_that("parts of a map agree with parts of predictions at the cells, and cannot be combined with zones", {
  skip_if_not_installed("terra")
  small_cells()
  fit <- fit_of_table(table_data(1200), z ~ 1)
  map <- terra::rast(nrows = 12, ncols = 10, xmin = 0, xmax = 1, ymin = 0, ymax = 1, crs = "")
  place <- as.data.frame(terra::xyFromCell(map, 1:120))
  file <- withr::local_tempfile(fileext = ".tif")
  shown <- predict(fit, map, terms = "matern", filename = file, window = 30)
  expect_equal(as.vector(terra::values(shown)), unname(predict(fit, place, terms = "matern")), tolerance = 1e-12)
  zones <- terra::rast(map, vals = 1)
  expect_error(predict(fit, map, terms = "matern", zones = zones), "zones.*cannot be combined",
               class = "kernops_input_error")
})

test_that("plots show a sample of the observations, and the field between the observations", {
  withr::local_pdf(NULL)
  small_cells()
  d <- transform(table_data(1500), x = 500 + 2 * x)
  fit <- fit_of_table(d, z ~ 1, covariance = matern(3/2, 0.5, 0.6) + nugget(0.09))
  expect_identical(plot(fit, c("field", "se", "residuals", "covariance", "variogram")), fit)
  sampled <- with_observations(fit)
  rows <- sampled$data$rows
  expect_equal(sampled$parts$u, as.matrix(d[rows, c("x", "y")]), ignore_attr = TRUE, tolerance = 1e-12)
  expect_equal(sampled$parts$y, d$z[rows], tolerance = 1e-12)
  panels <- panels_of(sampled, c("field", "residuals"), 100, 0.95, FALSE, NULL, list())
  grid <- expand.grid(x = panels[[1]]$axes[[1]], y = panels[[1]]$axes[[2]])
  expect_equal(as.vector(panels[[1]]$z), unname(predict(fit, grid)), tolerance = 1e-10)
  points <- panels[[2]]$points
  expect_equal(points$x + points$y, d$z[rows], tolerance = 1e-12)
  expect_equal(points$x, unname(predict(fit, d[rows, ], joint = FALSE)), tolerance = 1e-8)
})
