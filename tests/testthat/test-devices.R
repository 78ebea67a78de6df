# Several GPUs, and data larger than GPU memory: results agree with one GPU that holds all data.

skip_without_two_gpus <- function() {
  skip_without_gpu()
  skip_if(nrow(cuda_describe()) < 2, "needs two GPUs")
}
all_devices <- \() cuda_describe()$device

gaussian <- list(formula = "Sum_Reduction(Exp(-s * SqDist(x, y)) * b, 1)",
                 args = c("s = Pm(1)", "x = Vi(3)", "y = Vj(3)", "b = Vj(2)"))
cases <- list(
  gaussian,
  list(formula = "LogSumExp_Reduction((x|y) + Sum(s) + Sum(b), 0)", args = gaussian$args),
  list(formula = "Min_ArgMin_Reduction(SqDist(x, y) + b + s, 1)", args = gaussian$args),
  list(formula = "ArgKMin_Reduction(SqDist(x, y) + Sum(b) + s, 4, 1)", args = gaussian$args),
  list(formula = "Sum_Reduction((IndexI() + 2 * IndexJ()) * Exp(-SqDist(x, y)) * Sum(b) * s, 1)", args = gaussian$args),
  list(formula = "Grad(LogSumExp_Reduction((x|y) + Sum(s) + Sum(b), 1), y, Sum(x))", args = gaussian$args),
  list(formula = "Grad(Sum_Reduction(Exp(-s * SqDist(x, y)) * Sum(b), 1), s, Sum(x))", args = gaussian$args)
)
# Terms of a sum have one sign, because cancellation loses digits in float32.
input_for <- \(m, n) list(s = 0.5, x = uniform(m, 3), y = uniform(n, 3), b = uniform(n, 2, low = 0))

# Expects that each result in the list change(op, input) equals op(input) on one GPU. For each of the `sizes`, the
# backend splits the rows or the columns.
expect_unchanged <- function(change, sizes) {
  for (case in cases) for (precision in c("float64", "float32")) for (size in sizes) {
    input <- input_for(size[[1]], size[[2]])
    op <- \(...) keops_kernel(case$formula, case$args, backend = "cuda", precision = precision, ...)
    expected <- op(device = 0)(input)
    described <- paste(case$formula, toString(size))
    for (result in change(op, input)) {
      if (is.integer(expected)) expect_identical(result, expected, info = described)
      else expect_close(result, expected, precision, info = described)
    }
  }
}

test_that("several GPUs compute the results of one GPU, with the same bits in each call", {
  skip_without_two_gpus()
  withr::local_seed(1)
  two <- function(op, input) {
    op <- op(device = 0:1)
    first <- op(input)
    expect_identical(op(input), first)
    there <- Map(gpu_matrix, input, device = rep_len(all_devices(), length(input)))
    expect_identical(unname(as.matrix(op(there))), unname(first))
    left <- op(there, output = "gpu")
    expect_output(print(left), "on GPU 0,")
    list(first, if (is.integer(first)) first else as.matrix(left))
  }
  expect_unchanged(two, list(c(5000, 300), c(70, 3000), c(1, 900), c(900, 1)))
  every <- \(op, input) list(op(device = rev(all_devices()))(input))
  expect_unchanged(every, list(c(4001, 203), c(31, 5001)))
})

test_that("sums of long vectors and nearest neighbours are split among several GPUs", {
  skip_without_two_gpus()
  withr::local_seed(4)
  exponential <- "Sum_Reduction(Exp(-SqDist(x, y) / 20) * b, 1)"
  formulas <- c(sprintf("Grad(%s, x, e)", exponential), sprintf("Grad(Grad(%s, x, e), x, x)", exponential),
                "KMin_ArgKMin_Reduction(SqDist(x, y), 3, 1)")
  D <- 130
  for (formula in formulas) for (precision in c("float64", "float32")) {
    input <- list(x = uniform(1040, D), y = uniform(530, D), b = uniform(530, 1), e = uniform(1040, 1))
    args <- c(x = sprintf("x = Vi(%d)", D), y = sprintf("y = Vj(%d)", D), b = "b = Vj(1)", e = "e = Vi(1)")
    used <- intersect(names(args), all.vars(str2lang(formula)))
    op <- \(...) keops_kernel(formula, args[used], backend = "cuda", precision = precision, ...)
    expected <- op(device = 0)(input[used])
    two <- op(device = 0:1)
    expect_close(two(input[used]), expected, precision, info = formula)
    expect_identical(two(input[used]), two(input[used]))
    there <- Map(gpu_matrix, input[used], device = rep_len(1:0, length(used)))
    expect_close(as.matrix(two(there, output = "gpu")), expected, precision, info = formula)
  }
})

