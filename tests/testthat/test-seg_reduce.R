# Segmented reductions, against plain loops over the segments.

test_that("every statistic of segments.def has a reference computation in helper-segments.R", {
  definition <- readLines(system.file("include", "kernops", "segments.def", package = "kernops"))
  row <- "^STATISTIC\\( *([a-z_]+),.*"
  statistics <- sub(row, "\\1", grep(row, definition, value = TRUE))
  expect_identical(kernops:::segment_ops()$name, statistics)
  with_oracle <- c(names(oracle_segment), names(oracle_segment_bits), names(oracle_segment_several))
  for (name in statistics) expect(name %in% with_oracle, paste("no oracle of helper-segments.R has a line for", name))
  expect_identical(setdiff(with_oracle, statistics), character())
})

test_that("the worked examples are reproduced", {
  csr <- seg_examples$csr
  by <- \(op, offsets, ...) seg_reduce(csr$values, offsets = offsets, op = op, ...)
  for (op in c("sum", "max", "min")) {
    expect_identical(by(op, csr$starts), as.numeric(csr[[op]]), label = op)
    expect_identical(by(op, c(csr$starts, 100)), as.numeric(csr[[op]]), label = op)
  }
  expect_identical(seg_reduce(csr$values, lengths = csr$lengths), as.numeric(csr$sum))
  expect_identical(by("sum", c(csr$starts_with_empties, 100)), as.numeric(csr$sum_with_empties))
  expect_identical(by("sum", csr$starts, sources = csr$sources), as.numeric(csr$sum_of_sources))
  figure <- seg_examples$figure
  for (op in c("sum", "max", "min")) {
    expect_identical(seg_reduce(figure$values, offsets = figure$offsets, op = op), as.numeric(figure[[op]]), label = op)
  }
  scan <- seg_examples$scan
  last_of_run <- c(diff(scan$begins) != 0, TRUE)
  expect_identical(seg_reduce(scan$values, g = scan$begins),
                   stats::setNames(as.numeric(scan$running[last_of_run]), unique(scan$begins)))
  offsets <- seg_examples$partition$offsets
  expect_identical(seg_reduce(rep(1, 2312), offsets = offsets), as.numeric(diff(offsets)))
  large <- replace(numeric(1e5), c(50000, 1, 100000), c(3, 2, 4))
  expect_identical(seg_reduce(large, offsets = c(0, 50000), op = "max"), c(3, 4))
})

test_that("the worked examples of partial sums and of a scan agree with sums of single segments", {
  figure <- seg_examples$figure
  n <- length(figure$values)
  cuts <- sort(unique(c(figure$offsets, seq(0, n, figure$walk))))
  pieces <- seg_reduce(figure$values, offsets = cuts)
  thread <- cuts[-length(cuts)] %/% figure$walk
  ends <- cuts[-1] %in% figure$offsets
  for (t in unique(thread)) expect_equal(pieces[thread == t & ends], figure$partials[[t + 1]])
  last <- !duplicated(thread, fromLast = TRUE)
  expect_equal(ifelse(ends, 0, pieces)[last], figure$carry_out)
  begin <- unique(thread) * figure$walk
  from <- figure$offsets[findInterval(begin, figure$offsets)]
  expect_equal(seg_reduce(figure$values, lengths = begin - from, sources = from), figure$carry_in)

  scan <- seg_examples$scan
  at <- seq_along(scan$values)
  sums_of <- \(most) {
    lengths <- pmin(at - scan$begins, most)
    seg_reduce(scan$values, lengths = lengths, sources = at - lengths)
  }
  for (step in 1:3) expect_equal(sums_of(2^step), scan$steps[[step]])
  for (most in c(16, 32)) expect_equal(sums_of(most), scan$running)
})

