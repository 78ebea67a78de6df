xy <- c("x = Vi(3)", "y = Vj(3)")
dot <- \(axis = 0, ...) keops_kernel(sprintf("Sum_Reduction((x|y), %d)", axis), xy, ...)

test_that("a sum over i has one row per j, a sum over j one row per i", {
  withr::local_seed(1)
  x <- uniform(10, 3)
  y <- uniform(15, 3)
  for_each_backend(function(kernel, precision) {
    over <- \(axis) kernel(sprintf("Sum_Reduction((x|y), %d)", axis), xy)(list(x, y))
    expect_close(over(0), colSums(x %*% t(y)), precision)
    expect_close(over(1), rowSums(x %*% t(y)), precision)
  })
})

test_that("input is a list, by name in any order or by position, of points in rows or columns", {
  withr::local_seed(2)
  x <- uniform(10, 3)
  y <- uniform(15, 3)
  value <- dot()(list(x = x, y = y))
  expect_identical(dot()(list(y = y, x = x)), value)
  expect_identical(dot()(list(x, y)), value)
  expect_identical(dot()(list(x = t(x), y = t(y)), inner_dim = "row"), t(value))
  expect_identical(dot()(list(t(y), t(x))[2:1], inner_dim = "row"), t(value))
  expect_error(dot()(list(x, y), inner_dim = "diagonal"), class = "kernops_input_error")
})

test_that("points in columns: the example of the help page", {
  op <- keops_kernel("Sum_Reduction(SqNorm2(x-y), 0)", xy)
  expect_identical(op(list(x = matrix(1:9, 3), y = matrix(3:8, 3)), inner_dim = "row"), t(c(63, 90)))
})

test_that("any number of points, of any dimension", {
  withr::local_seed(3)
  for (D in c(1, 2, 3, 16, 33, 100, 513)) {
    sizes <- expand.grid(M = c(1, 2, 77), N = c(1, 3, 130))
    formula <- sprintf("Sum_Reduction(Exp(-SqDist(x, y) * %.17g) * b, 1)", 1 / D)
    args <- sprintf(c("x = Vi(%d)", "y = Vj(%d)", "b = Vj(2)"), D)
    for (k in seq_len(nrow(sizes))) {
      x <- uniform(sizes$M[k], D)
      y <- uniform(sizes$N[k], D)
      b <- uniform(sizes$N[k], 2)
      distances <- outer(rowSums(x^2), rowSums(y^2), `+`) - 2 * x %*% t(y)
      for_each_backend(function(kernel, precision) {
        expect_close(kernel(formula, args)(list(x, y, b)), exp(-distances / D) %*% b, precision, info = D)
      })
    }
  }
})

test_that("no points: no rows, or the value of an empty sum", {
  none <- matrix(0, 0, 3)
  some <- uniform(4, 3)
  expect_identical(dot()(list(none, some)), matrix(0, 4, 1))
  expect_identical(dot()(list(some, none)), matrix(0, 0, 1))
  expect_identical(dot()(list(none, none)), matrix(0, 0, 1))
  expect_identical(dot()(list(t(some), t(none)), inner_dim = "row"), matrix(0, 1, 0))
})

test_that("NA, NaN and Inf reach the rows that they touch, and no others", {
  x <- matrix(1, 4, 3)
  x[2:4, 2] <- c(NA, NaN, Inf)
  for_each_backend(function(kernel, precision) {
    value <- drop(kernel("Sum_Reduction((x|y), 1)", xy)(list(x, matrix(1, 5, 3))))
    expect_identical(value[c(1, 4)], c(15, Inf))
    expect_true(all(is.na(value[2:3])))
  })
  expect_true(is.na(dot(1)(list(matrix(c(1L, NA, 1L), 1), matrix(1, 1, 3)))))
})

test_that("integer, logical, data frame and vector input is as good as a matrix of doubles", {
  args <- c("s = Pm(1)", "x = Vi(2)", "y = Vj(2)", "b = Vj(1)")
  op <- keops_kernel("Sum_Reduction(s * SqDist(x, y) * b, 1)", args)
  x <- matrix(c(1, 2, 3, 4, 5, 6), 3)
  y <- matrix(c(1, 0, 1, 1), 2)
  b <- c(2, -1)
  value <- op(list(2, x, y, cbind(b)))
  expect_identical(op(list(2L, array(as.integer(x), dim(x)), y == 1, as.integer(b))), value)
  frames <- list(as.data.frame(x), data.frame(u = c(TRUE, FALSE), v = 1L), data.frame(b))
  expect_identical(op(c(list(2), frames)), value)
  expect_identical(op(list(matrix(2), x, y, b)), value)
})

test_that("the names of the rows stay on the result", {
  x <- matrix(1:6, 2, dimnames = list(c("a", "b"), c("u", "v", "w")))
  y <- matrix(1:9, 3, dimnames = list(letters[3:5], NULL))
  expect_identical(dimnames(dot(1)(list(x, y))), list(c("a", "b"), NULL))
  expect_identical(dimnames(dot(0)(list(x, y))), list(letters[3:5], NULL))
  expect_identical(dimnames(dot(1)(list(t(x), t(y)), inner_dim = "row")), list(NULL, c("a", "b")))
  expect_null(dimnames(dot(1)(list(unname(x), y))))
})

