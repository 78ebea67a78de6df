# Block-sparse computation: reductions over the pairs that ranges keep, against loops over these pairs.

xys <- c("x = Vi(2)", "y = Vj(2)", "s = Pm(2)")

# Clusters of random sizes; some rows are in no cluster.
random_clusters <- function(n, count) {
  cuts <- sort(sample(n - 1, count - 1))
  clusters <- cbind(c(1, cuts + 1), c(cuts, n))
  clusters[sort(sample(count, count - 2)), ]
}
random_ranges <- function(m, n, count = 7) {
  keep <- matrix(runif((count - 2)^2) < 0.5, count - 2)
  keep[2, ] <- FALSE # the second cluster has no pairs
  keep[, 1] <- FALSE
  list(i = random_clusters(m, count), j = random_clusters(n, count), keep = keep)
}
as_kept <- \(r) from_matrix(r$i, r$j, r$keep)
# The ranges as a logical matrix of all pairs.
pairs_of <- function(r, m, n) {
  there <- matrix(FALSE, m, n)
  for (a in seq_len(nrow(r$i))) for (b in which(r$keep[a, ])) {
    there[r$i[a, 1]:r$i[a, 2], r$j[b, 1]:r$j[b, 2]] <- TRUE
  }
  there
}

wave <- \(x, y, s) sum(s * sin(x + 2 * y))
waves <- \(x, y, s) s * sin(x + 2 * y)
power <- \(y) kronecker(kronecker(y, y), kronecker(y, y))
cases <- list(
  list("Sum", "s * Sin(x + 2 * y)", f = waves),
  list("Sum", "Exp(-SqDist(x, y) * Sum(s)) * TensorProd(TensorProd(y, y), TensorProd(y, y))",
       f = \(x, y, s) exp(-sum((x - y)^2) * sum(s)) * power(y)),
  list("LogSumExp", "s | Sin(x + 2 * y)", f = wave),
  list("LogSumExp", "s | Sin(x + 2 * y)", ", Exp(x * y)", f = wave, w = \(x, y, s) exp(x * y)),
  list("Min", "s * Sin(x + 2 * y)", f = waves),
  list("ArgMin", "s * Sin(x + 2 * y)", f = waves),
  list("Max_ArgMax", "s * Sin(x + 2 * y)", f = waves),
  list("KMin", "s * Sin(x + 2 * y)", ", 3", f = waves, K = 3),
  list("ArgKMin", "s * Sin(x + 2 * y)", ", 3", f = waves, K = 3),
  list("KMin_ArgKMin", "s * Sin(x + 2 * y)", ", 3", f = waves, K = 3)
)

for (case in cases) for (axis in 0:1) {
  option <- if (names(case)[3] == "") case[[3]] else ""
  formula <- sprintf("%s_Reduction(%s%s, %d)", case[[1]], case[[2]], option, axis)

  test_that(paste("only the pairs of the ranges are reduced:", formula), {
    withr::local_seed(1)
    input <- list(x = uniform(60, 2), y = uniform(50, 2), s = c(0.75, 1.25))
    ranges <- random_ranges(60, 50)
    expected <- oracle_reduce(case$f, case[[1]], input$x, input$y, input$s, axis, case$K, case$w,
                              pairs_of(ranges, 60, 50))
    for_each_backend(function(kernel, precision) {
      expect_close(kernel(formula, xys)(input, ranges = as_kept(ranges)), expected, precision)
    })
  })

  test_that(paste("gradients use only the pairs of the ranges:", formula), {
    withr::local_seed(2)
    input <- list(x = uniform(12, 2), y = uniform(11, 2), s = c(0.75, 1.25))
    ranges <- random_ranges(12, 11, 6)
    value <- \(input) {
      oracle_reduce(case$f, case[[1]], input$x, input$y, input$s, axis, case$K, case$w, pairs_of(ranges, 12, 11))
    }
    finite <- is.finite(value(input))
    eta <- uniform(nrow(finite), ncol(finite)) * finite
    for (var in names(input)) {
      along_eta <- \(v) sum((eta * value(replace(input, var, list(v))))[finite])
      expected <- central_difference(along_eta, input[[var]])
      for_each_backend(function(kernel, precision) {
        gradient <- keops_grad(kernel(formula, xys), var)(c(input, list(eta = eta)), ranges = as_kept(ranges))
        expect_close(gradient, expected, precision, gradient_tolerance[[precision]], paste("by", var))
      })
    }
  })
}

