# Reductions over dimensions of an array, against apply() with a function of base R.

# The position of the first missing value or, without missing values, of the extreme. As in min() and max() of base R,
# a NaN takes precedence over all numbers.
place_of <- \(best) \(x) c(if (anyNA(x)) which(is.na(x)) else best(x), NA_integer_)[[1]]
of_slice <- list(
  sum = sum, prod = prod, min = \(x) if (length(x)) min(x) else Inf, max = \(x) if (length(x)) max(x) else -Inf,
  mean = mean, var = \(x) var(as.vector(x)), sd = \(x) sd(as.vector(x)), count = length,
  any = \(x) any(as.logical(x)), all = \(x) all(as.logical(x)),
  argmin = place_of(which.min), argmax = place_of(which.max),
  logsumexp = \(x) if (anyNA(x)) sum(x, 0) else if (length(x)) max(x) + log(sum(exp(x - max(x)))) else -Inf,
  range = \(x) if (length(x)) range(x) else c(Inf, -Inf), first = \(x) x[1], last = \(x) x[length(x)][1]
)
bits_of_slice <- list(bit_and = \(x) Reduce(bitwAnd, x, -1L), bit_or = \(x) Reduce(bitwOr, x, 0L),
                      bit_xor = \(x) Reduce(bitwXor, x, 0L))

subsets <- function(n) lapply(seq_len(2^n) - 1, \(bits) which(bitwAnd(bits, 2^(seq_len(n) - 1)) > 0))

# Like apply(), but the array may have no values, and all of its dimensions may be reduced.
oracle_axis <- function(x, dims, f) {
  kept <- setdiff(seq_along(dim(x)), dims)
  if (length(kept) == 0) return(f(as.vector(x)))
  if (length(x) > 0) return(apply(x, kept, \(slice) f(as.vector(slice))))
  one <- f(as.vector(x))
  size <- c(if (length(one) > 1) length(one), dim(x)[kept])
  if (length(size) > 1) array(one, size) else rep(one, size)
}

softmax_of_slices <- function(x, dims, alpha = 1) {
  kept <- setdiff(seq_along(dim(x)), dims)
  weigh <- \(x) alpha * exp(x - max(x)) / sum(exp(x - max(x)))
  if (length(kept) == 0) return(array(weigh(x), dim(x)))
  aperm(array(apply(x, kept, weigh), dim(x)[c(dims, kept)]), order(c(dims, kept)))
}

sample_array <- function(size, type = "double", names = FALSE) {
  n <- prod(size)
  values <- switch(type, double = round(rnorm(n), 2) / 2, integer = sample(-9:9, n, TRUE),
                   logical = sample(c(TRUE, FALSE), n, TRUE))
  x <- array(values, size)
  if (names) dimnames(x) <- lapply(size, \(k) paste0("n", seq_len(k)))
  x
}

expect_reduced <- function(x, dims, op, f = c(of_slice, bits_of_slice)[[op]]) {
  expected <- oracle_axis(x, dims, f)
  for (backend in backends()) {
    actual <- axis_reduce(x, dims, op, backend = backend)
    close <- identical(actual, expected) || isTRUE(all.equal(actual, expected, tolerance = 1e-12))
    expect(close, paste(format(op)[[1]], backend, "dim", toString(dim(x)), "dims", toString(dims)))
    # min and max of an empty integer vector are infinite, hence doubles
    if (length(x)) expect(typeof(actual) == typeof(expected), paste(format(op)[[1]], typeof(x), typeof(actual)))
  }
}

