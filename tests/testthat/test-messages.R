# Messages of the C++ code that no other test shows. tools/lint reports messages that occur in no test or snapshot.

test_that("mistakes in formulas are described", {
  compile <- function(formula, args = c("x = Vi(2)", "y = Vj(2)")) keops_kernel(formula, args)
  expect_snapshot(error = TRUE, compile("Sum_Reduction([1, 2] * x, 1)"))
  expect_snapshot(error = TRUE, compile("Sum_Reduction(Exp + x, 1)"))
  expect_snapshot(error = TRUE, compile("Sum_Reduction(Grad(x | y, x), 1)"))
  expect_snapshot(error = TRUE, compile("Sum_Reduction(Grad(x | y, x + y, 1), 1)"))
  expect_snapshot(error = TRUE, compile("Sum_Reduction(Grad(x, x, Concat(x, x)), 1)"))
  expect_snapshot(error = TRUE, compile("Sum_Reduction(1 + Sum_Reduction(x, 1), 1)"))
  expect_snapshot(error = TRUE, compile("Grad(Sum_Reduction(x | y, 1), x)"))
  expect_snapshot(error = TRUE, compile("Grad(Sum_Reduction(x | y, 1), x + y, 1)"))
  expect_snapshot(error = TRUE, compile("LogSumExp_Reduction(x, 2)"))
  expect_snapshot(error = TRUE, compile("LogSumExp_Reduction(x | y, ij)"))
  expect_snapshot(error = TRUE, compile("LogSumExp_Reduction(x, y, 1)"))
  expect_snapshot(error = TRUE, compile("SoftMax_Reduction(x, y, 1)"))
  expect_snapshot(error = TRUE, compile("Sum_Reduction(Var(0, 2), 1)"))
  expect_snapshot(error = TRUE, compile("Sum_Reduction(Var(0, 2, 5), 1)", character()))
  expect_snapshot(error = TRUE, compile("Sum_Reduction(Var(0, 2, 0) + Var(0, 3, 0), 1)", character()))
})

test_that("deep and long formulas are refused", {
  nested <- paste0(strrep("(", 1e5), "x", strrep(")", 1e5))
  expect_error(keops_kernel(sprintf("Sum_Reduction(%s, 1)", nested), "x = Vi(1)"), "the formula is nested too deeply",
               class = "kernops_formula_error")
  tower <- paste0(strrep("Grad(", 40), "Exp(Sin(x) * x)", strrep(", x, 1)", 40))
  expect_error(keops_kernel(sprintf("Sum_Reduction(%s, 1)", tower), "x = Vj(1)"),
               "with its derivatives, the formula has more than", class = "kernops_formula_error")
})

test_that("messages about GPUs are shown", {
  skip_without_gpu()
  op <- keops_kernel("Sum_Reduction(MatVecMult(a, x), 0)", c("a = Pm(4)", "x = Vi(2)"), backend = "cuda")
  expect_error(op(list(gpu_matrix(diag(2)), diag(2))),
               "` is a matrix on the GPU: give it as an ordinary matrix, or as a single row",
               class = "kernops_dim_error")
  batched <- keops_kernel("Sum_Reduction(x | y, 1)", c("x = Vi(2)", "y = Vj(2)"), backend = "cuda")
  batches <- array(1, c(3, 2, 2))
  expect_error(batched(list(batches, batches), output = "gpu"),
               "`output = \"gpu\"` returns a matrix: batches are not supported", class = "kernops_input_error",
               fixed = TRUE)
  expect_error(block_dots(gpu_matrix(diag(2), precision = "float32"), diag(2)),
               "blocks of vectors on a GPU must be float64", class = "kernops_dim_error")
  withr::local_options(kernops.gpu_memory = "much")
  expect_error(gpu_matrix(diag(2)), "the option kernops.gpu_memory must be a positive number of bytes",
               class = "kernops_input_error")
})

# No exported function can cause these errors. They protect the C++ code against mistakes in the R code of the package.
test_that("the border between R and C++ checks the shapes of arguments", {
  one <- matrix(1)
  near <- matrix(c(0L, 1L), 1)
  settings <- run_settings()
  expect_snapshot(error = TRUE, {
    sets_scatter(matrix(0, 1, 2), near, matrix(0, 3, 1), 2L)
    sets_scatter(matrix(0, 2, 2), near, matrix(0, 2, 1), 2L)
    sets_scatter(matrix(0, 1, 2), near + 7L, matrix(0, 2, 1), 2L)
    sets_whiten(matrix(0, 1, 2), 1, near, matrix(0, 1, 2), FALSE, 1L)
    sets_whiten(matrix(0, 1, 2), c(1, 1), near, matrix(0, 2, 3), FALSE, 1L)
    sets_colour(matrix(0, 1, 2), 1, near, matrix(0, 1, 2), FALSE)
    sets_hold(matrix(0, 2, 1), c(0, 0), 0, matrix(0, 2, 1), near)
    sets_hold(matrix(0, 1, 1), 0, 0, matrix(0, 1, 1), near)
    points_earlier(points_hold(matrix(0, 2, 1), 1L), NULL, 1L, 5L, list())
    points_earlier(points_hold(matrix(0, 2, 1), 1L), c(1L, 1L), 1L, NULL, list())
    points_following(points_hold(matrix(0, 2, 2), 1L), points_hold(matrix(0, 2, 1), 1L), 1:2, 1L, NULL, list())
    points_joined(matrix(1L, 2, 2), matrix(1L, 1, 3), 1L)
    sparse_columns(near + 7L)
    sparse_hold(one, 1, near, 1L, 1, 1L)
    factor_matrix(diag(2), 1, settings)
    block_dots(1L, one)
    block_inner(one, matrix(1, 2), settings)
    block_axpby(c(1, 2), one, 1, one)
    block_combine(one, matrix(1, 2), settings)
    block_whiten(one, -one, 0, settings)
  })
})

test_that("the border between R and C++ checks factors and posteriors", {
  near <- matrix(c(0L, 1L), 1)
  held <- posterior_hold(near, 1L)
  inverse <- sparse_columns(near)
  kernel <- kernel_compile("Sum_Reduction(Exp(-SqDist(x, y)) * theta, 1)",
                           c("theta = Pm(1)", "x = Vi(1)", "y = Vj(1)"), TRUE)
  preconditioner <- sparse_hold(matrix(0, 1, 2), c(1, 1), near, 1:2, inverse[[1]], inverse[[2]])
  settings <- run_settings(backend = "cpu")
  sets <- sets_hold(matrix(0, 2, 1), c(0, 0), c(0, 0), matrix(0, 2, 1), near)
  expect_snapshot(error = TRUE, {
    posterior_factor(held, 1, 1L)
    sparse_apply(preconditioner, matrix(0, 3, 1), 1L)
    factor_apply_inverse(diag(2), matrix(0, 3, 1), FALSE, settings)
    factor_times(diag(2), matrix(0, 3, 1))
    sets_weights(list(values = kernel), 1, matrix(0, 2, 1), 0, 1, near, settings)
    sets_weights_at(list(values = kernel), 1, sets, matrix(0, 3, 1), 1, near, settings)
    covariance_fill(matrix(0, 1, 1), kernel, 1, matrix(0, 2, 1), settings)
    kernel_compile("LogSumExp_Reduction(SqDist(x, y), 1)", c("x = Vi(1)", "y = Vj(1)"), TRUE)
  })
})
