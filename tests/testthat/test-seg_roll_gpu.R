# Rolling windows on the GPU, against base R and against the CPU, which test-seg_roll.R compares with plain R.

latest <- seg_op("Step(Abs(b) - 0.5) * b + (1 - Step(Abs(b) - 0.5)) * a", identity = 7)
compare_roll <- function(x, ..., tolerance = 1e-11) {
  there <- seg_roll(x, ..., backend = "cuda")
  expect_equal(there, seg_roll(x, ..., backend = "cpu"), tolerance = tolerance, label = deparse1(list(...)))
  invisible(there)
}

test_that("windows of a fixed width agree with the CPU for all operations", {
  skip_without_gpu()
  withr::local_seed(1)
  x <- round(rnorm(9000), 2)
  ops <- c(setdiff(names(oracle_segment), c("bit_and", "bit_or", "bit_xor")), "range")
  for (op in c(as.list(ops), list(latest))) for (width in c(3, 700)) {
    compare_roll(if (identical(op, "logsumexp") || identical(op, "prod")) abs(x) else x, width, op = op)
  }
  whole <- sample(0:1000, 5000, replace = TRUE)
  for (op in c("sum", "mean", "max", "bit_and", "bit_or", "bit_xor")) compare_roll(whole, 40, op = op)
  filtered <- stats::filter(whole, rep(1, 40), sides = 1)
  expect_identical(seg_roll(whole, 40, backend = "cuda")[40:5000], as.integer(filtered[40:5000]))
})

test_that("widths near the sizes of the chunks of threads, of warps and of blocks are right", {
  skip_without_gpu()
  withr::local_seed(2)
  x <- rnorm(30000)
  sums <- cumsum(c(0, x))
  widths <- c(1:8, 14:16, 29:31, 75, 90, 255, 480, 495, 510, 975, 990, 1279:1281, 1920, 2048, 2049, 2560, 2561, 5121,
              9973)
  for (width in widths) {
    rolled <- seg_roll(x, width, backend = "cuda")
    expect_equal(rolled[width:30000], sums[(width:30000) + 1] - sums[(width:30000) - width + 1], tolerance = 1e-9)
    expect_true(all(is.na(rolled[seq_len(width - 1)])))
    ends <- compare_roll(x, width, partial = TRUE, align = "center")
    expect_false(anyNA(ends))
    if (width %in% c(2, 5, 15, 30, 75, 255, 495, 990, 2561)) {
      compare_roll(x, width, op = latest, align = "left", partial = TRUE)
    }
  }
  whole <- sample(100L, 30000, replace = TRUE)
  for (width in c(5121, 8000)) compare_roll(whole, width)
  compare_roll(x, 20000, op = "max")
  compare_roll(x[1:7], 9, partial = TRUE)
  expect_identical(seg_roll(x[1:7], 9, backend = "cuda"), rep(NA_real_, 7))
  expect_identical(seg_roll(c(1e16, 1, 1, 1, Inf, 1, 2), 2, backend = "cuda"), c(NA, 1e16, 2, 2, Inf, Inf, 3))
})

test_that("windows within segments and groups agree with the CPU", {
  skip_without_gpu()
  withr::local_seed(3)
  lengths <- c(0, 1, 2, 4094, 31, 0, 7000, 64, 1000)
  n <- sum(lengths)
  x <- matrix(round(rnorm(2 * n), 2), n)
  gaps <- replace(x, sample(2 * n, 300), NA)
  gaps[sample(2 * n, 20)] <- NaN
  g <- sample(c(NA, rep(1:20, 1:20)), n, replace = TRUE)
  for (op in list("sum", "argmax", "range", "var", "count", "first", latest)) for (width in c(4, 90)) {
    for (partial in c(FALSE, TRUE)) {
      compare_roll(gaps, width, lengths = lengths, op = op, partial = partial, align = "center")
      compare_roll(gaps, width, g = g, op = op, partial = partial, na.rm = TRUE)
    }
  }
  compare_roll(gaps, 4, op = "mean", offsets = c(3, 4, 4096, 9000))
  expect_identical(is.nan(seg_roll(gaps, 4, backend = "cuda")), is.nan(seg_roll(gaps, 4)))
})

