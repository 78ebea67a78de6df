# Smooths with several penalties b' S_k b, where penalty k has the weight 1 / v_k. The coefficients are scaled such that
# the sum of all penalties with weights 1 is the sum of squares of the coefficients. After this scaling, all penalty
# matrices of a smooth have the same eigenvectors for nearly all smooths of mgcv. In the basis of these eigenvectors,
# coefficient j has the precision sum_k d_kj / v_k, where the shares d_kj of the penalties add up to 1 over k.

# Returns the matrices `random` and `trend`, which transform the basis of mgcv to the functions of the random
# coefficients and to the functions of the trend, and the `shares` d_kj, with a row for each penalty.
diagonal_penalties <- function(smooth, label, call, tolerance = 1e-10) {
  sum <- eigen(Reduce(`+`, smooth$S), symmetric = TRUE)
  random <- which(sum$values > tolerance * sum$values[[1]])
  whole <- unit_penalty_vectors(sum, random)
  within <- lapply(smooth$S, function(S) crossprod(whole, S %*% whole))
  # with the arbitrary weights 2 + sin(k), two eigenvalues of the weighted sum of penalties are equal only if the two
  # eigenvalues of each penalty are equal
  common <- eigen(Reduce(`+`, Map(`*`, within, 2 + sin(seq_along(within)))), symmetric = TRUE)$vectors
  within <- lapply(within, function(S) crossprod(common, S %*% common))
  shares <- t(vapply(within, diag, numeric(length(random))))
  apart <- max(vapply(within, function(S) max(abs(S - diag(diag(S), nrow(S)))), 0))
  if (apart > 1e-8) return(contrast_penalties(smooth) %||% stop_penalties(label, length(within), call))
  list(random = whole %*% common, trend = sum$vectors[, -random, drop = FALSE],
       shares = ifelse(shares > tolerance, shares, 0))
}

stop_penalties <- function(label, count, call) {
  stop_kernops("input", c(
    "The smooth {.code {label}} is not available: its {count} penalties have no common eigenvectors.",
    i = "All smooths with one or two penalties are available, and {.code s(x, bs = \"ad\")}, {.code bs = \"fs\"} and
         {.code \"sz\"} of one factor, {.fn t2}, and {.fn te} and {.fn ti} of bases that leave constants without a
         penalty."
  ), call = call)
}

# The leaf of a smooth whose basis has been constructed and stored in `column`.
settled_smooth <- function(leaf, column, call) {
  count <- max(1, nrow(column$shares), column$contrasts)
  if (count > 1 && is.null(leaf$parameters$variance)) leaf$parameters <- list(variance = rep(NA_real_, count))
  if (!length(leaf$parameters$variance) %in% c(count, if (count == 1) 0)) {
    stop_kernops("input", "{.arg variance} of {.code {leaf$label}} must have {count} number{?s}, one for each penalty,
                           not {length(leaf$parameters$variance)}.", call = call)
  }
  leaf$kernel <- kernel_of_smooth(column, count, has_level(leaf))
  leaf
}

kernel_of_smooth <- function(column, count, level) {
  if (!is.null(column$contrasts)) {
    return(with_constants(contrasts_kernel, contrasts = count, size = column$width / (count - 1)))
  }
  if (count == 1 && !level) return(smooth_kernel)
  with_constants(penalties_kernel, shares = column$shares %||% matrix(1, 1, column$width), level = level)
}

# The kernel of points whose columns are the basis functions and, for a smooth of a `level`, the index of the level.
penalties_kernel <- kernel("smooth", function(variance, x, y, shares, level) {
  count <- nrow(shares)
  size <- ncol(shares)
  variances <- if (count == 1) variance else code_text("Elem(", variance, ", ", seq_len(count) - 1, ")")
  precisions <- paste(apply(shares, 1, vector_text), "/", variances, collapse = " + ")
  basis <- if (level) code_text("Extract(", c(x, y), ", 0, ", size, ")") else c(x, y)
  text <- sprintf("(%s / (%s) | %s)", basis[[1]], precisions, basis[[2]])
  if (!level) return(text)
  code_text(text, " * Equal(Elem(", x, ", ", size, "), Elem(", y, ", ", size, "))")
}, screens = FALSE, mean_square = function(leaf, u) {
  squares <- colMeans(effect_covariates(leaf, u)^2)
  v <- leaf$parameters$variance %||% 1
  v[is.na(v)] <- 1
  shares <- leaf$kernel$constants$shares
  # the derivatives of the mean variance with respect to the variances; their sum, weighted by the variances, is the
  # mean variance
  pmax(as.vector((shares / v^2) %*% (squares / colSums(shares / v)^2)), .Machine$double.xmin)
})

is_penalised <- function(leaf) !is.null(leaf$kernel$constants$shares)

coefficient_precisions <- function(leaf, variance) colSums(leaf$kernel$constants$shares / variance)

# The methods of effects (cov_effects.R) for the coefficients of smooths with several penalties.
effect_root.penalised_effect <- function(effect, theta) {
  precisions <- coefficient_precisions(effect$leaf, effect_parameters(effect, theta)$variance)
  diag(1 / sqrt(precisions), effect$size)
}

effect_slopes.penalised_effect <- function(effect, theta) {
  variance <- effect_parameters(effect, theta)$variance
  precisions <- coefficient_precisions(effect$leaf, variance)
  shares <- effect$leaf$kernel$constants$shares
  lapply(seq_along(variance), function(k) diag(shares[k, ] / (variance[[k]] * precisions)^2, effect$size))
}
