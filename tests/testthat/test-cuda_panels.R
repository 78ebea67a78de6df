# Long vectors and many points: on a GPU, a panel of rows and columns is computed by matrix products.

points <- \(n, D) matrix(rnorm(n * D), n) / sqrt(D)
sq_dist <- \(x, y) outer(rowSums(x^2), rowSums(y^2), `+`) - 2 * tcrossprod(x, y)
arguments <- \(D, ...) c(sprintf(c("x = Vi(%d)", "y = Vj(%d)"), D), ...)

# Calls body(kernel, D, x, y, close). The numbers of rows and columns exceed those of a panel, and no panel size divides
# them.
for_each_size <- function(body, sizes = list(c(170, 1100), c(700, 520))) {
  withr::local_seed(1)
  for (size in sizes) {
    D <- size[1]
    x <- points(523, D)
    y <- points(size[2], D)
    for_each_backend(\(kernel, precision) {
      close <- \(actual, expected, ...) expect_close(actual, expected, precision, ..., info = paste("D =", D))
      body(kernel, D, x, y, close)
    })
  }
}

test_that("sums over many points are right", {
  for_each_size(\(kernel, D, x, y, close) {
    k <- exp(-sq_dist(x, y))
    b <- runif(nrow(y))
    e <- rnorm(nrow(x))
    gauss <- kernel("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", arguments(D, "b = Vj(1)"))
    close(gauss(list(x, y, b)), k %*% b)
    kb <- k * outer(e, b)
    close(keops_grad(gauss, "x")(list(x, y, b, e)), -2 * (x * rowSums(kb) - kb %*% y))
    close(keops_grad(gauss, "y")(list(x, y, b, e)), -2 * (y * colSums(kb) - crossprod(kb, x)))
    wide <- matrix(runif(nrow(y) * 40), nrow(y))
    several <- kernel("Sum_Reduction(Exp(-SqDist(x, y)) * w, 1)", arguments(D, "w = Vj(40)"))
    close(several(list(x, y, wide)), k %*% wide)
  })
})

test_that("sums of exponentials over many points are right", {
  for_each_size(\(kernel, D, x, y, close) {
    w <- matrix(runif(nrow(y) * 200), nrow(y))
    weighted <- \(k) k %*% w / rowSums(k)
    y <- y[order(drop(y %*% x[1, ])), ]  # the running maximum increases from panel to panel
    dot <- kernel("SumSoftMaxWeight_Reduction(5 * (x | y), w, 1)", arguments(D, "w = Vj(200)"))
    f <- 5 * tcrossprod(x, y)
    close(dot(list(x, y, w)), weighted(exp(f)))
    reduced <- \(name) kernel(sprintf("%s_Reduction(5 * (x | y), w, 1)", name), arguments(D, "w = Vj(200)"))
    close(reduced("LogSumExp")(list(x, y, w)), log(exp(f) %*% w))
    top <- apply(f, 1, max)
    close(reduced("Max_SumShiftExpWeight")(list(x, y, w)), cbind(top, exp(f - top) %*% w))
    gauss <- kernel("SumSoftMaxWeight_Reduction(-SqDist(x, y), w, 1)", arguments(D, "w = Vj(200)"))
    close(gauss(list(x, y, w)), weighted(exp(-sq_dist(x, y))))
  }, list(c(40, 1100), c(130, 1100)))
})

test_that("the gradient is accurate if the largest kernel values belong to pairs of equal points", {
  withr::local_seed(1)
  D <- 170
  x <- points(520, D)
  y <- rbind(x, points(600, D))
  e <- rnorm(nrow(x))
  for_each_backend(\(kernel, precision) {
    gauss <- kernel("Sum_Reduction(Exp(-4 * SqDist(x, y)), 1)", arguments(D))
    k <- exp(-4 * sq_dist(x, y))
    expect_lt(stats::median(k), 1e-3)
    expected <- -8 * e * (x * rowSums(k) - k %*% y)
    expect_close(keops_grad(gauss, "x")(list(x, y, e)), expected, precision, scale = row_scale(expected, least = 0))
  })
})

test_that("scalars that grow from panel to panel, or that are tiny, are summed accurately", {
  for_each_size(\(kernel, D, x, y, close) {
    gauss <- kernel("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", arguments(D, "b = Vj(1)"))
    for (b in list(10^seq(-30, 30, length.out = nrow(y)), 10^seq(-30, -25, length.out = nrow(y)), 0 * y[, 1])) {
      kb <- exp(-sq_dist(x, y)) * rep(b, each = nrow(x))
      gradient <- keops_grad(gauss, "x")(list(x, y, b, rep(1, nrow(x))))
      expected <- -2 * (x * rowSums(kb) - kb %*% y)
      close(gradient, expected, scale = row_scale(expected, least = 1e-300))
    }
  }, list(c(170, 1100)))
})

