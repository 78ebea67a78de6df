# Data that stay on the GPU: results agree with those for the same data on the host.

bytes_in_use <- function() {
  gc()
  sum(cuda_describe()$used_bytes)
}
lost <- \() structure(methods::new("externalptr"), class = "gpu_matrix")
dot <- \(...) keops_kernel("Sum_Reduction((x|y), 1)", c("x = Vi(2)", "y = Vj(2)"), ...)

test_that("a matrix is copied to the GPU and back", {
  skip_without_gpu()
  withr::local_seed(1)
  x <- matrix(rnorm(70), 10) # not exact in float32
  expect_identical(as.matrix(gpu_matrix(x)), x)
  expect_close(as.matrix(gpu_matrix(x, "float32")), x, "float32")
  odd <- matrix(c(NA, NaN, Inf, -Inf, 0, 1), 2)
  for (precision in c("float64", "float32")) {
    there <- gpu_matrix(odd, precision)
    expect_identical(is.na(as.matrix(there)), is.na(odd))
    expect_identical(as.matrix(there)[3:6], odd[3:6])
    expect_identical(as.matrix(gpu_matrix(there, precision))[3:6], odd[3:6])
    long <- matrix(dyadic(runif(3e6)), 1e6) # more entries than are converted at a time
    expect_identical(as.matrix(gpu_matrix(long, precision)), long)
  }
  expect_identical(as.matrix(gpu_matrix(1:3)), matrix(c(1, 2, 3)))
  expect_identical(as.matrix(gpu_matrix(data.frame(a = 1:2, b = c(TRUE, FALSE)))), matrix(c(1, 2, 1, 0), 2))
  expect_identical(as.matrix(gpu_matrix(matrix(0, 0, 3))), matrix(0, 0, 3))
})

test_that("a gpu_matrix has the dimensions of the matrix, and prints a description", {
  skip_without_gpu()
  x <- gpu_matrix(matrix(0, 500, 3), "float32")
  expect_identical(dim(x), c(500L, 3L))
  expect_equal(length(x), 1500)
  expect_output(print(x), "<gpu_matrix> 500 x 3, float32, 6,000 bytes on GPU 0, ", fixed = TRUE)
})

test_that("rows and columns are selected as in a matrix", {
  skip_without_gpu()
  withr::local_seed(2)
  x <- uniform(400, 5)
  odd <- rep(c(TRUE, FALSE), 200)
  for (precision in c("float64", "float32")) {
    there <- gpu_matrix(x, precision)
    same <- \(chosen, expected) expect_identical(as.matrix(chosen), expected)
    same(there[3:300, ], x[3:300, ])
    same(there[-(1:390), ], x[-(1:390), ])
    same(there[odd, ], x[odd, ])
    same(there[c(7, 7, 1), c(5, 2)], x[c(7, 7, 1), c(5, 2)])
    same(there[, 2], x[, 2, drop = FALSE])
    same(there[4, , drop = FALSE], x[4, , drop = FALSE])
    same(there[integer(), ], x[integer(), ])
  }
  expect_error(there[401, ], class = "kernops_input_error")
  expect_error(there[c(1, NA), ], class = "kernops_input_error")
  expect_error(there[, "a"], class = "kernops_input_error")
})

# Expects that op returns the same results if all data are on the host, if all data are on the GPU, and if only some of
# the data are on the GPU.
expect_same <- function(op, input, ...) {
  expected <- op(input, ...)
  everything <- lapply(input, gpu_matrix, "float64")
  for (there in list(everything, replace(input, 1, everything[1]), lapply(input, gpu_matrix, "float32"))) {
    expect_identical(unname(op(there, ...)), unname(expected))
    left <- as.matrix(op(there, ..., output = "gpu"))
    expect_identical(left, matrix(as.numeric(ifelse(is.na(expected), 0, expected)), nrow(expected)))
  }
}

test_that("operators read and write data on the GPU, with points in rows and in columns", {
  skip_without_gpu()
  withr::local_seed(3)
  x <- uniform(300, 3)
  y <- uniform(200, 3)
  b <- uniform(200, 2)
  args <- c("x = Vi(3)", "s = Pm(2)", "y = Vj(3)", "b = Vj(2)")
  formulas <- c(
    "Sum_Reduction(Exp(-Elem(s, 1) * SqDist(x, y)) * b, 1)", "Sum_Reduction((x|y) * s + b, 0)",
    "Min_ArgMin_Reduction(SqDist(x, y) + b + s, 1)", "LogSumExp_Reduction((x|y) + Sum(s) + Sum(b), 0)",
    "ArgKMin_Reduction(SqDist(x, y) + Sum(b) + Sum(s), 3, 1)"
  )
  input <- list(x = x, s = c(0.5, 2), y = y, b = b)
  for_each_backend(function(kernel, precision) {
    for (formula in formulas) {
      op <- kernel(formula, args)
      if (environment(op)$backend == "cpu") next
      expect_same(op, input)
      expect_same(op, list(t(x), c(0.5, 2), t(y), t(b)), inner_dim = "row")
    }
  })
  nearest <- keops_kernel("ArgKMin_Reduction(SqDist(x, y), 3, 1)", args[c(1, 3)], backend = "cuda")
  expect_same(nearest, list(x = x, y = y[1:2, ])) # y has two rows, so that the third neighbour is missing
  gradient <- keops_grad(keops_kernel(formulas[[4]], args, backend = "cuda"), "s") # a sum over both axes
  expect_same(gradient, c(input, list(eta = uniform(200))))
})

