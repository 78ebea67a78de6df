# User-defined operations: a balanced tree combines the values in their order.

fold <- \(x, op, ...) seg_reduce(x, op = op, ...)

test_that("formulas agree with the built-in operations", {
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

test_that("an operation that does not commute combines values in their order", {
  withr::local_seed(2)
  x <- rnorm(sum(mixed_lengths))
  expect_identical(fold(x, seg_op("b + 0 * a"), lengths = mixed_lengths),
                   seg_reduce(x, lengths = mixed_lengths, op = "last"))
  expect_identical(fold(x, seg_op("a + 0 * b"), lengths = mixed_lengths),
                   seg_reduce(x, lengths = mixed_lengths, op = "first"))
  g <- sample(50, length(x), TRUE)
  expect_identical(fold(x, seg_op("b + 0 * a"), g = g), seg_reduce(x, g = g, op = "last"))
})

test_that("the CPU combines values by a balanced tree", {
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
  op <- kernops:::new_seg_op("a - b / 2") # not associative, so that the result depends on the tree
  expect_identical(fold(x, op, lengths = lengths), vapply(by_lengths(lengths), \(at) tree(x[at]), 0))
})

test_that("an operation can be printed and saved, and the result of an empty segment is its identity element", {
  op <- seg_op("Hypot(a, b)", identity = 0)
  expect_snapshot(op)
  expect_identical(fold(c(3, 4), op, lengths = c(2, 0)), c(5, 0))
  expect_identical(fold(c(3, 4), op, lengths = c(2, 0), empty = -1), c(5, -1))
  expect_identical(fold(c(3, NA), op, lengths = c(1, 1), na.rm = TRUE), c(3, 0))
  expect_identical(fold(3, seg_op("a + b"), lengths = c(0, 1)), c(NA, 3))
  copy <- unserialize(serialize(op, NULL))
  expect_identical(fold(c(3, 4), copy, lengths = 2), 5)
})

test_that("operations are accepted if they are associative up to rounding errors, or for the given values only", {
  for (formula in c("a + b", "a * b", "Max(Abs(a), Abs(b))", "Hypot(a, b)", "a + b - a * b", "2 * a * b", "a + b + 1",
                    "Log(Exp(a) + Exp(b))", "a * b / (a + b)", "(a + b) / (1 + a * b)", "Exp(Log(a) + Log(b))",
                    "(Abs(a)^3 + Abs(b)^3)^(1 / 3)", "IfElse(Abs(a) - Abs(b), a, b)", "a", "b", "0 * a", "Min(a, b)")) {
    expect_s3_class(seg_op(formula), "seg_op")
  }
  xor <- seg_op("a != b", identity = 0, values = 0:1)
  expect_identical(fold(c(1, 0, 1, 1, 0, 0), xor, lengths = c(4, 2)), c(1, 0))
  expect_error(seg_op("a != b"), "associative", class = "kernops_input_error")
  saturating <- seg_op("Min(a + b, 2)", values = c(TRUE, FALSE))
  expect_identical(fold(rep(1, 5), saturating, lengths = 5), 2)
  # formulas of pairs need not be associative
  expect_identical(reduce_by_key(c(1, 1.5, 4), 1:3, same = "b - a <= 1")$lengths, c(2, 1))
  expect_identical(spmv(list(offsets = c(0, 2), columns = 0:1, values = c(5, 3)), c(1, 1), mul = "a - b"), 6)
})

test_that("a counterexample shows that an operation is not associative, and R's generator does not change", {
  withr::local_seed(1)
  before <- .Random.seed
  f <- list(`a - b` = `-`, `(a + b) / 2` = \(a, b) (a + b) / 2, `a * b - 3 * (a - b)^2` = \(a, b) a * b - 3 * (a - b)^2,
            `a * b + 1` = \(a, b) a * b + 1, `Exp(a + b)` = \(a, b) exp(a + b),
            `Round(a + b, 1)` = \(a, b) round(a + b, 1),
            `a == b` = \(a, b) as.numeric(a == b), `Hypot(a, b) + 0.01 * a` = \(a, b) sqrt(a^2 + b^2) + 0.01 * a)
  for (formula in names(f)) {
    said <- conditionMessage(expect_error(seg_op(formula), class = "kernops_input_error"))
    said <- as.numeric(regmatches(said, gregexpr("-?[0-9]+([.][0-9]+)?(e[-+]?[0-9]+)?", said))[[1]])
    of <- said[1:3]
    g <- f[[formula]]
    expect_equal(said[4:5], c(g(g(of[1], of[2]), of[3]), g(of[1], g(of[2], of[3]))), tolerance = 1e-4, label = formula)
    expect_gt(abs(said[4] - said[5]), 0)
  }
  expect_identical(.Random.seed, before)
})

test_mistakes("kernops_error", alist(
  `an operation that is not associative` = seg_op("a - b"),
  `values of words` = seg_op("a + b", values = "1"),
  `an identity that is a missing word` = seg_op("a + b", NA_character_),
  `an identity of bit64` = seg_op("a + b", integer64(1, 0)),
  `an identity that is a date` = seg_op("a + b", as.Date("2020-01-01")),
  `two identities` = seg_op("a + b", 1:2),
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