test_that("every operation over every subset of dimensions agrees with apply()", {
  withr::local_seed(1)
  for (size in list(2:4, 4:2, c(1, 5, 1, 7))) for (dims in subsets(length(size))) {
    x <- sample_array(size, names = TRUE)
    for (op in names(of_slice)) expect_reduced(x, dims, op)
    if (length(dims)) expect_equal(softmax(x, dims), softmax_of_slices(x, dims), tolerance = 1e-12, ignore_attr = TRUE)
  }
  for (dims in subsets(3)) {
    x <- sample_array(c(4, 3, 2), "integer")
    for (op in setdiff(c(names(of_slice), names(bits_of_slice)), "prod")) expect_reduced(x, dims, op)
    for (op in c("sum", "any", "all", "mean", "count")) expect_reduced(sample_array(c(4, 3, 2), "logical"), dims, op)
  }
})

test_that("a user-defined operation reduces every subset of dimensions in order", {
  withr::local_seed(9)
  last <- seg_op("b + 0 * a", identity = -1)
  sum_of_squares <- seg_op("Hypot(a, b)", identity = 0)
  for (size in list(2:4, c(1, 5, 1, 7))) for (dims in subsets(length(size))) {
    x <- sample_array(size, names = TRUE)
    expect_reduced(x, dims, last, f = of_slice$last)
    expect_reduced(abs(x), dims, sum_of_squares, f = \(x) sqrt(sum(x^2)))
  }
  expect_reduced(array(0, c(0, 3)), 1, last, f = \(x) -1)
  x <- sample_array(2:4, names = TRUE)
  expect_identical(axis_reduce(x, op = last, plan = axis_plan(2:4, 2), keepdims = TRUE)[, 1, ],
                   axis_reduce(x, 2, "last"))
  expect_identical(axis_reduce(c(a = 1, b = 5, c = NA), op = last, na.rm = TRUE), 5)
})

test_that("first and last values are returned unchanged", {
  expect_identical(axis_reduce(c(TRUE, FALSE), op = "last"), FALSE)
  expect_identical(axis_reduce(cbind(c(NaN, NA), c(NA, NaN)), 1, "first", backend = "cpu"), c(NaN, NA))
})

test_that("every subset of six dimensions can be reduced", {
  withr::local_seed(2)
  x <- sample_array(c(2, 3, 2, 3, 2, 2))
  for (dims in subsets(6)) for (op in names(of_slice)) expect_reduced(x, dims, op)
})

# Sizes below and above the number of values that a SIMD loop processes at once. The lanes of a SIMD register lie along
# each of the dimensions in turn.
test_that("long, short, wide and narrow slices agree with R", {
  withr::local_seed(3)
  for (size in list(c(300, 5, 70), c(3, 40000), c(40000, 3), c(33, 600), c(257, 65), c(3, 3, 500), c(2, 500, 3, 40))) {
    x <- sample_array(size)
    for (dims in subsets(length(size))[-1]) {
      if (prod(size[-dims]) > 2000) next # apply() is slow
      for (op in c("sum", "argmin", "var", "logsumexp")) expect_reduced(x, dims, op)
      expect_equal(softmax(x, dims), softmax_of_slices(x, dims), tolerance = 1e-12, info = toString(c(size, 0, dims)))
    }
  }
})

test_that("every instruction set gives the same results", {
  withr::local_seed(4)
  x <- sample_array(c(37, 5, 41))
  for (isa in intersect(c("baseline", "avx2"), cpu_isas())) {
    withr::local_options(kernops.isa = isa)
    for (dims in list(1, 2, c(1, 3), 1:3)) {
      for (op in names(of_slice)) expect_reduced(x, dims, op)
      expect_equal(softmax(x, dims), softmax_of_slices(x, dims), tolerance = 1e-12)
    }
  }
})

test_that("the number of threads does not change a bit of the result", {
  withr::local_seed(5)
  for (size in list(c(200, 25, 200), 1e6, c(3, 3e5), c(5e5, 2))) {
    x <- array(rnorm(prod(size)), size)
    for (dims in subsets(length(size))[-1]) {
      results <- lapply(c(1, 2, 8), \(n) withr::with_options(list(kernops.threads = n), {
        list(axis_reduce(x, dims, "sum"), axis_reduce(x, dims, "var"), softmax(x, dims))
      }))
      expect_identical(results[[2]], results[[1]])
      expect_identical(results[[3]], results[[1]])
    }
  }
})