gaussian <- \() keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)) * b, 1)", c("x = Vi(2)", "y = Vj(2)", "b = Vj(1)"))
squared <- \(x, y) outer(rowSums(x^2), rowSums(y^2), `+`) - 2 * x %*% t(y)

test_that("second derivatives use only the pairs of the ranges", {
  withr::local_seed(3)
  ranges <- random_ranges(12, 11, 6)
  there <- pairs_of(ranges, 12, 11)
  input <- list(uniform(12, 2), uniform(11, 2), uniform(11), uniform(12), uniform(12, 2))
  first <- keops_grad(gaussian(), "x")
  along_eta <- \(y) sum(input[[5]] * first(replace(input[1:4], 2, list(y)), ranges = as_kept(ranges)))
  expected <- central_difference(along_eta, input[[2]])
  expect_close(keops_grad(first, "y")(input, ranges = as_kept(ranges)), expected, tolerance = 1e-6)
  expect_true(all(expected[colSums(there) == 0, ] == 0))
})

# Sizes of clusters: one cluster contains most of the points of an axis. For some rows, the columns of the ranges fill
# many tiles, or are split into parts.
uneven <- list(list(c(1, 3, 2996), c(1, 20, 29979)), list(c(1, 1, 3), c(1e5, 7, 1e5)),
               list(c(900, 50, 50), c(900, 1, 99)))
clusters_of <- \(sizes) cbind(cumsum(sizes) - sizes + 1, cumsum(sizes))

test_that("clusters of any sizes are right, on any number of threads", {
  withr::local_seed(4)
  keep <- matrix(c(TRUE, FALSE, TRUE, TRUE, TRUE, FALSE, FALSE, TRUE, TRUE), 3)
  for (sizes in uneven) {
    ranges <- list(i = clusters_of(sizes[[1]]), j = clusters_of(sizes[[2]]), keep = keep)
    total <- lapply(sizes, sum)
    x <- uniform(total[[1]], 2)
    y <- uniform(total[[2]], 2)
    rows <- if (total[[1]] > 1000) c(1:4, total[[1]]) else seq_len(total[[1]])
    cluster <- findInterval(rows, ranges$i[, 1])
    columns <- lapply(seq_along(rows), \(n) which(keep[cluster[n], findInterval(seq_len(nrow(y)), ranges$j[, 1])]))
    reduced <- \(f, n) f(squared(x[rows[n], , drop = FALSE], y[columns[[n]], ]), columns[[n]])
    expected <- \(f) t(sapply(seq_along(rows), reduced, f = f))
    for_each_backend(function(kernel, precision) {
      reduce <- \(formula) kernel(formula, c("x = Vi(2)", "y = Vj(2)"))(list(x, y), ranges = as_kept(ranges))[rows, ]
      expect_close(cbind(reduce("Sum_Reduction(Exp(-SqDist(x, y)), 1)")), t(expected(\(d, j) sum(exp(-d)))), precision)
      if (precision == "float64") {
        expect_equal(reduce("ArgKMin_Reduction(SqDist(x, y), 3, 1)"), expected(\(d, j) j[order(d)[1:3]]))
      }
    })
    for (formula in c("Sum_Reduction(Exp(-SqDist(x, y)), 1)", "Min_ArgMin_Reduction(SqDist(x, y), 0)")) {
      op <- keops_kernel(formula, c("x = Vi(2)", "y = Vj(2)"), backend = "cpu")
      on_threads <- \(n) withr::with_options(list(kernops.threads = n), op(list(x, y), ranges = as_kept(ranges)))
      for (n in 2:3) expect_identical(on_threads(n), on_threads(1))
    }
  }
})

test_that("long vectors, and sums of long vectors, use only the pairs of the ranges", {
  withr::local_seed(9)
  for (D in c(40, 100)) {
    x <- uniform(300, D) / sqrt(D)
    y <- uniform(500, D) / sqrt(D)
    ranges <- random_ranges(300, 500)
    there <- pairs_of(ranges, 300, 500)
    kept <- exp(-squared(x, y)) * there
    e <- uniform(300)
    for_each_backend(function(kernel, precision) {
      reduce <- \(f, ...) kernel(paste0(f, ", 1)"), c(sprintf(c("x = Vi(%d)", "y = Vj(%d)"), D), ...))
      sum_of <- reduce("Sum_Reduction(Exp(-SqDist(x, y))")
      close <- \(actual, expected) expect_close(actual, expected, precision, info = D)
      close(sum_of(list(x, y), ranges = as_kept(ranges)), rowSums(kept))
      close(keops_grad(sum_of, "y")(list(x, y, e), ranges = as_kept(ranges)),
            -2 * (y * colSums(kept * drop(e)) - crossprod(kept * drop(e), x)))
      nearest <- reduce("ArgMin_Reduction(SqDist(x, y)")(list(x, y), ranges = as_kept(ranges))
      expected <- apply(ifelse(there, squared(x, y), NA), 1, \(d) which.min(d)[1])
      if (precision == "float64") expect_identical(drop(nearest), expected)
    })
  }
})