test_that("adaptive windows and windows in time agree with the CPU", {
  skip_without_gpu()
  withr::local_seed(4)
  n <- 5000
  x <- round(rnorm(n), 2)
  g <- sample(3, n, TRUE)
  time <- cumsum(sample(0:3, n, TRUE))
  wild <- sample(900, n, TRUE)
  for (op in list("sum", "min", "argmin", latest)) for (align in c("right", "left")) {
    compare_roll(x, wild, g = g, op = op, align = align)
    compare_roll(x, 100, g = g, op = op, by = time, align = align)
  }
  compare_roll(x, wild, op = "mean", partial = TRUE)
  compare_roll(as.Date("2024-01-01") + x, 5, op = "max", partial = TRUE)
})

test_that("results of windows stay on the GPU", {
  skip_without_gpu()
  withr::local_seed(5)
  x <- matrix(round(rnorm(6000), 2), 3000)
  for (precision in c("float32", "float64")) {
    there <- gpu_matrix(x, precision)
    same <- as.matrix(there)
    for (op in c("sum", "mean", "range", "argmin")) {
      stays <- seg_roll(there, 50, lengths = c(1000, 2000), op = op, output = "gpu")
      expect_s3_class(stays, "gpu_matrix")
      expected <- matrix(as.numeric(seg_roll(same, 50, lengths = c(1000, 2000), op = op)), 3000)
      expect_equal(as.matrix(stays), replace(expected, is.na(expected), NaN),
                   tolerance = if (precision == "float32") 1e-6 else 1e-12)
      expect_equal(seg_roll(there, 50, op = op), seg_roll(same, 50, op = op), tolerance = 1e-12)
    }
    expect_equal(seg_roll(there, 5, op = "median"), seg_roll(same, 5, op = "median"))
    expect_equal(as.matrix(seg_roll(there, 5, op = "quantile", partial = TRUE, output = "gpu")),
                 matrix(seg_roll(same, 5, op = "quantile", partial = TRUE), 3000), tolerance = 1e-6)
  }
  expect_error(seg_roll(x, 3, output = "gpu", backend = "cpu"), class = "kernops_input_error")
  expect_error(seg_roll(there, 3, backend = "cpu"), class = "kernops_input_error")
})
test_that("rolling medians and quantiles on the GPU have the bits of the CPU", {
  skip_without_gpu()
  withr::local_seed(8)
  sizes <- c(1, 200, 0, 3, 40)
  n <- sum(sizes)
  x <- cbind(rnorm(n), sample(c(-3:3, Inf, 0.5, NA, NaN), n, TRUE, c(rep(1, 9), 0.05, 0.05)))
  part <- replace(factor(sample(rep(seq_along(sizes), sizes)), seq_along(sizes)), c(2, 9), NA)
  cases <- list(
    list(width = 3, lengths = sizes, op = "median"), list(width = 40, lengths = sizes, op = "median", partial = TRUE),
    list(width = sample(70, n, TRUE), g = part, op = "median", partial = TRUE, align = "center"),
    list(width = 100, op = "quantile", probs = c(0.1, 0.5, 1), type = 6),
    list(width = 31, g = part, op = "quantile", probs = 0.3, type = 1, partial = TRUE, empty = 9)
  )
  for (k in seq_along(cases)) for (precision in c("float32", "float64")) {
    case <- cases[[k]]
    na.rm <- (k %% 2 == 0) == (precision == "float32")
    there <- gpu_matrix(x, precision)
    roll <- \(x, ...) do.call(seg_roll, c(list(x, na.rm = na.rm, ...), case))
    without_kinds <- \(v) replace(c(v), is.nan(v), NA)
    expected <- roll(as.matrix(there))
    label <- paste(case$op, length(case$width), na.rm, precision)
    expect_identical(without_kinds(roll(there)), without_kinds(expected), label = label)
    stays <- as.matrix(roll(there, output = "gpu"))
    expect_equal(without_kinds(stays), without_kinds(expected), tolerance = 1e-7, label = label)
  }
  whole <- c(5L, NA, 2L, 7L, 2L)
  expect_identical(seg_roll(whole, 3, op = "median", na.rm = TRUE, backend = "cuda"),
                   seg_roll(whole, 3, op = "median", na.rm = TRUE, backend = "cpu"))
  gaps <- seg_roll(c(1, NaN, 3, NA, 5), 2, op = "median", partial = TRUE, backend = "cuda")
  expect_identical(is.nan(gaps), c(FALSE, TRUE, TRUE, FALSE, FALSE))
})
