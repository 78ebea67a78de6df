# Segments on the GPU only: values and results that stay on the GPU, and values larger than GPU memory.

lengths <- c(mixed_lengths, 12000)
as_host <- function(there) {
  expect_s3_class(there, "gpu_matrix")
  as.matrix(there)
}
numbers <- \(x) replace(as.numeric(x), is.na(x), NaN)

test_that("results stay on the GPU", {
  skip_without_gpu()
  withr::local_seed(1)
  x <- matrix(rnorm(2 * sum(lengths)), ncol = 2)
  x[sample(length(x), 20)] <- NaN
  g <- factor(sample(rep(seq_along(lengths), lengths)), seq_along(lengths))
  for (op in c(names(oracle_segment), "range", "softmax")) for (na.rm in c(FALSE, TRUE)) {
    value <- \(...) as_host(seg_reduce(gpu_matrix(x), op = op, na.rm = na.rm, output = "gpu", ...))
    expected <- oracle_columns(x, op, by_lengths(lengths), na.rm)
    there <- value(lengths = lengths)
    expect_equal(numbers(there), numbers(expected), tolerance = 1e-11, label = op)
    expect_identical(nrow(there), nrow(expected))
    expected <- oracle_columns(x, op, unname(split(seq_len(nrow(x)), g)), na.rm)
    expect_equal(numbers(value(g = g)), numbers(expected), tolerance = 1e-11, label = op)
  }
  whole <- sample(.Machine$integer.max, sum(lengths), replace = TRUE)
  sums <- as_host(seg_reduce(whole, lengths = lengths, backend = "cuda", output = "gpu"))
  expect_identical(c(sums), vapply(by_lengths(lengths), \(at) sum(as.numeric(whole[at])), 0))
  expect_error(seg_reduce(x, lengths = lengths, output = "gpu", backend = "cpu"), class = "kernops_input_error")
})

test_that("if all values of a segment are Inf, or all are -Inf, the extreme is at the first position", {
  skip_without_gpu()
  for (op in c("argmin", "argmax")) {
    there <- as_host(seg_reduce(gpu_matrix(rep(c(Inf, -Inf), each = 5000)), lengths = c(4097, 903, 5000, 0), op = op,
                                output = "gpu"))
    expect_identical(c(there), c(1, 1, 1, NaN))
  }
})

test_that("groups of keys that the GPU finds stay on the GPU", {
  skip_without_gpu()
  withr::local_seed(6)
  keys <- rep(sample(c(-1:2, NaN), 2000, replace = TRUE), sample(c(1, 2, 9, 500), 2000, replace = TRUE))
  keys <- c(rep(7, 9000), keys, rep(8, 4096)) # runs that span several tiles
  x <- matrix(rnorm(2 * length(keys)), ncol = 2)
  for (precision in c("float64", "float32")) for (op in c("sum", "argmin", "range", "softmax")) {
    there <- gpu_matrix(keys, precision)
    expected <- reduce_by_key(keys, x, op, backend = "cpu")
    by <- reduce_by_key(there, gpu_matrix(x), op, output = "gpu")
    expect_identical(c(as_host(by$keys)), expected$keys)
    expect_identical(c(as_host(by$lengths)), expected$lengths)
    expect_equal(c(as_host(by$values)), as.numeric(expected$values), tolerance = 1e-11, label = op)
    again <- with_tile(8, reduce_by_key(there, gpu_matrix(x), op, output = "gpu")) # many batches
    for (part in names(by)) expect_identical(as.matrix(again[[part]]), as.matrix(by[[part]]), label = op)
    for (backend in backends()) {
      expect_equal(reduce_by_key(there, x, op, backend = backend), expected, tolerance = 1e-11, label = op)
    }
  }
  x[7000:9001, 1] <- NA
  with_gap <- reduce_by_key(there, x, backend = "cuda")$values[1:3, 1]
  expect_identical(is.na(with_gap) & !is.nan(with_gap), c(TRUE, TRUE, FALSE))
  none <- reduce_by_key(gpu_matrix(numeric()), gpu_matrix(numeric()), output = "gpu")
  expect_identical(lapply(none, dim), list(keys = c(0L, 1L), values = c(0L, 1L), lengths = c(0L, 1L)))
  by <- reduce_by_key(c("a", "a", "b"), gpu_matrix(1:3), output = "gpu")
  expect_identical(list(by$keys, c(as_host(by$values)), by$lengths), list(c("a", "b"), c(3, 3), c(2, 1)))
})