test_that("a GPU gives the same bits on every run", {
  skip_without_gpu()
  withr::local_seed(5)
  x <- array(rnorm(4e6), c(200, 100, 200))
  for (dims in subsets(3)[-1]) {
    results <- replicate(5, axis_reduce(x, dims, "sum", backend = "cuda"), simplify = FALSE)
    expect_length(unique(results), 1)
  }
})

test_that("sums of doubles are nearly exact, and sums of integers are exact", {
  withr::local_seed(6)
  x <- array(rnorm(1e6) * 10^runif(1e6, -8, 8), c(1000, 1000))
  for (dims in list(1, 2, 1:2)) for (backend in backends()) {
    n <- prod(dim(x)[dims])
    exact <- oracle_axis(x, dims, \(s) sum(sort(s[s > 0])) + sum(sort(s[s < 0], decreasing = TRUE)))
    allowed <- (2 * log2(n) + 2) * .Machine$double.eps * oracle_axis(abs(x), dims, sum)
    expect_true(all(abs(axis_reduce(x, dims, "sum", backend = backend) - exact) <= allowed))
  }
  i <- matrix(c(.Machine$integer.max, -.Machine$integer.max, 5L, .Machine$integer.max, 0L, 0L), 3)
  expect_identical(axis_reduce(i, 1, "sum"), c(5L, .Machine$integer.max))
  j <- matrix(.Machine$integer.max, 2, 2)
  expect_warning(large <- axis_reduce(j, 1, "sum"), class = "kernops_overflow_warning")
  expect_identical(large, rep(2 * .Machine$integer.max, 2))
})

test_that("keepdims keeps the reduced dimensions with size 1", {
  x <- sample_array(c(2, 3, 4), names = TRUE)
  kept <- axis_reduce(x, c(1, 3), "sum", keepdims = TRUE)
  expect_identical(dim(kept), c(1L, 3L, 1L))
  expect_identical(dimnames(kept), list(NULL, dimnames(x)[[2]], NULL))
  expect_identical(as.vector(kept), unname(axis_reduce(x, c(1, 3), "sum")))
  expect_identical(dim(axis_reduce(x, 1:3, "range", keepdims = TRUE)), c(2L, 1L, 1L, 1L))
  expect_identical(dim(axis_reduce(1:5, 1, "sum", keepdims = TRUE)), 1L)
})

test_that("vectors are arrays of one dimension, and keep their names", {
  x <- c(a = 1, b = 2, c = 4)
  expect_identical(axis_reduce(x, op = "sum"), 7)
  expect_identical(axis_reduce(x, integer(), "sum"), x)
  expect_equal(softmax(x), exp(x) / sum(exp(x)))
  expect_identical(axis_reduce(numeric(), op = "prod"), 1)
})

