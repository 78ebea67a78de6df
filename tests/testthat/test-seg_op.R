# Operations of one's own: a balanced tree that keeps the order.

fold <- \(x, op, ...) seg_reduce(x, op = op, ...)

test_that("a formula of two values is what the built-in operation is", {
  withr::local_seed(1)
  x <- rnorm(sum(mixed_lengths))
  for (case in list(list("a + b", "sum", 0), list("Max(a, b)", "max", -Inf), list("Min2(a, b)", "min", Inf))) {
    op <- seg_op(case[[1]], identity = case[[3]])
    expect_equal(fold(x, op, lengths = mixed_lengths), seg_reduce(x, lengths = mixed_lengths, op = case[[2]]),
                 tolerance = 1e-12)
    g <- sample(7, length(x), TRUE)
    expect_equal(fold(x, op, g = g), seg_reduce(x, g = g, op = case[[2]]), tolerance = 1e-12)
  }
  gaps <- replace(x, sample(length(x), 3000), NA)
  op <- seg_op("a + b", identity = 0)
  expect_equal(fold(gaps, op, lengths = mixed_lengths, na.rm = TRUE),
               seg_reduce(gaps, lengths = mixed_lengths, na.rm = TRUE),
               tolerance = 1e-12)
  m <- matrix(x[1:600], 200)
  expect_equal(fold(m, op, lengths = c(50, 150)), seg_reduce(m, lengths = c(50, 150)), tolerance = 1e-12)
})

test_that("an operation that does not commute keeps the order", {
  withr::local_seed(2)
  x <- rnorm(sum(mixed_lengths))
  expect_identical(fold(x, seg_op("b + 0 * a"), lengths = mixed_lengths),
                   seg_reduce(x, lengths = mixed_lengths, op = "last"))
  expect_identical(fold(x, seg_op("a + 0 * b"), lengths = mixed_lengths),
                   seg_reduce(x, lengths = mixed_lengths, op = "first"))
  g <- sample(50, length(x), TRUE)
  expect_identical(fold(x, seg_op("b + 0 * a"), g = g), seg_reduce(x, g = g, op = "last"))
})

test_that("the tree is balanced on the CPU", {
  withr::local_options(kernops.backend = "cpu")
  tree <- function(x) {
    while (length(x) > 1) {
      pairs <- length(x) %/% 2
      rest <- if (length(x) %% 2) x[length(x)]
      x <- c(x[2 * seq_len(pairs) - 1] - x[2 * seq_len(pairs)] / 2, rest)
    }
    x
  }
  x <- as.numeric(1:20000)
  lengths <- c(1, 2, 3, 7, 5000, 4096, 10891)
  expect_identical(fold(x, seg_op("a - b / 2"), lengths = lengths), vapply(by_lengths(lengths), \(at) tree(x[at]), 0))
})

test_that("an operation can be printed, saved, and has its identity", {
  op <- seg_op("Hypot(a, b)", identity = 0)
  expect_snapshot(op)
  expect_identical(fold(c(3, 4), op, lengths = c(2, 0)), c(5, 0))
  expect_identical(fold(c(3, 4), op, lengths = c(2, 0), empty = -1), c(5, -1))
  expect_identical(fold(c(3, NA), op, lengths = c(1, 1), na.rm = TRUE), c(3, 0))
  expect_identical(fold(3, seg_op("a + b"), lengths = c(0, 1)), c(NA, 3))
  copy <- unserialize(serialize(op, NULL))
  expect_identical(fold(c(3, 4), copy, lengths = 2), 5)
})

test_mistakes("kernops_error", alist(
  `a third variable` = seg_op("a + b + c"),
  `no formula` = seg_op(3),
  `an unknown operation` = seg_op("Maxx(a, b)"),
  `a position` = seg_op("a + b * IndexI()"),
  `a position on the other axis` = seg_op("a + b * IndexJ()"),
  `a position on the axis of the reduction` = seg_op("a + b * Index()"),
  `a variable with a number` = seg_op("a + Var(1, 1, 0)"),
  `a variable without one` = seg_op("a + Var()"),
  `more than one number` = seg_op("Concat(a, b)"),
  `an identity in words` = seg_op("a + b", identity = "zero"),
  `an unbalanced parenthesis` = seg_op("(a + b")
))
