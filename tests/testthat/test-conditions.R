# Arguments of many functions are checked by those of conditions.R: what does not fit has a class, whatever it is.

test_that("what has no value to show is told by its kind", {
  for (unfit in list(mean, new.env(), quote(a), y ~ x, Vi(1:3), list(), character(), NULL)) {
    expect_error(seg_reduce(1:3, lengths = 3, na.rm = unfit), "`na.rm` must be TRUE or FALSE, not",
                 class = "kernops_input_error")
    expect_error(axis_reduce(diag(3), 1, output = unfit), "`output` must be one of", class = "kernops_input_error")
    expect_error(softmax(1:3, 1, alpha = unfit), "`alpha` must be", class = "kernops_input_error")
    expect_error(matern(nu = unfit), "`nu` must be", class = "kernops_input_error")
    expect_error(with_kernops(1, device = unfit, threads = 1:2), class = "kernops_input_error")
  }
  expect_error(seg_reduce(1:3, lengths = 3, empty = mean), "`empty` must be one number", class = "kernops_input_error")
  expect_error(nugget(fixed = ~ variance), "`fixed` must be among", class = "kernops_input_error")
  for (unfit in list(mean, quote(a), NULL)) {
    expect_error(grid_cluster(unfit, 1), class = "kernops_input_error")
    expect_error(gp_variogram(unfit, 1:3), class = "kernops_dim_error")
  }
  expect_error(linear(dims = NaN), "`dims` must be", class = "kernops_input_error")
})

test_that("of an argument that lists its choices, only the whole list stands for the first", {
  fit <- gp(dist ~ 1, cars, ~ speed, exponential(1, 1) + nugget(1), estimate = "none")
  expect_identical(coef(fit, c("trend", "covariance", "both")), coef(fit))
  expect_error(coef(fit, c("covariance", "trend")), "`type` must be one of .*\"covariance\" and \"trend\"",
               class = "kernops_input_error")
  expect_error(update(fit, estimate = c("REML", "none")), "`estimate`", class = "kernops_input_error")
})

test_that("lack of memory of the engine has a class of its own", {
  expect_error(seg_from_groups(1L, 1e15), "not enough memory", class = "kernops_memory_error")
})
