# Segments of values in any order, given by keys or columns, against tapply() and rowsum().

test_that("integer codes without a level are refused by every call, at any position", {
  g <- structure(c(rep(1:2, 3000), 7L, NA), levels = c("a", "b"), class = "factor")
  x <- as.numeric(seq_along(g))
  refused <- "must number the groups from 1 to 2; element 6001 is 7"
  for (op in c("sum", "mean", "min", "sd", "first", "last", "median", "argmax")) {
    expect_error(seg_reduce(x, g = g, op = op), refused, class = "kernops_input_error", info = op)
  }
  expect_error(seg_reduce(x, g = g, op = "mean", weights = x), refused, class = "kernops_input_error")
  expect_error(seg_scan(x, g = g), refused, class = "kernops_input_error")
  expect_error(seg_plan(g = g), refused, class = "kernops_input_error")
  g[6001] <- NA
  expect_identical(seg_reduce(x, g = g, op = "first"), c(a = 1, b = 2))
})

test_that("only results of empty groups are replaced; missing results of other groups are kept", {
  g <- factor(c(3, 1, 3, 4, 4, 1), 1:5)
  x <- c(NaN, 1, NA, NaN, 2, 3)
  expect_identical(unname(seg_reduce(x, g = g, op = "mean")), c(2, NaN, NA, NaN, NaN))
  expect_identical(unname(seg_reduce(x, g = g, op = "mean", weights = 1:6)), c(20 / 8, NaN, NA, NaN, NaN))
  expect_identical(unname(seg_reduce(x, g = g, op = "first")), c(1, NA, NaN, NaN, NA))
  expect_identical(unname(seg_reduce(x[c(2, 6)], g = g[c(2, 6)], op = "mean")), c(2, NaN, NaN, NaN, NaN))
})

test_that("names, order and missing groups agree with tapply()", {
  x <- c(1, 2, 4, 8, 16)
  keys <- list(c("b", "a", NA, "", "b"), c(3L, -1L, NA, 3L, 2L), c(2.5, NaN, 1, 2.5, NA),
               c(TRUE, NA, FALSE, TRUE, TRUE),
               factor(c("u", NA, "v", "u", "w"), levels = c("w", "x", "v", "u")), c(1e9L, -1e9L, 5L, 5L, 1e9L))
  for (g in keys) {
    expected <- tapply(x, g, sum, default = 0)
    expect_identical(seg_reduce(x, g = g), stats::setNames(as.numeric(expected), names(expected)))
  }
  expect_identical(names(seg_reduce(x, g = c("b", "a", "c", "a", "b"), sort = FALSE)), c("b", "a", "c"))
  m <- matrix(1:10, 5, dimnames = list(NULL, c("p", "q")))
  expect_identical(seg_reduce(m, g = c(2, 1, 2, 1, 3)), rowsum(m, c(2, 1, 2, 1, 3)))
  expect_identical(seg_reduce(x, lengths = c(one = 2, none = 0, rest = 3)), c(one = 3, none = 0, rest = 28))
})

test_that("a factor may be the second argument, and groups may be a matrix with one column", {
  mean_of <- \(f) c(tapply(chickwts$weight, f, mean))
  expect_equal(seg_reduce(chickwts$weight, chickwts$feed, "mean"), mean_of(chickwts$feed))
  expect_equal(seg_reduce(chickwts$weight, as.character(chickwts$feed), "mean"), mean_of(chickwts$feed))
  expect_equal(seg_reduce(chickwts$weight, chickwts$feed, op = "mean"), mean_of(chickwts$feed))
  expect_equal(seg_reduce(chickwts$weight, g = cbind(as.integer(chickwts$feed)), op = "mean"),
               `names<-`(mean_of(chickwts$feed), 1:6))
  expect_equal(seg_softmax(c(1, 2, 3), factor(c("a", "b", "a"))), seg_softmax(c(1, 2, 3), g = c(1, 2, 1)))
  expect_identical(seg_plan(chickwts$feed)$names, levels(chickwts$feed))
  expect_error(seg_reduce(1:3, c(1, 1, 2), "mean"), class = "kernops_input_error")
})