test_that("the CUDA texts for ranges and for sums in float64 compile", {
  skip_if(!nzchar(kernops:::cuda_compiler()), "there is no NVRTC")
  formulas <- c("Sum_Reduction(Exp(-SqDist(x, y)) * y, 1)", "LogSumExp_Reduction(x | y, y, 1)",
                "ArgMin_Reduction(x + y, 1)", "ArgKMin_Reduction(SqDist(x, y), 3, 1)")
  for (formula in formulas) for (D in c(2, 100)) {
    op <- keops_kernel(formula, sprintf(c("x = Vi(%d)", "y = Vj(%d)"), if (grepl("ArgMin", formula)) 2 else D))
    for (wide in c(TRUE, FALSE)) {
      text <- gpu_text(op, wide = wide, ranges = TRUE)
      expect_match(text, "SomePairs")
      expect_compiles(text, "compute_80")
    }
  }
})

test_that("ranges that cover all pairs give the same results as no ranges", {
  withr::local_seed(5)
  input <- list(uniform(3000, 2), uniform(3000, 2), uniform(3000, low = 0.5))  # the terms do not cancel
  whole <- gaussian()(input)
  for (count in c(1, 3, 100)) {
    clusters <- clusters_of(rep(3000 / count, count))
    ranges <- from_matrix(clusters, clusters, matrix(TRUE, count, count))
    expect_close(gaussian()(input, ranges = ranges), whole, tolerance = 1e-13)
    in_columns <- gaussian()(lapply(input, t), inner_dim = "row", ranges = ranges)
    expect_close(in_columns, t(whole), tolerance = 1e-13)
  }
})

test_that("omitting pairs of distant clusters changes sums of a narrow kernel only slightly", {
  withr::local_seed(6)
  x <- matrix(runif(1e4), 5000)
  sigma <- 0.05
  sorted <- sort_clusters(x, grid_cluster(x, 0.05))
  clusters <- cluster_ranges_centroids(sorted$x, sorted$labels)
  near <- as.matrix(dist(clusters$centroids)) < 4 * sigma
  ranges <- from_matrix(clusters$ranges, clusters$ranges, near)
  op <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y) / s), 1)", c("s = Pm(1)", "x = Vi(2)", "y = Vj(2)"))
  input <- list(2 * sigma^2, sorted$x, sorted$x)
  dense <- op(input)
  expect_lt(sum(abs(op(input, ranges = ranges) - dense)) / sum(dense), 0.002)
})

test_that("points in the same cluster share a grid cell, and different cells have different labels", {
  withr::local_seed(7)
  x <- uniform(500, 2)
  labels <- grid_cluster(x, c(0.2, 0.5))
  cells <- paste(floor(x[, 1] / 0.2), floor(x[, 2] / 0.5))
  expect_identical(match(labels, unique(labels)), match(cells, unique(cells)))
  expect_identical(sort(unique(labels)), seq_along(unique(cells)))
  expect_identical(grid_cluster(c(0.1, 2.5, 0.2), 1), c(1L, 2L, 1L))
  expect_identical(grid_cluster(x[0, ], 1), integer())
})

test_that("sort_clusters() returns all points, cluster by cluster", {
  withr::local_seed(8)
  x <- uniform(100, 2)
  labels <- sample(c("c", "a", "b"), 100, replace = TRUE)
  sorted <- sort_clusters(list(x, 1:100), labels)
  expect_identical(sorted$x[[1]], x[sorted$order, ])
  expect_identical(sorted$x[[2]], sorted$order)
  expect_identical(sorted$labels, labels[sorted$order])
  weights <- runif(100)
  clusters <- cluster_ranges_centroids(sorted$x[[1]], sorted$labels, weights)
  members <- split(1:100, sorted$labels)
  expect_equal(clusters$ranges, unname(t(sapply(members, range))))
  expect_equal(clusters$weights, unname(sapply(members, \(n) sum(weights[n]))))
  mean_of <- \(n) colSums(weights[n] * sorted$x[[1]][n, ]) / sum(weights[n])
  expect_equal(clusters$centroids, unname(t(sapply(members, mean_of))))
})

