# Long vectors on the CPU: contractions, which are sums over the entries of two vectors, are computed for many pairs at
# a time.

sizes <- c(20, 64, 100, 128, 160, 200, 256, 512, 784, 1024)
vectors <- \(D, ...) c(sprintf(c("x = Vi(%d)", "y = Vj(%d)"), D), ...)
# Points far from the origin that are exact in float32: 14 bits before the binary point and 10 bits after it.
points <- \(n, D, offset = 1e4) offset + round(matrix(rnorm(n * D), n) / sqrt(D) * 2^10) / 2^10
sq_dist <- function(x, y, w = 1) {
  from_first <- \(z) t((t(z) - x[1, ]) * sqrt(w))
  a <- from_first(x)
  b <- from_first(y)
  outer(rowSums(a^2), rowSums(b^2), `+`) - 2 * tcrossprod(a, b)
}

# Calls body(kernel, close) for each instruction set and precision, which kernel(formula, args, ...) uses.
for_each_engine <- function(body, info = NULL) {
  for (isa in kernops:::cpu_isas()) for (precision in c("float64", "float32")) {
    withr::local_options(kernops.isa = isa)
    kernel <- \(...) keops_kernel(..., precision = precision, backend = "cpu")
    close <- \(actual, expected) expect_close(actual, expected, precision, info = paste(isa, info))
    body(kernel, close)
  }
}

# Calls body() for each length of vectors. The numbers of rows and columns are not multiples of the sizes of the blocks
# that the CPU processes at a time (strips, panels and tiles).
for_each_size <- function(body, D = sizes, offset = 1e4) {
  withr::local_seed(1)
  for (d in D) {
    x <- points(107, d, offset)
    y <- points(75, d, offset)
    body(d, x, y, \(engine) for_each_engine(engine, paste("D =", d)))
  }
}

test_that("sums, softmax and neighbours of long vectors far from the origin are right", {
  for_each_size(\(D, x, y, on_each) {
    d <- sq_dist(x, y)
    u <- matrix(runif(75 * 2), 75)
    softmax <- exp(-d) %*% u / rowSums(exp(-d))
    sorted <- t(apply(d, 1, sort))[, 1:5]
    on_each(\(kernel, close) {
      reduce <- \(formula, ...) kernel(formula, vectors(D, ...))
      close(reduce("Sum_Reduction(Exp(-SqDist(x, y)) * u, 1)", "u = Vj(2)")(list(x, y, u)), exp(-d) %*% u)
      close(reduce("SumSoftMaxWeight_Reduction(-SqDist(y, x), u, 1)", "u = Vj(2)")(list(x, y, u)), softmax)
      close(reduce("LogSumExp_Reduction(SqDist(x, y), 0)")(list(x, y)), log(colSums(exp(d))))
      nearest <- reduce("ArgKMin_Reduction(SqDist(x, y), 5, 1)")(list(x, y))
      close(matrix(d[cbind(c(row(nearest)), c(nearest))], 107), sorted)
    })
  })
})

test_that("gradients of long vectors are right", {
  for (offset in c(0, 1e4)) for_each_size(offset = offset, \(D, x, y, on_each) {
    e <- rnorm(107)
    w <- 2^sample(-1:1, D, TRUE)
    in_x <- \(k) -2 * (centred(x) * rowSums(k) - k %*% centred(y))
    in_y <- \(k) -2 * (centred(y) * colSums(k) - crossprod(k, centred(x)))
    in_w <- \(k) {
      2 * colSums((k %*% centred(y)) * centred(x)) - rowSums(k) %*% centred(x)^2 - colSums(k) %*% centred(y)^2
    }
    centred <- \(z) t(t(z) - x[1, ])
    k <- exp(-sq_dist(x, y)) * e
    weighted <- exp(-sq_dist(x, y, w)) * e
    on_each(\(kernel, close) {
      gauss <- kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", vectors(D))
      close(keops_grad(gauss, "x")(list(x, y, e)), in_x(k))
      close(keops_grad(gauss, "y")(list(x, y, e)), in_y(k))
      ard <- kernel("Sum_Reduction(Exp(-WeightedSqDist(w, x, y)), 1)", vectors(D, sprintf("w = Pm(%d)", D)))
      close(keops_grad(ard, "x")(list(x, y, w, e)), t(t(in_x(weighted)) * w))
      close(keops_grad(ard, "y")(list(x, y, w, e)), t(t(in_y(weighted)) * w))
      close(keops_grad(ard, "w")(list(x, y, w, e)), in_w(weighted))
    })
  }, D = c(6, 20, 64, 100, 784))
})

