# Reductions of many rows over few columns. On a GPU, the thread that reduces a row also computes the values of this row
# from the data, and no other kernel writes these values to memory. The oracle is plain R with the matrix of all pairs.

rows <- 70000
few_data <- function(columns, D) withr::with_seed(columns, {
  eighths <- \(n, d) matrix(sample(-16:16, n * d, TRUE) / 8, n) # exact in float32, with ties
  list(x = eighths(rows, D), y = eighths(columns, D), b = eighths(columns, 2), e = eighths(rows, 1))
})
squares_between <- \(x, y) Reduce(`+`, lapply(seq_len(ncol(x)), \(d) outer(x[, d], y[, d], `-`)^2))

test_that("many rows and few columns are reduced correctly", {
  for (shape in list(c(1, 3), c(10, 3), c(256, 2), c(7, 12))) {
    data <- few_data(shape[[1]], shape[[2]])
    square <- squares_between(data$x, data$y)
    k <- exp(-square)
    args <- c(sprintf(c("x = Vi(%d)", "y = Vj(%d)"), shape[[2]]), "b = Vj(2)", "e = Vi(1)")
    for_each_backend(\(kernel, precision) {
      close <- \(actual, expected, ...) expect_close(actual, expected, precision, info = toString(shape), ...)
      close(kernel("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", args[1:3])(unname(data[1:3])), k %*% data$b,
            scale = ncol(k))
      expect_identical(kernel("ArgMin_Reduction(SqDist(x, y), 1)", args[1:2])(unname(data[1:2])),
                       matrix(max.col(-square, "first")))
      close(kernel("LogSumExp_Reduction(e - SqDist(x, y), 1)", args[c(1, 2, 4)])(unname(data[c(1, 2, 4)])),
            data$e + log(rowSums(k)), scale = 5)
      close(kernel("Sum_Reduction(IndexI() * IndexJ() + e * Elem(y, 0), 1)", args[c(2, 4)])(unname(data[c(2, 4)])),
            sum(seq_len(ncol(k))) * as.numeric(seq_len(rows)) + sum(data$y[, 1]) * data$e)
    })
  }
})

test_that("reductions of few columns are right in pieces, for data of other precisions, and on two devices", {
  data <- few_data(10, 3)
  args <- c("x = Vi(3)", "y = Vj(3)", "b = Vj(2)")
  expected <- exp(-squares_between(data$x, data$y)) %*% data$b
  skip_without_gpu()
  op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", args, backend = "cuda")
  for (stored in c("float64", "float32", "bfloat16")) { # the data are exact in each precision
    expect_close(op(list(gpu_matrix(data$x, stored), data$y, data$b)), expected, "float64", scale = 10)
  }
  withr::local_options(kernops.gpu_memory = 4e6 + sum(cuda_describe()$used_bytes))
  expect_close(op(unname(data[1:3])), expected, "float64", scale = 10)
})

test_that("the text of a GPU kernel computes rows if there are few columns", {
  op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", c("x = Vi(3)", "y = Vj(3)"))
  made <- \(rows, columns) grepl("MadeRows", keops_source(op, rows, columns, "sm_90"), fixed = TRUE)
  expect_true(made(1e7, 10))
  expect_false(made(1e7, 1e4))
  expect_false(made(100, 10))
})
