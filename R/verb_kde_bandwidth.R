# The bandwidth of kde(), that is, the covariance matrix of the kernel.

kernel_covariance <- function(bandwidth, x, weights, run, call = caller_env()) {
  d <- ncol(x)
  if (is.character(bandwidth)) {
    selector <- check_choice(bandwidth, "bandwidth", c("silverman", "scott", "cv"), call)
    return(selected_covariance(selector, x, weights, run, call))
  }
  if (!is_plain_numeric(bandwidth) || !all(is.finite(bandwidth))) {
    stop_kernops("input", "{.arg bandwidth} must be the name of a selector, one or {d} standard deviations, or a
                           {d} x {d} matrix.", call = call)
  }
  if (is.matrix(bandwidth)) {
    check_covariance(bandwidth, d, call)
    return(bandwidth)
  }
  if (!length(bandwidth) %in% c(1, d)) {
    stop_kernops("dim", "{.arg bandwidth} must have one standard deviation, or {d}, one for each coordinate, not
                         {length(bandwidth)}.", call = call)
  }
  if (any(bandwidth <= 0)) stop_kernops("input", "{.arg bandwidth} must be positive.", call = call)
  diag(rep_len(as.numeric(bandwidth)^2, d), d)
}

check_covariance <- function(h, d, call) {
  if (!identical(dim(h), c(d, d))) {
    stop_kernops("dim", "{.arg bandwidth} must be a {d} x {d} matrix, not {nrow(h)} x {ncol(h)}.", call = call)
  }
  if (!isSymmetric(unname(h)) || !is_positive_definite(h)) {
    stop_kernops("input", "{.arg bandwidth} must be symmetric and positive definite.", call = call)
  }
}

is_positive_definite <- function(h) {
  eigenvalues <- eigen(h, symmetric = TRUE, only.values = TRUE)$values
  min(eigenvalues) > 1e-14 * max(eigenvalues)
}

# The covariance matrix of the points, multiplied by the factor of a selector.
selected_covariance <- function(selector, x, weights, run, call) {
  d <- ncol(x)
  moments <- if (nrow(x) > 1 && sum(weights > 0) > 1) stats::cov.wt(x, weights)$cov
  scales <- column_sizes(x)
  if (is.null(moments) || any(diag(moments) <= (1e-14 * scales)^2) || !is_positive_definite(stats::cov2cor(moments))) {
    stop_kernops("input", c("The covariance matrix of {.arg x} is singular, so that no bandwidth can be selected.",
                            i = "{.arg bandwidth} may be a number or a matrix."), call = call)
  }
  effective <- 1 / sum(weights^2)
  normal <- (effective * (d + 2) / 4)^(-2 / (d + 4))
  factor <- switch(selector, silverman = normal, scott = effective^(-2 / (d + 4)),
                   cv = normal * cross_validated(x, moments * normal, weights, run))
  factor * moments
}

# Multiplies the covariance matrix h by the factor that minimises the cross-validated integrated squared error of the
# density. The integral of the squared density is, up to constant factors, a sum over all pairs of points of a normal
# density with twice the covariance.
cross_validated <- function(x, h, weights, run) {
  d <- ncol(x)
  u <- t(forwardsolve(t(chol(h)), t(unname(x)) - colMeans(x)))
  declared <- c(sprintf(c("x = Vi(%d)", "y = Vj(%d)"), d), "w = Vj(1)", "s = Pm(2)")
  op <- verb_operator("Sum_Reduction(Exp(-s * SqDist(x, y)) * w, 1)", declared, run$backend, run$precision)
  u <- resident_points(op, u)
  error <- function(log_factor) {
    factor <- exp(log_factor)
    sums <- op(list(u, u, weights, c(1 / (4 * factor), 1 / (2 * factor))))
    others <- (sums[, 2] - weights) / (1 - weights)
    factor^(-d / 2) * sum(weights * (2^(-d / 2) * sums[, 1] - 2 * others))
  }
  exp(stats::optimize(error, log(c(1 / 400, 4)), tol = 1e-3)$minimum)
}