test_that("ranges are six arrays, also by name in any order, and swap their axes", {
  withr::local_seed(20)
  keep <- matrix(c(TRUE, FALSE, TRUE, TRUE, FALSE, FALSE), 2)
  ranges <- from_matrix(clusters_of(c(2, 3)), clusters_of(c(1, 4, 2)), keep)
  expect_equal(unclass(ranges), list(
    ranges_i = rbind(1:2, c(3, 5)), slices_i = c(2, 3), redranges_j = rbind(c(1, 1), c(2, 5), c(2, 5)),
    ranges_j = rbind(c(1, 1), c(2, 5), c(6, 7)), slices_j = c(1, 3, 3), redranges_i = rbind(1:2, 1:2, c(3, 5))
  ))
  input <- list(uniform(5, 2), uniform(7, 2), uniform(7))
  value <- gaussian()(input, ranges = ranges)
  expect_identical(gaussian()(input, ranges = unname(unclass(ranges))), value)
  expect_identical(gaussian()(input, ranges = rev(unclass(ranges))), value)
  expect_identical(swap_axes(swap_axes(ranges)), ranges)
  transposed <- keops_kernel("Sum_Reduction(Exp(-SqDist(x, y)) * b, 0)", c("x = Vj(2)", "y = Vi(2)", "b = Vi(1)"))
  expect_close(transposed(input, ranges = swap_axes(ranges)), value)
  expect_snapshot(print(ranges))
})

five_seven <- from_matrix(clusters_of(c(2, 3)), clusters_of(c(3, 4)), diag(2) == 1)
gaussian_with <- \(...) gaussian()(list(matrix(1, 5, 2), matrix(1, 7, 2), 1:7), ranges = replace(five_seven, ...))
test_mistakes("kernops_input_error", alist(
  `no ranges` = gaussian()(list(matrix(1, 5, 2), matrix(1, 7, 2), 1:7), ranges = 1:6),
  `five arrays` = gaussian()(list(matrix(1, 5, 2), matrix(1, 7, 2), 1:7), ranges = unname(unclass(five_seven)[-1])),
  `text in ranges` = gaussian_with("ranges_i", list(matrix("1", 2, 2))),
  `half a position` = gaussian_with("ranges_i", list(rbind(c(1, 2.5), c(3, 5)))),
  `three columns` = gaussian_with("redranges_j", list(matrix(1:6, 2))),
  `slices as a matrix` = gaussian_with("slices_i", list(matrix(1:2))),
  `overlapping ranges` = gaussian_with("ranges_i", list(rbind(c(1, 3), c(3, 5)))),
  `decreasing ranges` = gaussian_with("ranges_i", list(rbind(c(3, 5), c(1, 2)))),
  `a range that ends before it starts` = gaussian_with("ranges_j", list(rbind(c(1, 3), c(6, 4)))),
  `positions from 0` = gaussian_with("ranges_i", list(rbind(c(0, 2), c(3, 5)))),
  `missing position` = gaussian_with("redranges_i", list(rbind(c(1, NA), c(3, 5)))),
  `decreasing slices` = gaussian_with("slices_j", list(c(2, 1))),
  `halves that differ` = gaussian_with("redranges_j", list(rbind(c(4, 7), c(1, 3)))),
  `keep of other size` = from_matrix(clusters_of(c(2, 3)), clusters_of(c(3, 4)), matrix(TRUE, 3, 2)),
  `keep with NA` = from_matrix(clusters_of(c(2, 3)), clusters_of(c(3, 4)), matrix(NA, 2, 2)),
  `no cell size` = grid_cluster(matrix(1, 5, 2), 0),
  `cells of no dimension` = grid_cluster(matrix(0, 5, 0), 1),
  `cells for points with NA` = grid_cluster(c(1, NA), 1),
  `unsorted labels` = cluster_ranges_centroids(matrix(1, 3, 2), c(2, 1, 2)),
  `missing label` = sort_clusters(1:3, c(1, NA, 2)),
  `negative weight` = cluster_ranges_centroids(matrix(1, 2, 2), 1:2, c(1, -1))
))
test_mistakes("kernops_dim_error", alist(
  `range out of bounds` = gaussian_with("ranges_i", list(rbind(c(1, 2), c(3, 6)))),
  `reduced range out of bounds` = gaussian_with("redranges_j", list(rbind(c(1, 3), c(4, 8)))),
  `too few slices` = gaussian_with("slices_i", list(2)),
  `slices that end early` = gaussian_with("slices_i", list(c(1, 1))),
  `a label too many` = sort_clusters(1:3, 1:4)
))