for (op in names(oracle_segment)) test_that(paste("reductions agree with loops over the segments:", op), {
  withr::local_seed(1)
  positions <- by_lengths(mixed_lengths)
  x <- rnorm(sum(mixed_lengths))
  if (op == "prod") x <- 1 + x / 50
  if (op %in% c("any", "all")) x <- as.numeric(runif(length(x)) < if (op == "any") 0.1 else 0.9)
  if (grepl("arg", op)) x <- round(x)
  near <- \(actual, expected) expect_equal(as.numeric(actual), expected, tolerance = 1e-12)
  plain <- seg_reduce(x, lengths = mixed_lengths, op = op)
  near(plain, oracle_reduce_segments(x, op, positions))
  offsets <- cumsum(c(0, mixed_lengths))
  plan <- seg_plan(offsets = offsets)
  expect_identical(seg_reduce(x, plan = plan, op = op), plain)
  expect_identical(seg_reduce(x, offsets = offsets, op = op, sources = offsets[-length(offsets)]), plain)
  expect_identical(seg_reduce(c(0, x), offsets = offsets + 1, op = op), plain)
  for (tile in c(1, 8, 16, 163)) with_tile(tile, expect_identical(seg_reduce(x, plan = plan, op = op), plain))

  with_gaps <- replace(x, sample(length(x), 500), rep(c(NA, NaN), 250))
  near(seg_reduce(with_gaps, plan = plan, op = op, na.rm = TRUE),
       oracle_reduce_segments(with_gaps, op, positions, TRUE))
  if (!op %in% c("logsumexp", "count", "any", "all")) {
    near(seg_reduce(with_gaps, plan = plan, op = op), oracle_reduce_segments(with_gaps, op, positions))
  }

  keys <- sample(length(mixed_lengths) - 1, length(x), replace = TRUE)
  groups <- split(seq_along(x), factor(keys, seq_along(mixed_lengths)))
  unsorted <- \(x, ...) seg_reduce(x, g = factor(keys, seq_along(mixed_lengths)), op = op, ...)
  near(unsorted(x), oracle_reduce_segments(x, op, groups))
  near(unsorted(with_gaps, na.rm = TRUE), oracle_reduce_segments(with_gaps, op, groups, TRUE))
})

test_that("range, softmax and bit operations agree with loops over the segments", {
  withr::local_seed(2)
  positions <- by_lengths(mixed_lengths)
  x <- rnorm(sum(mixed_lengths), sd = 10)
  range <- seg_reduce(x, lengths = mixed_lengths, op = "range")
  expect_identical(dimnames(range), list(NULL, c("min", "max")))
  for (end in c("min", "max")) expect_identical(range[, end], oracle_reduce_segments(x, end, positions))
  y <- seg_reduce(x, lengths = mixed_lengths, op = "softmax")
  for (at in positions) expect_equal(y[at], exp(x[at] - max(x[at], 0)) / sum(exp(x[at] - max(x[at], 0))),
                                     tolerance = 1e-12)
  shuffled <- sample(rep(seq_along(mixed_lengths), mixed_lengths))
  z <- seg_softmax(x, g = shuffled)
  for (group in split(seq_along(x), shuffled)) expect_equal(sum(z[group]), 1, tolerance = 1e-13)

  n <- sample(2^30, length(x), replace = TRUE) - 2^29
  for (op in c("and", "or", "xor")) {
    bits <- seg_reduce(as.integer(n), lengths = mixed_lengths, op = paste0("bit_", op))
    join <- list(and = bitwAnd, or = bitwOr, xor = bitwXor)[[op]]
    expect_identical(bits, vapply(positions, \(at) Reduce(join, as.integer(n[at]), if (op == "and") -1L else 0L), 0L))
  }
  expect_identical(seg_reduce(c(1L, NA, 2L), lengths = c(2, 1), op = "bit_or"), c(NA, 2L))
})

