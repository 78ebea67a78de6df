# Long vectors. On a GPU, separate kernels compute contractions (sums over the entries of two vectors) and results that
# have as many entries as the vectors.

sizes <- c(11, 15, 16, 17, 33, 50, 100, 513)
vectors <- \(D, ...) c(sprintf(c("x = Vi(%d)", "y = Vj(%d)"), D), ...)
points <- \(n, D) matrix(rnorm(n * D), n) / sqrt(D)
sq_dist <- \(x, y) outer(rowSums(x^2), rowSums(y^2), `+`) - 2 * tcrossprod(x, y)

# Calls body(kernel, D, x, y, close). The numbers of rows and columns are not multiples of the size of a tile, the block
# of pairs that a thread block processes at a time.
for_each_size <- function(body, D = sizes) {
  withr::local_seed(1)
  for (d in D) {
    x <- points(131, d)
    y <- points(67, d)
    for_each_backend(\(kernel, precision) {
      close <- \(actual, expected, ...) expect_close(actual, expected, precision, ..., info = paste("D =", d))
      body(kernel, d, x, y, close)
    })
  }
}

test_that("distances and inner products of long vectors are right", {
  for_each_size(\(kernel, D, x, y, close) {
    b <- rnorm(nrow(y))
    w <- runif(D)
    gauss <- kernel("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", vectors(D, "b = Vj(1)"))
    # Terms cancel, because the weights have both signs. Errors are relative to the size of a term, which is about that
    # of the largest sum.
    near <- \(actual, expected) close(actual, expected, scale = max(row_scale(expected)))
    near(gauss(list(x, y, b)), exp(-sq_dist(x, y)) %*% b)
    dot <- kernel("Sum_Reduction(Exp(x | y) * b, 1)", vectors(D, "b = Vj(1)"))
    near(dot(list(x, y, b)), exp(tcrossprod(x, y)) %*% b)
    weighted <- kernel("Sum_Reduction(Exp(-WeightedSqDist(w, x, y)), 0)", vectors(D, sprintf("w = Pm(%d)", D)))
    scaled <- \(x) x %*% diag(sqrt(w))
    close(weighted(list(x, y, w)), colSums(exp(-sq_dist(scaled(x), scaled(y)))))
  })
})

test_that("every reduction accepts values computed from long vectors", {
  for_each_size(\(kernel, D, x, y, close) {
    d <- sq_dist(x, y)
    formula <- "%s_Reduction(3 * SqDist(x, y)%s, 1)"
    reduced <- \(name, options = "") kernel(sprintf(formula, name, options), vectors(D))(list(x, y))
    close(reduced("LogSumExp"), log(rowSums(exp(3 * d))))
    close(reduced("Max"), 3 * apply(d, 1, max))
    expect_identical(reduced("ArgMin"), matrix(apply(d, 1, which.min)))
    expect_identical(reduced("ArgKMin", ", 5"), t(apply(d, 1, order)[1:5, ]))
    u <- points(67, 3)
    softmax <- kernel("SumSoftMaxWeight_Reduction(SqDist(x, y), u, 1)", vectors(D, "u = Vj(3)"))
    close(softmax(list(x, y, u)), exp(d) %*% u / rowSums(exp(d)))
    # weights whose exponents are expanded into inner products
    k <- exp(-d)
    near <- kernel("SumSoftMaxWeight_Reduction(-SqDist(x, y), u, 1)", vectors(D, "u = Vj(3)"))
    close(near(list(x, y, u)), k %*% u / rowSums(k))
    close(kernel("LogSumExp_Reduction(-SqDist(x, y), 1)", vectors(D))(list(x, y)), log(rowSums(k)))
    weighed <- kernel("LogSumExp_Reduction(-SqDist(x, y), v, 1)", vectors(D, "v = Vj(1)"))
    close(weighed(list(x, y, abs(u[, 1]))), log(k %*% abs(u[, 1])))
  })
})

