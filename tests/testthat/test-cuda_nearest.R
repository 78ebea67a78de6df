# The nearest of many columns. On a GPU, tensor cores select candidates, whose exact distances are then compared.

arguments <- \(D) sprintf(c("x = Vi(%d)", "y = Vj(%d)"), D)
points <- \(n, D) matrix(rnorm(n * D), n) / sqrt(D)
# All squared distances, computed from differences of coordinates.
by_differences <- \(x, y) sapply(seq_len(nrow(y)), \(j) rowSums((x - rep(y[j, ], each = nrow(x)))^2))
smallest <- \(d, k) matrix(apply(d, 1, \(row) sort(row)[seq_len(k)]), nrow(d), byrow = TRUE)
to_float32 <- \(x) {
  unit <- 2^(floor(log2(abs(x))) - 23)
  round(x / unit) * unit
}
# The numbers of rows and columns are large enough for the tensor-core kernels of a GPU. Only some of the rows are
# compared with the oracle.
on_gpu <- "cuda" %in% backends() && !emulated()
rows <- if (on_gpu) 4100 else 530
columns <- \(D) if (on_gpu) max(2200, ceiling(9.5e9 / rows / D)) else ceiling(16500 / D)
checked <- round(seq(1, rows, length.out = 60))

test_that("the nearest of many points are found", {
  withr::local_seed(1)
  for (D in if (emulated()) c(16, 70) else c(10, 50, 170)) {
    x <- points(rows, D)
    y <- points(columns(D), D)
    d <- by_differences(x[checked, ], y)
    # positions are compared by their distances, because rounding may exchange two neighbours
    distances_at <- \(positions) matrix(d[cbind(c(row(positions)), c(positions))], nrow(d))
    for_each_backend(\(kernel, precision) {
      reduce <- \(formula) as.matrix(kernel(formula, arguments(D))(list(x, y)))[checked, , drop = FALSE]
      close <- \(actual, k) expect_close(actual, smallest(d, k), precision, info = paste("D =", D))
      found <- reduce("KMin_ArgKMin_Reduction(SqDist(x, y), 11, 1)")
      close(found[, 1:11], 11)
      close(distances_at(found[, 12:22]), 11)
      close(distances_at(reduce("ArgKMin_Reduction(Norm2(x - y), 70, 1)")), 70)
      close(reduce("Min_Reduction(Norm2(x - y), 1)")^2, 1)
      close(distances_at(reduce("ArgMin_Reduction(SqDist(x, y), 1)")), 1)
    })
  }
})

test_that("the columns with the largest and with the smallest inner products are found", {
  withr::local_seed(1)
  for (D in if (emulated()) 20 else c(10, 50, 170)) {
    x <- points(rows, D)
    y <- points(columns(D), D) * 1e3 + 1
    xy <- tcrossprod(x[checked, ], y)
    for_each_backend(\(kernel, precision) {
      if (precision == "float32") xy <- tcrossprod(x[checked, ] <- to_float32(x[checked, ]), y <- to_float32(y))
      close <- \(actual, expected) {
        expect_close(as.matrix(actual), as.matrix(expected), precision, info = paste("D =", D))
      }
      reduce <- \(formula) as.matrix(kernel(formula, arguments(D))(list(x, y)))[checked, , drop = FALSE]
      near <- reduce("KMin_ArgKMin_Reduction(-(x | y), 10, 1)")
      close(near[, 1:10], smallest(-xy, 10))
      close(matrix(xy[cbind(c(row(near[, 11:20])), c(near[, 11:20]))], nrow(xy)), -smallest(-xy, 10))
      found <- reduce("Max_ArgMax_Reduction(x | y, 1)")
      close(found[, 1], apply(xy, 1, max))
      close(xy[cbind(seq_along(checked), found[, 2])], apply(xy, 1, max))
      close(reduce("Min_Reduction(x | y, 1)"), smallest(xy, 1))
      close(reduce("Max_Reduction(-(x | y), 1)"), -smallest(xy, 1))
    })
  }
})

test_that("nearest points are found for any location, order and scale of the points", {
  withr::local_seed(1)
  x <- points(rows, 20)
  y <- points(columns(20), 20)
  cases <- list(
    list(x + 1e4, y + 1e4),
    list(x * 1e-15, y * 1e-15),
    list(x * 1e15, y * 1e15),
    list(x / 100, y[order(-rowSums(y^2)), ]), # later points are nearer to 0
    list(y[seq_len(rows), ] + x / 1000, y),
    list(x, rbind(1e6, y)) # one point is far from the others
  )
  for (case in cases) for_each_backend(\(kernel, precision) {
    if (precision == "float32") case[] <- lapply(case, to_float32)
    d <- by_differences(case[[1]][checked, ], case[[2]])
    found <- kernel("KMin_Reduction(SqDist(x, y), 5, 1)", arguments(20))(case)
    expect_close(found[checked, ], smallest(d, 5), precision)
  })
})

test_that("among equally near points the first is the nearest, for any number of points and any distance", {
  withr::local_seed(1)
  D <- 24
  small <- \(n) matrix(sample(0:3, n * D, TRUE), n)
  x <- small(rows)
  n <- columns(D)
  apart <- small(700)
  clusters <- \(n) apart[sample(5, n, TRUE), ] + small(n) / 2^20
  cases <- list(list(x, rbind(apart, x, x, small(n)), 2^13), list(x, apart[rep_len(1:7, n), ], 2^13),
                list(clusters(rows), clusters(n), 1))
  for (case in cases) {
    x <- case[[1]]
    y <- case[[2]]
    # squared distances of integers, exact in double precision
    squares <- outer(rowSums(x[checked, ]^2), rowSums(y^2), `+`) - 2 * tcrossprod(x[checked, ], y)
    expected <- t(apply(squares, 1, \(row) order(row)[1:11]))
    for_each_backend(\(kernel, precision) {
      nearest <- kernel("ArgKMin_Reduction(SqDist(x, y), 11, 1)", arguments(D))
      expect_equal(nearest(list(x, y))[checked, ], expected)
      expect_equal(nearest(list(x + case[[3]], y + case[[3]]))[checked, ], expected)
    })
  }
})

test_that("points with missing coordinates are not neighbours", {
  withr::local_seed(1)
  x <- points(rows, 30)
  y <- points(columns(30), 30)
  expected <- smallest(by_differences(x[checked, ], y[-5, ]), 3)
  for_each_backend(\(kernel, precision) {
    nearest <- kernel("KMin_Reduction(SqDist(x, y), 3, 1)", arguments(30))
    for (odd in c(NaN, Inf))
      expect_close(nearest(list(x, replace(y, cbind(5, 2), odd)))[checked, ], expected, precision)
  })
})

test_that("the CUDA texts of nearest-neighbour kernels compile", {
  skip_if(!nzchar(kernops:::cuda_compiler()), "there is no NVRTC")
  for (size in c(10, 600)) {
    op <- keops_kernel("KMin_ArgKMin_Reduction(Norm2(x - y), 256, 1)", arguments(size))
    text <- gpu_text(op, rows = 1e6)
    expect_match(text, "KERNOPS_NEAREST")
    for (architecture in c("sm_75", "sm_80", "sm_90")) expect_compiles(text, architecture)
  }
})
