# Results of segments that overwrite a gpu_matrix.

sizes <- c(3, 0, 5, 40, 1)
count <- sum(sizes)
plan <- seg_plan(lengths = sizes)
A <- list(offsets = c(0, 2, 3), columns = c(0, 1, 2), values = c(1, 2, 3))

# Calls on values x. A call marked `by value` has a result for each value, in the precision of x. The results of the
# other calls are in float64.
calls <- list(
  sum = \(x, ...) seg_reduce(x, plan = plan, ...), mean = \(x, ...) seg_reduce(x, plan = plan, op = "mean", ...),
  range = \(x, ...) seg_reduce(x, plan = plan, op = "range", ...),
  median = \(x, ...) seg_reduce(x, plan = plan, op = "median", ...),
  skewness = \(x, ...) seg_reduce(x, plan = plan, op = "skewness", ...),
  scan = \(x, ...) seg_scan(x, plan = plan, ...), scan_empty = \(x, ...) seg_scan(x, plan = plan, empty = 0, ...),
  softmax = \(x, ...) seg_softmax(x, plan = plan, ...), sort = \(x, ...) seg_sort(x, plan = plan, ...),
  order = \(x, ...) seg_order(x, plan = plan, ...), rank = \(x, ...) seg_rank(x, plan = plan, ...),
  roll = \(x, ...) seg_roll(x, 3, plan = plan, ...), spmv = \(x, ...) spmv(A, x, ...)
)

test_that("results in an existing gpu_matrix agree with results in a new gpu_matrix, and reuse the memory", {
  skip_without_gpu()
  withr::local_seed(1)
  values <- matrix(rnorm(2 * count), count)
  for (precision in c("float32", "float64")) for (name in names(calls)) {
    x <- gpu_matrix(values, precision)
    call <- calls[[name]]
    expected <- call(x, output = "gpu")
    target <- gpu_matrix(matrix(-1, nrow(expected), ncol(expected)), gpu_describe(expected)$precision)
    gc()
    used <- sum(cuda_describe()$used_bytes)
    for (times in 1:3) expect_identical(call(x, output = target), target, label = name)
    expect_identical(as.matrix(target), as.matrix(expected), label = name)
    expect_identical(as.matrix(x), as.matrix(gpu_matrix(values, precision)), label = name)
    gc()
    expect_lte(sum(cuda_describe()$used_bytes), used)
  }
  keys <- gpu_matrix(c(1, 1, 2))
  there <- gpu_matrix(c(0, 0))
  reduce_by_key(keys, gpu_matrix(c(3, 4, 5)), output = there)$values
  expect_identical(c(as.matrix(there)), c(7, 5))
})

test_that("a gpu_matrix of another size or precision, or the values themselves, cannot receive results", {
  skip_without_gpu()
  x <- gpu_matrix(matrix(1, count, 2), "float32")
  five <- \(...) gpu_matrix(matrix(0, 5, 2), ...)
  for (target in list(gpu_matrix(matrix(0, 5, 1)), gpu_matrix(matrix(0, 4, 2)), gpu_matrix(matrix(0, count, 2)))) {
    expect_error(seg_reduce(x, plan = plan, output = target), "`output` must be a gpu_matrix of 5 x 2",
                 class = "kernops_dim_error")
    expect_error(seg_reduce(x, plan = plan, op = "median", output = target), class = "kernops_dim_error")
    expect_error(seg_reduce(x, plan = plan, op = "skewness", output = target), class = "kernops_dim_error")
  }
  expect_error(seg_reduce(x, plan = plan, output = five("float32")), "`output` must be a gpu_matrix in float64",
               class = "kernops_input_error")
  expect_error(seg_sort(x, plan = plan, output = gpu_matrix(matrix(0, count, 2))), "in float32, not in float64",
               class = "kernops_input_error")
  expect_error(seg_sort(x, plan = plan, output = x), "another", class = "kernops_input_error")
  expect_error(seg_top(x, 2, plan = plan, output = five()), class = "kernops_input_error")
  expect_error(seg_reduce(1:49, plan = plan, backend = "cpu", output = gpu_matrix(numeric(5))),
               class = "kernops_input_error")
  expect_identical(as.matrix(x), matrix(1, count, 2))
  if (nrow(cuda_describe()) > 1) {
    expect_error(seg_reduce(x, plan = plan, output = five(device = 1)), "`output` must be a gpu_matrix on GPU 0",
                 class = "kernops_input_error")
  }
})