test_that("NA and NaN agree with base R", {
  withr::local_seed(7)
  x <- sample_array(c(5, 40, 6))
  x[sample(length(x), 60)] <- NA
  x[sample(length(x), 60)] <- NaN
  x[, 3, ] <- NA
  i <- sample_array(c(5, 40, 6), "integer")
  i[sample(length(i), 60)] <- NA
  without <- \(f) \(x) f(x[!is.na(x)])
  na_wins <- \(x) if (any(is.na(x) & !is.nan(x))) NA_real_ else if (anyNA(x)) NaN else 0
  for (dims in subsets(3)[-1]) for (values in list(x, i)) {
    for (op in setdiff(names(of_slice), if (is.integer(values)) "prod")) expect_reduced(values, dims, op)
    for (op in c("sum", "max", "mean", "logsumexp")) for (backend in backends()) {
      actual <- axis_reduce(values, dims, op, backend = backend)
      expect_identical(is.nan(actual), is.nan(oracle_axis(values, dims, na_wins)))
    }
    for (op in setdiff(names(of_slice), c("argmin", "argmax", "first", "last", "prod"))) {
      expect_equal(axis_reduce(values, dims, op, na.rm = TRUE), oracle_axis(values, dims, without(of_slice[[op]])),
                   tolerance = 1e-12, info = paste(op, toString(dims)))
    }
  }
  expect_identical(is.nan(axis_reduce(cbind(c(NaN, 1), c(NaN, NA), c(NA, 1)), 1, "max")), c(TRUE, FALSE, FALSE))
  expect_identical(axis_reduce(c(NA, 3, 1), 1, "argmin"), 1L)
  expect_identical(axis_reduce(c(NA, 3, 1), 1, "argmin", na.rm = TRUE), 3L)
  expect_identical(axis_reduce(c(NA, 3, 1), 1, "first", na.rm = TRUE), 3)
  expect_identical(axis_reduce(cbind(c(NA, Inf), NA, 1), 1, "argmin", na.rm = TRUE), c(2L, NA, 1L))
  expect_identical(axis_reduce(c(-Inf, -Inf), 1, "argmax"), 1L)
  expect_identical(axis_reduce(c(5L, NA), 1, "bit_and"), NA_integer_)
  expect_identical(axis_reduce(c(5L, NA), 1, "bit_and", na.rm = TRUE), 5L)
})

test_that("the first of equal extremes is selected, for every choice of dimensions", {
  withr::local_seed(8)
  for (size in list(c(4, 7, 40), c(4, 2, 7, 5), c(3, 2, 1300), c(2, 3, 2, 100), c(2, 9, 300))) {
    for (values in list(c(-1, 1), c(-Inf, Inf, 0), c(Inf, NA), -Inf, c(NaN, Inf, -Inf))) {
      x <- array(sample(c(values, values), prod(size), TRUE), size)
      for (dims in subsets(length(size))) for (op in c("argmin", "argmax")) {
        expect_reduced(x, dims, op)
        skipping <- c(argmin = which.min, argmax = which.max)[[op]]
        expect_equal(axis_reduce(x, dims, op, na.rm = TRUE), oracle_axis(x, dims, \(x) skipping(x)[1]))
      }
    }
  }
})

test_that("an empty slice has the identity of the operation as its result", {
  x <- array(0, c(0, 3))
  for (op in names(of_slice)) for (dims in list(1, 1:2, integer())) expect_reduced(x, dims, op)
  expect_identical(axis_reduce(array(0L, c(0, 2)), 1, "bit_and"), c(-1L, -1L))
  expect_identical(axis_reduce(array(0L, c(0, 2)), 1, "min"), c(Inf, Inf))
  expect_identical(axis_reduce(x, 2, "sum"), numeric())
  expect_identical(softmax(x, 1), x)
  expect_identical(axis_reduce(array(0, rep(c(2, 0), 20)), 1:40, "sum"), 0)
})

test_that("a plan may be saved, and used with any values and any operation", {
  file <- withr::local_tempfile()
  saveRDS(axis_plan(c(4, 3, 2), c(1, 3)), file)
  plan <- readRDS(file)
  x <- array(1:24 + 0, c(4, 3, 2))
  expect_identical(axis_reduce(x, op = "sum", plan = plan), apply(x, 2, sum))
  expect_identical(softmax(x, plan = plan), softmax(x, c(1, 3)))
  expect_lt(object.size(axis_plan(rep(1000, 5), c(1, 4))), 4000)
  expect_equal(nrow(axis_plan(c(2, 3, 4, 5), 2:3)$runs), 3)
  expect_snapshot({
    print(plan)
    axis_plan(c(1000, 1, 50), 2:3)
    axis_plan(c(1e5, 4, 1e7), 2)
  })
})

