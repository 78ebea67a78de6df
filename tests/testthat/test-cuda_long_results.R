# Results with many entries: on a GPU, exponentials multiply vectors, whose entries are processed in batches.

points <- \(n, D) matrix(rnorm(n * D), n) / sqrt(D)
vectors <- \(D, ...) c(sprintf(c("x = Vi(%d)", "y = Vj(%d)"), D), ...)

# For a matrix f of exponents (rows x columns) and weights b, computes log(exp(f) b), the softmax average, and the sums
# of exp(f - max f) b with max f as the first column.
weighted <- function(f, b) {
  top <- apply(f, 1, max)
  power <- ifelse(f == top, 1, exp(f - top))
  sums <- power %*% b
  list(log_sum = log(sums) + top, softmax = sums / rowSums(power), sums = cbind(top, sums))
}

expect_weighted <- function(kernel, text, f, args, data, b, precision) {
  expected <- weighted(f, b)
  reduced <- \(name) kernel(sprintf("%s_Reduction(%s, b, 1)", name, text), args)(data)
  expect_close(reduced("LogSumExp"), expected$log_sum, precision, info = ncol(b))
  expect_close(reduced("SumSoftMaxWeight"), expected$softmax, precision, info = ncol(b))
  expect_close(reduced("Max_SumShiftExpWeight"), expected$sums, precision, info = ncol(b))
}

test_that("sums of exponentials with vectors of weights are right", {
  withr::local_seed(1)
  for_each_backend(\(kernel, precision) for (E in c(15, 16, 33, 100)) {
    b <- matrix(runif(75 * E), 75)
    weights <- sprintf("b = Vj(%d)", E)
    x <- 3 * points(141, 40)
    y <- 3 * points(75, 40)
    expect_weighted(kernel, "(x | y)", tcrossprod(x, y), vectors(40, weights), list(x, y, b), b, precision)
    if (E < 16) next
    u <- 2000 + sample(141) / 64  # the exponentials overflow
    v <- sample(75) / 64
    expect_weighted(kernel, "(x + y)", outer(u, v, `+`), vectors(1, weights), list(u, v, b), b, precision)
  })
})

test_that("sums of exponentials are shifted by the largest exponent, whichever of many columns has it", {
  withr::local_seed(5)
  b <- matrix(runif(9001 * 17), 9001)
  y <- 3 * points(9001, 40)
  x <- 3 * points(5, 40)
  f <- tcrossprod(x, y)
  up <- order(f[1, ])
  v <- 2000 + sort(sample(9001)) / 4
  for_each_backend(\(kernel, precision) for (columns in list(up, rev(up))) {
    given <- list(x, y[columns, ], b)
    expect_weighted(kernel, "(x | y)", f[, columns], vectors(40, "b = Vj(17)"), given, b, precision)
    expect_weighted(kernel, "(x + y)", outer(1:2, v, `+`), vectors(1, "b = Vj(17)"), list(1:2, v, b), b, precision)
  })
})

test_that("sums of exponentials continue from batch to batch if the GPU has little memory", {
  withr::local_seed(6)
  y <- sort(rnorm(3e5))
  b <- matrix(runif(3e5 * 17), 3e5)
  for_each_backend(\(kernel, precision) {
    gc()
    used <- if ("cuda" %in% backends()) sum(cuda_describe()$used_bytes) else 0
    withr::local_options(kernops.gpu_memory = 4e7 + used)
    args <- vectors(1, "b = Vj(17)")
    expect_weighted(kernel, "(x * y)", outer(c(-1, 0, 2), y), args, list(c(-1, 0, 2), y, b), b, precision)
  })
})

