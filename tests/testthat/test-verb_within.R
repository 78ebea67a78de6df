# The oracle is the matrix of all distances in plain R.
all_distances <- function(x, y) {
  t(vapply(seq_len(nrow(x)), \(i) sqrt(colSums((t(y) - x[i, ])^2)), numeric(nrow(y))))
}

test_that("neighbours_within() finds all pairs within the radius", {
  skip_if_not_installed("Matrix")
  for (d in c(1, 2, 5)) for (self in c(TRUE, FALSE)) withr::with_seed(d, {
    x <- matrix(sample(0:6, 120 * d, TRUE) / 10, 120) # some distances equal the radius
    y <- if (self) x else matrix(runif(30 * d), 30)
    distance <- all_distances(x, y)
    for (radius in c(0, 0.1, 0.3, 10)) {
      inside <- distance <= radius
      if (self) diag(inside) <- FALSE
      pairs <- neighbours_within(x, radius, if (!self) y)
      expect_s4_class(pairs, "dgCMatrix")
      expect_equal(as.matrix(pairs), distance * inside)
      expect_identical(diff(pairs@p), as.integer(colSums(inside)))
      expect_equal(neighbours_within(x, radius, if (!self) y, count = TRUE), colSums(inside))
    }
  })
})

test_that("neighbours_within() accepts names, infinite radii and extreme scales", {
  skip_if_not_installed("Matrix")
  x <- cbind(c(a = 0, b = 3, c = 10))
  expect_identical(dimnames(neighbours_within(x, 5)), list(letters[1:3], letters[1:3]))
  expect_equal(neighbours_within(x, Inf, count = TRUE), c(2, 2, 2))
  expect_equal(neighbours_within(x * 1e200, 5e200, count = TRUE), c(1, 1, 0))
  expect_equal(neighbours_within(x * 1e-200, 5e-200, count = TRUE), c(1, 1, 0))
  expect_equal(neighbours_within(1, 1, count = TRUE), 0)
})

test_that("neighbours_within() refuses invalid arguments", {
  expect_snapshot(error = TRUE, {
    neighbours_within(1:3, -1)
    neighbours_within(1:3, NA)
    neighbours_within(c(1, Inf), 1)
    neighbours_within(1:3, 1, cbind(1, 2))
    neighbours_within(rep(0, 5e4), 1)
  })
})
