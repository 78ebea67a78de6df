# The oracle decomposes stored matrices by eigen().
stored_kernel <- \(x, y, width) exp(-outer(seq_len(nrow(x)), seq_len(nrow(y)), Vectorize(\(i, j) {
  sum((x[i, ] - y[j, ])^2)
})) / (2 * width^2))
one_sign <- function(vectors) {
  apply(vectors, 2, \(v) v * sign(v[which.max(abs(v))]))
}
spectra_points <- \(n, d) withr::with_seed(n + d, matrix(rnorm(n * d), n))

test_that("principal components agree with the centred kernel matrix", {
  for (n in c(40, 260)) for (backend in backends()) {
    if (n > 200) skip_if_not_installed("RSpectra")
    x <- spectra_points(n, 2)
    k <- stored_kernel(x, x, 1.2)
    h <- diag(n) - 1 / n
    e <- eigen(h %*% k %*% h, symmetric = TRUE)
    fit <- kernel_pca(x, 3, 1.2, backend = backend)
    expect_equal(fit$values, e$values[1:3], tolerance = 1e-9)
    expect_equal(fit$vectors, one_sign(e$vectors[, 1:3]), tolerance = 1e-7)
    expect_equal(fit$scores, t(t(fit$vectors) * sqrt(fit$values)))
    new <- spectra_points(5, 2)
    centred <- stored_kernel(new, x, 1.2) - rep(colMeans(k), each = 5)
    centred <- centred - rowMeans(centred)
    expect_equal(predict(fit, new, backend = backend), t(t(centred %*% fit$vectors) / sqrt(fit$values)),
                 tolerance = 1e-9)
    expect_equal(predict(fit, x), fit$scores, tolerance = 1e-8)
  }
})

test_that("kernel_pca() agrees with the package kernlab", {
  kpca <- peer("kernlab", "kpca")
  x <- as.matrix(iris[seq(1, 150, 5), 1:4])
  fit <- kernel_pca(x, 2, 1)
  true <- kpca(x, kernel = "rbfdot", kpar = list(sigma = 0.5), features = 2)
  expect_equal(fit$values / 30, unname(peer("kernlab", "eig")(true)), tolerance = 1e-9)
  expect_equal(one_sign(fit$scores), one_sign(peer("kernlab", "rotated")(true)) / sqrt(30), tolerance = 1e-6,
               ignore_attr = TRUE)
})

test_that("the embedding consists of eigenvectors of the graph", {
  skip_if_not_installed("Matrix")
  for (n in c(30, 230)) for (neighbours in list(NULL, 6)) {
    if (n > 200) skip_if_not_installed("RSpectra")
    x <- spectra_points(n, 2)
    if (is.null(neighbours)) {
      w <- stored_kernel(x, x, 0.8)
    } else {
      near <- t(apply(as.matrix(dist(x)), 1, \(d) seq_along(d) %in% order(d)[2:7]))
      w <- unname(near + t(near)) / 2
    }
    fit <- spectral_embedding(x, 2, 0.8, neighbours = neighbours)
    degrees <- rowSums(w)
    expect_equal(fit$degrees, degrees, tolerance = 1e-10)
    e <- eigen(diag(n) - w / sqrt(outer(degrees, degrees)), symmetric = TRUE)
    expect_equal(fit$values, e$values[n - 1:2], tolerance = 1e-8)
    expect_equal(abs(fit$embedding), abs(e$vectors[, n - 1:2]) / sqrt(degrees), tolerance = 1e-5)
    residual <- degrees * fit$embedding - w %*% fit$embedding - t(t(degrees * fit$embedding) * fit$values)
    expect_lt(max(abs(residual)), 1e-8)
    expect_equal(colSums(degrees * fit$embedding^2), c(1, 1))
  }
})

test_that("spectral_embedding() separates connected components", {
  skip_if_not_installed("Matrix")
  x <- rbind(spectra_points(150, 2), spectra_points(100, 2) + 100)
  skip_if_not_installed("RSpectra")
  fit <- spectral_embedding(x, 1, neighbours = 5)
  expect_equal(fit$values, 0, tolerance = 1e-8)
  expect_lt(max(tapply(fit$embedding[, 1], rep(1:2, c(150, 100)), \(f) diff(range(f)))), 1e-6)
})

test_that("kernel_pca() and spectral_embedding() refuse invalid arguments", {
  expect_snapshot(error = TRUE, {
    kernel_pca(c(1, NA))
    kernel_pca(1:3, 3)
    kernel_pca(1:3, 1, width = 1:2)
    kernel_pca(c(1, 1, 1), 1)
    kernel_pca(c(1, 1, 2, 2), 2, width = 1)
    kernel_pca(1:3, 1, kernel = "linear")
    predict(kernel_pca(1:4), cbind(1, 2))
    spectral_embedding(1:3, 3)
    spectral_embedding(1:3, 1, neighbours = 3)
    spectral_embedding(1:3, 1, width = -1)
  })
  expect_snapshot(kernel_pca(1:5, 2, width = 1))
})
