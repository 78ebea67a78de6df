# The terms of a sum, stored as a matrix, against plain R. The sizes are near those of SIMD packs and tiles.

stored <- function(formula, args, precision = "float64", backend = "cpu") {
  kernops:::kernel_operator(paste0("Sum_Reduction(", formula, ")"), args, "auto", precision, backend, stored = TRUE)
}
for_each_stored <- function(body) {
  for (backend in backends()) for (precision in c("float64", "float32")) {
    body(\(formula, args) stored(formula, args, precision, backend), precision)
  }
}
for_each_isa <- function(body) {
  for (isa in kernops:::cpu_isas()) for (threads in 1:2) with_kernops(body(), isa = isa, threads = threads)
}

args <- c("x = Vi(3)", "y = Vj(3)")
gaussian <- \(x, y) exp(-outer(seq_len(nrow(x)), seq_len(nrow(y)), Vectorize(\(i, j) sum((x[i, ] - y[j, ])^2))))

test_that("the value of every pair is stored in its row and column", {
  withr::local_seed(1)
  for_each_stored(function(make, precision) {
    down <- make("Exp(-SqDist(x, y)), 1", args)
    across <- make("Exp(-SqDist(x, y)), 0", args)
    for (m in c(1, 2, 17, 130)) for (n in c(1, 3, 70)) {
      x <- uniform(m, 3)
      y <- uniform(n, 3)
      expect_close(down(list(x, y)), gaussian(x, y), precision)
      expect_close(across(list(x, y)), t(gaussian(x, y)), precision)
    }
  })
})

test_that("the stored matrix depends neither on tiles, splits and threads, nor on the instruction set", {
  withr::local_seed(2)
  x <- uniform(70000, 3)
  y <- uniform(3, 3)
  expected <- exp(-vapply(1:3, \(j) rowSums(sweep(x, 2, y[j, ])^2), numeric(70000)))
  for (precision in c("float64", "float32")) {
    op <- stored("Exp(-SqDist(x, y)), 1", args, precision)
    for_each_isa(function() expect_close(op(list(x, y)), expected, precision))
    for_each_isa(function() expect_close(op(list(y, x)), t(expected), precision))
  }
})

test_that("the entries of vectors are the last dimension of the array", {
  withr::local_seed(3)
  x <- uniform(40, 3)
  y <- uniform(21, 3)
  expected <- outer(1:40, 1:21, Vectorize(\(i, j) list((x[i, ] - y[j, ])^2)))
  expected <- aperm(array(unlist(expected), c(3, 40, 21)), c(2, 3, 1))
  for_each_stored(function(make, precision) {
    value <- make("Square(x - y), 1", args)(list(x, y))
    expect_identical(dim(value), c(40L, 21L, 3L))
    for (k in 1:3) expect_close(value[, , k], expected[, , k], precision)
  })
})

test_that("a value that does not depend on all variables is stored for every pair", {
  x <- matrix(c(0.5, -1, 2))
  y <- matrix(1:2)
  for_each_stored(function(make, precision) {
    both <- c("s = Pm(2)", "x = Vi(1)", "y = Vj(1)")
    input <- list(c(3, 4), x, y)
    expect_close(make("x + 0 * y + 0 * s, 1", both)(input)[, , 2], cbind(x, x), precision)
    expect_close(make("s + 0 * (x | y), 1", both)(input)[, , 2], matrix(4, 3, 2), precision)
    expect_close(make("Square(x), 1", "x = Vi(1)")(list(x)), x^2, precision)
    expect_close(make("Square(y), 1", "y = Vj(1)")(list(y)), t(y^2), precision)
    expect_close(make("s * s, 1", "s = Pm(1)")(list(3)), 9, precision)
    numbers <- make("IndexI() + 10 * IndexJ() + 0 * x * y, 1", both[-1])
    expect_close(numbers(list(x, y)), outer(1:3, 10 * (1:2), `+`), precision)
  })
})

test_that("values of formulas with long vectors and with inner reductions are stored, too", {
  withr::local_seed(4)
  x <- uniform(150, 300) / 20
  y <- uniform(9, 300) / 20
  long <- c("x = Vi(300)", "y = Vj(300)")
  for_each_stored(function(make, precision) {
    expect_close(make("Exp(-SqDist(x, y)), 1", long)(list(x, y)), gaussian(x, y), precision)
    b <- seq_len(9) / 9
    slope <- kernops:::kernel_operator("Grad(LogSumExp_Reduction(Log(x) * y, 1), x, e)",
                                       c("x = Vi(1)", "y = Vj(1)", "e = Vi(1)"), "auto", precision, "cpu",
                                       stored = TRUE)
    at <- matrix(c(1, 2))
    weight <- exp(log(at) %*% t(b))
    expect_close(slope(list(at, b, c(1, 3))), c(1, 3) / at[, 1] * (weight / rowSums(weight)) %*% diag(b), precision)
  })
})

test_that("NaN and Inf do not affect other pairs", {
  x <- matrix(c(1, NaN, 0, 4))
  for_each_stored(function(make, precision) {
    expect_close(make("Inv(x * y), 1", c("x = Vi(1)", "y = Vj(1)"))(list(x, 1:2)), 1 / outer(x[, 1], 1:2), precision)
  })
})