test_that("sums of a scalar of the pair times functions of the vectors of the row and the column are right", {
  for_each_size(offset = 1e4, \(D, x, y, on_each) {
    u <- runif(107)
    v <- matrix(runif(75 * D), 75)
    d <- sq_dist(x, y)
    k <- exp(-d) * u
    cx <- t(t(x) - x[1, ])
    cy <- t(t(y) - x[1, ])
    difference <- cx * rowSums(k) - k %*% cy
    args <- vectors(D, "u = Vi(1)", sprintf("v = Vj(%d)", D), sprintf("w = Vi(%d)", D))
    w <- matrix(runif(107 * D), 107)
    on_each(\(kernel, close) {
      sum_of <- \(f, n, axis = 1) kernel(sprintf("Sum_Reduction(%s, %d)", f, axis), args[n])
      close(sum_of("u * (y - x) * Exp(-SqDist(x, y))", 1:3)(list(x, y, u)), -difference)
      close(sum_of("-(u * Exp(-SqDist(x, y)) * (w * -(x - y)))", c(1:3, 5))(list(x, y, u, w)), w * difference)
      close(sum_of("u * Exp(-SqDist(x, y)) * (w * v)", 1:5)(list(x, y, u, v, w)), w * (k %*% v))
      by_column <- sum_of("u * Exp(-SqDist(x, y)) * (x - y)", 1:3, 0)
      close(by_column(list(x, y, u)), crossprod(k, cx) - cy * colSums(k))
      shifted <- sum_of("u * Exp(-SqDist(x, y)) * (2 * x - 2 * y)", 1:3)
      close(shifted(list(x, y, u)), 2 * difference)
      twice <- sum_of("(u * Exp(-SqDist(x, y))) * ((x - y) * (SqDist(x, y) + 1))", 1:3)
      close(twice(list(x, y, u)), cx * rowSums(k * (d + 1)) - (k * (d + 1)) %*% cy)
      # a scalar of the pair, times the difference x - y, times a vector of the column, entry by entry
      close(sum_of("u * Exp(-SqDist(x, y)) * ((x - y) * v)", 1:4)(list(x, y, u, v)), cx * (k %*% v) - k %*% (cy * v))
      both <- sum_of("u * Exp(-SqDist(x, y)) * (x - y) * Sum(Abs(x - y))", 1:3)
      k1 <- k * outer(1:107, 1:75, Vectorize(\(i, j) sum(abs(x[i, ] - y[j, ]))))
      close(both(list(x, y, u)), cx * rowSums(k1) - k1 %*% cy)
    })
  }, D = c(8, 33, 100))
})