test_that("each call can read the results of the previous call", {
  skip_without_gpu()
  withr::local_seed(9)
  for (n in c(40, 700, 3000)) for (precision in c("float64", "float32")) {
    x <- matrix(runif(3 * n), n)
    b <- rnorm(n)
    k <- exp(-as.matrix(dist(x))^2) / n
    args <- c("c = Pm(1)", "x = Vi(3)", "y = Vj(3)", "b = Vj(1)")
    step <- keops_kernel("Sum_Reduction(c * Exp(-SqDist(x, y)) * b, 1)", args, precision = precision, backend = "cuda")
    there <- gpu_matrix(x, precision)
    now <- gpu_matrix(b, precision)
    for (times in 1:30) {
      now <- step(list(2 / n, there, there, now), output = "gpu")
      b <- 2 * (k %*% b)
    }
    # the result has been rounded 30 times
    expect_lt(max(abs(as.matrix(now) / b - 1)), if (precision == "float32") 1e-4 else 1e-9)
  }
})

test_that("backend = \"auto\" selects the backend that holds the data", {
  skip_without_gpu()
  withr::local_seed(4)
  x <- uniform(20, 2)
  y <- uniform(30, 2)
  expect_close(dot(backend = "auto")(list(gpu_matrix(x), y)), dot(backend = "cpu")(list(x, y)))
  expect_close(as.matrix(dot(backend = "auto")(list(x, y), output = "gpu")), dot(backend = "cpu")(list(x, y)))
  expect_error(dot(backend = "cpu")(list(gpu_matrix(x), y)), class = "kernops_input_error")
  expect_error(dot(backend = "cuda")(list(gpu_matrix(t(x)), y)), class = "kernops_dim_error")
})

test_that("linear systems are solved on the GPU", {
  skip_without_gpu()
  withr::local_seed(5)
  n <- 2500
  x <- uniform(n, 2)
  b <- cbind(u = rnorm(n), v = 0, w = x[, 1])
  solve_on <- function(backend, wrap = identity, ...) {
    args <- c("s = Pm(1)", "x = Vi(2)", "y = Vj(2)", "b = Vj(3)")
    op <- keops_kernel("Sum_Reduction(Exp(-s * SqDist(x, y)) * b, 1)", args, backend = backend)
    kernel_solve(op, "b", list(s = 8, x = x, y = x, b = wrap(b)), lambda = 5, tol = 1e-10, ...)
  }
  host <- solve_on("cpu")
  there <- solve_on("cuda")
  expect_close(there$solution, host$solution, tolerance = 1e-7)
  expect_identical(dimnames(there$solution), dimnames(host$solution))
  expect_lte(abs(there$iterations - host$iterations), 2)
  expect_true(all(there$converged))
  expect_identical(solve_on("cuda")[c("solution", "history")], there[c("solution", "history")])

  kept <- solve_on("auto", gpu_matrix)
  expect_s3_class(kept$solution, "gpu_matrix")
  expect_identical(as.matrix(kept$solution), unname(there$solution))
  again <- solve_on("auto", gpu_matrix, x0 = kept$solution)
  expect_identical(again$iterations, 0L)
  expect_identical(as.matrix(again$solution), as.matrix(kept$solution))
  rounded <- solve_on("auto", \(b) gpu_matrix(b, "float32"))
  expect_close(as.matrix(rounded$solution), host$solution, "float32")

  expect_error(solve_on("cuda", \(b) replace(b, 1, NA)), class = "kernops_input_error")
  expect_error(solve_on("cuda", x0 = 1:3), class = "kernops_dim_error")
  expect_error(solve_on("cpu", gpu_matrix), class = "kernops_input_error")
})

# Operations on a GPU modify vectors in place. To test the solvers with such operations on the host, each vector is an
# environment, which operations can modify in place.
box <- \(value) structure(list2env(list(value = value), parent = emptyenv()), class = "box")
registerS3method("dim", "box", \(x) dim(x$value))
registerS3method("[", "box", \(x, i, j, drop) box(x$value[, j, drop = FALSE]))