test_that("an operator changes nothing that it is given", {
  x <- matrix(1, 2, 3)
  y <- matrix(2, 2, 3)
  invisible(dot(1)(list(x, y)))
  expect_identical(list(x, y), list(matrix(1, 2, 3), matrix(2, 2, 3)))
})

test_that("a parameter that changes costs neither time nor memory", {
  op <- keops_kernel("Sum_Reduction(Exp(-s * SqDist(x, y)), 1)", c("s = Pm(1)", "x = Vi(3)", "y = Vj(3)"))
  x <- uniform(50, 3)
  steps <- \(s) system.time(for (value in s) op(list(s = value, x = x, y = x)), gcFirst = TRUE)[["elapsed"]]
  megabytes <- \() sum(gc(full = TRUE)[, 2])
  steps(1:50)
  before <- megabytes()
  times <- c(steps(seq(0.1, 1, length.out = 500)), steps(seq(1, 2, length.out = 500)))
  expect_lt(megabytes() - before, 2)
  expect_lt(times[2], 3 * times[1] + 0.2)
})

test_that("an operator prints itself and tells what it is made of", {
  args <- c("s = Pm(1)", "x = Vi(3)", "y = Vj(3)")
  op <- keops_kernel("Sum_Reduction(Exp(-s * SqDist(x, y)) * y, 1)", args, sum_scheme = "kahan_scheme")
  expect_s3_class(op, "keops_kernel")
  expect_snapshot(print(op))
  expect_snapshot(print(keops_grad(op, "x")))
  expect_identical(op()$formula, "Sum_Reduction(Exp(-s * SqDist(x, y)) * y, 1)")
  expect_identical(op()$args, args)
  expect_identical(op()$sum_scheme, "kahan_scheme")
  expect_true(all(c("formula", "args", "args_info", "sum_scheme") %in% names(op())))
})

test_that("an operator and its gradient survive saveRDS()", {
  file <- withr::local_tempfile()
  input <- list(uniform(3, 3), uniform(4, 3))
  survives <- function(op, input) {
    saveRDS(op, file)
    expect_identical(readRDS(file)(input), op(input))
  }
  survives(dot(), input)
  survives(keops_grad(dot(), "x"), c(input, list(uniform(4))))
})

test_that("float32 computes with 24 bits, float64 with 53", {
  sum_in <- \(precision) drop(dot(1, precision = precision)(list(t(c(1, 2^-30, 0)), t(c(1, 1, 0)))))
  expect_identical(sum_in("float64"), 1 + 2^-30)
  expect_identical(sum_in("float32"), 1)
})

test_that("options that do not exist are errors", {
  expect_kernops_error(dot(backend = "cuda"), "kernops_cuda_error")
  expect_kernops_error(dot(backend = "quantum"), "kernops_input_error")
  expect_kernops_error(dot(precision = "float16"), "kernops_input_error")
  expect_snapshot(dot(backend = "cuda"), error = TRUE)
  expect_snapshot(dot(precision = "float16"), error = TRUE)
})

test_that("wrong input is explained before anything runs", {
  op <- keops_kernel("Sum_Reduction(s * (x|y) * b, 1)", c("s = Pm(1)", "x = Vi(3)", "y = Vj(3)", "b = Vj(1)"))
  good <- list(s = 2, x = matrix(1, 4, 3), y = matrix(1, 5, 3), b = matrix(1, 5, 1))
  with <- \(...) utils::modifyList(good, list(...))
  wrong <- list(
    kernops_input_error = good[-2],
    kernops_input_error = c(good, list(z = 1)),
    kernops_input_error = stats::setNames(good, c("s", "x", "z", "b")),
    kernops_input_error = stats::setNames(good, c("s", "x", "x", "b")),
    kernops_input_error = unname(good)[1:3],
    kernops_input_error = list(),
    kernops_input_error = NULL,
    kernops_input_error = matrix(1, 4, 3),
    kernops_input_error = with(x = matrix("1", 4, 3)),
    kernops_input_error = replace(good, "x", list(NULL)),
    kernops_input_error = with(x = sum),
    kernops_input_error = with(x = matrix(1i, 4, 3)),
    kernops_input_error = with(x = data.frame(letters[1:4], 1, 2)),
    kernops_dim_error = with(x = array(1, c(4, 3, 2))),
    kernops_dim_error = with(x = matrix(1, 4, 2)),
    kernops_dim_error = with(x = 1:4),
    kernops_dim_error = with(b = matrix(1, 6, 1)),
    kernops_dim_error = with(s = 1:2),
    kernops_dim_error = with(s = numeric())
  )
  for (k in seq_along(wrong)) {
    expect_kernops_error(op(wrong[[k]]), names(wrong)[k])
    expect_snapshot(op(wrong[[k]]), error = TRUE)
  }
  two <- keops_kernel("Sum_Reduction(u * x * y, 1)", c("u = Vi(1)", "x = Vi(1)", "y = Vj(1)"))
  expect_kernops_error(two(list(1:3, 1:4, 1:5)), "kernops_dim_error")
})