test_that("`offsets` must be named if there are as many offsets as values, unless groups would have the same result", {
  x <- c(1, 2, 4, 8)
  expect_identical(seg_reduce(x, offsets = c(1, 1, 2, 2)), c(0, 2, 0, 12))
  expect_identical(seg_reduce(x, off = c(1, 1, 2, 2)), c(0, 2, 0, 12))
  expect_identical(do.call(seg_reduce, list(x, offsets = c(0, 0, 4, 4), op = "max")), c(-Inf, 8, -Inf))
  expect_identical(seg_logsumexp(x, offsets = c(0, 1, 2, 4)), c(1, 2, log(exp(4) + exp(8))))
  expect_identical(seg_reduce(x, 0:3), x)
  expect_identical(seg_reduce(x, c(0, 3, 4)), c(7, 8))
  expect_identical(seg_reduce(x, c(0, 1, 3, 4)), c(1, 6, 8))
  expect_identical(seg_softmax(x, c(0, 1, 2, 3)), rep(1, 4))
  expect_error(do.call(seg_reduce, list(x, c(1, 1, 2, 2))), class = "kernops_input_error")
  expect_error(seg_grad("sum")(x, c(1, 1), c(1, 1, 2, 2)), "g = ", class = "kernops_input_error")
  expect_identical(seg_grad("sum")(x, 1:4, offsets = c(1, 1, 2, 2)), c(0, 2, 4, 4))
})

test_that("many groups of integers, dense or sparse, are right for any number of threads", {
  withr::local_seed(5)
  n <- 250000
  x <- sample(n) / 8
  near <- sample(-3e4:5e4, n, TRUE)
  gaps <- 2L * near
  with_missing <- replace(near, sample(n, 500), NA)
  keys <- list(near = near, gaps = gaps, with_missing = with_missing, doubles = as.numeric(with_missing),
               halves = near / 2, far = near * 50000, with_nan = replace(as.numeric(near), 7, NaN),
               numbered = sample(500L, n, TRUE), named = stats::setNames(sample(9L, n, TRUE), seq_len(n)),
               sorted = sort(near), big = 1e5 * sample(3, n, TRUE))
  for (name in names(keys)) {
    g <- keys[[name]]
    expected <- c(tapply(x, g, sum))
    for (threads in c(1, 2, 5)) withr::with_options(list(kernops.threads = threads), {
      expect_identical(seg_reduce(x, g = g), expected + 0, label = paste(name, threads))
    })
  }
  expect_length(seg_reduce(x, g = rep(NA_integer_, n)), 0)
  wrong <- replace(rep(1:4, 50000), c(150000, 60000), c(9L, -1L))
  for (threads in 1:2) {
    expect_error(seg_from_groups(wrong, 1L, 4, NULL, 4, threads), "60000", class = "kernops_input_error")
  }
})

test_that("keys are compared and named as in base R", {
  x <- c(1, 2, 4)
  for (g in list(c(0, -0, 1), c(1e5, 100000, 1e15), c(100000L, 100000L, 1L), as.Date("2024-01-01") + c(1, 1, 0),
                 addNA(factor(c("b", NA, "b"))), ordered(c("low", "high", "low"), c("low", "high")))) {
    expected <- tapply(x, g, sum, default = 0)
    expect_identical(seg_reduce(x, g = g), stats::setNames(as.numeric(expected), names(expected)))
  }
  composed <- c("\u00e9", iconv("\u00e9", "UTF-8", "latin1"), "e")
  expect_identical(unname(seg_reduce(x, g = composed, sort = FALSE)), c(3, 4))
  expect_identical(names(seg_reduce(x, g = c(3, NaN, 1), sort = FALSE)), c("3", "NaN", "1"))
  for (sort in c(TRUE, FALSE)) {
    expect_identical(seg_reduce(x, g = as.hexmode(c(10, 171, 10)), sort = sort), c(a = 5, ab = 2))
  }
})

