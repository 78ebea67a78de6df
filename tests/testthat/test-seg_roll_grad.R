# Gradients of rolling windows, against finite differences.

set.seed(2)
x <- sample(40) / 10
lengths <- c(13, 0, 1, 26)
numbers <- rep(seq_along(lengths), lengths)
times <- ave(runif(40), numbers, FUN = \(u) cumsum(round(3 * u)))
cases <- list(
  trailing = list(width = 4), centred = list(width = 5, align = "center"), leading = list(width = 3, align = "left"),
  cut = list(width = 6, align = "center", partial = TRUE), wide = list(width = 30, partial = TRUE),
  adaptive = list(width = sample(6, 40, TRUE), partial = TRUE), timed = list(width = 4, by = times),
  timed_ahead = list(width = 4, by = times, align = "left")
)

for (op in c("sum", "mean", "min", "max")) for (case in names(cases)) {
  test_that(paste("the gradient agrees with differences:", op, case), {
    eta <- rnorm(40)
    arguments <- c(cases[[case]], list(lengths = lengths))
    loss <- \(x) sum(eta * do.call(seg_roll, c(list(x, op = op), arguments)), na.rm = TRUE)
    gradient <- do.call(seg_grad(op, roll = TRUE), c(list(x, eta), arguments))
    expect_equal(gradient, c(central_difference(loss, x)), tolerance = 1e-7)
  })
}

test_that("gradients work with groups in any order, matrices, names, and values in no segment", {
  m <- cbind(u = x, v = rev(x))
  eta <- matrix(rnorm(80), 40)
  g <- sample(c("a", "b", NA), 40, TRUE)
  got <- seg_grad("mean", roll = TRUE)(m, eta, width = 3, g = g, partial = TRUE)
  expect_identical(dimnames(got), dimnames(m))
  for (k in 1:2) {
    loss <- \(x) sum((eta[, k] * seg_roll(x, 3, g = g, op = "mean", partial = TRUE)), na.rm = TRUE)
    expect_equal(got[, k], c(central_difference(loss, m[, k])), tolerance = 1e-7)
  }
  expect_identical(got[is.na(g), 1], rep(0, sum(is.na(g))))
})

test_that("invalid input is an error", {
  expect_snapshot(error = TRUE, seg_grad("sum", scan = TRUE, roll = TRUE))
  expect_snapshot(error = TRUE, seg_grad("var", roll = TRUE))
  expect_snapshot(error = TRUE, seg_grad("sum", roll = TRUE)(1:3, 1:2, width = 2))
})
