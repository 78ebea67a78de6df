# Predictions from the nearest observations of a table. The oracle is a fit in memory whose points have the same
# neighbours.

# Points among, near and far from the observations; some points are missing.
new_places <- function() {
  withr::local_seed(3)
  d <- data.frame(x = c(runif(150), runif(30, 1, 2), 5, NA), y = c(runif(150), runif(30, -2, 0), 5, 0.5),
                  w = rnorm(182), kind = "c")
  d$w[[4]] <- NA
  d
}

test_that("predictions agree with predictions from all observations, also in gaps and far away", {
  small_cells()
  d <- table_data(3000)
  d <- d[!(d$x > 0.3 & d$x < 0.5 & d$y < 0.6), ] # a gap without observations
  rownames(d) <- NULL
  for (formula in c(z ~ w, z ~ w + kind)) {
    fit <- fit_of_table(d, formula, weights = weight, known = list(noise = ~ noise))
    expect_gte(length(fit$blocks$rows), 8)
    same <- like_in_memory(fit, d, formula, weights = weight, known = list(noise = ~ noise))
    new <- new_places()
    for (interval in c("confidence", "prediction")) {
      columns <- function(fit) {
        predict(fit, new, se.fit = TRUE, interval = interval, probs = 0.2, above = 2, joint = FALSE)
      }
      expect_equal(columns(fit), columns(same), tolerance = 1e-10)
    }
    expect_equal(predict(fit, new, joint = FALSE), predict(same, new, joint = FALSE), tolerance = 1e-10)
    expect_equal(predict(fit, new, type = "terms", joint = FALSE),
                 predict(same, new, type = "terms", joint = FALSE), tolerance = 1e-10)
  }
})

test_that("the nearest neighbours are found even outside the halo, the margin of a cell that is in memory", {
  small_cells(heads = 150)
  d <- table_data(3000)
  d <- d[!(d$x > 0.2 & d$x < 0.9 & d$y < 0.8), ]
  rownames(d) <- NULL
  fit <- fit_of_table(d)
  fit$vecchia$local <- 4L
  new <- expand.grid(x = seq(0, 1, length.out = 25), y = seq(0, 1, length.out = 25), w = 0)
  columns <- function(fit) predict(fit, new, se.fit = TRUE, interval = "confidence", joint = FALSE)
  expect_equal(columns(fit), columns(like_in_memory(fit, d)), tolerance = 1e-10)
})

test_that("local kriging agrees with local kriging from all observations", {
  small_cells()
  d <- table_data(1500)
  fit <- fit_of_table(d)
  new <- new_places()[1:100, ]
  expect_equal(predict(fit, new, nmax = 8, interval = "confidence"),
               predict(like_in_memory(fit, d), new, nmax = 8, interval = "confidence"), tolerance = 1e-10)
})

test_that("predictions contain a known mean", {
  d <- table_data(200)
  fit <- gp(z ~ 0, gp_table(d), ~ x + y, known_covariance(), estimate = "none", neighbours = 10,
            known = list(beta = 2))
  same <- gp(z ~ 0, d, ~ x + y, known_covariance(), "vecchia", "none", neighbours = 10, known = list(beta = 2))
  columns <- function(fit) predict(fit, d[1:9, ], interval = "confidence", joint = FALSE)
  expect_equal(columns(fit), columns(same), tolerance = 1e-10)
})

test_that("predictions of maps keep the class of the map", {
  skip_if_not_installed("terra")
  fit <- fit_of_table(table_data(300), z ~ 1)
  map <- terra::rast(nrows = 5, ncols = 5, extent = c(0, 1, 0, 1), crs = "")
  predicted <- predict(fit, map, interval = "confidence")
  expect_s4_class(predicted, "SpatRaster")
  expect_equal(unname(terra::values(predicted)[, "fit"]),
               unname(predict(fit, as.data.frame(terra::xyFromCell(map, 1:25)))), tolerance = 1e-12)
})

test_that("predictions of new points in a table agree with those of a data frame", {
  small_cells()
  replaced_locally(result_rows = 64)
  fit <- fit_of_table(table_data(1500))
  new <- new_places()
  expected <- predict(fit, new, se.fit = TRUE, interval = "prediction")
  expect_equal(predict(fit, gp_table(new), se.fit = TRUE, interval = "prediction"), expected, ignore_attr = TRUE)
  expect_equal(predict(fit, gp_table(new)), unname(predict(fit, new)))
  path <- withr::local_tempfile(fileext = ".csv")
  before <- list.files(tempdir(), "^kernops-")
  expect_identical(predict(fit, gp_table(new), se.fit = TRUE, interval = "prediction", filename = path), path)
  expect_equal(utils::read.csv(path), expected, ignore_attr = TRUE, tolerance = 1e-12)
  expect_identical(setdiff(list.files(tempdir(), "^kernops-"), before), character())
})

test_that("kinds of predictions that fits of tables do not have are errors", {
  fit <- fit_of_table(table_data(200))
  expect_snapshot(error = TRUE, {
    predict(fit, new_places()[-1])
    predict(fit, gp_table(new_places()[-1]))
    predict(fit, new_places(), filename = 1)
  })
})