for (op in names(oracle_segment_bits)) test_that(paste("reductions of integers agree with loops over segments:", op), {
  withr::local_seed(20)
  positions <- by_lengths(mixed_lengths)
  x <- sample(.Machine$integer.max, sum(mixed_lengths), replace = TRUE) * rep_len(c(1L, -1L, 1L), sum(mixed_lengths))
  expected <- vapply(positions, \(at) oracle_segment_bits[[op]](x[at]), 0L)
  expect_identical(seg_reduce(x, lengths = mixed_lengths, op = op), expected)
  keys <- factor(sample(rep(seq_along(mixed_lengths), mixed_lengths)), seq_along(mixed_lengths))
  expected <- vapply(split(x, keys), oracle_segment_bits[[op]], 0L)
  expect_identical(seg_reduce(x, g = keys, op = op), expected)
})

for (op in names(oracle_segment_several)) test_that(paste("results of several numbers agree with loops:", op), {
  withr::local_seed(21)
  x <- rnorm(sum(mixed_lengths))
  expected <- do.call(rbind, lapply(by_lengths(mixed_lengths), \(at) oracle_segment_several[[op]](x[at])))
  expect_equal(seg_reduce(x, lengths = mixed_lengths, op = op), expected, tolerance = 1e-12)
})

test_that("a product agrees with base R if partial products overflow or underflow", {
  x <- c(1e200, 1e200, 1e-200, 2, rep(c(1e300, 1e-300), 500), 1e-200, 1e-310, -1e300, 1e200)
  offsets <- c(0, 4, 1004, 1008)
  expected <- c(prod(x[1:4]), 1, prod(x[1005:1008]))
  expect_equal(seg_reduce(x, offsets = offsets, op = "prod"), expected, tolerance = 1e-12)
  expect_equal(unname(seg_reduce(x, g = rep(1:3, diff(offsets)), op = "prod")), expected, tolerance = 1e-12)
  expect_equal(axis_reduce(matrix(x[5:1004], 500), 1, op = "prod"), c(1, 1), tolerance = 1e-12)
})

test_that("softmax and logsumexp do not overflow, and segments of infinite values have the right limit", {
  x <- c(1000, 1001, -Inf, -Inf, Inf, 1, NaN, 1, -Inf, 5)
  expect_equal(seg_logsumexp(x, lengths = rep(2, 5)), c(1000 + log(1 + exp(1)), -Inf, Inf, NaN, 5), tolerance = 1e-15)
  y <- seg_softmax(x, lengths = rep(2, 5))
  expect_equal(y, c(c(1, exp(1)) / (1 + exp(1)), rep(NaN, 6), 0, 1), tolerance = 1e-14)
  long <- rep(c(-Inf, 3), c(1e4, 1e4))
  expect_equal(seg_softmax(long, lengths = 2e4), rep(c(0, 1e-4), each = 1e4), tolerance = 1e-13)
  expect_equal(seg_logsumexp(c(long, -long), lengths = c(2e4, 2e4)), c(3 + log(1e4), Inf), tolerance = 1e-14)
})

test_that("results have the same bits for any threads, tiles and repeated calls", {
  withr::local_seed(6)
  n <- 3e5
  x <- rnorm(n) * 10^runif(n, -5, 5)
  zipf <- c(0.3 * n, diff(floor(seq(0, 1, length.out = 2000)^3 * 0.7 * n)))
  plans <- list(sorted = seg_plan(lengths = c(zipf, n - sum(zipf))), few = seg_plan(g = sample(20, n, TRUE)),
                many = seg_plan(g = sample(1e5, n, TRUE)), single = seg_plan(lengths = n))
  fold <- seg_op("a + b * (1 + Abs(a)) / (1 + Abs(a))")
  for (name in names(plans)) for (op in list("sum", "var", "logsumexp", "argmax", fold)) {
    value <- \() seg_reduce(x, plan = plans[[name]], op = op)
    alone <- with_threads(1, value())
    for (threads in c(2, 8)) expect_identical(with_threads(threads, value()), alone)
    for (tile in c(1, 163, 1e5)) expect_identical(with_tile(tile, value()), alone)
  }
  alone <- seg_reduce(x, plan = plans$sorted)
  for (run in 1:50) expect_identical(seg_reduce(x, plan = plans$sorted), alone)
})

