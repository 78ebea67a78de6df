# The reason why this machine has no "cuda" backend; NULL if it has one.
cuda_refusal <- function() {
  use <- \() keops_kernel("Sum_Reduction(x, 1)", "x = Vi(1)", backend = "cuda")
  tryCatch({use(); NULL}, kernops_cuda_error = conditionMessage)
}

skip_without_nvrtc <- function() {
  skip_if_not(nzchar(cuda_compiler()), "NVRTC, the CUDA run-time compiler, was not found")
}

# Expects that NVRTC compiles a text. The kernel does not run, so `quick` compilation is enough.
expect_compiles <- \(text, architecture) expect_gt(kernops:::cuda_compile(text, architecture, quick = TRUE), 1000)

# The CUDA source of the kernel for this number of rows, compiled for the GPU of tools/emulate if the emulator runs,
# else for compute capability 8.0.
gpu_text <- function(op, single = TRUE, wide = FALSE, ranges = FALSE, rows = 1) {
  kernops:::cuda_source(kernops:::live(op), list(single = single, accumulate_double = wide),
                        kernops:::typical_gpu(if (emulated()) "sm_75" else "sm_80"),
                        kernops:::gpu_extent(rows, rows, ranges))
}

# The backends of this machine; tests run their body for each backend.
backends <- local({
  usable <- NULL
  function() {
    if (is.null(usable)) usable <<- c("cpu", if (is.null(cuda_refusal())) "cuda")
    usable
  }
})

# TRUE if the emulator of tools/emulate replaces the GPU.
emulated <- \() file.exists(file.path(Sys.getenv("CUDA_HOME"), "lib64", "device.h"))

skip_without_gpu <- \() skip_if_not("cuda" %in% backends(), paste("needs a GPU:", sub("\n.*", "", cuda_refusal())))

# Calls body(kernel, precision) for each backend and precision, where kernel(formula, args, ...) is keops_kernel() with
# this backend and precision.
for_each_backend <- function(body) {
  for (backend in backends()) for (precision in c("float64", "float32")) {
    kernel <- \(...) keops_kernel(..., precision = precision, backend = backend)
    body(kernel, precision)
  }
}

# Expects equality up to rounding. Errors are relative to `scale`, by default the largest expected number of each row. A
# result that is a difference of larger numbers needs a larger scale. `scale` is a single number, a number for each row
# or a number for each entry. NaN and Inf must be at the expected positions.
expect_close <- function(actual, expected, precision = "float64",
                         tolerance = c(float64 = 1e-10, float32 = 1e-5)[[precision]], info = NULL,
                         scale = row_scale(expected)) {
  expected <- as.matrix(expected)
  finite <- is.finite(expected)
  scale <- array(scale, dim(expected))
  error <- max(abs(actual[finite] - expected[finite]) / scale[finite], 0)
  described <- paste0("(", paste(c(precision, info), collapse = ", "), ")")
  expect(is.numeric(actual) && identical(dim(actual), dim(expected)),
         paste("shape", toString(dim(actual)), "instead of", toString(dim(expected)), described))
  odd_ones <- \(x) replace(as.numeric(x)[!finite], is.na(x)[!finite], NA)
  expect(identical(odd_ones(actual), odd_ones(expected)) && !anyNA(actual[finite]),
         paste("NA, NaN or Inf differ", described))
  expect(!is.na(error) && error <= tolerance, paste("relative error", signif(error, 3), described))
  invisible(actual)
}

# The largest absolute value of each row, or `least` if all absolute values of the row are smaller.
row_scale <- \(x, least = 0.01) {
  x <- as.matrix(x)
  x[!is.finite(x)] <- 0
  if (ncol(x)) pmax(do.call(pmax, unname(asplit(abs(x), 2))), least) else rep(least, nrow(x))
}

gradient_tolerance <- c(float64 = 1e-6, float32 = 1e-4)

# The gradient of the scalar function f at x, from central differences with steps h and h / 2 and Richardson's
# extrapolation.
central_difference <- function(f, x, h = 2^-10) {
  slope <- \(k, h) (f(replace(x, k, x[k] + h)) - f(replace(x, k, x[k] - h))) / (2 * h)
  gradient <- vapply(seq_along(x), \(k) (4 * slope(k, h / 2) - slope(k, h)) / 3, 0)
  if (is.matrix(x)) array(gradient, dim(x)) else t(gradient)
}

uniform <- \(n, d = 1, low = -1, high = 1) matrix(between(low, high)(n * d), n, d)

# The value of a formula whose arguments are scalars and vectors, for a single pair.
value_of <- function(formula, ..., precision = "float64") {
  parameters <- list(...)
  declared <- if (...length()) sprintf("%s = Pm(%d)", names(parameters), lengths(parameters))
  whole <- sprintf("Max_Reduction((%s) * (u * w), 1)", formula)
  op <- keops_kernel(whole, c("u = Vi(1)", "w = Vj(1)", declared), precision = precision)
  as.vector(op(c(list(u = 1, w = 1), parameters)))
}

# Creates a test for each line of an alist(). The code of the line must stop with an error of class `class`; the
# snapshot has the message.
test_mistakes <- function(class, mistakes, env = parent.frame(), needs = NULL) {
  for (mistake in names(mistakes)) test_that(paste("a mistake is explained:", mistake), {
    for (package in needs) skip_if_not_installed(package)
    code <- mistakes[[mistake]]
    expect_s3_class(expect_error(eval(code, env), class = class), "kernops_error")
    eval(bquote(expect_snapshot(.(code), error = TRUE)), env)
  })
}

# Replaces expect_no_message() of testthat 3.1.6, which looks for conditions of the misspelt class "messsage" and hence
# never fails.
expect_no_message <- function(object, class = NULL) testthat::expect_message(object, NA, class = class)

# Returns the function `name` of another package, which serves as an oracle. DESCRIPTION need not list this package.
peer <- function(package, name) {
  skip_if_not(nzchar(system.file(package = package)), sprintf("the package %s is not installed", package))
  getExportedValue(package, name)
}