test_that("sums are right for points at any location, and for points far from each other", {
  withr::local_seed(1)
  x <- round(256 * points(520, 170)) / 256
  y <- round(256 * points(1030, 170)) / 256
  for_each_backend(\(kernel, precision) {
    gauss <- kernel("Sum_Reduction(Exp(-g * SqDist(x, y)), 1)", c("g = Pm(1)", arguments(170)))
    for (case in list(c(1, 2^13), c(40, 0), c(1e-12, 0))) {
      k <- exp(-case[1] * sq_dist(x, y))
      expect_close(gauss(list(case[1], x + case[2], y + case[2])), rowSums(k), precision)
      gradient <- keops_grad(gauss, "x")(list(case[1], x + case[2], y + case[2], rep(1, 520)))
      expect_close(gradient, -2 * case[1] * (x * rowSums(k) - k %*% y), precision)
    }
  })
})

test_that("infinite and missing coordinates among many points agree with R", {
  for_each_size(\(kernel, D, x, y, close) {
    gauss <- kernel("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", arguments(D, "b = Vj(1)"))
    k <- exp(-sq_dist(x, y))
    close(gauss(list(x, y, replace(k[1, ], 7, Inf))), rep(Inf, nrow(x)))
    odd <- replace(x, cbind(3, 2), NaN)
    expected <- -2 * (x * rowSums(k) - k %*% y)
    close(keops_grad(gauss, "x")(list(odd, y, rep(1, nrow(y)), rep(1, nrow(x)))), replace(expected, cbind(3, 1:D), NaN))
  }, list(c(170, 1030)))
})

test_that("repeated calls give the same bits", {
  for_each_size(\(kernel, D, x, y, close) {
    gauss <- kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", arguments(D))
    data <- list(x, y, rep(1, nrow(x)))
    expect_identical(keops_grad(gauss, "x")(data), keops_grad(gauss, "x")(data))
  }, list(c(170, 1030)))
})

test_that("the CUDA texts of panel kernels compile", {
  skip_if(!nzchar(kernops:::cuda_compiler()), "there is no NVRTC")
  compiles <- function(op) for (single in c(FALSE, TRUE)) {
    text <- gpu_text(op, single, rows = 1e6)
    expect_match(text, if (single) "KERNOPS_DIGIT" else "KERNOPS_PANEL")
    for (architecture in c("sm_80", "sm_90")) expect_compiles(text, architecture)
  }
  gauss <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", arguments(600, "b = Vj(1)"))
  compiles(gauss)
  compiles(keops_grad(gauss, "x"))
  compiles(keops_kernel("SumSoftMaxWeight_Reduction(x | y, b, 1)", arguments(200, "b = Vj(200)")))
})

# Sums of scalars per pair times vectors of rows and of columns: the second derivatives of a kernel in the direction h.
test_that("Hessians times vectors for many points are right", {
  for_each_size(\(kernel, D, x, y, close) {
    b <- runif(nrow(y))
    e <- rnorm(nrow(x))
    h <- points(nrow(x), D)
    shift <- drop(100 * points(1, D))  # a common offset of rows and columns, which has no effect
    data <- list(sweep(x, 2, shift, `+`), sweep(y, 2, shift, `+`), b, e, h)
    second <- \(f, by) kernel(
      sprintf("Grad(Grad(Sum_Reduction(%s * b, 1), x, e), %s, h)", f, by),
      arguments(D, "b = Vj(1)", "e = Vi(1)", sprintf("h = Vi(%d)", D))
    )
    kb <- exp(-0.7 * sq_dist(x, y)) * outer(e, b)
    along <- rowSums(x * h) - tcrossprod(h, y)
    close(second("Exp(-0.7 * SqDist(x, y))", "x")(data),
          -1.4 * h * rowSums(kb) + 1.96 * (x * rowSums(kb * along) - (kb * along) %*% y))
    close(second("Exp(-0.7 * SqDist(x, y))", "y")(data),
          1.4 * crossprod(kb, h) - 1.96 * (crossprod(kb * along, x) - y * colSums(kb * along)))
    data[1:2] <- list(x, y)
    kb <- exp(tcrossprod(x, y)) * outer(e, b)
    close(second("Exp(x | y)", "x")(data), (kb * tcrossprod(h, y)) %*% y)
    close(second("Exp(x | y)", "y")(data), crossprod(kb, h) + crossprod(kb * tcrossprod(h, y), x))
  })
})
