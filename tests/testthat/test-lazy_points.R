# A vector is read as one number per point. A row that lost its dimensions, such as x[1, ] or colMeans(x), is refused as
# a point.

withr::local_seed(1)
x <- matrix(stats::rnorm(15), 5)
y <- matrix(stats::rnorm(12), 4)
centre <- colMeans(x)

test_mistakes("kernops_dim_error", alist(
  `a mean for a point` = sqdist(Vi(x), Vj(centre)),
  `a row of another axis` = exp(Vi(x[1, ]) - Vj(y)),
  `a row times a number` = Vi(x) + 2 * Vj(x[2, ]),
  `a row as a factor` = Vi(x) * Vj(x[2, ]),
  `a row for a dot product` = Vi(x) | Vj(x[2, ]),
  `a row that is compared` = Vi(x) < Vj(x[2, ]),
  `a row in a weighted distance` = weightedsqdist(Vi(x), Vj(x[2, ]), 1:3),
  `a row in a maximum` = max(Vi(x), Vj(x[2, ])),
  `a row that is chosen` = if_else(Vi(x) > 0, Vj(x[2, ]), 0),
  `a row in an operation by name` = lazy_op("SqDist", Vi(x), Vj(x[2, ])),
  `a row of complex numbers` = sqdist(Vi(x + 1i), Vj(x[2, ] + 1i)),
  `a row after transposition` = t(Vj(x[2, ])) - Vj(y),
  `a row of batches` = sqdist(Vi(array(x, c(5, 3, 2))), Vj(x[2, ])),
  `a column for points of three entries` = sqdist(Vi(x), Vj(y[, 1])),
  `a row of an operator` = keops_kernel("Sum_Reduction(SqDist(x, y), 1)", c("x = Vi(3)", "y = Vj(3)"))(list(x, x[1, ])),
  `a row of an operator, in columns` =
    keops_kernel("Sum_Reduction(SqDist(x, y), 1)", c("x = Vi(3)", "y = Vj(3)"))(list(t(x), x[1, ]), inner_dim = "row")
))

test_that("a matrix with one row is a single point, and a vector has one number per point", {
  D <- dense_sqdist(x, y)
  expect_equal(sum(sqdist(Vi(x), Vj(x[1, , drop = FALSE])), "j"), cbind(rowSums(sweep(x, 2, x[1, ])^2)))
  expect_equal(min(sqdist(Vi(x), Vj(rbind(centre))), "j"), cbind(rowSums(sweep(x, 2, centre)^2)), ignore_attr = TRUE)
  w <- 1:5 / 5
  v <- 1:4 / 4
  expect_equal(sum(Vi(x) * Vj(v), "j"), x * sum(v))
  expect_equal(sum(Vi(x) / Vi(w) - Vi(rowMeans(x)), "j"), x / w - rowMeans(x))
  expect_equal(sum(exp(-sqdist(Vi(w), Vj(v))) * Vj(y), "j"), exp(-outer(w, v, `-`)^2) %*% y)
  expect_equal(sum(if_else(Vj(c(1, 2, 1, 2)) == 1, Vj(y), 0), "j"), rbind(colSums(y[c(1, 3), ])))
  expect_equal(sum(concat(Vi(x), Vi(w)), "i"), rbind(c(colSums(x), sum(w))))
  expect_equal(sum(exp(-sqdist(Vi(x), Vj(y))) * Vj(v), "j"), exp(-D) %*% v)
  expect_equal(as.matrix(norm2(Vi(w) - c(0.2, 0.5, 1))), cbind(sqrt(colSums(outer(c(0.2, 0.5, 1), w, `-`)^2))))
})

test_that("the time of an operation does not depend on the number of earlier operations", {
  skip_on_cran()
  start <- exp(-sqdist(Vi(x), Vj(y)))
  time_of <- \(f) system.time(Reduce(f, 1:1000, start))[["user.self"]]
  same_variables <- time_of(\(K, k) sin(K))
  expect_lt(time_of(\(K, k) K + 1), 5 * same_variables)
  expect_lt(time_of(\(K, k) K + k), 5 * same_variables)
})

test_that("expressions of any depth are computed", {
  D <- dense_sqdist(x, y)
  numbers <- exp(-D)
  K <- exp(-sqdist(Vi(x), Vj(y)))
  for (k in 1:1500) {
    K <- sin(K) + 0.1
    numbers <- sin(numbers) + 0.1
  }
  expect_equal(sum(K, "j"), cbind(rowSums(numbers)), tolerance = 1e-12)
  L <- K
  for (k in 1:1200) L <- abs(-L)
  expect_equal(sum(L, "i"), cbind(colSums(numbers)), tolerance = 1e-12)
})