test_that("gradients with respect to long vectors are right", {
  for_each_size(\(kernel, D, x, y, close) {
    e <- rnorm(nrow(x))
    gauss <- kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", vectors(D))
    k <- exp(-sq_dist(x, y)) * e
    close(keops_grad(gauss, "x")(list(x, y, e)), -2 * (x * rowSums(k) - k %*% y))
    close(keops_grad(gauss, "y")(list(x, y, e)), -2 * (y * colSums(k) - crossprod(k, x)))
    weighted <- kernel("Sum_Reduction(Exp(-WeightedSqDist(w, x, y)), 1)", vectors(D, sprintf("w = Pm(%d)", D)))
    by_entry <- sapply(seq_len(D), \(d) -sum(k * outer(x[, d], y[, d], `-`)^2))
    close(keops_grad(weighted, "w")(list(x, y, rep(1, D), e)), t(by_entry))
  })
})

test_that("sums of long vectors are right", {
  for_each_size(\(kernel, D, x, y, close) {
    by_hand <- \(term) t(sapply(seq_len(nrow(x)), \(i) colSums(term(x[rep(i, nrow(y)), ], y))))
    close(kernel("Sum_Reduction(y * IndexJ(), 1)", vectors(D)[2])(list(y)), t(colSums(y * seq_len(nrow(y)))))
    close(kernel("Sum_Reduction(Abs(x - y), 1)", vectors(D))(list(x, y)), by_hand(\(x, y) abs(x - y)))
    u <- rnorm(nrow(x))
    v <- rnorm(nrow(y))
    short <- kernel("Sum_Reduction(Exp(-Square(u - v)) * x, 1)", c(vectors(D)[1], "u = Vi(1)", "v = Vj(1)"))
    close(short(list(x, u, v)), rowSums(exp(-outer(u, v, `-`)^2)) * x)
  }, D = c(16, 50, 513))
})

test_that("a sum may combine several contractions with other operations on long vectors", {
  for_each_size(\(kernel, D, x, y, close) {
    formula <- "Sum_Reduction(Exp(-SqDist(x, y)) * (x | y) + Exp(-Sum(Abs(x - y)) / s), 1)"
    both <- kernel(formula, vectors(D, "s = Pm(1)"))
    l1 <- apply(y, 1, \(y) rowSums(abs(sweep(x, 2, y))))
    close(both(list(x, y, 7)), rowSums(exp(-sq_dist(x, y)) * tcrossprod(x, y) + exp(-l1 / 7)))
    largest <- kernel("Sum_Reduction(Max(x - y) * SqDist(x, y), 1)", vectors(D))
    distance <- apply(y, 1, \(y) apply(sweep(x, 2, y), 1, max))
    close(largest(list(x, y)), rowSums(distance * sq_dist(x, y)))
  }, D = c(16, 50, 250))
})

test_that("distances are right for points far from the origin", {
  withr::local_seed(1)
  x <- round(256 * points(40, 20)) / 256  # exact in float32, also when shifted
  for_each_backend(\(kernel, precision) {
    for (shift in c(2^12, if (precision == "float64") 1e6)) {
      d <- kernel("Sum_Reduction(SqDist(x, y), 1)", vectors(20))
      expect_close(d(list(x + shift, x + shift)), d(list(x, x)), precision)
    }
  })
})

test_that("exponentials of distances and their gradients are right for points far from the origin", {
  withr::local_seed(1)
  # In float32 on compute capability 9.0, a thread holds all accumulators of a gradient of up to 256 entries, and half
  # of the accumulators for up to 448 entries. Rows of up to 320 entries stay in shared memory.
  for (D in c(40, 130, 256, 257, 330, 448, 449)) {
    x <- round(256 * points(150, D)) / 256
    y <- round(256 * points(90, D)) / 256
    k <- exp(-sq_dist(x, y) * 8 / D)
    for_each_backend(\(kernel, precision) {
      gauss <- kernel("Sum_Reduction(Exp(-g * SqDist(x, y)), 1)", vectors(D, "g = Pm(1)"))
      for (shift in c(0, 2^12)) {
        data <- list(x + shift, y + shift, 8 / D)
        expect_close(gauss(data), rowSums(k), precision)
        slope <- -16 / D * (x * rowSums(k) - k %*% y)
        expect_close(keops_grad(gauss, "x")(c(data, list(rep(1, 150)))), slope, precision)
      }
    })
  }
})

