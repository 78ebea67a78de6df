# Passes over matrices with many rows, in pieces of 32,768 rows. The oracle is plain R.

tall <- function(n, d = 3) {
  withr::with_seed(n, matrix(sample(c(rnorm(50), 0, -0), n * d, TRUE), n, dimnames = list(NULL, letters[seq_len(d)])))
}
for_threads <- function(body) for (count in c(1, 3)) with_kernops(body(), threads = count)

test_that("the ranges of columns agree with R and ignore NaN", {
  for (n in c(1, 7, 40000, 70000)) {
    x <- tall(n)
    for_threads(\() expect_identical(column_ranges(x), unname(apply(x, 2, range))))
    expect_identical(column_extents(x), unname(apply(x, 2, function(v) diff(range(v)))))
    expect_identical(column_sizes(x), unname(apply(abs(x), 2, max)))
  }
  expect_identical(column_ranges(c(3, NaN, 1, NA)), cbind(c(1, 3)))
  expect_identical(column_ranges(1:5), cbind(c(1, 5)))
  expect_identical(column_ranges(matrix(0, 0, 2)), cbind(c(Inf, -Inf), c(Inf, -Inf)))
  expect_identical(column_ranges(cbind(c(NaN, NA), c(-Inf, Inf))), cbind(c(Inf, -Inf), c(-Inf, Inf)))
})

test_that("columns are shifted, divided and multiplied, in this order", {
  for (n in c(1, 40000)) {
    x <- tall(n)
    shifted <- unname((x[, c(3, 1), drop = FALSE] - rep(c(0.1, 0.7), each = n)) / 3 * rep(c(1.1, 1e10), each = n))
    expect_identical(moved_columns(x, c(3, 1), c(0.1, 0.7), 3, c(1.1, 1e10)), shifted)
    expect_identical(moved_columns(x), unname(x))
    expect_identical(moved_columns(x, integer()), matrix(0, n, 0))
    expect_identical(chosen_columns(x, 2:3), x[, 2:3, drop = FALSE])
    expect_identical(chosen_columns(x, c(1, 3, 2)), x[, c(1, 3, 2), drop = FALSE])
    expect_identical(chosen_columns(x, 1:3), x)
  }
  expect_error(moved_columns(tall(4), 4), "columns are chosen by their numbers", class = "kernops_dim_error")
  expect_error(columns_moved(tall(4), 1:2, 0, 1, 1, 1L), "each column has its constants", class = "kernops_dim_error")
})

test_that("gathered rows of doubles and integers agree with indexing", {
  for (n in c(1, 50, 40000)) {
    x <- tall(n)
    rows <- withr::with_seed(n, sample(n, max(1, n - 3), TRUE))
    for_threads(\() expect_identical(gathered_rows(x, rows), unname(x[rows, , drop = FALSE])))
    expect_identical(gathered_rows(x[, 2], rows), unname(x[rows, 2]))
    expect_identical(gathered_rows(seq_len(n), rows), seq_len(n)[rows])
  }
  expect_identical(gathered_rows(tall(4), integer()), matrix(0, 0, 3))
  for (rows in list(0L, 5L, NA_integer_)) {
    expect_error(gathered_rows(tall(4), rows), "rows are chosen by their numbers", class = "kernops_dim_error")
  }
  expect_error(gathered_rows(letters, 1L), "columns are numbers", class = "kernops_input_error")
})

first_of_strings <- function(x) {
  key <- apply(x, 1, function(row) paste(sprintf("%a", row + 0), collapse = " "))
  match(key, key)
}

test_that("first_rows() finds the same first row of equal rows as a comparison of strings", {
  for (n in c(1, 50, 70000)) for (d in 1:3) {
    x <- tall(n, d)
    for_threads(\() expect_identical(first_rows(x), first_of_strings(x)))
    for_threads(\() expect_identical(first_rows(x, 2), first_of_strings(signif(x, 2))))
  }
  expect_identical(first_rows(cbind(c(0, -0, NaN, NaN, 1, Inf, Inf))), c(1L, 1L, 3L, 3L, 5L, 6L, 6L))
  expect_identical(first_rows(cbind(1 + c(0, 1e-16, 3e-16, 1e-14)), 15), c(1L, 1L, 1L, 4L))
  expect_identical(first_rows(matrix(0, 4, 0)), rep(1L, 4))
  expect_identical(first_rows(matrix(0, 0, 2)), integer())
})

test_that("orthonormal columns of a decomposition agree with qr.Q(), bit by bit", {
  for (n in c(1, 2, 9, 40000)) for (p in seq_len(min(n, 3))) {
    x <- withr::with_seed(n, matrix(stats::rnorm(n * p), n))
    x[, 1] <- 1
    for_threads(\() expect_identical(orthonormal_columns(qr(x)), qr.Q(qr(x))))
  }
  one <- list(qr = diag(2), qraux = 1)
  message <- "a decomposition has a column for each reflection"
  expect_error(orthonormal_columns(one), message, class = "kernops_dim_error")
})

test_that("columns with an entry that is not finite are found", {
  x <- matrix(1e300, 3, 50000)
  x[2, c(4, 40000)] <- c(NaN, Inf)
  x[3, 50000] <- -Inf
  for_threads(\() expect_identical(columns_with_gaps(x), c(4L, 40000L, 50000L)))
  expect_identical(columns_with_gaps(x[, 1:3]), integer())
  expect_identical(columns_with_gaps(matrix(0, 0, 4)), integer())
})