test_that("the columns of a matrix are reduced separately", {
  withr::local_seed(4)
  m <- matrix(rnorm(500 * 37), 500, dimnames = list(NULL, paste0("v", 1:37)))
  g <- sample(letters, 500, replace = TRUE)
  expect_equal(seg_reduce(m, g = g), rowsum(m, g), tolerance = 1e-13)
  for (op in c("max", "var", "argmin")) for (plan in list(seg_plan(g = g), seg_plan(lengths = c(0, 100, 1, 399)))) {
    each <- vapply(1:37, \(k) as.numeric(seg_reduce(m[, k], plan = plan, op = op)),
                   numeric(kernops:::segments(plan)$about$segments))
    expect_identical(unname(seg_reduce(m, plan = plan, op = op)) + 0, each)
  }
  expect_identical(dimnames(seg_reduce(m, g = g, op = "range")), list(sort(unique(g)), colnames(m), c("min", "max")))
  expect_identical(dimnames(seg_softmax(m, g = g)), dimnames(m))
})

test_that("keys of any type are grouped by value, whether they are many or few, sorted or not", {
  withr::local_seed(8)
  n <- 3000
  x <- sample(n) / 8
  code <- sample(-40:60, n, TRUE)
  day <- as.Date("2024-03-01") + code
  keys <- list(
    integer = code, far = code * 1000003L, double = code / 8, logical = code > 0, string = paste0("k", code),
    letters = rep_len(c("b", "B", "a_1", "a1", "a", "Z", "10", "9"), n), long = paste0("common prefix ", code),
    date = day, days = code / 4 + as.Date("2024-03-01"), time = as.POSIXct("2024-03-01", "UTC") + code * 3600,
    difftime = as.difftime(code / 2, units = "hours"), complex = complex(real = code %% 3, imaginary = -code),
    factor = factor(code, sample(-40:60)), sorted = sort(code), adjacent = rep(c("b", "c", "a"), each = n / 3)
  )
  for (name in names(keys)) for (missing in c(FALSE, TRUE)) {
    g <- if (missing) replace(keys[[name]], c(1, 77, n), NA) else keys[[name]]
    distinct <- if (is.factor(g)) levels(g) else sort(unique(g))
    number <- match(if (is.factor(g)) as.character(g) else g, distinct)
    expected <- vapply(seq_along(distinct), \(k) sum(x[which(number == k)]), 0)
    by <- seg_reduce(x, g = g)
    expect_equal(unname(by), expected, tolerance = 1e-14, label = name)
    expect_identical(anyDuplicated(names(by)), 0L)
    first <- unique(number[!is.na(number)])
    expect_equal(unname(seg_reduce(x, g = g, sort = FALSE)), expected[first], tolerance = 1e-14, label = name)
    for (op in c("mean", "sd", "first", "last", "median", "argmax")) {
      f <- switch(op, first = \(v) v[1], last = \(v) v[length(v)], argmax = which.max, get(op))
      expect_equal(unname(seg_reduce(x, g = g, op = op)), vapply(seq_along(distinct), \(k) f(x[which(number == k)]), 0),
                   tolerance = 1e-12, label = paste(name, op))
    }
  }
  bytes <- as.raw(code + 50L)
  expect_equal(seg_reduce(x, g = bytes), c(tapply(x, as.character(bytes), sum)))
  expect_identical(seg_reduce(1:4, g = integer64(c(5, 1, 5, 5), c(0, 3, 0, -1))),
                   c("-4294967291" = 4L, "5" = 4L, "12884901889" = 2L))
})