test_that("gradients are right for points that are far from each other", {
  withr::local_seed(1)
  for (D in c(64, 300)) {
    x <- round(256 * points(150, D)) / 256
    y <- round(256 * points(90, D)) / 256
    x[140:150, 1] <- x[140:150, 1] + 64
    y[5, 1] <- y[5, 1] + 64
    k <- exp(-sq_dist(x, y) * 8 / D)
    slope <- -16 / D * (x * rowSums(k) - k %*% y)
    for_each_backend(\(kernel, precision) {
      gauss <- kernel("Sum_Reduction(Exp(-g * SqDist(x, y)), 1)", vectors(D, "g = Pm(1)"))
      expect_close(keops_grad(gauss, "x")(list(x, y, 8 / D, rep(1, 150))), slope, precision, info = paste("D =", D))
    })
  }
})

test_that("vectors that are contracted may also occur elsewhere in the formula of a pair", {
  hessian <- "Grad(Grad(Sum_Reduction(Exp(-g * SqDist(x, y)) * b, 1), x, e), x, h)"
  for_each_size(\(kernel, D, x, y, close) {
    h <- points(nrow(x), D)
    b <- rnorm(nrow(y))
    second <- kernel(hessian, vectors(D, sprintf("h = Vi(%d)", D), "b = Vj(1)", "e = Vi(1)", "g = Pm(1)"))
    g <- 0.7
    k <- exp(-g * sq_dist(x, y)) * rep(b, each = nrow(x))
    along <- k * (rowSums(x * h) - tcrossprod(h, y))  # the kernel times h'(x - y)
    wanted <- 4 * g^2 * (x * rowSums(along) - along %*% y) - 2 * g * h * rowSums(k)
    close(second(list(x, y, h, b, rep(1, nrow(x)), g)), wanted, scale = max(abs(wanted)))
  }, D = c(16, 21, 70, 130))
})

test_that("the entries of long sums may depend on several scalars of a pair", {
  for_each_size(\(kernel, D, x, y, close) {
    b <- rnorm(nrow(y))
    k <- exp(-sq_dist(x, y))
    args <- vectors(D, "b = Vj(1)")
    near <- \(actual, expected) close(actual, expected, scale = max(abs(expected)))
    both <- kernel("Sum_Reduction(Exp(-SqDist(x, y)) * (x + y) * y, 1)", vectors(D))
    near(both(list(x, y)), x * (k %*% y) + k %*% y^2)
    mixed <- kernel("Sum_Reduction(Exp(-SqDist(x, y)) * x * y + b * (x - y) / (1 + Square(x | y)), 1)", args)
    w <- rep(b, each = nrow(x)) / (1 + tcrossprod(x, y)^2)
    near(mixed(list(x, y, b)), x * (k %*% y) + x * rowSums(w) - w %*% y)
    of_rows <- kernel("Sum_Reduction((x | y) * y + Abs(x) * b, 0)", args)
    near(of_rows(list(x, y, b)), y * colSums(tcrossprod(x, y)) + outer(b, colSums(abs(x))))
    turned <- cos(tcrossprod(x, y))
    turning <- kernel("Sum_Reduction(Cos(x | y) * Cos(x - y), 1)", vectors(D))
    near(turning(list(x, y)), cos(x) * (turned %*% cos(y)) + sin(x) * (turned %*% sin(y)))
    number <- kernel("Sum_Reduction(Cos(x | y) * Sum(Cos(x - y)), 1)", vectors(D))
    cosines <- tcrossprod(cos(x), cos(y)) + tcrossprod(sin(x), sin(y))
    near(number(list(x, y)), rowSums(turned * cosines))
    alone <- kernel("Sum_Reduction(b + x * y, 1)", args)
    near(alone(list(x, y, b)), sum(b) + x * rep(colSums(y), each = nrow(x)))
    most <- kernel("Max_Reduction(Exp(-SqDist(x, y)) + x * y, 1)", vectors(D))
    close(most(list(x, y)), t(sapply(seq_len(nrow(x)), \(i) apply(k[i, ] + y * rep(x[i, ], each = nrow(y)), 2, max))))
  }, D = c(47, 50, 130, 300))
})

