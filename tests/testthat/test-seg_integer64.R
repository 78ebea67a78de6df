# Values of class integer64, against arithmetic with the lower and the upper 32 bits, and against package 'bit64' if it
# is installed.

set.seed(5)
low <- floor(runif(60, 0, 2^32))
high <- round(runif(60, -2^22, 2^22))
wrapped <- \(low) ifelse(low >= 2^31, low - 2^32, low)
pair <- \(low, high) integer64(wrapped(low %% 2^32), high + floor(low / 2^32))
large <- pair(low, high)
lengths <- c(10, 0, 20, 30)
part <- factor(rep(1:4, lengths), 1:4)
sums_of <- \(x) c(tapply(x, part, sum, default = 0))

bits <- \(x) writeBin(as.vector(unclass(x)), raw())
expect_bits <- function(got, expected, at = seq_along(got)) {
  expect_s3_class(got, "integer64")
  expect_identical(bits(unclass(got)[at]), bits(expected))
}

test_that("sums, scans and differences of integer64 are exact", {
  expect_bits(seg_reduce(large, lengths = lengths), pair(sums_of(low), sums_of(high)))
  expect_bits(seg_scan(large, lengths = 60), pair(cumsum(low), cumsum(high)))
  expect_bits(seg_transform(large, "diff", lengths = 60), pair(diff(low), diff(high)), 2:60)
  small <- pair(1:60, 0)
  expect_bits(seg_reduce(small, lengths = lengths), pair(sums_of(1:60), 0))
  expect_equal(seg_reduce(small, lengths = lengths, weights = rep(0.5, 60)), sums_of(1:60) / 2, ignore_attr = TRUE)
  expect_equal(seg_reduce(small, lengths = 60, op = "mean"), 30.5)
})

test_that("extrema, first, last, mode and sorted values are selected without conversion", {
  by_size <- order(high, low)
  chosen <- function(choose) integer64_at(vapply(split(seq_along(low), part)[c(1, 3, 4)], choose, 0L))
  integer64_at <- \(at) pair(low[at], high[at])
  filled <- c(10, 20, 30)
  ranked <- match(seq_along(low), by_size)
  expect_bits(seg_reduce(large, lengths = filled, op = "min"), chosen(\(at) at[which.min(ranked[at])]))
  expect_bits(seg_reduce(large, lengths = filled, op = "max"), chosen(\(at) at[which.max(ranked[at])]))
  expect_bits(seg_reduce(large, lengths = filled, op = "last"), chosen(\(at) at[length(at)]))
  expect_bits(seg_sort(large, lengths = 60), integer64_at(by_size))
  expect_identical(seg_order(large, lengths = 60), by_size)
  expect_identical(seg_reduce(large, lengths = 60, op = "argmin"), by_size[1])
  expect_bits(seg_transform(large, "lag", lengths = 60), integer64_at(1:59), 2:60)
  expect_bits(seg_top(large, 2, lengths = 60)$values, integer64_at(by_size[60:59]))
})

test_that("bit operations agree with those on the two halves", {
  expect_bits(seg_reduce(large, lengths = 60, op = "bit_xor"),
              integer64(Reduce(bitwXor, as.integer(wrapped(low))), Reduce(bitwXor, as.integer(high))))
  expect_bits(seg_reduce(large, lengths = c(60, 0), op = "bit_and"), integer64(-1, -1), 2)
})

test_that("a large constant in all values does not affect deviations", {
  near <- pair(2^40 + 1:60, 2^22)
  expect_equal(seg_reduce(near, lengths = 60, op = "var"), var(1:60))
  expect_equal(seg_transform(near, "scale", lengths = 60), c(scale(1:60)))
})

test_that("a sum beyond 64 bits is a double, with a warning", {
  huge <- integer64(c(0, 0, 5), c(2^30, 2^30, 0))
  expect_warning(sums <- seg_reduce(huge, lengths = c(2, 1)), class = "kernops_overflow_warning")
  expect_equal(sums, c(2^63, 5))
})

test_that("results agree with package 'bit64'", {
  skip_if_not_installed("bit64")
  x <- bit64::as.integer64(c("9007199254740993", "-5", NA, "9007199254740995", "12"))
  expect_identical(seg_reduce(x, lengths = c(2, 3), na.rm = TRUE),
                   bit64::as.integer64(c("9007199254740988", "9007199254741007")))
  expect_identical(seg_reduce(x, lengths = c(2, 3)), c(x[1] + x[2], bit64::NA_integer64_))
  expect_identical(seg_reduce(x, lengths = c(2, 3), op = "max", na.rm = TRUE), x[c(1, 4)])
  expect_identical(seg_reduce(x, lengths = c(0, 5), op = "max", na.rm = TRUE, empty = 7),
                   c(bit64::as.integer64(7), x[4]))
  expect_identical(seg_reduce(x, lengths = 5, op = "n_distinct"), 5L)
})
