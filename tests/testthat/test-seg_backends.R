# Segmented reductions on every backend, also on a GPU if there is one.

for (op in names(oracle_segment)) test_that(paste("every backend agrees with plain loops:", op), {
  withr::local_seed(11)
  lengths <- c(mixed_lengths, 1, 4096, 5, 8191, 0, 40000)
  positions <- by_lengths(lengths)
  x <- matrix(rnorm(2 * sum(lengths)), ncol = 2)
  if (op == "prod") x <- 1 + x / 200
  if (op %in% c("any", "all")) x[] <- runif(length(x)) < if (op == "any") 0.001 else 0.999
  if (grepl("arg", op)) x <- round(x)
  with_gaps <- replace(x, sample(length(x), 3000), NaN)
  starts <- vapply(lengths, \(n) sample(nrow(x) - n + 1, 1) - 1, 0)
  keys <- factor(sample(rep(seq_along(lengths), lengths)), seq_along(lengths))
  oracle <- function(x, at, na.rm = FALSE) {
    vapply(seq_len(ncol(x)), \(k) oracle_reduce_segments(x[, k], op, at, na.rm), numeric(length(at)))
  }
  for (backend in backends()) {
    reduce <- \(x, ...) unname(seg_reduce(x, op = op, backend = backend, ...))
    near <- function(actual, expected) {
      expect_equal(unname(actual) + 0, expected, tolerance = 1e-11, label = paste(op, backend))
    }
    plain <- reduce(x, lengths = lengths)
    near(plain, oracle(x, positions))
    expect_identical(reduce(x, lengths = lengths), plain)
    with_tile(8, { # on the GPU, many batches
      near(reduce(x, lengths = lengths), oracle(x, positions))
      near(reduce(x, g = keys), oracle(x, unname(split(seq_len(nrow(x)), keys))))
    })
    near(reduce(rbind(0, x), offsets = cumsum(c(1, lengths))), oracle(x, positions))
    near(reduce(x, lengths = lengths, sources = starts), oracle(x, Map(\(from, n) from + seq_len(n), starts, lengths)))
    near(reduce(x, g = keys), oracle(x, unname(split(seq_len(nrow(x)), keys))))
    near(reduce(with_gaps, lengths = lengths, na.rm = TRUE), oracle(with_gaps, positions, TRUE))
  }
})

test_that("softmax, range, weights, formulas and integers agree on every backend", {
  withr::local_seed(12)
  lengths <- c(mixed_lengths, 12000)
  positions <- by_lengths(lengths)
  x <- rnorm(sum(lengths), sd = 5)
  w <- runif(length(x))
  whole <- sample(.Machine$integer.max, length(x), replace = TRUE)
  keys <- sample(rep(seq_along(lengths), lengths))
  for (backend in backends()) {
    near <- \(actual, expected) expect_equal(c(actual), c(expected), tolerance = 1e-12, label = backend)
    reduce <- \(x, ..., lengths) seg_reduce(x, lengths = lengths, ..., backend = backend)
    for (at in split(seq_along(x), keys)) near(sum(seg_softmax(x, g = keys, backend = backend)[at]), 1)
    softmax <- seg_softmax(x, lengths = lengths, backend = backend)
    for (at in positions) {
      e <- exp(x[at] - max(x[at], -Inf))
      near(softmax[at], e / sum(e))
    }
    with_tile(8, near(seg_softmax(x, lengths = lengths, backend = backend), softmax))
    expect_identical(seg_softmax(c(-Inf, -Inf, 1, Inf), lengths = c(2, 2), backend = backend), rep(NaN, 4))
    range <- reduce(x, lengths = lengths, op = "range")
    for (end in c("min", "max")) expect_identical(range[, end], oracle_reduce_segments(x, end, positions))
    near(reduce(x, lengths = lengths, w = w), oracle_reduce_segments(x * w, "sum", positions))

    first <- seg_op("a + 0 * b", identity = -1) # the result is the first value, so that the order of values matters
    expect_identical(reduce(x, lengths = lengths, op = first),
                     vapply(positions, \(at) if (length(at)) x[[at[[1]]]] else -1, 0))
    product <- seg_op("a * b - 3 * (a - b)^2 * 0", identity = 1)
    near(reduce(1 + x / 1e3, lengths = lengths, op = product), oracle_reduce_segments(1 + x / 1e3, "prod", positions))

    sums <- suppressWarnings(reduce(whole, lengths = lengths))
    expect_identical(as.numeric(sums), vapply(positions, \(at) sum(as.numeric(whole[at])), 0))
    expect_identical(reduce(c(1L, NA, 3L), lengths = c(2, 1)), c(NA, 3L))
    expect_identical(reduce(c(3L, NA, 6L), lengths = 3, op = "max", na.rm = TRUE), 6L)
    for (op in c("bit_and", "bit_or", "bit_xor")) {
      join <- list(bit_and = bitwAnd, bit_or = bitwOr, bit_xor = bitwXor)[[op]]
      expect_identical(reduce(whole[1:300], lengths = c(299, 1), op = op), c(Reduce(join, whole[1:299]), whole[[300]]))
    }
    expect_identical(reduce(numeric(0), lengths = c(0, 0)), c(0, 0))
    expect_identical(reduce(numeric(0), lengths = numeric(0)), numeric(0))
  }
})

test_that("reductions of values on the GPU agree with the CPU, in both precisions", {
  skip_without_gpu()
  withr::local_seed(13)
  x <- matrix(runif(2 * sum(mixed_lengths)), ncol = 2)
  for (precision in c("float64", "float32")) for (op in c("sum", "mean", "max", "argmin", "logsumexp", "sd")) {
    there <- gpu_matrix(x, precision = precision)
    on_cpu <- seg_reduce(as.matrix(there), lengths = mixed_lengths, op = op, backend = "cpu")
    expect_close(seg_reduce(there, lengths = mixed_lengths, op = op) + 0, on_cpu + 0, precision, info = op)
  }
})

test_that("reductions of groups by keys on the GPU agree with the CPU", {
  skip_without_gpu()
  withr::local_seed(14)
  for (mean in c(1, 3, 50, 5000, 1e5)) for (precision in c("float64", "float32")) {
    keys <- rep(c(rep(1:3, 300), NA, 7), sample(2 * mean, 902, replace = TRUE))
    keys <- as.numeric(keys[seq_len(min(length(keys), 30001))])
    x <- runif(length(keys))
    there <- gpu_matrix(matrix(keys), precision)
    expect_equal(reduce_by_key(there, x), reduce_by_key(keys, x), label = paste(mean, precision))
  }
  expect_error(reduce_by_key(gpu_matrix(matrix(1, 2, 2)), 1:2), class = "kernops_input_error")
  expect_error(reduce_by_key(gpu_matrix(matrix(1, 3)), 1:2), class = "kernops_dim_error")
})

test_that("the CUDA texts of all reductions compile", {
  skip_if_not(nzchar(cuda_compiler()), "NVRTC, the CUDA run-time compiler, was not found")
  skip_on_cran()
  texts <- unique(cuda_segment_sources(all = TRUE))
  expect_gt(length(texts), 50)
  Map(expect_compiles, texts, rep_len(c("compute_80", "compute_90"), length(texts)))
})