test_that("gradients of long vectors are right with ranges and batches, for any numbers of splits and threads", {
  withr::local_seed(6)
  D <- 40
  centred <- \(z) t(t(z) - 1e4)
  gradient <- \(x, y, k) -2 * (centred(x) * rowSums(k) - k %*% centred(y))
  x <- points(2 * 61, D) |> array(c(61, 2, D)) |> aperm(c(1, 3, 2))
  y <- points(2 * 90, D) |> array(c(90, 2, D)) |> aperm(c(1, 3, 2))
  e <- array(rnorm(122), c(61, 1, 2))
  k <- lapply(1:2, \(b) exp(-sq_dist(x[, , b], y[, , b])) * e[, 1, b])
  blocks <- list(i = cbind(c(1, 8, 50), c(7, 49, 61)), j = cbind(c(1, 40, 43), c(39, 42, 90)))
  keep <- matrix(c(TRUE, FALSE, TRUE, TRUE, TRUE, FALSE, TRUE, TRUE, FALSE), 3)
  kept <- keep[rep(1:3, blocks$i[, 2] - blocks$i[, 1] + 1), rep(1:3, blocks$j[, 2] - blocks$j[, 1] + 1)]
  for_each_engine(\(kernel, close) {
    op <- keops_grad(kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", vectors(D)), "x")
    all <- op(list(x, y, e))
    for (b in 1:2) close(all[, , b], gradient(x[, , b], y[, , b], k[[b]]))
    ranges <- from_matrix(blocks$i, blocks$j, keep)
    some <- op(list(x[, , 1], y[, , 1], e[, , 1]), ranges = ranges)
    close(some, gradient(x[, , 1], y[, , 1], kept * k[[1]]))
  })
  op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", vectors(D), backend = "cpu") |> keops_grad("x")
  for (size in list(c(1000, 500), c(5, 20000))) {
    input <- list(points(size[1], D), points(size[2], D), rnorm(size[1]))
    on_threads <- \(n) withr::with_options(list(kernops.threads = n), op(input))
    alone <- on_threads(1)
    close_to <- gradient(input[[1]], input[[2]], exp(-sq_dist(input[[1]], input[[2]])) * input[[3]])
    expect_close(alone, close_to, "float64")
    for (n in c(2, 3, 8)) expect_identical(on_threads(n), alone)
  }
})

test_that("contractions are right for inner products, weighted distances and vectors that the formula computes", {
  for_each_size(\(D, x, y, on_each) {
    w <- runif(D)
    dots <- tcrossprod(x, y)
    weighted <- rowSums(exp(-sq_dist(x, y, w)))
    on_each(\(kernel, close) {
      args <- vectors(D, sprintf("w = Pm(%d)", D))
      close(kernel("LogSumExp_Reduction(x | y, 1)", args[1:2])(list(x, y)), log(rowSums(exp(dots))))
      close(kernel("Sum_Reduction(Exp(-WeightedSqDist(w, x, y)), 1)", args)(list(x, y, w)), weighted)
      close(kernel("Sum_Reduction(Exp(-SqDist(Sqrt(w) * x, Sqrt(w) * y)), 1)", args)(list(x, y, w)), weighted)
      close(kernel("Min_Reduction((w * x) | y, 1)", args)(list(x, y, w)), apply(x %*% (w * t(y)), 1, min))
    })
  }, D = c(16, 20, 97, 200, 784), offset = 0)
})

test_that("several contractions can be combined with other operations on the same vectors", {
  for_each_size(\(D, x, y, on_each) {
    u <- runif(107)
    v <- runif(75)
    d <- sq_dist(x, y)
    absolute <- outer(1:107, 1:75, Vectorize(\(i, j) sum(abs(x[i, ] - y[j, ]))))
    expected <- rowSums(exp(-outer(u, v, `-`)^2 - d) * tcrossprod(x, y) + sqrt(d) * absolute)
    formula <- "Sum_Reduction(Exp(-Square(u - v) - SqDist(x, y)) * (x | y) + Norm2(x - y) * Sum(Abs(x - y)), 1)"
    on_each(\(kernel, close) {
      close(kernel(formula, vectors(D, "u = Vi(1)", "v = Vj(1)"))(list(x, y, u, v)), expected)
      sum_x <- kernel("Sum_Reduction(SqDist(x, y) * Sum(x), 1)", vectors(D))
      close(sum_x(list(x, y)), rowSums(d * rowSums(x)))
    })
  }, D = c(20, 200), offset = 1)
})

test_that("sums of long vectors are right with ranges and batches", {
  withr::local_seed(2)
  D <- 100
  x <- array(points(2 * 61, D), c(61, 2, D)) |> aperm(c(1, 3, 2))
  y <- array(points(2 * 90, D), c(90, 2, D)) |> aperm(c(1, 3, 2))
  d <- lapply(1:2, \(b) sq_dist(x[, , b], y[, , b]))
  blocks <- list(i = cbind(c(1, 8, 50), c(7, 49, 61)), j = cbind(c(1, 40, 43), c(39, 42, 90)))
  keep <- matrix(c(TRUE, FALSE, TRUE, TRUE, TRUE, FALSE, TRUE, TRUE, FALSE), 3)
  kept <- keep[rep(1:3, blocks$i[, 2] - blocks$i[, 1] + 1), rep(1:3, blocks$j[, 2] - blocks$j[, 1] + 1)]
  for_each_engine(\(kernel, close) {
    gauss <- kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", vectors(D))
    batches <- gauss(list(x, y))
    for (b in 1:2) close(matrix(batches[, , b]), rowSums(exp(-d[[b]])))
    ranges <- from_matrix(blocks$i, blocks$j, keep)
    close(gauss(list(x[, , 1], y[, , 1]), ranges = ranges), rowSums(kept * exp(-d[[1]])))
  })
})

test_that("results of long vectors have the same bits for any number of threads and in repeated calls", {
  withr::local_seed(3)
  op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)), 1)", vectors(100), backend = "cpu")
  for (size in list(c(1000, 500), c(5, 20000))) {
    input <- list(points(size[1], 100), points(size[2], 100))
    on_threads <- \(n) withr::with_options(list(kernops.threads = n), op(input))
    alone <- on_threads(1)
    for (n in c(1, 2, 3, 8)) expect_identical(on_threads(n), alone)
  }
})