test_that("sums have the documented accuracy", {
  withr::local_seed(7)
  expect_exact <- function(sums, expected, sizes, counts) {
    expect_true(all(abs(as.numeric(sums) - expected) <= 2 * .Machine$double.eps * log2(counts) * sizes))
  }
  for (n in c(10, 1000, 1e5, 1e6)) {
    for (x in list(runif(n), rnorm(n) * 10^runif(n, -8, 8))) {
      expect_exact(seg_reduce(x, lengths = n), sum(x), sum(abs(x)), n)
      first <- seq_len(n) %% 2 == 0
      expect_exact(seg_reduce(x, g = 2L - first), c(sum(x[first]), sum(x[!first])), sum(abs(x[!first])), n / 2)
    }
    # the expected sum of equal values is a product, because the rounding errors of a sum may all have one sign
    for (groups in unique(pmin(c(1, 2, 10, 1000, 20000), n / 2))) {
      g <- sample.int(groups, n, TRUE)
      counts <- tabulate(g, groups)
      expect_exact(seg_reduce(rep(0.1, n), g = factor(g, seq_len(groups))), 0.1 * counts, 0.1 * counts, pmax(counts, 2))
      expect_exact(seg_reduce(rep(0.1, n), lengths = counts), 0.1 * counts, 0.1 * counts, pmax(counts, 2))
    }
    clustered <- rep(1:2, c(n / 2, n / 2))[c(n, seq_len(n - 1))]
    expect_exact(seg_reduce(rep(0.1, n), g = clustered), 0.05 * n, 0.05 * n, n / 2)
  }
})

test_that("segments may end at any position near the end of a tile or a block", {
  withr::local_seed(8)
  for (tile in c(8, 4096)) for (around in c(-1, 0, 1)) for (times in c(1, 128)) {
    lengths <- c(1, tile * times + around, 3)
    x <- round(rnorm(sum(lengths)), 2)
    sums <- with_tile(tile, seg_reduce(x, lengths = lengths))
    expect_equal(sums, oracle_reduce_segments(x, "sum", by_lengths(lengths)), tolerance = 1e-11)
  }
  x <- rnorm(1000)
  expect_identical(seg_reduce(x, lengths = rep(1, 1000)), x)
  expect_identical(seg_reduce(x[1:500], lengths = rep(0:1, 500)), c(rbind(0, x[1:500])))
})

for (isa in c("baseline", "avx2", "avx512")) {
  test_that(paste("every instruction set reduces segments:", isa), {
    skip_if_not(isa %in% kernops:::cpu_isas(), paste("this machine lacks", isa))
    withr::local_options(kernops.isa = isa)
    withr::local_seed(9)
    x <- rnorm(sum(mixed_lengths))
    positions <- by_lengths(mixed_lengths)
    for (op in c("sum", "var", "min", "argmax", "logsumexp", "last")) {
      expect_equal(as.numeric(seg_reduce(x, lengths = mixed_lengths, op = op)),
                   oracle_reduce_segments(x, op, positions), tolerance = 1e-12)
    }
  })
}

