
test_that("a nugget far below the variance of a smooth field is not taken for none", {
  # 6 inputs, noise of standard deviation 0.01: nearest points differ by far more, but 600 points predict within 0.01
  case <- withr::with_seed(1, {
    x <- matrix(stats::runif(3600), 600, dimnames = list(NULL, paste0("x", 1:6)))
    data.frame(x, y = rowSums(sin(2 * x)) + x[, 1] * x[, 2] + stats::rnorm(600, sd = 0.01))
  })
  fit <- \(...) gp(y ~ 1, case, reformulate(paste0("x", 1:6)), ..., method = "exact")
  expect_no_warning(smooth <- fit(matern(7/2, ard = TRUE) + nugget()), class = "kernops_degenerate")
  expect_equal(smooth$theta[[smooth$model$nugget]], 1e-4, tolerance = 0.3)
  # for a rough field, nothing tells the same noise from the field
  expect_warning(fit(exponential() + nugget()), "estimated as zero", class = "kernops_degenerate")
})