# Worked examples of a softmax over arbitrary dimensions: the zero-based positions of the values of the first slice,
# then of the second slice, and so on. The first two examples are for row-major arrays, whose dimensions are reversed
# here.
test_that("slices agree with the worked examples", {
  examples <- list(
    list(dim = 4:2, dims = c(1, 3), row_major = TRUE,
         positions = c(0, 1, 2, 3, 12, 13, 14, 15, 4, 5, 6, 7, 16, 17, 18, 19, 8, 9, 10, 11, 20, 21, 22, 23)),
    list(dim = 4:2, dims = 2, row_major = TRUE,
         positions = c(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11, 12, 16, 20, 13, 17, 21, 14, 18, 22, 15, 19, 23)),
    list(dim = 2:4, dims = c(1, 3), sums = c(76, 92, 108),
         positions = c(0, 1, 6, 7, 12, 13, 18, 19, 2, 3, 8, 9, 14, 15, 20, 21, 4, 5, 10, 11, 16, 17, 22, 23)),
    list(dim = 2:4, dims = 2, sums = c(6, 9, 24, 27, 42, 45, 60, 63),
         positions = c(0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11, 12, 14, 16, 13, 15, 17, 18, 20, 22, 19, 21, 23)))
  for (example in examples) {
    x <- array(2^(0:23), example$dim)
    length <- prod(example$dim[example$dims])
    slices <- matrix(example$positions, length)
    expect_identical(as.vector(axis_reduce(x, example$dims, "sum")), colSums(2^slices))
    expect_identical(as.vector(axis_reduce(array(0:23, example$dim), example$dims, "first")), as.integer(slices[1, ]))
    if (!is.null(example$sums)) {
      expect_equal(as.vector(axis_reduce(array(0:23, example$dim), example$dims, "sum")), example$sums)
    }
  }
  expect_identical(axis_reduce(matrix(1:12, 4, 3), 1, "max"), c(4L, 8L, 12L))
  large <- replace(numeric(100000), c(50000, 1, 100000), c(3, 2, 4))
  expect_identical(axis_reduce(matrix(large, 50000), 1, "max"), c(3, 4))
})

test_that("a gpu_matrix is reduced on its device", {
  skip_without_gpu()
  withr::local_seed(8)
  x <- matrix(rnorm(300 * 77), 300)
  for (precision in c("float64", "float32")) {
    there <- gpu_matrix(x, precision)
    tolerance <- c(float64 = 1e-12, float32 = 1e-6)[[precision]]
    for (dims in list(1, 2, 1:2)) {
      for (op in setdiff(names(of_slice), c("prod", "all", "any"))) {
        expect_equal(axis_reduce(there, dims, op), axis_reduce(as.matrix(there), dims, op), tolerance = tolerance)
      }
      stays <- axis_reduce(there, dims, "sum", output = "gpu")
      expect_s3_class(stays, "gpu_matrix")
      expect_equal(as.matrix(stays), axis_reduce(as.matrix(there), dims, "sum", keepdims = TRUE), tolerance = tolerance)
      weights <- softmax(there, dims, 2, output = "gpu")
      expect_s3_class(weights, "gpu_matrix")
      expect_equal(as.matrix(weights), softmax_of_slices(x, dims, 2), tolerance = 10 * tolerance)
      expect_equal(softmax(there, dims), softmax_of_slices(x, dims), tolerance = 10 * tolerance)
      farthest <- seg_op("IfElse(Abs(a) - Abs(b), a, b)", identity = 0)
      stays <- axis_reduce(there, dims, farthest, output = "gpu")
      expect_s3_class(stays, "gpu_matrix")
      values <- as.matrix(there)
      oracle <- \(values) values[which.max(abs(values))]
      expect_identical(as.vector(as.matrix(stays)),
                       if (length(dims) == 2) oracle(values) else apply(values, 3 - dims, oracle))
    }
  }
  expect_equal(dim(axis_reduce(gpu_matrix(x), 1, "range", output = "gpu")), c(2, 77))
  infinite <- cbind(Inf, c(NA, Inf, Inf), c(Inf, NA, -Inf), NA)[rep(1:3, c(1, 999, 1)), ]
  for (sign in c(1, -1)) for (na.rm in c(FALSE, TRUE)) {
    op <- if (sign > 0) "argmin" else "argmax"
    place <- \(x) if (na.rm) c(which.min(x), NA)[[1]] else c(which(is.na(x)), which.min(x))[[1]]
    there <- axis_reduce(gpu_matrix(sign * infinite), 1, op, na.rm = na.rm, output = "gpu")
    expect_identical(c(replace(as.matrix(there), is.na(as.matrix(there)), NA)), as.numeric(apply(infinite, 2, place)))
    for (backend in backends()) {
      expect_identical(axis_reduce(sign * infinite, 1, op, na.rm = na.rm, backend = backend), apply(infinite, 2, place))
    }
  }
})

