# Segments of values in any order: keys and columns as tapply() and rowsum() have them.

test_that("groups are named, ordered and left out as tapply() does", {
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

test_that("a factor may come second, and groups be a matrix of one column", {
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

test_that("offsets as many as there are values have a name, unless they are groups as well", {
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

test_that("many groups of whole numbers, near together or not, by any number of threads", {
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
    expect_error(seg_from_groups(wrong, 4, threads), "60000", class = "kernops_input_error")
  }
})

test_that("keys are compared and named as base R does", {
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

test_that("the columns of a matrix are reduced one by one", {
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