test_that("finding and reducing runs of keys in one pass gives the same bits as two passes", {
  skip_without_gpu()
  withr::local_seed(7)
  runs <- list(rep(1, 5000), rep(6, 900), sample(1:3, 40000, replace = TRUE), sample(2 * 64, 3000, replace = TRUE),
               c(4096, 4095, 1, 8192, 1e5, 3, 2e5), 1, 4097)
  for (lengths in runs) {
    keys <- rep(seq_along(lengths) %% 7, lengths)
    x <- replace(rnorm(length(keys)), sample(length(keys), length(keys) %/% 100), NA)
    keys_there <- gpu_matrix(keys, "float32")
    x_there <- gpu_matrix(x, "float32")
    for (na.rm in c(FALSE, TRUE)) for (op in list("sum", "max", "mean", seg_op("a + b"))) {
      once <- reduce_by_key(keys_there, x_there, op, na.rm = na.rm, empty = -1, output = "gpu")
      twice <- seg_reduce(x_there, lengths = lengths, op = op, na.rm = na.rm, empty = -1, output = "gpu")
      expect_identical(as_host(once$values), as_host(twice))
      expect_identical(c(as_host(once$keys)), seq_along(lengths) %% 7)
      expect_identical(c(as_host(once$lengths)), as.numeric(lengths))
    }
  }
})

test_that("with missing values, weights and empty segments, results of the GPU agree with the CPU", {
  skip_without_gpu()
  withr::local_seed(2)
  x <- replace(rnorm(sum(lengths)), sample(sum(lengths), 2000), NA)
  x[4:6] <- NA # a segment without other values
  w <- runif(length(x))
  positions <- by_lengths(lengths)
  kept <- \(na.rm) lapply(positions, \(at) if (na.rm) at[!is.na(x[at])] else at)
  of_kept <- \(na.rm, nothing, f) vapply(kept(na.rm), \(at) if (length(at)) as.numeric(f(at)) else nothing, 0)
  both <- function(expected, ..., tolerance = 1e-11) {
    value <- \(x, ...) seg_reduce(x, lengths = lengths, ...)
    on_cpu <- value(x, ..., backend = "cpu")
    expect_equal(numbers(on_cpu), numbers(expected), tolerance = tolerance)
    expect_equal(value(gpu_matrix(x), ...)[, 1], on_cpu, tolerance = tolerance) # NA and NaN are distinguished
    expect_equal(numbers(as_host(value(gpu_matrix(x), ..., output = "gpu"))), numbers(expected), tolerance = tolerance)
  }
  for (na.rm in c(FALSE, TRUE)) {
    for (op in names(oracle_weighted)) {
      expected <- vapply(kept(na.rm), \(at) as.numeric(oracle_weighted[[op]](x[at], w[at])), 0)
      both(expected, op = op, w = w, na.rm = na.rm)
    }
    for (op in c("sum", "max", "argmin", "mean")) {
      expected <- oracle_reduce_segments(x, op, positions, na.rm)
      expected[vapply(kept(na.rm), length, 0L) == 0] <- 7
      both(expected, op = op, empty = 7, na.rm = na.rm)
    }
    both(of_kept(na.rm, -1, \(at) sum(x[at])), op = seg_op("a + b", identity = -1), na.rm = na.rm)
  }
})

test_that("a value of weight 0 does not change the result, even if it is NaN or infinite", {
  skip_without_gpu()
  x <- gpu_matrix(c(1, NaN, 3, Inf, 5))
  value <- \(op) seg_reduce(x, lengths = c(3, 2, 0), w = c(1, 0, 1, 0, 2), op = op, empty = -1)[, 1]
  expect_equal(value("sum"), c(4, 10, -1))
  expect_equal(value("mean"), c(2, 5, -1))
  expect_equal(value("var"), c(2, 0, -1))
  expect_equal(value("logsumexp"), c(log(exp(1) + exp(3)), 5 + log(2), -1))
  there <- seg_reduce(x, lengths = c(3, 2, 0), w = c(1, 0, 1, 0, 2), op = "mean", empty = -1, output = "gpu")
  expect_equal(as_host(there)[, 1], c(2, 5, -1))
})

test_that("gradients stay on the GPU", {
  skip_without_gpu()
  withr::local_seed(3)
  x <- matrix(rnorm(2 * sum(lengths)), ncol = 2)
  x[sample(length(x), 5)] <- 0
  g <- sample(30, nrow(x), replace = TRUE)
  for (op in c("sum", "prod", "min", "max", "mean", "var", "logsumexp", "softmax")) {
    values <- if (op == "prod") x / abs(x + (x == 0)) * 1.0001 else x
    for (by in list(list(lengths = lengths), list(g = g))) {
      eta <- rnorm(if (op == "softmax") length(x) else length(do.call(seg_reduce, c(list(x), by))))
      expected <- do.call(seg_grad(op), c(list(values, eta), by))
      there <- do.call(seg_grad(op), c(list(gpu_matrix(values), gpu_matrix(eta), output = "gpu"), by))
      expect_equal(as_host(there), expected, tolerance = 1e-10, label = op)
    }
    if (op %in% c("softmax", "prod")) next
    single <- gpu_matrix(x, "float32")
    eta <- rnorm(2 * length(lengths))
    expect_close(seg_grad(op)(single, eta, lengths = lengths), seg_grad(op)(as.matrix(single), eta, lengths = lengths),
                 "float32", info = op)
  }
})