test_that("sums with infinite and NaN exponents are right, for any number of weights", {
  withr::local_seed(2)
  for_each_backend(\(kernel, precision) for (E in c(2, 17)) {
    b <- matrix(runif(4 * E), 4)
    for (v in list(c(1, Inf, 2, Inf), c(-Inf, 0, 1, -Inf), rep(-Inf, 4), c(0, NaN, 1, 2))) {
      args <- vectors(1, sprintf("b = Vj(%d)", E))
      if (any(v > -Inf, na.rm = TRUE)) {
        expect_weighted(kernel, "(x + y)", outer(0:1, v, `+`), args, list(0:1, v, b), b, precision)
        next
      }
      reduced <- \(name) kernel(sprintf("%s_Reduction(x + y, b, 1)", name), args)(list(0:1, v, b))
      expect_identical(reduced("LogSumExp"), matrix(-Inf, 2, E))
      expect_identical(reduced("SumSoftMaxWeight"), matrix(NaN, 2, E))
      expect_identical(reduced("Max_SumShiftExpWeight"), cbind(rep(-Inf, 2), matrix(0, 2, E)))
    }
  })
})

test_that("LogSumExp and softmax with 20 weights are right over i, with weights of pairs, ranges, or Kahan sums", {
  withr::local_seed(3)
  x <- points(40, 20)
  y <- points(30, 20)
  b <- matrix(runif(40 * 20), 40)
  f <- tcrossprod(y, x)
  halves <- \(n) cbind(c(1, n / 2 + 1), c(n / 2, n))
  kept <- from_matrix(halves(40), halves(30), matrix(c(TRUE, TRUE, FALSE, TRUE), 2))
  incomplete <- f
  incomplete[16:30, 1:20] <- -Inf
  for_each_backend(\(kernel, precision) {
    softmax <- kernel("SumSoftMaxWeight_Reduction(x | y, b, 0)", vectors(20, "b = Vi(20)"))
    expect_close(softmax(list(x, y, b)), weighted(f, b)$softmax, precision)
    of_pairs <- kernel("LogSumExp_Reduction(x | y, Square(x - y) + 1, 0)", vectors(20))
    squares <- t(sapply(1:30, \(j) log(colSums(exp(f[j, ]) * (1 + sweep(x, 2, y[j, ])^2)))))
    expect_close(of_pairs(list(x, y)), squares, precision)
    careful <- if (precision == "float64") list(sum_scheme = "kahan_scheme") else list(accumulator = "float64")
    log_sum <- do.call(kernel, c("LogSumExp_Reduction(x | y, b, 0)", list(vectors(20, "b = Vi(20)")), careful))
    expect_close(log_sum(list(x, y, b)), weighted(f, b)$log_sum, precision)
    expect_close(softmax(list(x, y, b), ranges = kept), weighted(incomplete, b)$softmax, precision)
    none <- kernel("LogSumExp_Reduction(x | y, b, 0)", vectors(20, "b = Vi(20)"))
    expect_identical(none(list(x[0, ], y, b[0, ])), matrix(-Inf, 30, 20))
  })
})

test_that("each entry of a long vector is reduced separately", {
  withr::local_seed(4)
  x <- points(37, 60)
  y <- points(53, 60)
  y[9, ] <- y[4, ]  # columns 4 and 9 are equal: the first of them is returned
  z <- sapply(1:60, \(k) outer(x[, k], y[, k]), simplify = "array")
  of <- list(Min = min, Max = max, ArgMin = which.min, ArgMax = which.max, Mean = mean, Var = var, Prod = prod,
             Any = \(v) any(v != 0), All = \(v) all(v != 0), Count = length)
  for_each_backend(\(kernel, precision) {
    reduced <- \(name, y) kernel(sprintf("%s_Reduction(x * y, 1)", name), vectors(60))(list(x, y))
    for (name in names(of)) {
      scale <- if (name == "Prod") row_scale(apply(z, c(1, 3), prod)) else 1
      expect_close(reduced(name, y), apply(z, c(1, 3), of[[name]]) + 0, precision, scale = scale, info = name)
    }
    both <- cbind(apply(z, c(1, 3), max), apply(z, c(1, 3), which.max))
    expect_close(reduced("Max_ArgMax", y), both, precision, scale = 1)
    expect_identical(reduced("Min_ArgMin", y[0, ]), cbind(matrix(Inf, 37, 60), matrix(NA, 37, 60)))
    again <- rep_len(1:53, 9001)
    expect_identical(reduced("ArgMin", y[again, ]), reduced("ArgMin", y))
    mean_of <- kernel("Mean_Reduction(x * y, 0)", vectors(60))
    expect_close(mean_of(list(x, y)), apply(z, 2:3, mean), precision, scale = 1)
  })
})
