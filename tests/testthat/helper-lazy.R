# Points X and Y of symbolic matrices, a matrix B for products, and D2, the matrix of squared distances of X and Y.

dense_sqdist <- \(x, y) outer(seq_len(nrow(x)), seq_len(nrow(y)), Vectorize(\(i, j) sum((x[i, ] - y[j, ])^2)))

lazy_points <- function() {
  withr::local_seed(1)
  points <- list(X = uniform(10, 3), Y = uniform(6, 3), B = uniform(6, 3))
  c(points, list(D2 = dense_sqdist(points$X, points$Y)))
}