test_that("exponents that are sums of large numbers are accurate", {
  for_each_size(\(kernel, D, x, y, close) {
    away <- \(x, by) sweep(x, 2, by, `+`)
    centre <- c(1, rep(0, D - 1))
    x[1, ] <- 0  # the distances of this point from the other points are known
    for (far in c(2, 4, 4.7, 8)) {  # expanded if squared norms / log(2) are at most 32; 4.7^2 / log(2) = 31.9
      y_far <- away(y / 4, far * centre)
      x_far <- rbind(x[1, ], away(x[-1, ] / 4, far * centre))
      gauss <- kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", vectors(D))
      close(gauss(list(x_far, y_far)), rowSums(exp(-sq_dist(x_far, y_far))))
    }
  }, D = c(20, 50, 100, 200))
})

test_that("infinite entries of long vectors agree with R", {
  for_each_size(\(kernel, D, x, y, close) {
    x[3, 2] <- Inf
    y[5, 2] <- 0.5
    y[7, D] <- -Inf
    largest <- kernel("Max_Reduction((x | y) * b, 1)", vectors(D, "b = Vj(1)"))
    close(largest(list(x, y, rep(1, nrow(y)))), apply(tcrossprod(x, y), 1, max))
    finite <- replace(x, x == Inf, 1)
    z <- abs(y[rep(1, nrow(y)), ])
    total <- kernel("Sum_Reduction(y * (x | z), 1)", vectors(D, sprintf("z = Vj(%d)", D)))
    sums <- tcrossprod(finite, z) %*% y  # the terms of the inner products cancel
    close(total(list(finite, y, z)), sums, scale = max(row_scale(sums)))
  }, D = c(33, 50, 100))
})

test_that("sums over no columns and over a single column are right", {
  for_each_backend(\(kernel, precision) {
    x <- matrix(1, 5, 20)
    y <- matrix(2, 1, 20)
    total <- kernel("Sum_Reduction(SqDist(x, y), 1)", vectors(20))
    gradient <- kernel("Sum_Reduction(SqDist(x, y) * (x - y), 1)", vectors(20))
    expect_identical(total(list(x, y)), matrix(20, 5, 1))
    expect_identical(gradient(list(x, y)), matrix(-20, 5, 20))
    expect_identical(total(list(x, y[0, , drop = FALSE])), matrix(0, 5, 1))
    expect_identical(gradient(list(x, y[0, , drop = FALSE])), matrix(0, 5, 20))
  })
})

