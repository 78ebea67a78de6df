# Random effects with several correlated coefficients for each level, (x | g). Their covariance matrix S is D C C' D:
# the diagonal matrix D contains the standard deviations, and C is the Cholesky factor of a correlation matrix. The
# parameters of C are canonical partial correlations (Lewandowski, Kurowicka and Joe 2009): z[j, k] for k < j is the
# partial correlation of coefficients j and k given the coefficients before k. Any values between -1 and 1 define a
# correlation matrix. If there are two coefficients, z[2, 1] is their correlation.

# The kernel of points whose columns are the covariates (except the covariate 1 of an intercept) and the index of the
# level.
correlated_kernel <- kernel("effects", function(variance, correlation, x, y, size, intercept) {
  root <- root_texts(variance, correlation, size)
  along <- function(point, column) {
    covariates <- vapply(seq_len(size), function(j) {
      if (intercept && j == 1) "1" else code_text("Elem(", point, ", ", j - 1 - intercept, ")")
    }, "")
    rows <- column:size
    paste0("(", paste(root[rows, column], covariates[rows], sep = " * ", collapse = " + "), ")")
  }
  products <- vapply(seq_len(size), function(column) paste(along(x, column), "*", along(y, column)), "")
  level <- size - intercept
  sprintf("(%s) * Equal(Elem(%s, %d), Elem(%s, %d))", paste(products, collapse = " + "), x, level, y, level)
}, screens = FALSE, mean_square = function(leaf, u) {
  pmax(colMeans(effect_covariates(leaf, u)^2), .Machine$double.xmin)
})

# The entries of D C as texts of formulas.
root_texts <- function(variance, correlation, size) {
  entry <- function(text, n, count) if (count == 1) text else code_text("Elem(", text, ", ", n - 1, ")")
  pairs <- coefficient_pairs(size)
  z <- matrix("", size, size)
  z[pairs] <- vapply(seq_len(nrow(pairs)), function(n) entry(correlation, n, nrow(pairs)), "")
  texts <- matrix("", size, size)
  for (j in seq_len(size)) for (k in seq_len(j)) {
    before <- sprintf("Sqrt(1 - Square(%s))", z[j, seq_len(k - 1)])
    factors <- c(sprintf("Sqrt(%s)", entry(variance, j, size)), if (k < j) z[j, k], before)
    texts[j, k] <- paste(factors, collapse = " * ")
  }
  texts
}

# The row and the column of each pair of coefficients, in the order of the correlations.
coefficient_pairs <- function(size) which(lower.tri(diag(size)), arr.ind = TRUE)

# The factor C and its derivatives with respect to the correlations.
correlation_root <- function(correlation, size) {
  z <- matrix(0, size, size)
  z[coefficient_pairs(size)] <- correlation
  left <- sqrt(1 - z^2)
  C <- diag(size)
  for (j in seq_len(size)) for (k in seq_len(j)) {
    C[j, k] <- (if (k < j) z[j, k] else 1) * prod(left[j, seq_len(k - 1)])
  }
  C
}

correlation_root_slopes <- function(correlation, size) {
  C <- correlation_root(correlation, size)
  pairs <- coefficient_pairs(size)
  lapply(seq_along(correlation), function(n) {
    j <- pairs[n, 1]
    k <- pairs[n, 2]
    z <- correlation[[n]]
    slope <- matrix(0, size, size)
    later <- seq_len(size) > k
    slope[j, later] <- -C[j, later] * z / (1 - z^2)
    slope[j, k] <- if (z != 0) C[j, k] / z else correlation_root(replace(correlation, n, 0.5), size)[j, k] / 0.5
    slope
  })
}

# The leaf with several coefficients for each level; `terms` differ only in their slopes.
correlated_leaf <- function(terms, variance, correlation, fixed, label, columns, call) {
  size <- length(terms)
  check_coefficients_of(variance, "variance", size, call)
  check_coefficients_of(correlation, "correlation", size * (size - 1) / 2, call)
  for (name in fixed) if (is.null(list(variance = variance, correlation = correlation)[[name]])) {
    stop_kernops("input", "{.arg {name}} must have a value if it is fixed.", call = call)
  }
  check_subset(fixed, "fixed", c("variance", "correlation"), call)
  if (!is.null(variance)) check_positive(variance, "variance", call)
  if (!is.null(correlation) && any(abs(correlation) >= 1)) {
    stop_kernops("input", "{.arg correlation} must be between -1 and 1, not {.val {correlation}}.", call = call)
  }
  intercept <- is.null(terms[[1]]$slope)
  leaf <- new_leaf(with_constants(correlated_kernel, size = size, intercept = intercept), list(), call = call)
  leaf$parameters <- list(variance = variance %||% rep(NA_real_, size),
                          correlation = correlation %||% rep(NA_real_, size * (size - 1) / 2))
  leaf[c("fixed", "label", "sees")] <- list(fixed, label, columns)
  leaf$effect <- vapply(terms, function(term) if (is.null(term$slope)) "(Intercept)" else deparse1(term$slope), "")
  pairs <- coefficient_pairs(size)
  leaf$suffixes <- list(variance = paste0(".", leaf$effect), correlation = if (size == 2) "" else {
    paste0(".", leaf$effect[pairs[, 2]], ".", leaf$effect[pairs[, 1]])
  })
  leaf
}

check_coefficients_of <- function(x, name, count, call) {
  if (is.null(x) || is.numeric(x) && length(x) == count && all(is.finite(x))) return(invisible())
  unit <- if (name == "variance") "coefficient" else "pair of coefficients"
  stop_kernops("input", "{.arg {name}} must have {count} finite number{?s}, one for each {unit}, not {.val {x}}, or be
                         {.code NULL} to be estimated.", call = call)
}

is_correlated <- function(leaf) identical(leaf$kernel$label, correlated_kernel$label)