test_that("the gradient of a product that cannot be computed by division agrees with the CPU", {
  skip_without_gpu()
  x <- c(1e-200, 1e-200, 1e200, 1e200, Inf, 2, 3, 1e-300, 1e-20, 0)
  lengths <- c(2, 2, 3, 2, 1)
  expected <- c(1e-200, 1e-200, 1e200, 1e200, 6, Inf, Inf, 1e-20, 1e-300, 1)
  expect_equal(seg_grad("prod")(gpu_matrix(x), rep(1, 5), lengths = lengths), cbind(expected), ignore_attr = TRUE)
  there <- seg_grad("prod")(gpu_matrix(cbind(x, 1)), matrix(1, 5, 2), lengths = lengths, output = "gpu")
  expect_equal(as_host(there), cbind(expected, 1), ignore_attr = TRUE)
  expect_equal(seg_grad("prod")(gpu_matrix(c(1e-200, 1e-200, 2)), c(1, 1), lengths = c(2, 2), sources = 0:1),
               cbind(c(1e-200, 1e-200 + 2, 1e-200)))
})

test_that("NA and NaN in a GPU matrix are distinguished", {
  skip_without_gpu()
  x <- c(1, NA, 2, NaN, NaN, NA, 3, 4)
  for (op in c("sum", "max", "mean", "any")) {
    expect_identical(seg_reduce(gpu_matrix(x), lengths = c(2, 2, 2, 2), op = op)[, 1],
                     seg_reduce(x, lengths = c(2, 2, 2, 2), op = op, backend = "cpu"))
  }
})

test_that("a sparse matrix stays on the GPU until it changes", {
  skip_without_gpu()
  skip_if_not_installed("Matrix")
  withr::local_seed(4)
  dense <- matrix(rnorm(300 * 200) * (runif(300 * 200) < 0.05), 300)
  dense[7, ] <- 0
  dense[9, ] <- rnorm(200)
  v <- matrix(rnorm(600), 200)
  for (class in c("CsparseMatrix", "RsparseMatrix")) for (precision in c("float64", "float32")) {
    A <- methods::as(methods::as(dense, "generalMatrix"), class)
    plan <- spmv_plan(A)
    there <- gpu_matrix(v, precision)
    for (scale in c(1, 1, 2)) {
      A@x <- A@x * scale
      product <- as_host(spmv(A, there, plan = plan, output = "gpu"))
      expect_close(product, as.matrix(A) %*% as.matrix(there), precision)
      expect_identical(unname(spmv(A, there, plan = plan)), product)
      expect_identical(unname(spmv(A, there)), product)
    }
    for (add in c("min", "max", "logsumexp", "argmax", "or")) for (mul in c("+", "min", "or", "a * Exp(-Abs(b))")) {
      product <- spmv(A, there, mul, add, plan)
      expected <- unname(spmv(A, as.matrix(there), mul, add))
      expect_identical(typeof(product), typeof(expected))
      expect_close(+product, +expected, precision) # converts logical values to numbers
    }
  }
  expect_error(spmv(A, gpu_matrix(v), \(a, b) a, output = "gpu"), class = "kernops_input_error")
})

test_that("values larger than the memory are processed in batches, with the same bits", {
  skip_without_gpu()
  withr::local_seed(5)
  n <- 6e5
  lengths <- c(1e5, 0, 3, 4093, 4096, 2e5, rep(c(1, 0, 50), 1000))
  lengths <- c(lengths, n - sum(lengths))
  x <- matrix(rnorm(2 * n), n)
  w <- runif(n)
  places <- list(list(lengths = lengths), list(g = sample(2000, n, replace = TRUE)),
                 list(lengths = lengths, sources = vapply(lengths, \(k) sample(n - k + 1, 1) - 1, 0)))
  value <- function(by, ...) do.call(seg_reduce, c(list(...), by, backend = "cuda"))
  limited <- function(code) withr::with_options(list(kernops.gpu_memory = 4e6), code)
  for (by in places) for (op in c(names(oracle_segment), "range", "softmax")) {
    if (op == "softmax" && !is.null(by$sources)) next
    expected <- value(by, x, op = op)
    expect_identical(limited(value(by, x, op = op)), expected, label = op)
  }
  for (by in places) {
    expect_identical(limited(value(by, x, w = w)), value(by, x, w = w))
    expect_identical(limited(value(by, x > 0, op = "sum")), value(by, x > 0, op = "sum"))
    fold <- seg_op("a + b * (1 + Abs(a)) / (1 + Abs(a))")
    expect_identical(limited(value(by, x, op = fold)), value(by, x, op = fold))
  }
})

# Runs the tests of segments again, with the GPU as backend.
test_again_on_gpu(c("seg_reduce", "seg_groups", "seg_empty", "seg_weights", "seg_op", "seg_plan", "seg_grad",
                    "seg_spmv", "seg_reduce_by_key", "lazy_softmax"))
