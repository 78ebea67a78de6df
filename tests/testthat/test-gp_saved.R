# The file of a saved fit is only as large as the data of the fit, because the factor of the covariance matrix is not
# saved but computed again.

# Formulas whose environment is the global one, so that saving a formula does not save another environment.
bare <- \(formula) `environment<-`(formula, globalenv())

read_again <- \(fit) unserialize(serialize(fit, NULL))

expect_same_fit <- function(fit, new) {
  expect_lt(length(serialize(fit, NULL)), 8 * 500^2 / 2)
  read <- read_again(fit)
  expect_identical(predict(read, new, se.fit = TRUE, interval = "confidence"),
                   predict(fit, new, se.fit = TRUE, interval = "confidence"))
  expect_identical(simulate(read, 2, seed = 1, newdata = new), simulate(fit, 2, seed = 1, newdata = new))
  expect_identical(gp_cv(read), gp_cv(fit))
  # the factor is computed once
  expect_identical(kernops:::factor_of(read)[[1]]$k, kernops:::factor_of(read)[[1]]$k)
}

test_that("a fit that was saved and read gives the same predictions: Gaussian, with groups, and with a family", {
  withr::local_seed(1)
  d <- smooth_case(500)
  d$day <- rep(1:2, 250)
  d$count <- rpois(500, exp(d$z))
  new <- transform(smooth_case(4), day = 1)
  expect_same_fit(gp(bare(z ~ w), d, bare(~ a + b), given(), estimate = "none"), new)
  expect_same_fit(gp(bare(z ~ 1), d, bare(~ a + b), given(), estimate = "none", group = bare(~ day)), new)
  expect_same_fit(gp(bare(count ~ 1), d, bare(~ a + b), matern(3/2, 1, 0.3), estimate = "none", family = poisson(),
                     method = "exact"), new)
})

test_that("the file of a fit is small, and copies of a fit share one factor", {
  withr::local_seed(2)
  fit <- gp(bare(z ~ 1), smooth_case(500), bare(~ a + b), given(), estimate = "none")
  file <- withr::local_tempfile()
  saveRDS(fit, file)
  expect_lt(file.size(file), 2e5)
  copy <- replace(fit, "call", list(NULL))
  expect_identical(copy$factor, fit$factor)
  rm(copy)
  gc()
  expect_false(is.null(rlang::wref_value(fit$factor$reference)))
})

test_that("a cache of one value drops the old value before it computes the value for a new key", {
  freed <- 0
  count <- function(e) freed <<- freed + 1
  content <- function() {
    made <- new.env()
    reg.finalizer(made, count)
    made
  }
  cell <- new_cell()
  for (key in 0:2) {
    kept_in(cell, function() {
      gc(full = TRUE)
      expect_identical(freed, key + 0)
      content()
    }, key)
  }
  expect_identical(class(kept_in(cell, stop, 2L)), "environment")
  expect_identical(freed, 2)
})
