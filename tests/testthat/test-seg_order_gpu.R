# Order statistics, ranks, permutations and the first values of segments on the GPU: the bits equal the bits of the CPU.
# The tests of seg_order_statistics and seg_sort compare results of the CPU with base R.

sizes <- c(0, 1, 2, 3, 8, 9, 17, 33, 65, 129, 257, 513, 1025, 2049, 0, 4097, rep(c(1, 5, 2), 12), 0)
count <- sum(sizes)
part <- rep(seq_along(sizes), sizes)

# A column of distinct values, and a column of ties with missing, infinite and tiny values, 0 and -0.
columns_of_kinds <- function() {
  cbind(rnorm(count), sample(c(-9:9, Inf, -Inf, 1e-42, -1e-42, 0, -0, rep(0:9, 20), NaN), count, TRUE))
}
statistics <- list(
  median = list(), mad = list(), iqr = list(type = 6), mode = list(), n_distinct = list(), nth = list(nth = 3),
  nth = list(nth = -2), quantile = list(probs = c(0, 0.1, 0.5, 0.9, 1)), quantile = list(probs = 0.3, type = 2)
)

test_that("order statistics on the GPU have the bits of the CPU, for any lengths and order of rows", {
  skip_without_gpu()
  withr::local_seed(1)
  x <- columns_of_kinds()
  mixed <- sample(count)
  for (precision in c("float32", "float64")) {
    by_group <- precision == "float64"
    there <- gpu_matrix(if (by_group) x[mixed, ] else x, precision)
    on_host <- as.matrix(there)
    by <- if (by_group) list(g = factor(part[mixed], seq_along(sizes))) else list(lengths = sizes)
    for (n in seq_along(statistics)) for (na.rm in c(FALSE, TRUE)) {
      args <- c(list(op = names(statistics)[[n]], na.rm = na.rm), statistics[[n]], by)
      expected <- do.call(seg_reduce, c(list(on_host, backend = "cpu"), args))
      label <- paste(args$op, precision, by_group, na.rm)
      expect_identical(do.call(seg_reduce, c(list(there), args)), expected, label = label)
      if (na.rm) next
      stays <- do.call(seg_reduce, c(list(there, output = "gpu"), args))
      expect_identical(c(as.matrix(stays)), c(as.numeric(expected)), label = label)
    }
  }
})

test_that("order statistics of integers, logicals and weighted values on the GPU agree with the CPU", {
  skip_without_gpu()
  withr::local_seed(2)
  sizes <- c(0, 1, 40, 0, 2100, rep(c(1, 5, 2), 12))
  count <- sum(sizes)
  whole <- replace(sample(-20:20, count, TRUE), sample(count, 4), NA)
  extreme <- sample(c(.Machine$integer.max, -.Machine$integer.max, 0L), count, TRUE)
  both <- \(x, ...) {
    by <- \(backend) seg_reduce(x, lengths = sizes, backend = backend, ...)
    expect_identical(by("cuda"), by("cpu"), label = paste(typeof(x), ...))
  }
  for (x in list(whole, extreme, whole > 0)) for (na.rm in c(FALSE, TRUE)) {
    for (op in c("median", "mode", "n_distinct", "nth")) both(x, op = op, na.rm = na.rm)
  }
  gaps <- replace(round(rnorm(count), 1), c(20, 30, 60, 2141), c(NaN, NA, NA, NaN))
  for (w in list(sample(0:4, count, TRUE), rexp(count) * rbinom(count, 1, 0.8))) {
    for (na.rm in c(FALSE, TRUE)) for (op in c("median", "iqr", "mode")) both(gaps, op = op, weights = w, na.rm = na.rm)
    for (type in c(1, 2, 7)) both(whole, op = "quantile", weights = w, type = type, probs = c(0, 0.3, 1), na.rm = TRUE)
  }
  both(whole, op = "median", weights = numeric(count), empty = 7)
  both(numeric(count) * NA, op = "mode", empty = 7, na.rm = TRUE)
  mixed <- seg_reduce(rnorm(6), g = c("b", NA, "a", "b", "a", NA), op = "median", weights = 1:6, backend = "cuda")
  expect_named(mixed, c("a", "b"))
})

test_that("the GPU sorts long segments by radix sort", {
  skip_without_gpu()
  withr::local_seed(4)
  sizes <- list(float32 = c(3, 20000, 0, 5000, 40001, 1), float64 = c(10, 140001, 3000))
  for (precision in names(sizes)) {
    lengths <- sizes[[precision]]
    count <- sum(lengths)
    x <- cbind(rnorm(count), sample(c(round(rnorm(3000), 1), NA, NaN, Inf, -Inf, 0, -0), count, TRUE))
    there <- gpu_matrix(x, precision)
    on_host <- as.matrix(there)
    expect_identical(as.matrix(seg_sort(there, lengths = lengths, output = "gpu")),
                     as.matrix(seg_sort(on_host, lengths = lengths, backend = "cpu")))
    for (op in c("median", "mode", "n_distinct")) {
      expect_identical(seg_reduce(there, lengths = lengths, op = op, na.rm = TRUE),
                       seg_reduce(on_host, lengths = lengths, op = op, na.rm = TRUE, backend = "cpu"))
    }
    for (f in list(seg_order, seg_rank)) {
      expect_identical(f(there, lengths = lengths, decreasing = TRUE),
                       f(on_host, lengths = lengths, decreasing = TRUE, backend = "cpu"))
    }
  }
})

