test_that("the worked example is reproduced", {
  example <- seg_examples$by_key
  for (op in c("sum", "max", "min")) {
    runs <- reduce_by_key(example$keys, example$values, op)
    expect_identical(runs$values, as.numeric(example[[op]]), label = op)
    expect_identical(runs$keys, example$sum_keys)
    expect_identical(runs$lengths, as.numeric(example$lengths))
  }
})

test_that("runs agree with rle(), for keys of any type", {
  withr::local_seed(1)
  x <- runif(200)
  runs <- rle(sort(sample(30, 200, TRUE)))
  keys <- inverse.rle(runs)
  expected <- as.numeric(tapply(x, rep(seq_along(runs$lengths), runs$lengths), sum))
  for (as_key in list(as.integer, as.numeric, as.character, \(k) factor(k), \(k) as.Date("2020-01-01") + k)) {
    by <- reduce_by_key(as_key(keys), x)
    expect_equal(by$values, expected, tolerance = 1e-13)
    expect_identical(by$keys, as_key(runs$values), ignore_attr = TRUE)
    expect_identical(by$lengths, as.numeric(runs$lengths))
  }
  expect_identical(reduce_by_key(c(TRUE, TRUE, FALSE, TRUE), 1:4)$values, c(3L, 3L, 4L))
  expect_identical(reduce_by_key(c(1, NA, NA, NaN, 0, -0), 1:6)$values, c(1L, 5L, 4L, 11L))
  expect_identical(reduce_by_key(numeric(), numeric()), list(keys = numeric(), values = numeric(), lengths = numeric()))
})

test_that("a function and a formula of the same operation give the same result", {
  expect_identical(reduce_by_key(c(1.2, 1.9, 2.1), 1:3, same = floor),
                   list(keys = c(1.2, 2.1), values = c(3L, 3L), lengths = c(2, 1)))
  expect_identical(reduce_by_key(c(1, 2, 4, 4.5), 1:4, same = "Abs(a - b) <= 1")$values, c(3L, 7L))
})

test_that("a level NA is the key of missing values", {
  keys <- factor(c("a", NA, "b", "b", "a"), c("b", NA, "a"), exclude = NULL)
  expect_identical(reduce_by_key(keys, 1:5)$values, c(1:2, 7L, 5L))
  keys <- structure(c(2L, NA, 1L, 1L, 3L), levels = c("b", NA, "a"), class = "factor") # one key of each kind
  expect_identical(reduce_by_key(keys, 1:5)$values, c(3L, 7L, 5L))
})

test_that("equal strings in two encodings are one key, as in rle()", {
  keys <- c("\u00e9", iconv("\u00e9", "UTF-8", "latin1"), "e")
  expect_identical(reduce_by_key(keys, 1:3)$values, c(3L, 3L))
})

test_that("integers beyond 2^31 are valid keys", {
  keys <- rep(2^c(31, 40, 53) - 1, c(2, 1, 3)) + c(0, 0, 0, 0, 0, 1)
  expect_identical(reduce_by_key(keys, 1:6),
                   list(keys = unique(keys), values = c(3L, 3L, 9L, 6L), lengths = c(2, 1, 2, 1)))
  # -1, -1, -2, the lowest number (NA of 'bit64'), 0, 2^32, 2^32 + 1: read as doubles, some would be NaN and some equal
  keys <- integer64(c(-1, -1, -2, 0, 0, 0, 1), c(-1, -1, -1, NA, 0, 1, 1))
  by <- reduce_by_key(keys, 1:7)
  expect_identical(by$values, c(3L, 3:7))
  expect_s3_class(by$keys, "integer64")
  expect_identical(writeBin(c(unclass(by$keys)), raw()), writeBin(c(unclass(keys))[-2], raw()))
})

test_that("keys may be integer64, and an array of one dimension", {
  expect_identical(reduce_by_key(array(c(1, 1, 2)), 1:3)$values, c(3L, 3L))
  skip_if_not_installed("bit64")
  runs <- reduce_by_key(bit64::as.integer64(c(-1, -2, -2, 3)), 1:4)
  expect_identical(runs[c("values", "lengths")], list(values = c(1L, 5L, 4L), lengths = c(1, 2, 1)))
  expect_identical(as.character(runs$keys), c("-1", "-2", "3"))
})