test_that("without points, the matrix has no rows or no columns", {
  for_each_stored(function(make, precision) {
    op <- make("Exp(-SqDist(x, y)), 1", args)
    expect_identical(dim(op(list(matrix(0, 0, 3), matrix(0, 2, 3)))), c(0L, 2L))
    expect_identical(dim(op(list(matrix(0, 2, 3), matrix(0, 0, 3)))), c(2L, 0L))
  })
})

test_that("only the terms of sums over one axis can be stored, and formulas cannot name the Store reduction", {
  expect_error(stored("x * y, ij", c("x = Vi(1)", "y = Vj(1)")), class = "kernops_formula_error")
  expect_error(kernops:::kernel_operator("Max_Reduction(x * y, 1)", c("x = Vi(1)", "y = Vj(1)"), "auto", "float64",
                                         "cpu", stored = TRUE), class = "kernops_formula_error")
  expect_error(keops_kernel("Store_Reduction(x, 1)", "x = Vi(1)"), class = "kernops_formula_error")
  expect_false("Store" %in% keops_reductions()$name)
})

test_that("the triangle of a covariance matrix, and weighted sums of its derivatives, agree with plain R", {
  withr::local_seed(5)
  model <- kernops:::covariance_model(exponential(2, 0.4), 2)
  values <- kernops:::live(kernops:::covariance_matrix(model))
  derivatives <- kernops:::live(kernops:::covariance_derivatives(model))
  weighted <- kernops:::live(kernops:::covariance_weighted(model, 128L))
  theta <- c(2, 0.4)
  for (n in c(1, 31, 33, 600)) {
    x <- uniform(n, 2)
    distance <- as.matrix(dist(x))
    K <- 2 * exp(-distance / 0.4)
    inverse <- crossprod(uniform(n, n))
    left <- uniform(n, 2)
    right <- uniform(n, 2)
    W <- inverse - (left %*% t(right) + right %*% t(left)) / 2
    expected <- c(sum(W * K / 2), sum(W * K * distance / 0.4^2))
    inverse[upper.tri(inverse)] <- NaN
    for_each_isa(function() {
      k <- matrix(-1, n, n)
      kernops:::covariance_fill(k, values, theta, x, kernops:::run_settings())
      expect_close(matrix(k[lower.tri(k, TRUE)]), K[lower.tri(K, TRUE)])
      symmetric <- cbind(left, right) / 2
      operators <- list(stored = derivatives, weighted = weighted)
      sums <- kernops:::factor_weighted_derivatives(inverse, operators, theta, x, symmetric, cbind(right, left),
                                                    kernops:::run_settings())
      expect_close(matrix(sums), matrix(expected), tolerance = 1e-9)
    })
  }
})

test_that("covariance matrices on a GPU agree with plain R", {
  skip_without_gpu()
  withr::local_seed(6)
  model <- kernops:::covariance_model(exponential(2, 0.4), 2)
  values <- kernops:::live(kernops:::covariance_matrix(model, backend = "cuda"))
  on_gpu <- \(x) gpu_matrix(x, "float64")
  for (n in c(1, 40, 700)) {
    x <- uniform(n, 2)
    y <- uniform(33, 2)
    K <- 2 * exp(-as.matrix(dist(x)) / 0.4)
    k <- kernops:::factor_new(n, 0L)
    kernops:::covariance_fill(k, values, c(2, 0.4), on_gpu(x), list())
    # the size of the stored matrix is rounded up to a multiple of 32, and only a part is filled
    order <- 32 * ceiling(n / 32)
    filled <- matrix(as.matrix(k)[seq_len(order^2)], order)[seq_len(n), seq_len(n), drop = FALSE]
    expect_close(matrix(filled[lower.tri(K, TRUE)]), K[lower.tri(K, TRUE)])
    k <- kernops:::covariance_block(k, values, c(2, 0.4), on_gpu(x), on_gpu(y), list())
    distance <- as.matrix(dist(rbind(x, y)))[seq_len(n), n + 1:33]
    expect_close(as.matrix(k), matrix(2 * exp(-distance / 0.4), n))
  }
})

test_that("a matrix that stays on a GPU has the same values", {
  skip_without_gpu()
  withr::local_seed(7)
  x <- uniform(150, 3)
  y <- uniform(70, 3)
  for (precision in c("float64", "float32")) {
    op <- stored("Exp(-SqDist(x, y)), 1", args, precision, "cuda")
    expect_close(as.matrix(op(list(x, y), output = "gpu")), gaussian(x, y), precision)
    expect_close(op(list(gpu_matrix(x), y)), gaussian(x, y), precision)
  }
})

test_that("the CUDA text of stored pairs compiles", {
  skip_without_nvrtc()
  for (formula in c("Exp(-SqDist(x, y)), 1", "x - y, 1")) for (D in c(2, 100)) for (some in c(TRUE, FALSE)) {
    op <- stored(formula, sprintf(c("x = Vi(%d)", "y = Vj(%d)"), if (grepl("Exp", formula)) D else 3))
    for (single in c(TRUE, FALSE)) {
      text <- gpu_text(op, single, ranges = some)
      expect_match(text, "accumulators::Store")
      expect_compiles(text, "sm_80")
    }
  }
})
