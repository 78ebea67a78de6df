# Transformations, moments, and gradients of scans and of windows on the GPU. The oracle is the CPU; other files compare
# the results of the CPU with base R and with finite differences.

lengths <- c(5, 0, 3, 4, 40, 1)
count <- sum(lengths)
mixed <- \() replace(sample(factor(rep(seq_along(lengths), lengths), seq_along(lengths))), c(3, 9), NA)
on_host <- \(v) if (inherits(v, "gpu_matrix")) as.matrix(v) else v
expect_same <- function(object, expected, label) {
  without_kinds <- \(v) replace(v <- as.numeric(on_host(v)), is.nan(v), NA)
  expect_equal(without_kinds(object), without_kinds(expected), tolerance = 1e-10, label = label)
}
random_columns <- \() cbind(round(rnorm(count), 1), rnorm(count))

test_that("gradients of scans stay on the GPU", {
  skip_without_gpu()
  withr::local_seed(1)
  x <- random_columns()
  eta <- random_columns()
  there <- gpu_matrix(x)
  for (op in c("sum", "mean", "var", "logsumexp", "min", "max", "prod")) {
    for (by in list(list(lengths = lengths), list(g = mixed(), exclusive = TRUE), list(g = mixed(), reverse = TRUE))) {
      grad <- \(x, eta, ...) do.call(seg_grad(op, scan = TRUE), c(list(x, eta, ...), by))
      stays <- grad(there, gpu_matrix(eta), output = "gpu")
      expect_s3_class(stays, "gpu_matrix")
      expect_same(stays, grad(x, eta), paste(op, toString(names(by))))
    }
  }
  expect_equal(seg_grad("sum", scan = TRUE)(gpu_matrix(c(1, 2, 3)), c(1, 2, 4)), cbind(c(7, 6, 4)))
})

test_that("gradients of rolling windows stay on the GPU", {
  skip_without_gpu()
  withr::local_seed(2)
  x <- random_columns()
  eta <- random_columns()
  for (op in c("sum", "mean", "min", "max")) {
    for (by in list(list(lengths = lengths, width = 3), list(lengths = lengths, width = 2, align = "left"),
                    list(g = mixed(), width = 4, align = "center", partial = TRUE),
                    list(g = mixed(), width = sample(4, count, TRUE), partial = TRUE))) {
      grad <- \(x, eta, ...) do.call(seg_grad(op, roll = TRUE), c(list(x, eta, ...), by))
      expect_same(grad(gpu_matrix(x), gpu_matrix(eta), output = "gpu"), grad(x, eta), paste(op, length(by$width)))
    }
  }
})

test_that("values on the GPU are transformed on the GPU", {
  skip_without_gpu()
  withr::local_seed(3)
  for (op in c("center", "scale", "share", "lag", "lead", "diff", "fill_down", "fill_up", "median", "argmax")) {
    x <- random_columns()
    if (startsWith(op, "fill")) x[sample(count, 20), ] <- NA
    moved <- if (op %in% c("lag", "lead", "diff")) list(n = 2, fill = 7)
    for (by in list(list(lengths = lengths), list(g = mixed()))) {
      transform <- \(x, ...) do.call(seg_transform, c(list(x, op, ...), moved, by))
      expect_same(transform(gpu_matrix(x), output = "gpu"), transform(x), op)
    }
  }
  expect_equal(seg_transform(gpu_matrix(1:4), seg_op("a + b"), lengths = c(2, 2)), cbind(c(3, 3, 7, 7)))
  expect_error(seg_transform(gpu_matrix(1:4), "lag", fill = "a"), class = "kernops_input_error")
})

test_that("covariances and moments of values on the GPU are computed on the GPU", {
  skip_without_gpu()
  withr::local_seed(4)
  x <- replace(random_columns(), 4, NA)
  y <- random_columns()
  for (f in list(seg_cov, seg_cor, seg_slope)) for (na.rm in c(FALSE, TRUE)) {
    expected <- f(x, y, lengths = lengths, na.rm = na.rm)
    expect_same(f(gpu_matrix(x), gpu_matrix(y), lengths = lengths, na.rm = na.rm), expected, na.rm)
    expect_same(f(gpu_matrix(x), y, lengths = lengths, na.rm = na.rm), expected, na.rm)
  }
  g <- mixed()
  for (op in c("skewness", "kurtosis")) for (weights in list(NULL, rep_len(1:3, count))) {
    moment <- \(x, ...) seg_reduce(x, g = g, op = op, weights = weights, na.rm = TRUE, ...)
    expect_same(moment(gpu_matrix(x), output = "gpu"), moment(x), op)
    expect_same(moment(gpu_matrix(x)), moment(x), op)
  }
})

test_that("results on the GPU require values on the GPU", {
  grad <- seg_grad("sum", scan = TRUE)
  withr::local_options(kernops.backend = "cpu")
  for (call in list(\() grad(1:3, 1:3, output = "gpu"), \() seg_transform(1:3, "center", output = "gpu"),
                    \() seg_grad("sum", roll = TRUE)(1:3, 1:3, 2, output = "gpu"))) {
    expect_error(call(), "requires a GPU matrix", class = "kernops_input_error")
  }
})

test_that("lagged differences are NA for values that belong to no segment", {
  expect_identical(seg_transform(c(1, 5, 9, 2), "diff", g = c("a", NA, "a", "b"), fill = 0), c(0, NA, 8, 0))
})

test_that("order statistics and moments of the columns of a matrix on the GPU are computed on the GPU", {
  skip_without_gpu()
  withr::local_seed(5)
  x <- replace(matrix(rnorm(60), 12), 7, NA)
  there <- gpu_matrix(x)
  cases <- expand.grid(op = c("median", "mode", "n_distinct", "kurtosis"), dims = 1:3, na.rm = c(FALSE, TRUE),
                       stringsAsFactors = FALSE)
  for (k in seq_len(nrow(cases))) {
    op <- cases$op[[k]]
    dims <- list(1, 2, 1:2)[[cases$dims[[k]]]]
    na.rm <- cases$na.rm[[k]]
    reduce <- \(x, ...) axis_reduce(x, dims, op, na.rm = na.rm, ...)
    expected <- reduce(x)
    expect_same(reduce(there), expected, paste(op, toString(dims)))
    stays <- as.matrix(reduce(there, output = "gpu"))
    expect_same(stays, expected, paste(op, toString(dims)))
    expect_identical(dim(stays), dim(as.matrix(axis_reduce(there, dims, "sum", output = "gpu"))))
  }
  quantiles <- \(x, dims, ...) axis_reduce(x, dims, "quantile", probs = c(0.1, 0.9), na.rm = TRUE, ...)
  for (dims in 1:2) {
    expect_equal(quantiles(there, dims), quantiles(x, dims))
    expect_equal(c(as.matrix(quantiles(there, dims, output = "gpu"))), c(t(quantiles(x, dims))))
  }
})
