# Layouts of observations, against data frames in plain R.

several <- function() {
  kernops:::new_layout("several", names = c("a", "b"), variable = c(1L, 1L, 2L), row = c(1L, 3L, 2L), beside = 0L)
}

test_that("new points for all variables agree with the new points for each variable in turn", {
  u <- cbind(c(0.1, 0.2, 0.3), c(4, 5, 6))
  points <- list(u = u, x = cbind(`(Intercept)` = c(1, 1, 1), z = 7:9), offset = c(0, 1, 0))
  expanded <- kernops:::expand(several(), points)
  expect_identical(expanded$variable, rep(1:2, each = 3))
  expect_equal(expanded$u, cbind(rbind(u, u), rep(0:1, each = 3), 0, 0))
  expect_equal(expanded$x[4:6, ], cbind(`a:(Intercept)` = 0, `a:z` = 0, `b:(Intercept)` = 1, `b:z` = 7:9))
  expect_identical(expanded$offset, c(0, 1, 0, 0, 1, 0))
  expect_identical(kernops:::expand(kernops:::new_layout("single"), points), points)
})

test_that("blocks of several variables average the points of each variable", {
  points <- list(u = matrix(1:2), x = matrix(1, 2, 1, dimnames = list(NULL, "m")), offset = c(0, 0),
                 blocks = list(u = matrix(c(1, 1.5, 2)), weight = c(0.5, 0.5, 1), of = c(1, 1, 2)))
  blocks <- kernops:::expand(several(), points)$blocks
  expect_identical(blocks$of, c(1, 1, 2, 3, 3, 4))
  expect_identical(blocks$weight, c(0.5, 0.5, 1, 0.5, 0.5, 1))
  expect_equal(blocks$u[, 1:2], cbind(rep(c(1, 1.5, 2), 2), rep(0:1, each = 3)))
})

test_that("tables of several variables are joined column by column", {
  variable <- rep(1:2, each = 2)
  table <- data.frame(fit = 1:4, se.fit = 5:8)
  both <- kernops:::collapse(several(), table, variable)
  expect_identical(both, data.frame(a.fit = 1:2, a.se.fit = 5:6, b.fit = 3:4, b.se.fit = 7:8))
  one <- table["fit"]
  expect_identical(kernops:::collapse(several(), one, variable), data.frame(a = 1:2, b = 3:4))
  expect_named(kernops:::collapse(several(), one, variable, prefixed = TRUE), c("a.fit", "b.fit"))
  expect_identical(kernops:::collapse(kernops:::new_layout("single"), table, NULL), table)
})

test_that("a layout of selected observations keeps the variables, rows and names of these observations", {
  kept <- kernops:::keep_observations(several(), c(TRUE, FALSE, TRUE))
  expect_identical(kept$variable, 1:2)
  expect_identical(kernops:::observation_labels(kept, c("p", "q", "r")), c("p:a", "q:b"))
  expect_identical(kernops:::mean_columns(several(), 3), cbind(c(1, 1, 0), c(0, 0, 1)))
  expect_identical(kernops:::mean_columns(kernops:::new_layout("single"), 2), matrix(1, 2, 1))
})
