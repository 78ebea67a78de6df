# The oracle sorts all distances in plain R.
nearest_by_sorting <- function(x, y, k, self) {
  one <- function(i) {
    distance <- sqrt(colSums((t(x) - y[i, ])^2))
    if (self) distance[[i]] <- Inf
    first <- order(distance)[seq_len(k)]
    c(first, distance[first])
  }
  both <- t(vapply(seq_len(nrow(y)), one, numeric(2 * k)))
  list(index = both[, seq_len(k), drop = FALSE], distance = both[, k + seq_len(k), drop = FALSE])
}

verb_clouds <- function(n, d) withr::with_seed(n + d, list(
  uniform = matrix(runif(n * d), n), gridded = matrix(sample(0:3, n * d, TRUE) + 0, n),
  duplicated = matrix(runif(n * d), n)[sample(n, n, TRUE), , drop = FALSE],
  offset = 1e6 + matrix(rnorm(n * d), n), tiny = 1e-200 * matrix(rnorm(n * d), n), same = matrix(1, n, d)
))

test_that("knn() finds the same neighbours as a sort of all distances", {
  for (d in c(1, 2, 3, 7)) {
    clouds <- verb_clouds(60, d)
    for (kind in names(clouds)) for (method in c("tree", "panels")) for (self in c(TRUE, FALSE)) {
      x <- clouds[[kind]]
      y <- if (self) x else verb_clouds(25, d)[[kind]]
      for (k in c(1, 5, 59)) {
        near <- knn(x, if (!self) y, k, method = method)
        true <- nearest_by_sorting(if (kind == "tiny") 1e200 * x else x, if (kind == "tiny") 1e200 * y else y, k, self)
        if (kind == "tiny") true$distance <- 1e-200 * true$distance
        expect_equal(near$index, true$index, info = paste(kind, method, d, k))
        expect_close(near$distance, true$distance, info = paste(kind, method, d, k), scale = max(true$distance, 1e-300))
      }
    }
  }
})

test_that("the method of knn() and the number of threads do not change the neighbours", {
  x <- withr::with_seed(1, matrix(rnorm(3000 * 4), 3000))
  tree <- with_kernops(knn(x, k = 8, method = "tree"), threads = 1)
  expect_identical(with_kernops(knn(x, k = 8, method = "tree"), threads = 3), tree)
  expect_equal(knn(x, k = 8, method = "panels"), tree, tolerance = 1e-12)
})

test_that("knn() omits neighbours beyond a radius", {
  near <- knn(c(a = 0, b = 1, c = 3), k = 2, radius = 2)
  expect_equal(near$index, rbind(c(2, NA), c(1, 3), c(2, NA)))
  expect_equal(near$distance, rbind(c(1, NA), c(1, 2), c(2, NA)))
})

test_that("knn() agrees with FNN", {
  skip_if_not_installed("FNN")
  x <- withr::with_seed(2, matrix(runif(2000), 500))
  true <- FNN::get.knn(x, 6)
  expect_equal(knn(x, k = 6)$index, true$nn.index)
  expect_equal(knn(x, k = 6)$distance, true$nn.dist)
})

test_that("knn_graph() has an entry for each neighbour", {
  skip_if_not_installed("Matrix")
  x <- withr::with_seed(3, matrix(runif(80), 40))
  near <- knn(x, k = 3, radius = 0.3)
  dense <- distances <- matrix(0, 40, 40)
  for (i in 1:40) for (j in 1:3) if (!is.na(near$index[i, j])) {
    dense[i, near$index[i, j]] <- 1
    distances[i, near$index[i, j]] <- near$distance[i, j]
  }
  expect_s4_class(knn_graph(near), "dgCMatrix")
  expect_equal(as.matrix(knn_graph(near)), dense)
  expect_equal(as.matrix(knn_graph(near, weights = "distance")), distances)
  expect_equal(as.matrix(knn_graph(near, mutual = TRUE)), dense * t(dense))
})

test_that("knn() refuses points that do not have k neighbours, and invalid arguments", {
  expect_snapshot(error = TRUE, {
    knn(matrix(1, 1, 2), k = 1)
    knn(matrix(1:6, 3), k = 3)
    knn(matrix(1:6, 3), matrix(1, 2, 3), k = 1)
    knn(matrix(c(1, NA, 3:6), 3), k = 1)
    knn(matrix(0, 0, 2), k = 1)
    knn(letters, k = 1)
    knn(matrix(1:6, 3), k = 1.5)
    knn(matrix(1:6, 3), k = 1, radius = -1)
    knn_graph(knn(matrix(1:6, 3), matrix(1:6, 3), k = 1))
  })
  expect_error(knn(matrix(1:6, 3), k = 3), class = "kernops_input_error")
  expect_error(knn(matrix(1:6, 3), matrix(1, 2, 3), k = 1), class = "kernops_dim_error")
  expect_snapshot(print(knn(matrix(1:6, 3), k = 2)))
})