ten <- as.numeric(1:10)
test_mistakes("kernops_error", alist(
  `offsets decrease` = seg_reduce(ten, offsets = c(0, 5, 3)),
  `offsets beyond the end` = seg_reduce(ten, offsets = c(0, 5, 11)),
  `negative offsets` = seg_reduce(ten, offsets = c(-1, 5)),
  `missing offsets` = seg_reduce(ten, offsets = c(0, NA)),
  `offsets between whole numbers` = seg_reduce(ten, offsets = c(0, 2.5)),
  `offsets in words` = seg_reduce(ten, offsets = "0"),
  `lengths too long` = seg_reduce(ten, lengths = c(5, 4, 3)),
  `lengths too short` = seg_reduce(ten, lengths = c(5, 4)),
  `sources out of range` = seg_reduce(ten, lengths = c(2, 3), sources = c(0, 8)),
  `too few sources` = seg_reduce(ten, lengths = c(2, 3), sources = 0),
  `sources with groups` = seg_reduce(ten, g = ten, sources = 0),
  `groups of another length` = seg_reduce(ten, g = 1:9),
  `groups in a list` = seg_reduce(ten, g = list(1, 2)),
  `plan of another length` = seg_reduce(ten, plan = seg_plan(lengths = c(2, 3))),
  `no plan` = seg_reduce(ten, plan = 3),
  `no segments` = seg_reduce(ten),
  `two sorts of segments` = seg_reduce(ten, lengths = 10, g = ten),
  `groups that are numbers come second` = seg_reduce(ten, ten, "mean"),
  `numbers of groups for offsets` = seg_reduce(c(1, 2, 3, 4), c(1, 1, 2, 2)),
  `numbers of groups for offsets of a softmax` = seg_softmax(c(1, 2, 3, 4), c(0, 0, 1, 1)),
  `numbers of groups for offsets of a log-sum-exp` = seg_logsumexp(5, 1),
  `unknown operation` = seg_reduce(ten, lengths = 10, op = "medium"),
  `no values` = seg_reduce("1", lengths = 1),
  `a data frame` = seg_softmax(cars, lengths = 50),
  `endless offsets` = seg_reduce(ten, offsets = c(0, Inf)),
  `a factor` = seg_reduce(factor(1), lengths = 1),
  `an array` = seg_reduce(array(0, c(2, 2, 2)), lengths = 2),
  `missing na.rm` = seg_reduce(ten, lengths = 10, na.rm = NA),
  `weights of another length` = seg_reduce(ten, lengths = 10, w = 1:3),
  `weights of a maximum` = seg_reduce(ten, lengths = 10, w = ten, op = "max"),
  `bits of doubles` = seg_reduce(ten, lengths = 10, op = "bit_and"),
  `weights in words` = seg_reduce(ten, lengths = 10, w = letters[1:10]),
  `negative weights of a log-sum-exp` = seg_reduce(ten, lengths = 10, w = c(1, -2, rep(1, 8)), op = "logsumexp"),
  `negative weights of a standard deviation` = seg_reduce(ten, lengths = 10, w = -ten, op = "sd"),
  `weights of class integer64` = seg_reduce(ten, lengths = 10, w = integer64(1:10, rep(0, 10))),
  `a length beyond all numbers` = seg_reduce(ten, lengths = 1e300),
  `an operation of another name` = seg_logsumexp(ten, lengths = 10, op = "sum"),
  `weights of an own operation` = seg_reduce(ten, lengths = 10, w = ten, op = seg_op("a + b")),
  `an operation that is a function` = seg_reduce(ten, lengths = 10, op = sum),
  `lengths of more values than numbers count` = seg_reduce(ten, lengths = rep(8e15, 2000)),
  `offsets that are a factor` = seg_reduce(ten, offsets = factor(1)),
  `keys of several lengths` = seg_reduce(ten, g = list(1:10, 1:9)),
  `a key that is a function` = seg_reduce(ten, g = list(1:10, sum)),
  `sort that is no flag` = seg_reduce(ten, g = ten, sort = NA),
  `empty of two` = seg_reduce(ten, lengths = 10, empty = 1:2),
  `softmax with sources` = seg_softmax(ten, plan = seg_plan(lengths = 2, sources = 3, n = 10)),
  `softmax with sources in seg_reduce` = seg_reduce(ten, lengths = 2, sources = 3, op = "softmax")
))