test_that("gradients of order statistics stay on the GPU and have the bits of the CPU", {
  skip_without_gpu()
  withr::local_seed(5)
  sizes <- c(0, 1, 5, 40, 0, 2100, 3)
  count <- sum(sizes)
  x <- cbind(rnorm(count), sample(c(-3:3, NA, NaN, Inf), count, TRUE))
  cases <- list(list("median"), list("iqr", type = 6), list("nth", nth = -2), list("quantile", probs = c(0.2, 0.9)),
                list("top", k = 3), list("top", k = 2, decreasing = FALSE))
  for (n in seq_along(cases)) {
    case <- cases[[n]]
    by <- if (n %% 2) list(lengths = sizes) else list(g = factor(sample(rep(seq_along(sizes), sizes))))
    segments <- if (is.null(by$g)) length(sizes) else nlevels(by$g)
    eta <- array(rnorm(2 * segments * (case$k %||% length(case$probs))), c(segments, 2, case$k %||% length(case$probs)))
    if (is.null(case$k) && is.null(case$probs)) eta <- matrix(rnorm(2 * segments), segments)
    for (na.rm in if (case[[1]] == "top") list(NULL) else list(FALSE, TRUE)) {
      args <- c(case[-1], by, list(na.rm = na.rm)[!is.null(na.rm)])
      gradient <- \(x, eta, ...) do.call(seg_grad(case[[1]]), c(list(x, eta, ...), args))
      expected <- gradient(x, eta)
      expect_identical(gradient(gpu_matrix(x), eta), expected, label = case[[1]])
      there <- gradient(gpu_matrix(x), gpu_matrix(matrix(eta, segments)), output = "gpu")
      expect_identical(as.matrix(there), expected, label = case[[1]])
    }
  }
  single <- seg_grad("median")(gpu_matrix(c(3, 1, 2, 5), "float32"), c(1, 3), lengths = c(1, 3), output = "gpu")
  expect_match(capture.output(print(single)), "float32")
  expect_equal(c(as.matrix(single)), c(1, 0, 3, 0))
})

test_that("permutations, ranks and the largest values on the GPU agree with the CPU", {
  skip_without_gpu()
  withr::local_seed(3)
  x <- columns_of_kinds()
  mixed <- sample(count)
  for (precision in c("float32", "float64")) for (decreasing in c(FALSE, TRUE)) {
    by_group <- (precision == "float64") == decreasing
    there <- gpu_matrix(if (by_group) x[mixed, ] else x, precision)
    on_host <- as.matrix(there)
    by <- if (by_group) list(g = factor(part[mixed], seq_along(sizes))) else list(lengths = sizes)
    same <- function(f, ...) {
      args <- c(list(...), by, list(decreasing = decreasing))
      expected <- do.call(f, c(list(on_host, backend = "cpu"), args))
      expect_identical(do.call(f, c(list(there), args)), expected)
      stays <- do.call(f, c(list(there, output = "gpu"), args))
      as_numbers <- \(v) c(as.numeric(if (is.list(v)) unlist(lapply(v, as.numeric)) else v))
      expect_identical(as_numbers(if (is.list(stays)) lapply(stays, as.matrix) else as.matrix(stays)),
                       as_numbers(expected))
    }
    for (na.last in c(TRUE, FALSE)) same(seg_order, na.last = na.last)
    for (k in c(1, 8)) same(seg_top, k = k)
    for (ties in c("average", "first", "last", "min", "max")) same(seg_rank, ties = ties)
    for (na.last in c(TRUE, FALSE)) same(seg_rank, ties = "first", na.last = na.last)
  }
  random <- seg_rank(gpu_matrix(c(2, 2, NA, 1)), ties = "random", output = "gpu")
  expect_setequal(as.matrix(random)[c(1, 2, 4)], c(1, 2, 3))
  for (call in list(\(...) seg_order(3:1, ...), \(...) seg_rank(c(TRUE, NA, FALSE), ...), \(...) seg_top(5:9, 2, ...),
                    \(...) seg_sort(c(3L, NA, 1L), ...), \(...) seg_rank(c(4, 2, 9), g = c("a", NA, "a"), ...))) {
    expect_identical(call(backend = "cuda"), call(backend = "cpu"))
  }
})

test_that("a shortage of GPU memory is an error that reports the shortage, and the next call is right", {
  skip_without_gpu()
  x <- gpu_matrix(rnorm(1e5), "float64")
  stays <- \(f, ...) f(x, lengths = 1e5, output = "gpu", ...)
  for (call in list(\() stays(seg_sort), \() stays(seg_rank), \() stays(seg_order), \() stays(seg_top, k = 2),
                    \() stays(seg_reduce, op = "mode"), \() stays(seg_reduce, op = "median"))) {
    gc()
    limit <- sum(cuda_describe()$used_bytes) + 1.4e6 # this limit is too small for the sort keys
    expect_error(withr::with_options(list(kernops.gpu_memory = limit), call()), class = "kernops_memory_error")
    expect_no_error(call())
  }
})

test_again_on_gpu(c("seg_order_statistics", "seg_sort"))