test_that("a GPU reads and writes data of another GPU", {
  skip_without_two_gpus()
  withr::local_seed(2)
  x <- uniform(500, 3)
  expect_identical(as.matrix(gpu_matrix(x, device = 1)[3:40, 2:1]), x[3:40, 2:1])
  op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", c("x = Vi(3)", "y = Vj(3)"), backend = "cuda", device = 1)
  on_0 <- gpu_matrix(x, device = 0)
  expect_identical(op(list(on_0, x)), op(list(x, x)))
  expect_output(print(op(list(on_0, on_0), output = "gpu")), "on GPU 1,")
  expect_identical(environment(keops_grad(op, "x"))$device, 1L)
})

test_that("systems are solved on several GPUs", {
  skip_without_two_gpus()
  withr::local_seed(3)
  x <- uniform(1500, 2)
  b <- rnorm(1500)
  solve_on <- function(device, b) {
    op <- keops_kernel("Sum_Reduction(Exp(-8 * SqDist(x, y)) * b, 1)", c("x = Vi(2)", "y = Vj(2)", "b = Vj(1)"),
                       backend = "cuda", device = device)
    as.matrix(kernel_solve(op, "b", list(x = x, y = x, b = b), lambda = 2, tol = 1e-10)$solution)
  }
  expected <- solve_on(0, b)
  for (device in list(1, 0:1, all_devices())) {
    expect_close(solve_on(device, b), expected, tolerance = 1e-7)
    expect_close(solve_on(device, gpu_matrix(b, device = 1)), expected, tolerance = 1e-7)
  }
})

test_that("data larger than GPU memory are processed in batches", {
  skip_without_gpu()
  withr::local_seed(4)
  limited <- \(megabytes) function(op, input) {
    withr::local_options(kernops.gpu_memory = megabytes * 2^20 + sum(cuda_describe()$used_bytes))
    list(op()(input))
  }
  expect_unchanged(limited(16), list(c(4e5, 2), c(2, 4e5)))
  op <- \(...) keops_kernel(gaussian$formula, gaussian$args, backend = "cuda", ...)
  input <- input_for(3e5, 2e5) # rows and columns are split, and memory is reused
  expect_close(limited(12)(op, input)[[1]], op()(input))
})

test_that("computations with ranges and with batches are also split by memory and among GPUs", {
  skip_without_gpu()
  withr::local_seed(6)
  cells <- \(n, count) cbind(n / count * (seq_len(count) - 1) + 1, n / count * seq_len(count))
  keep <- outer(1:100, 1:80, \(i, j) j == 1 + i %% 80 | j == 1 + (7 * i) %% 80 | i == 50)
  ranges <- from_matrix(cells(3e5, 100), cells(2e5, 80), keep)
  x <- uniform(3e5, 2)
  y <- uniform(2e5, 2)
  checked <- c(1, 3000, 3001, 149000, 3e5)
  met <- \(i) ifelse(keep[ceiling(i / 3000), ceiling(seq_len(2e5) / 2500)], 0, Inf)
  squares <- lapply(checked, \(i) colSums((t(y) - x[i, ])^2) + met(i))
  batch <- array(uniform(9000), c(1500, 2, 3))
  points <- y[1:5000, ]
  dense <- \(x) rowSums(exp(-(outer(x[, 1], points[, 1], `-`)^2 + outer(x[, 2], points[, 2], `-`)^2)))

  for (precision in c("float64", "float32")) {
    run <- function(change) {
      reduce <- \(formula) keops_kernel(formula, c("x = Vi(2)", "y = Vj(2)"), precision = precision, backend = "cuda",
                                        device = change$device)
      change$limit({
        sums <- reduce("Sum_Reduction(Exp(-SqDist(x, y)), 1)")
        sparse <- sums(list(x, y), ranges = ranges)
        expect_close(sparse[checked, , drop = FALSE], vapply(squares, \(d) sum(exp(-d)), 0), precision)
        expect_close(drop(sums(list(batch, points))), apply(batch, 3, dense), precision)
        nearest <- reduce("ArgKMin_Reduction(SqDist(x, y), 2, 1)")(list(x, y), ranges = ranges)
        if (precision == "float64") expect_identical(nearest[checked, ],
                                                     t(vapply(squares, \(d) order(d)[1:2], c(0L, 0L))))
      })
    }
    memory <- \(code) withr::with_options(list(kernops.gpu_memory = 12 * 2^20 + sum(cuda_describe()$used_bytes)), code)
    run(list(device = 0, limit = memory))
    if (nrow(cuda_describe()) > 1) run(list(device = 0:1, limit = identity))
  }
})