test_that("reduce_by_key() passes arguments on to seg_reduce()", {
  expect_identical(reduce_by_key(c(1, 1, 2), c(1, NA, NA), "max", na.rm = TRUE, empty = 0)$values, c(1, 0))
})

test_that("runs of keys of any type, and of several keys, agree with base R", {
  withr::local_seed(3)
  n <- 300
  code <- rep(sample(5, n / 3, TRUE), each = 3)[seq_len(n)]
  other <- rep(c(TRUE, NA, FALSE), length.out = n, each = 4)
  x <- runif(n)
  keys <- list(complex(real = code, imaginary = 1), as.raw(code), as.difftime(code, units = "mins"),
               as.POSIXct("2024-01-01", "UTC") + code, list(code, other), data.frame(code, other = factor(other)))
  for (key in keys) {
    text <- if (is.list(key)) paste(code, other) else as.character(key)
    runs <- rle(text)
    by <- reduce_by_key(key, x)
    start <- cumsum(c(1, runs$lengths))[seq_along(runs$lengths)]
    expect_identical(by$lengths, as.numeric(runs$lengths))
    expect_equal(by$values, c(tapply(x, rep(seq_along(start), runs$lengths), sum)), ignore_attr = TRUE)
    first <- if (is.data.frame(key)) key[start, ] else if (is.list(key)) lapply(key, `[`, start) else key[start]
    expect_equal(by$keys, first, ignore_attr = "row.names")
  }
})

test_that("a plan of keys finds the runs once, and keeps the first keys", {
  keys <- c("a", "a", "b", "a", NA, NA)
  plan <- seg_plan(keys = keys)
  path <- withr::local_tempfile()
  saveRDS(plan, path)
  for (kept in list(plan, readRDS(path))) for (op in c("sum", "max", "first")) {
    expect_identical(reduce_by_key(x = 1:6, op = op, plan = kept), reduce_by_key(keys, 1:6, op))
  }
  expect_identical(seg_reduce(1:6, plan = plan), c(3L, 3L, 4L, 11L))
  gaps <- c(1, 1.5, 2, 7, 7.2)
  by <- reduce_by_key(x = 1:5, plan = seg_plan(keys = gaps, same = "Abs(a - b) <= 1"))
  expect_identical(by, list(keys = c(1, 7), values = c(6L, 9L), lengths = c(3, 2)))
  expect_output(print(plan), "4 segments of 6 values")
})

test_mistakes("kernops_error", alist(
  `more keys than a matrix has rows` = reduce_by_key(gpu_matrix(1:3e9), 1:3e9),
  `results on the GPU from the CPU` = reduce_by_key(1:2, 1:2, backend = "cpu", output = "gpu"),
  `too few keys` = reduce_by_key(1:2, 1:3),
  `keys in a list` = reduce_by_key(list(1, 2), 1:2),
  `no plan` = reduce_by_key(x = 1:2, plan = 3),
  `a plan of groups` = reduce_by_key(x = 1:2, plan = seg_plan(g = 1:2)),
  `keys and their plan` = reduce_by_key(1:2, 1:2, plan = seg_plan(keys = 1:2)),
  `a plan of fewer keys` = reduce_by_key(x = 1:3, plan = seg_plan(keys = 1:2)),
  `a plan of keys and groups` = seg_plan(keys = 1:2, g = 1:2),
  `a plan of so many keys` = seg_plan(keys = 1:2, n = 3),
  `keys of several lengths` = reduce_by_key(list(1:2, 1:3), 1:2),
  `an argument that is unknown` = reduce_by_key(1:2, 1:2, na.rm = TRUE, foo = 3),
  `a formula of integer64` = reduce_by_key(integer64(1:2, c(0, 0)), 1:2, same = "a == b"),
  `a formula of strings` = reduce_by_key(c("a", "b"), 1:2, same = "a == b"),
  `a formula with a third variable` = reduce_by_key(1:2, 1:2, same = "a == c"),
  `a function of another length` = reduce_by_key(1:2, 1:2, same = sum)
))