test_that("sums with many entries per column, or per row, are right", {
  withr::local_seed(4)
  x <- uniform(203, 3)
  y <- uniform(331, 3)
  k <- exp(-sq_dist(x, y))
  for (size in c(8, 33, 100, 300)) {
    b <- matrix(rnorm(331 * size), 331)
    u <- matrix(rnorm(203 * size), 203)
    for_each_engine(info = size, \(kernel, close) {
      sum_of <- \(formula, b, ...) {
        args <- c("x = Vi(3)", "y = Vj(3)", sprintf("b = %s(%d)", b, size))
        kernel(sprintf("Sum_Reduction(%s)", formula), args, ...)
      }
      close(sum_of("Exp(-SqDist(x, y)) * b, 1", "Vj")(list(x, y, b)), k %*% b)
      close(sum_of("(2 * b) * Exp(-SqDist(x, y)), 0", "Vi")(list(x, y, u)), 2 * crossprod(k, u))
      by_kahan <- sum_of("Exp(-SqDist(x, y)) * b, 1", "Vj", sum_scheme = "kahan_scheme")
      close(by_kahan(list(x, y, b)), k %*% b)
      kept <- from_matrix(cbind(c(1, 80), c(79, 203)), cbind(c(1, 31), c(30, 331)), diag(2) == 1)
      expected <- rbind(k[1:79, 1:30] %*% b[1:30, ], k[80:203, 31:331] %*% b[31:331, ])
      close(sum_of("Exp(-SqDist(x, y)) * b, 1", "Vj")(list(x, y, b), ranges = kept), expected)
    })
  }
})

test_that("sums with many entries have the same bits for any numbers of threads and of splits of the columns", {
  withr::local_seed(5)
  op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", c("x = Vi(2)", "y = Vj(2)", "b = Vj(20)"),
                     backend = "cpu")
  for (size in list(c(1000, 500), c(5, 20000))) {
    input <- list(uniform(size[1], 2), uniform(size[2], 2), uniform(size[2], 20))
    on_threads <- \(n) withr::with_options(list(kernops.threads = n), op(input))
    alone <- on_threads(1)
    for (n in c(1, 2, 3, 8)) expect_identical(on_threads(n), alone)
  }
})