test_that("if memory is too small for a batch, an error occurs and data are unchanged", {
  skip_without_gpu()
  withr::local_seed(5)
  input <- input_for(2000, 3000)
  op <- keops_kernel(gaussian$formula, gaussian$args, backend = "cuda")
  expected <- op(input)
  x <- gpu_matrix(input$x)
  gc()
  used <- sum(cuda_describe()$used_bytes)
  withr::with_options(list(kernops.gpu_memory = used + 2^14), {
    expect_s3_class(expect_error(op(input), class = "kernops_memory_error"), "kernops_error")
    expect_error(gpu_matrix(input$y), class = "kernops_memory_error")
  })
  gc()
  expect_identical(sum(cuda_describe()$used_bytes), used)
  expect_identical(as.matrix(x), input$x)
  expect_identical(op(input), expected)
  for (limit in list(0, -1, "all", c(1, 2), NA)) withr::with_options(list(kernops.gpu_memory = limit), {
    expect_error(op(input), class = "kernops_input_error")
  })
})

test_that("the error for a missing GPU names this GPU and the existing GPUs", {
  skip_without_gpu()
  missing <- nrow(cuda_describe())
  for (use in list(\() keops_kernel(gaussian$formula, gaussian$args, device = missing),
                   \() keops_kernel(gaussian$formula, gaussian$args, backend = "cuda", device = c(0, missing)),
                   \() gpu_matrix(diag(2), device = missing))) {
    expect_match(tryCatch(use(), kernops_cuda_error = conditionMessage),
                 sprintf("no GPU %d; this machine has\\s+0\\s", missing))
  }
})

test_that("the device is chosen by an argument, an option or an environment variable", {
  chosen <- \(...) environment(keops_kernel("Sum_Reduction(x, 1)", "x = Vi(1)", backend = "cpu", ...))$device
  expect_identical(chosen(), 0L)
  expect_identical(chosen(device = 2:1), 2:1)
  withr::local_envvar(KERNOPS_DEVICE = "0,2:3")
  expect_identical(chosen(), c(0L, 2L, 3L))
  withr::local_options(kernops.device = 1)
  expect_identical(chosen(), 1L)
  expect_identical(chosen(device = 0), 0L)
  op <- keops_kernel("Sum_Reduction(SqDist(x, y), 1)", c("x = Vi(2)", "y = Vj(2)"), device = 0:3, backend = "cpu")
  expect_identical(environment(keops_grad(op, "x"))$device, 0:3)
  expect_output(print(op), "backend cpu, device 0, 1, 2, 3", fixed = TRUE)
})

small_op <- \(...) keops_kernel("Sum_Reduction(x, 1)", "x = Vi(1)", backend = "cpu", ...)
with_device <- function(text) {
  withr::local_envvar(KERNOPS_DEVICE = text)
  small_op()
}
test_mistakes("kernops_input_error", alist(
  `negative device` = small_op(device = -1),
  `device by name` = small_op(device = "first"),
  `no device` = small_op(device = integer()),
  `device twice` = small_op(device = c(0, 1, 0)),
  `half a device` = small_op(device = 0.5),
  `device of the environment` = with_device("0-3"),
  `a matrix on two devices` = gpu_matrix(diag(2), device = 0:1)
))
