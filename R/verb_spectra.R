#' Kernel principal components and spectral embedding
#'
#' Places points in few dimensions by eigenvectors of a kernel matrix that is not stored. `kernel_pca()` uses the
#' centred kernel matrix; `spectral_embedding()` uses the kernel matrix as the weights of a graph.
#'
#' @param x the points: an n x d matrix or data frame of finite numbers, or a vector of n numbers.
#' @param k the number of dimensions: at most n - 1.
#' @param width,kernel the width of the kernel and its name, as in [kernel_ridge()]. Default: the median distance
#'   between points (of 1,000 evenly spaced rows, if there are more rows); spectral embeddings usually need a smaller
#'   width.
#' @param neighbours `NULL`, or the number of nearest neighbours with which the graph connects each point. An edge has
#'   weight 1 if each of its two points is a neighbour of the other, and weight 1/2 if only one of them is a neighbour
#'   of the other. With `neighbours`, the arguments `kernel` and `width` are not used.
#' @param backend `"auto"`, `"cpu"` or `"cuda"`.
#'
#' @details
#' `kernel_pca()` computes the largest eigenvalues \eqn{\lambda} of \eqn{H K H}, with the kernel matrix K and
#' \eqn{H = I - 1 1^T / n}, and their eigenvectors u (Scholkopf, Smola and Muller 1998). The scores of the points are
#' \eqn{\sqrt \lambda u}.
#'
#' `spectral_embedding()` uses K as the weights of a graph; the degrees D are the row sums of K. The coordinates are the
#' eigenvectors f of \eqn{(D - K) f = \mu D f} for the smallest eigenvalues \eqn{\mu}, scaled to \eqn{f^T D f = 1}. The
#' first eigenvector, which is constant, is omitted (Belkin and Niyogi 2003). For a graph of c connected components, c
#' eigenvalues are 0.
#'
#' For more than 200 points, package RSpectra computes the eigenvectors from products with the matrix. The sign of an
#' eigenvector is such that its largest entry is positive.
#'
#' @return `kernel_pca()`: a list of class `kernops_pca` with the n x k matrix `scores`, the eigenvalues `values`, the
#'   eigenvectors `vectors`, and further elements for `predict()`: `row_means` of K, `x`, `kernel` and `width`.
#'
#'   `spectral_embedding()`: a list with the n x k matrix `embedding`, the eigenvalues `values` of its columns in
#'   ascending order, and the `degrees` of the points.
#'
#' @section Errors: class `kernops_input_error` for invalid arguments, such as missing values, a `k` that is too large,
#'   or fewer than `k` positive eigenvalues; `kernops_dim_error` if the number of coordinates of new points differs from
#'   that of `x`.
#'
#' @references
#' Belkin, M. and Niyogi, P. (2003) Laplacian eigenmaps for dimensionality reduction and data representation. *Neural
#' Computation* 15(6), 1373-1396.
#'
#' Scholkopf, B., Smola, A. and Muller, K.-R. (1998) Nonlinear component analysis as a kernel eigenvalue problem.
#' *Neural Computation* 10(5), 1299-1319.
#'
#' @seealso [stats::prcomp()] for linear components; [kmeans_large()] for clusters of the embedded points; [knn_graph()]
#'   for the graph of neighbours.
#' @examples
#' fit <- kernel_pca(iris[1:4], 2)
#' plot(fit$scores, col = iris$Species)
#' # points on two rings
#' set.seed(2)
#' angle <- runif(150, 0, 2 * pi)
#' radius <- rep(c(1, 2), c(50, 100)) + rnorm(150, sd = 0.1)
#' rings <- radius * cbind(cos(angle), sin(angle))
#' embedded <- spectral_embedding(rings, 1, width = 0.2)
#' table(embedded$embedding > 0, radius > 1.5)
#' @export
kernel_pca <- function(x, k = 2, width = NULL, kernel = c("gaussian", "exponential", "matern32", "matern52"),
                       backend = c("auto", "cpu", "cuda")) {
  x <- verb_points(x, "x")
  n <- nrow(x)
  check_embedding_size(k, n)
  kernel <- check_choice(kernel, "kernel", kernel_names)
  width <- kernel_widths(width, unname(x))
  product <- kernel_products(unname(x), kernel, width, check_backend(backend))
  means <- drop(product(matrix(1, n, 1))) / n
  centred <- function(v) v - rep(colMeans(v), each = n)
  pairs <- largest_eigenpairs(function(v) centred(product(centred(v))), n, k)
  if (any(pairs$values <= 1e-12 * pairs$values[[1]])) {
    stop_kernops("input", "The centred kernel matrix has fewer than {k} positive eigenvalue{?s}: use a smaller
                           {.arg k}.")
  }
  scores <- pairs$vectors * rep(sqrt(pairs$values), each = n)
  rownames(scores) <- rownames(x)
  structure(list(scores = scores, values = pairs$values, vectors = pairs$vectors, row_means = means, x = x,
                 kernel = kernel, width = width), class = "kernops_pca")
}

check_embedding_size <- function(k, n, call = caller_env()) {
  check_number(k, "k", least = 1, whole = TRUE, call = call)
  if (k >= n) stop_kernops("input", "{.arg k} must be less than the number of points, {n}.", call = call)
}

# Returns the function v -> K v.
kernel_products <- function(x, kernel, width, backend) {
  op <- kernel_product(kernel, ncol(x), 1, backend)
  resident <- resident_points(op, x)
  s <- named_kernel(kernel, width)$s
  function(v) kernel_product(kernel, ncol(x), ncol(v), backend)(list(resident, resident, v, s))
}

#' @rdname kernel_pca
#' @param object a result of `kernel_pca()`.
#' @param newdata m x d points.
#' @param ... not used.
#' @return `predict()`: the scores of new points, m x k.
#' @export
predict.kernops_pca <- function(object, newdata, backend = c("auto", "cpu", "cuda"), ...) {
  refuse_arguments("predict.kernops_pca", list(...), what = "{.fn predict}")
  new <- verb_points(newdata, "newdata", ncol(object$x))
  op <- kernel_product(object$kernel, ncol(new), length(object$values), check_backend(backend))
  products <- op(list(unname(new), unname(object$x), object$vectors, named_kernel(object$kernel, object$width)$s))
  shift <- colSums(object$row_means * object$vectors) # column means have no effect: each vector sums to 0
  scores <- (products - rep(shift, each = nrow(new))) / rep(sqrt(object$values), each = nrow(new))
  rownames(scores) <- rownames(new)
  scores
}

#' @rdname kernel_pca
#' @export
spectral_embedding <- function(x, k = 2, width = NULL, kernel = c("gaussian", "exponential", "matern32", "matern52"),
                               neighbours = NULL, backend = c("auto", "cpu", "cuda")) {
  x <- verb_points(x, "x")
  n <- nrow(x)
  check_embedding_size(k, n)
  kernel <- check_choice(kernel, "kernel", kernel_names)
  backend <- check_backend(backend)
  product <- if (is.null(neighbours)) {
    kernel_products(unname(x), kernel, kernel_widths(width, unname(x)), backend)
  } else {
    neighbour_products(x, neighbours, backend)
  }
  degrees <- drop(product(matrix(1, n, 1)))
  root <- sqrt(degrees)
  pairs <- largest_eigenpairs(function(v) product(v / root) / root, n, k + 1)
  embedding <- pairs$vectors[, -1, drop = FALSE] / root
  rownames(embedding) <- rownames(x)
  list(embedding = embedding, values = 1 - pairs$values[-1], degrees = degrees)
}

neighbour_products <- function(x, neighbours, backend, call = caller_env()) {
  check_number(neighbours, "neighbours", least = 1, whole = TRUE, most = nrow(x) - 1, call = call)
  graph <- knn_graph(knn(unname(x), k = neighbours, backend = backend))
  graph <- (graph + Matrix::t(graph)) / 2
  function(v) as.matrix(graph %*% v)
}

#' @export
print.kernops_pca <- function(x, ...) {
  cli::cat_line("<kernops_pca> ", nrow(x$x), " points, ", length(x$values), " components, ", x$kernel,
                " kernel of width ", format(x$width, digits = 4))
  cli::cat_line("  eigenvalues  ", paste(format(x$values, digits = 4), collapse = " "))
  invisible(x)
}
