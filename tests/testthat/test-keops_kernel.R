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

test_that("operators accept any number of points, of any dimension", {
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

test_that("sums over very many points are right", {
  for (n in c(524289, 1048577)) {
    x <- seq_len(n)
    op <- keops_kernel("Sum_Reduction(x * y, 1)", c("x = Vi(1)", "y = Vj(1)"))
    expect_identical(op(list(x, 3)), cbind(3 * x))
    expect_identical(op(list(3, x)), matrix(3 * n * (n + 1) / 2))
  }
})

test_that("results with many columns are right", {
  withr::local_seed(4)
  x <- uniform(7, 513)
  y <- uniform(300, 513)
  for_each_backend(function(kernel, precision) {
    op <- kernel("Sum_Reduction(x * y, 1)", c("x = Vi(513)", "y = Vj(513)"))
    expect_close(op(list(x, y)), x * rep(colSums(y), each = 7), precision)
  })
})

test_that("an axis without variables has a single index value", {
  expect_identical(keops_kernel("Sum_Reduction(x, 1)", "x = Vi(2)")(list(diag(2))), diag(2))
  expect_identical(keops_kernel("Sum_Reduction(x, 0)", "x = Vi(2)")(list(diag(2))), matrix(1, 1, 2))
})

test_that("without points, the result has no rows, or the value of an empty sum", {
  withr::local_seed(20)
  none <- matrix(0, 0, 3)
  some <- uniform(4, 3)
  expect_identical(dot()(list(none, some)), matrix(0, 4, 1))
  expect_identical(dot()(list(some, none)), matrix(0, 0, 1))
  expect_identical(dot()(list(none, none)), matrix(0, 0, 1))
  expect_identical(dot()(list(t(some), t(none)), inner_dim = "row"), matrix(0, 1, 0))
})

test_that("NA, NaN and Inf affect only the rows in whose terms they occur", {
  x <- matrix(1, 4, 3)
  x[2:4, 2] <- c(NA, NaN, Inf)
  for_each_backend(function(kernel, precision) {
    value <- drop(kernel("Sum_Reduction((x|y), 1)", xy)(list(x, matrix(1, 5, 3))))
    expect_identical(value[c(1, 4)], c(15, Inf))
    expect_true(all(is.na(value[2:3])))
  })
  expect_true(is.na(dot(1)(list(matrix(c(1L, NA, 1L), 1), matrix(1, 1, 3)))))
})

test_that("changing a parameter compiles nothing and retains no memory", {
  withr::local_seed(5)
  local_paths() # a cache that no other process writes into
  op <- keops_kernel("Sum_Reduction(Exp(-s * SqDist(x, y)), 1)", c("s = Pm(1)", "x = Vi(3)", "y = Vj(3)"))
  x <- uniform(50, 3)
  steps <- \(s) for (value in s) op(list(s = value, x = x, y = x))
  megabytes <- \() sum(gc(full = TRUE)[, 2])
  steps(1:50)
  before <- megabytes()
  compiled <- kernops_cache_info()$files
  steps(seq(0.1, 2, length.out = 1000))
  expect_lt(megabytes() - before, 2)
  expect_identical(kernops_cache_info()$files, compiled)
})

test_that("an operator can be printed, and a call without arguments returns its formula and settings", {
  withr::local_options(kernops.backend = "auto")
  args <- c("s = Pm(1)", "x = Vi(3)", "y = Vj(3)")
  op <- keops_kernel("Sum_Reduction(Exp(-s * SqDist(x, y)) * y, 1)", args, sum_scheme = "kahan_scheme")
  expect_s3_class(op, "keops_kernel")
  expect_snapshot(print(op))
  expect_snapshot(print(keops_grad(op, "x")))
  expect_output(print(keops_kernel("Sum_Reduction(1, 1)", character())), "variables  none")
  expect_identical(op()$formula, "Sum_Reduction(Exp(-s * SqDist(x, y)) * y, 1)")
  expect_identical(op()$args, args)
  expect_identical(op()$sum_scheme, "kahan_scheme")
  expect_true(all(c("formula", "args", "args_info", "sum_scheme") %in% names(op())))
})

test_that("an operator and its gradient can be saved by saveRDS() and read again", {
  withr::local_seed(21)
  file <- withr::local_tempfile()
  input <- list(uniform(3, 3), uniform(4, 3))
  survives <- function(op, input) {
    saveRDS(op, file)
    expect_identical(readRDS(file)(input), op(input))
  }
  survives(dot(), input)
  survives(keops_grad(dot(), "x"), c(input, list(uniform(4))))
})

test_that("float32 computes with 24 significant bits, float64 with 53", {
  sum_in <- \(precision) drop(dot(1, precision = precision)(list(t(c(1, 2^-30, 0)), t(c(1, 1, 0)))))
  expect_identical(sum_in("float64"), 1 + 2^-30)
  expect_identical(sum_in("float32"), 1)
})

test_that("the option kernops.precision is a default that arguments override", {
  withr::local_options(kernops.precision = "float32")
  third <- \(...) drop(keops_kernel("Sum_Reduction(x / 3, 1)", "x = Vi(1)", ...)(list(1)))
  expect_identical(third(), 11184811 / 2^25)
  expect_identical(third(precision = "float64"), 1 / 3)
})

test_mistakes("kernops_input_error", alist(
  `unknown backend` = dot(backend = "quantum"),
  `unknown precision` = dot(precision = "float8")
))

test_that("Floor, Step and comparisons of quotients x / y agree with R at their jumps", {
  x <- as.double(1:200)
  each <- list("Floor(x / y)" = outer(x, x, `%/%`), "Step(x / y - 1)" = outer(x, x, `>=`) + 0,
               "x / y == 1" = diag(200), "IfElse(x / y - 1, 1, 0)" = outer(x, x, `>=`) + 0)
  for (backend in backends()) for (formula in names(each)) {
    counts <- keops_kernel(paste0("Sum_Reduction(", formula, ", 1)"), c("x = Vi(1)", "y = Vj(1)"), backend = backend)
    expect_identical(drop(counts(list(x, x))), rowSums(each[[formula]]), info = paste(backend, formula))
  }
})

test_that("an unused variable gives a warning, but still determines the number of rows", {
  expect_warning(op <- keops_kernel("Sum_Reduction(Exp(x), 1)", c("x = Vi(1)", "y = Vj(2)")), "variable \"y\"",
                 class = "kernops_unused_variable")
  expect_equal(op(list(c(0, 1), matrix(0, 3, 2))), matrix(3 * exp(c(0, 1))))
  expect_equal(op(list(c(0, 1), matrix(NaN, 3, 2))), matrix(3 * exp(c(0, 1))))
})