test_that("0 and -0 are one key; NA, NaN and the largest integers are separate keys", {
  expect_identical(seg_reduce(1:6, g = c(0.5, NaN, -0, 0, NA, NaN)), c("0" = 7L, "0.5" = 1L, "NaN" = 8L))
  most <- .Machine$integer.max
  expect_identical(unname(seg_reduce(1:5, g = c(most, -most, NA, 0L, -most))), c(7L, 4L, 1L))
  expect_identical(unname(seg_reduce(1:3, g = c(most, most - 1L, most))), c(2L, 4L))
  expect_identical(unname(seg_reduce(1:4, g = c(-most, NA, -most + 1L, -most))), c(5L, 3L))
  expect_identical(unname(seg_reduce(1:3, g = complex(real = c(0, -0, NaN), imaginary = c(1, 1, 1)))), 3L)
  expect_length(seg_reduce(1:3, g = rep(NA_character_, 3)), 0)
  expect_length(seg_reduce(numeric(), g = character()), 0)
})

test_that("several keys are grouped by their combinations, without conversion to strings", {
  withr::local_seed(9)
  n <- 500
  x <- runif(n)
  a <- sample(c("u", "v", NA, "w"), n, TRUE)
  b <- sample(c(-1e6, 2.5, 7, NaN), n, TRUE)
  f <- factor(sample(c("p", "q"), n, TRUE), c("unused", "q", "p"))
  joint <- interaction(a, factor(b, exclude = NA), f, drop = TRUE, lex.order = TRUE)
  expected <- c(tapply(x, joint, sum))
  for (g in list(list(a, b, f), data.frame(a, b, f))) {
    expect_equal(seg_reduce(x, g = g), expected, tolerance = 1e-14)
    expect_equal(seg_reduce(x, plan = seg_plan(g = g)), expected, tolerance = 1e-14)
    expect_equal(seg_reduce(x, g = g, sort = FALSE), expected[as.character(unique(joint[!is.na(joint)]))],
                 tolerance = 1e-14)
  }
  many <- lapply(1:6, \(k) sample(1e4, n, TRUE))
  expect_identical(unname(seg_reduce(rep(1, n), g = many)), rep(1, n))
  expect_identical(names(seg_reduce(1:2, g = list(c("a.b", "a"), c("c", "b.c")))), c("a.b.c", "a.b.c.1"))
  time <- as.POSIXlt("2024-01-01", "UTC") + c(0, 60, 0)
  expect_identical(unname(seg_reduce(1:3, g = as.POSIXlt(time))), c(4L, 2L))
})

test_that("equal strings in different encodings are one key, and the order is that of the locale", {
  withr::local_seed(10)
  words <- c("\u00e9t\u00e9", "ete", "Zug", "zug", "\u00fc", "u", "na\u00efve", "10", "9")
  g <- sample(words, 400, TRUE)
  mixed <- ifelse(runif(400) < 0.5, g, iconv(g, "UTF-8", "latin1"))
  x <- runif(400)
  expect_equal(seg_reduce(x, g = mixed), c(tapply(x, g, sum)))
  expect_identical(names(seg_reduce(x, g = mixed)), sort(unique(g)))
})

test_that("sums of long groups in any order are as accurate as compensated sums", {
  withr::local_seed(11)
  n <- 2e5
  x <- runif(n)
  for (g in list(sample(2L, n, TRUE), rep(2:1, each = n / 2), c(2L, rep(1:2, c(n - 2, 1))), rep(c(3L, 1L), n / 2))) {
    whole <- \(v) sum(as.integer(v * 2^26)) / 2^26 + sum(v * 2^26 - as.integer(v * 2^26)) / 2^26
    expected <- c(tapply(x, g, whole))
    expect_equal(seg_reduce(x, g = g), expected, tolerance = 1e-15)
    expect_equal(seg_reduce(x, g = g, op = "sd"), c(tapply(x, g, sd)), tolerance = 1e-13)
    expect_equal(seg_reduce(x + 1e6, g = g, op = "sd"), c(tapply(x + 1e6, g, sd)), tolerance = 1e-9)
    expect_equal(seg_reduce(x, g = g, op = "mean", weights = rev(x)),
                 c(tapply(x * rev(x), g, sum) / tapply(rev(x), g, sum)), tolerance = 1e-13)
  }
})
