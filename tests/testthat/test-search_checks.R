
test_that("a nugget far below the variance of a smooth field is not reported as zero", {
  # 6 inputs, noise of standard deviation 0.01: the values of nearest points differ by far more than the noise, but the
  # errors of predictions from 600 points are smaller than the noise
  case <- withr::with_seed(1, {
    x <- matrix(stats::runif(3600), 600, dimnames = list(NULL, paste0("x", 1:6)))
    data.frame(x, y = rowSums(sin(2 * x)) + x[, 1] * x[, 2] + stats::rnorm(600, sd = 0.01))
  })
  fit <- \(...) gp(y ~ 1, case, reformulate(paste0("x", 1:6)), ..., method = "exact")
  expect_no_warning(smooth <- fit(matern(7/2, ard = TRUE) + nugget()), class = "kernops_degenerate")
  expect_equal(smooth$theta[[smooth$model$nugget]], 1e-4, tolerance = 0.3)
  # for a rough field, the data do not distinguish this noise from the field
  expect_warning(fit(exponential() + nugget()), "estimated as zero", class = "kernops_degenerate")
})

test_that("a nugget far below the variance of a smooth field is kept, also for several variables", {
  case <- withr::with_seed(2, {
    x <- matrix(stats::runif(1200), 300, dimnames = list(NULL, paste0("x", 1:4)))
    field <- rowSums(sin(2 * x)) + x[, 1] * x[, 2]
    data.frame(x, p = field + stats::rnorm(300, sd = 0.01), q = field^2 + stats::rnorm(300, sd = 0.05))
  })
  fit <- \(field, sills) gp(cbind(p, q) ~ 1, case, reformulate(paste0("x", 1:4)), lmc(field, nugget(), sills = sills),
                          "exact", "none")
  with_nuggets <- \(fit) {
    fit$model$parameters$fixed[] <- FALSE
    fit
  }
  none <- \(...) variables_without_nugget(with_nuggets(fit(...)))
  sills <- list(matrix(c(1, 1.5, 1.5, 4), 2), c(1e-4, 2.5e-3))
  expect_identical(none(matern(7/2, range = 2), sills), character())
  # for a rough field, noise cannot be distinguished from the field; a nugget far below the conditional variance is
  # treated as zero
  expect_identical(none(exponential(range = 2), sills), c("p", "q"))
  expect_identical(none(matern(7/2, range = 2), replace(sills, 2, list(c(1e-10, 2.5e-3)))), "p")
  # a variable without near observations has the prior variance of the field
  expect_identical(none(exponential(range = 1e-3), list(diag(c(1, 1)), c(0.5, 0.005))), "q")
})

test_that("tests of semivariances of nearest neighbours agree with a search through all points", {
  withr::local_seed(1)
  u <- matrix(runif(24000), 12000)
  covariances <- list(matern(3/2, 1, 0.02), exponential(2, 0.001), exponential(1, 0.1) * periodic(1, 1, 0.03))
  answers <- list()
  for (covariance in covariances) {
    model <- covariance_model(covariance, 2)
    rows <- round(seq(1, nrow(u), length.out = 200))
    all <- nearest_semivariance(model, u[rows, ], u)
    for (share in c(0.05, 0.3, 2 / 3)) {
      test <- function(near) stats::median(near$semivariance / near$variance) > share
      expect_identical(for_nearest(model, u, test), test(all))
      answers <- c(answers, test(all))
    }
  }
  expect_setequal(unlist(answers), c(TRUE, FALSE))
  # the semivariance at copies of a point is 0
  twice <- rbind(u, u)
  expect_false(for_nearest(model, twice, function(near) stats::median(near$semivariance) > 1e-12))
})