test_that("solvers are right if operations modify vectors in place", {
  withr::local_seed(8)
  K <- crossprod(uniform(30)[, rep(1, 30)] + diag(30)) + diag(30)
  b <- cbind(uniform(30, 2), 0)
  host <- vector_space()
  set <- function(x, value) {
    x$value <- value
    x
  }
  boxes <- replace(host, c("copy", "put", "axpby", "add_rows", "dots", "inner", "combine"), list(
    copy = \(x) box(x$value),
    put = \(x, j, y) set(x, replace(x$value, cbind(rep(1:30, length(j)), rep(j, each = 30)), y$value)),
    axpby = \(a, x, b, y) set(y, host$axpby(a, x$value, b, y$value)),
    add_rows = \(d, x, y) set(y, host$add_rows(d, x$value, y$value)),
    dots = \(x, y) host$dots(x$value, y$value),
    inner = \(x, y) host$inner(x, y$value),
    combine = \(x, C) box(host$combine(x, C))
  ))
  system <- list(space = host, n = 30, precision = "float64", any_width = TRUE, product = \(a, ...) K %*% a)
  boxed <- replace(system, c("space", "product"), list(boxes, \(a, ...) box(K %*% a$value)))
  near_K <- new_preconditioner("nystrom", 2, 30, uniform(30, 3) / 20, diag(3), 0)
  cases <- list(list("cg", NULL), list("cg", near_K), list("minres", NULL))
  for (start in list(NULL, uniform(30, 3))) for (case in cases) {
    solved <- \(system, b, x0) solve_system(system, b, case[[2]], 1e-10, x0 = x0, method = case[[1]])
    expected <- solved(system, b, start)
    kept <- box(b)
    fit <- solved(boxed, kept, if (!is.null(start)) box(start))
    expect_identical(replace(fit, "solution", list(fit$solution$value)), expected)
    expect_close(expected$solution, solve(K, b), tolerance = 1e-7)
    expect_identical(kept$value, b)
  }
})

test_that("a solve does not modify its arguments", {
  skip_without_gpu()
  withr::local_seed(6)
  x <- uniform(200, 2)
  start <- b <- rnorm(200)
  args <- c("x = Vi(2)", "y = Vj(2)", "b = Vj(1)")
  op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", args, backend = "cuda")
  on_gpu <- list(b = gpu_matrix(b), start = gpu_matrix(start))
  kernel_solve(op, "b", list(x = x, y = x, b = on_gpu$b), lambda = 1, x0 = on_gpu$start)
  expect_identical(as.matrix(on_gpu$b), matrix(b))
  expect_identical(as.matrix(on_gpu$start), matrix(start))
})

test_that("GPU memory is released", {
  skip_without_gpu()
  withr::local_seed(7)
  x <- uniform(500, 2)
  op <- dot(backend = "cuda")
  before <- bytes_in_use()
  for (n in 1:1000) {
    there <- gpu_matrix(x)
    result <- op(list(there[1:100, ], x), output = "gpu")
  }
  try(op(list(there, gpu_matrix(t(x)))), silent = TRUE)
  rm(there, result)
  expect_identical(bytes_in_use(), before)
})

test_that("garbage collection frees GPU memory", {
  skip_without_gpu()
  withr::local_options(kernops.gpu_memory = 2^30)
  before <- bytes_in_use()
  x <- matrix(0, 2^20, 8) # 64 MiB
  for (n in 1:64) there <- gpu_matrix(x)
  expect_lt(sum(cuda_describe()$used_bytes) - before, 2^31)
})

test_that("on a machine without a GPU, the error says that there is no GPU", {
  skip_if("cuda" %in% backends(), "this machine has a GPU")
  refused <- list(\() gpu_matrix(diag(2)), \() dot()(list(diag(2), diag(2)), output = "gpu"))
  for (use in refused) {
    expect_s3_class(expect_error(use(), class = "kernops_cuda_error"), "kernops_error")
    expect_identical(tryCatch(use(), error = conditionMessage), cuda_refusal())
  }
  reason <- \(lines) sub("used: .*", "used: <reason>.", lines)
  expect_snapshot(gpu_matrix(diag(2)), error = TRUE, transform = reason)
})

test_that("a gpu_matrix that was saved is empty after it is read", {
  skip_without_gpu()
  file <- withr::local_tempfile()
  saveRDS(gpu_matrix(diag(2)), file)
  expect_error(dim(readRDS(file)), class = "kernops_input_error")
})

test_mistakes("kernops_input_error", alist(
  `text on the GPU` = gpu_matrix(matrix("1")),
  `factor on the GPU` = gpu_matrix(factor(1:2)),
  `integer64 on the GPU` = gpu_matrix(integer64(1, 0)),
  `integer64 of a data frame on the GPU` = gpu_matrix(list2DF(list(id = integer64(1, 0)))),
  `NULL on the GPU` = gpu_matrix(NULL),
  `complex numbers on the GPU` = gpu_matrix(1i),
  `data frame with text on the GPU` = gpu_matrix(data.frame(1, "a")),
  `three dimensions on the GPU` = gpu_matrix(array(1, c(2, 2, 2))),
  `unknown precision` = gpu_matrix(diag(2), "float8"),
  `matrix that was saved` = dim(lost()),
  `matrix that was saved, as an input` = dot()(list(lost(), diag(2))),
  `one index` = lost()[1],
  `unknown output` = dot()(list(diag(2), diag(2)), output = "disk"),
  `output of the CPU to the GPU` = dot(backend = "cpu")(list(diag(2), diag(2)), output = "gpu"),
  `data of the GPU for the CPU` = dot(backend = "cpu")(list(x = lost(), y = lost()))
))
