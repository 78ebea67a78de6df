# Named kernels for kernel_ridge(), kernel_pca() and spectral_embedding().

kernel_names <- c("gaussian", "exponential", "matern32", "matern52")

# The formula of a kernel of x and y, and the value of its parameter s.
named_kernel <- function(kernel, width) {
  t <- "s * Norm2(x - y)"
  switch(kernel,
    gaussian = list(formula = "Exp(-s * SqDist(x, y))", s = 1 / (2 * width^2)),
    exponential = list(formula = sprintf("Exp(-%s)", t), s = 1 / width),
    matern32 = list(formula = sprintf("(1 + %s) * Exp(-%s)", t, t), s = sqrt(3) / width),
    matern52 = list(formula = sprintf("(1 + %s + Square(%s) / 3) * Exp(-%s)", t, t, t), s = sqrt(5) / width)
  )
}

# The operator of a product with a kernel matrix; its variables are the points x and y, the vectors b, and the parameter
# s.
kernel_product <- function(kernel, d, columns, backend) {
  declared <- c(sprintf(c("x = Vi(%d)", "y = Vj(%d)", "b = Vj(%d)"), c(d, d, columns)), "s = Pm(1)")
  verb_operator(sprintf("Sum_Reduction(%s * b, 1)", named_kernel(kernel, 1)$formula), declared, backend)
}

# Checks the width, which must be one positive number, or several numbers if the calling function selects one of these.
# The default is the median distance of the points.
kernel_widths <- function(width, x, several = FALSE, call = caller_env()) {
  if (is.null(width)) return(median_distance(x, "width", call))
  fits <- is_plain_numeric(width) && length(width) > 0 && (several || length(width) == 1) && all(is.finite(width)) &&
    all(width > 0)
  if (fits) return(as.numeric(width))
  stop_kernops("input", "{.arg width} must be {if (several) 'positive numbers' else 'one positive number'}.",
               call = call)
}

# The k largest eigenvalues of a symmetric n x n matrix and their eigenvectors, computed from products with the matrix.
# The sign of each eigenvector is chosen so that its largest entry is positive.
largest_eigenpairs <- function(product, n, k) {
  pairs <- if (n <= max(200, k + 2)) {
    eigen((product(diag(n)) + t(product(diag(n)))) / 2, symmetric = TRUE)
  } else {
    rlang::check_installed("RSpectra", "for eigenvalues of many points.")
    RSpectra::eigs_sym(function(v, args) drop(product(cbind(v))), k, n = n, opts = list(maxitr = 3000, tol = 1e-12))
  }
  vectors <- pairs$vectors[, seq_len(k), drop = FALSE]
  signs <- sign(vectors[cbind(max.col(t(abs(vectors)), "first"), seq_len(k))])
  list(values = pairs$values[seq_len(k)], vectors = vectors * rep(signs, each = n))
}