test_that("the CUDA texts of all axis operations compile", {
  skip_if_not(nzchar(cuda_compiler()), "NVRTC, the CUDA run-time compiler, was not found")
  skip_on_cran()
  ops <- c(seg_ops_table()$name, "softmax")
  types <- rep_len(c("double", "float", "int"), length(ops))
  for (n in seq_along(ops)) {
    expect_compiles(axis_source(ops[n], types[n], n %% 2 == 0), c("compute_80", "compute_90")[n %% 2 + 1])
  }
  for (type in c("double", "float", "int")) expect_compiles(axis_source("softmax", type, FALSE), "compute_90")
})

x <- array(1:24 + 0, c(2, 3, 4))
test_mistakes("kernops_dim_error", alist(
  "a dimension that is not there" = axis_reduce(x, 4, "sum"),
  "dimension 0" = axis_reduce(x, 0, "sum"),
  "half a dimension" = axis_reduce(x, 1.5, "sum"),
  "a dimension twice" = axis_reduce(x, c(1, 3, 1), "sum"),
  "dims that are NA" = axis_reduce(x, NA, "sum"),
  "dims that are an empty list" = axis_reduce(x, list()),
  "a plan for no dims" = axis_plan(2:3, NULL),
  "dims that are names" = axis_reduce(x, "year", "sum"),
  "a plan for another shape" = axis_reduce(x, op = "sum", plan = axis_plan(c(2, 3), 1)),
  "a plan of negative sizes" = axis_plan(c(2, -3), 1),
  "a plan of nothing" = axis_plan(NULL, 1)
))
test_mistakes("kernops_input_error", alist(
  "an unknown operation" = axis_reduce(x, 1, "middle"),
  "text to reduce" = axis_reduce(letters, 1, "sum"),
  "a list to reduce" = axis_reduce(list(1), 1, "sum"),
  "bits of doubles" = axis_reduce(x, 1, "bit_and"),
  "keepdims that is no flag" = axis_reduce(x, 1, "sum", keepdims = NA),
  "an argument that log-sum-exp does not have" = logsumexp(x, weight = 1),
  "na.rm that is no flag" = axis_reduce(x, 1, "sum", na.rm = "yes"),
  "a plan and dims" = axis_reduce(x, 1, "sum", plan = axis_plan(2:4, 1)),
  "a plan that is none" = axis_reduce(x, op = "sum", plan = 1:3),
  "an operation that is a function" = axis_reduce(x, 1, sum),
  "a user-defined operation whose result stays on the GPU" =
    axis_reduce(x, 1, seg_op("a + b"), backend = "cpu", output = "gpu"),
  "a result on the GPU from the CPU" = axis_reduce(x, 1, "sum", backend = "cpu", output = "gpu"),
  "alpha that is no number" = softmax(x, 1, alpha = "much")
))