test_that("the CUDA texts of kernels for long vectors compile", {
  skip_if(!nzchar(kernops:::cuda_compiler()), "there is no NVRTC")
  source <- \(op, single) gpu_text(op, single)
  compiles <- function(op, kind, architectures = c("compute_80", "compute_90")) {
    for (single in c(TRUE, FALSE)) for (architecture in architectures) {
      expect_match(source(op, single), kind)
      expect_compiles(source(op, single), architecture)
    }
  }
  gauss <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", vectors(100))
  compiles(gauss, "Wide<.*States<")
  for (D in c(100, 256))
    compiles(keops_grad(keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", vectors(D)), "x"), "Wide<.*VectorSum<")
  compiles(keops_kernel("ArgKMin_Reduction(SqDist(x, y), 10, 1)", vectors(1024)), "Wide<.*States<")
  short <- \(formula) keops_kernel(formula, vectors(3, "b = Vj(40)"))
  compiles(short("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)"), "in_place = true")
  compiles(short("Sum_Reduction(Sin(Cos(Sin(Cos(Sin(SqDist(x, y)))))) * b, 1)"), "in_place = false")
  # compilation fails if shared memory cannot hold the long vectors b together with the vectors y of the same columns
  compiles(keops_kernel("Sum_Reduction((x | y) * b, 1)", vectors(8, "b = Vj(300)")), "Wide<.*VectorSum<", "sm_90")
})

test_that("kernels with warp groups compile for GPUs of compute capability 9.0", {
  skip_if(!nzchar(kernops:::cuda_compiler()), "there is no NVRTC")
  skip_if(emulated(), "the emulator has no warp groups")
  compiles <- function(op, how) {
    text <- \(architecture) kernops:::cuda_sources(environment(op)$kernel, TRUE, FALSE, architecture)[[1]]
    expect_no_match(text("sm_80"), "Warpgroups")
    expect_match(text("sm_90"), sprintf("Wide<Warpgroups, 2, [0-9]+, %d>", how))
    expect_compiles(text("sm_90"), "sm_90")
  }
  gauss <- \(D) keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", vectors(D))
  for (D in c(33, 128, 320, 321)) compiles(gauss(D), 1)
  for (D in c(64, 256)) compiles(keops_grad(gauss(D), "x"), 1)
  compiles(keops_grad(gauss(448), "x"), 2)
})

test_that("kernels of every reduction compile for GPUs with warp groups", {
  skip_if(!nzchar(kernops:::cuda_compiler()), "there is no NVRTC")
  skip_if(emulated(), "the emulator has no warp groups")
  skip_on_cran()
  by_groups <- character()
  args <- c(x = "x = Vi(64)", y = "y = Vj(64)", u = "u = Vj(1)", b = "b = Vj(3)")
  for (name in unique(keops_reductions()[[1]])) for (of in c("", ", u", ", b", ", 3")) {
    formula <- sprintf("%s_Reduction(-SqDist(x, y)%s, 1)", name, of)
    of_pair <- \(f) sub("-SqDist(x, y)", f, formula, fixed = TRUE)
    formula <- c(formula, of_pair("Exp(-SqDist(x, y))"), of_pair("(x | y)"))
    for (f in formula) {
      used <- args[vapply(names(args), \(v) grepl(paste0("\\b", v, "\\b"), f), NA)]
      kernel <- tryCatch(kernops:::kernel_compile(f, used), kernops_error = \(e) NULL)  # refused arguments
      if (is.null(kernel)) next
      text <- kernops:::cuda_sources(kernel, TRUE, FALSE, "sm_90")[[1]]
      if (!grepl("Warpgroups", text)) next
      by_groups <- c(by_groups, name)
      expect_compiles(text, "sm_90")
    }
  }
  expect_setequal(by_groups, c("Sum", "LogSumExp", "SumSoftMaxWeight", "Max_SumShiftExp", "Max_SumShiftExpWeight"))
})

test_that("sums are right if shared memory holds the long vectors of rows and, in addition, short vectors of columns", {
  withr::local_seed(1)
  p <- matrix(runif(131 * 7), 131)
  q <- matrix(runif(67 * 7), 67)
  for_each_size(\(kernel, D, x, y, close) {
    args <- vectors(D, "p = Vi(7)", "q = Vj(7)")
    gauss <- kernel("Sum_Reduction(Exp(-SqDist(x, y)) * (p | q), 1)", args)
    k <- exp(-sq_dist(x, y)) * tcrossprod(p, q)
    close(gauss(list(x, y, p, q)), rowSums(k))
    e <- rep(1, nrow(x))
    close(keops_grad(gauss, "x")(list(x, y, p, q, e)), -2 * (x * rowSums(k) - k %*% y))
  }, c(200, 310, 320, 410, 448))
})

test_that("sums are right if long vectors of the columns fill the shared memory", {
  withr::local_seed(1)
  b <- points(67, 300)
  for_each_size(\(kernel, D, x, y, close) {
    op <- kernel("Sum_Reduction((x | y) * b, 1)", vectors(D, "b = Vj(300)"))
    expected <- tcrossprod(x, y) %*% b
    close(op(list(x, y, b)), expected, scale = max(row_scale(expected)))
  }, D = c(6, 8, 9, 16))
})

test_that("sums of scalars times vectors of the columns are right for any length of the vectors", {
  withr::local_seed(1)
  x <- points(200, 3)
  y <- points(131, 3)
  k <- exp(-sq_dist(x, y))
  near <- exp(-outer(x[, 1], y[, 1], `-`)^2)
  for_each_backend(\(kernel, precision) for (E in c(8, 13, 14, 16, 17, 33, 70)) {
    b <- matrix(rnorm(131 * E), 131)
    args <- c(vectors(3), sprintf(c("b = Vj(%d)", "e = Vi(%d)"), E))
    close <- \(actual, expected) expect_close(actual, expected, precision, info = paste("E =", E))
    gauss <- kernel("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", args[1:3])
    close(gauss(list(x, y, b)), k %*% b)
    close(gauss(list(x[1:3, ], y[1:5, ], b[1:5, ])), k[1:3, 1:5] %*% b[1:5, ])
    again <- rep_len(1:200, 30001)
    close(gauss(list(x[again, ], y, b)), (k %*% b)[again, ])
    close(gauss(list(x, y[0, ], b[0, ])), matrix(0, 200, E))
    careful <- if (precision == "float64") list(sum_scheme = "kahan_scheme") else list(accumulator = "float64")
    careful <- do.call(kernel, c("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", list(args[1:3]), careful))
    close(careful(list(x, y, b)), k %*% b)
    own <- kernel("Sum_Reduction(Exp(-Square(Elem(x, 0) - Elem(b, 0))) * b, 1)", args[c(1, 3)])
    close(own(list(x, cbind(y[, 1], b[, -1]))), near %*% cbind(y[, 1], b[, -1]))
    odd <- replace(b, c(7, 131 + 70), c(Inf, -Inf))
    close(gauss(list(x, y, odd)), cbind(rep(Inf, 200), -Inf, k %*% b[, -(1:2)]))
    close(gauss(list(replace(x, 5, NaN), y, b)), replace(k, cbind(5, 1:131), NaN) %*% b)
    e <- matrix(rnorm(200 * E), 200)
    close(keops_grad(gauss, "b")(list(x, y, b, e)), crossprod(k, e))
  })
})

# For each pair, the exponentials of the products of each entry of x and each entry of y, as a transposed matrix.
outer_text <- \(d) sprintf("Sum_Reduction(Exp(TensorDot(x, y, [%d], [%d], [], [], [1, 0])), 1)", d, d)

test_that("values that exceed the registers of a thread are right", {
  withr::local_seed(2)
  x <- points(9, 18)
  y <- points(7, 18)
  expected <- t(apply(x, 1, \(a) rowSums(apply(y, 1, \(b) exp(outer(a, b))))))
  for_each_backend(\(kernel, precision) {
    expect_close(kernel(outer_text(18), vectors(18))(list(x, y)), expected, precision)
  })
})

test_that("values that exceed the registers of a GPU are computed by the CPU", {
  withr::local_seed(3)
  x <- points(3, 130)
  y <- points(4, 130)
  expected <- t(apply(x, 1, \(a) rowSums(apply(y, 1, \(b) exp(outer(a, b))))))
  expect_equal(keops_kernel(outer_text(130), vectors(130), backend = "auto")(list(x, y)), expected)
  skip_without_gpu()
  on_gpu <- keops_kernel(outer_text(130), vectors(130), backend = "cuda")
  expect_error(on_gpu(list(x, y)), "the backend \"cpu\" has no such limit", class = "kernops_input_error")
})