# Each pair contributes two terms, each a scalar of the pair times a vector of the row or the column. A Hessian times a
# vector has this form.
test_that("sums of two products of a scalar per pair and a vector are right", {
  for (offset in c(0, 1e4)) for_each_size(offset = offset, \(D, x, y, on_each) {
    h <- matrix(rnorm(107 * D), 107) / sqrt(D)
    v <- matrix(rnorm(75 * D), 75) / sqrt(D)
    u <- runif(75)
    f <- runif(107)
    k <- exp(-sq_dist(x, y))
    from_first <- \(z) t(t(z) - x[1, ])
    along <- rowSums(from_first(x) * h) - tcrossprod(h, from_first(y))
    by_difference <- \(w) from_first(x) * rowSums(w) - w %*% from_first(y)
    by_square <- \(w) from_first(x)^2 * rowSums(w) - 2 * from_first(x) * (w %*% from_first(y)) + w %*% from_first(y)^2
    along_v <- tcrossprod(from_first(x), v) - rep(rowSums(from_first(y) * v), each = 107)
    w <- 2^sample(-1:1, D, TRUE)
    each_w <- rep(w, each = 107)
    along_w <- rowSums(from_first(x) * h * each_w) - tcrossprod(h * each_w, from_first(y))
    alone <- h * rowSums(k * rep(u, each = 107))
    of_column <- k %*% (u * v)
    expected <- list(
      "u * k * h + (x - y) * ((x - y) | h) * k" = alone + by_difference(k * along),
      "h * (u * k) - k * (((y - x) | h) * (x - y))" = alone + by_difference(k * along),
      "((h | (x - y)) * k) * (y - x) - (k * u) * h" = -by_difference(k * along) - alone,
      "f * (Square(x - y) * k - u * (k * Minus(h)))" = f * (by_square(k) + alone),
      "Minus(h * (u * k) + Minus(k * ((x - y) | h)) * (x - y)) * h" = (by_difference(k * along) - alone) * h,
      "u * k * v + (x - y) * ((x - y) | v) * k" = of_column + by_difference(k * along_v),
      "k * (v | (y - x)) * (y - x) - k * (u * v)" = by_difference(k * along_v) - of_column,
      "f * ((k * u) * Minus(v) + h * (u * k))" = f * (alone - of_column),
      "Square(x - y) * k - (k * u) * v" = by_square(k) - of_column,
      "(k * u) * v - (k * (y | v)) * y" = of_column - (k * rep(rowSums(y * v), each = 107)) %*% y,
      "(w * (x - y)) * (k * ((w * (x - y)) | h)) + w * ((u * k) * h)" = (by_difference(k * along_w) + alone) * each_w,
      "w * ((x - y) * k) - (u * k) * h" = by_difference(k) * each_w - alone
    )
    on_each(\(kernel, close) for (sum in names(expected)) {
      if (offset > 0 && grepl("y | v", sum, fixed = TRUE)) next
      data <- list(x = x, y = y, h = h, v = v, u = u, f = f, w = w)
      long <- sprintf(c("h = Vi(%d)", "v = Vj(%d)", "w = Pm(%d)"), D)
      declared <- vectors(D, long[1:2], "u = Vj(1)", "f = Vi(1)", long[3])
      used <- names(data) %in% c("x", "y", all.vars(str2lang(gsub("|", "+", sum, fixed = TRUE))))
      formula <- sprintf("Sum_Reduction(%s, 1)", gsub("\\bk\\b", "Exp(-SqDist(x, y))", sum))
      close(kernel(formula, declared[used])(data[used]), expected[[sum]])
    })
  }, D = c(6, 20, 100, 300))
})

test_that("Hessians times vectors are right", {
  for_each_size(offset = 0, \(D, x, y, on_each) {
    h <- matrix(rnorm(107 * D), 107) / sqrt(D)
    e <- runif(107)
    d <- sq_dist(x, y)
    along <- rowSums(x * h) - tcrossprod(h, y)
    # the Hessian of f(d) times h, where d is the squared distance
    product <- \(slope, second) 2 * h * rowSums(slope) + 4 * (x * rowSums(second * along) - (second * along) %*% y)
    r <- sqrt(d)
    on_each(\(kernel, close) {
      second <- \(f) kernel(sprintf("Grad(Grad(Sum_Reduction(%s, 1), x, e), x, h)", f),
                            vectors(D, "e = Vi(1)", sprintf("h = Vi(%d)", D)))(list(x, y, e, h))
      close(second("Exp(-SqDist(x, y))"), product(-exp(-d) * e, exp(-d) * e))
      close(second("(1 + Norm2(x - y)) * Exp(-Norm2(x - y))"), product(-exp(-r) / 2 * e, exp(-r) / (4 * r) * e))
      close(second("Inv(1 + SqDist(x, y))"), product(-e / (1 + d)^2, 2 * e / (1 + d)^3))
    })
  }, D = c(6, 20, 100, 300))
})
