# Smooths with bs = "sz": each level of a factor has a function, and the functions add up to zero. The functions f_1,
# ..., f_L of the levels have independent coefficients with variances v_1, ..., v_L, conditioned on the sum of the
# functions being zero. The coefficients of the first L - 1 functions, each with the penalty matrix B, are estimated;
# the last function is minus the sum of the first L - 1 functions. For each eigenvector of B, the covariance of the
# coefficients is D - v v' / sum(v), where v and D = diag(v) contain the first L - 1 variances, and the sum is over all
# L variances.

# For smooths of mgcv with bs = "sz", the result of diagonal_penalties(), to which the number `contrasts` of functions
# is added; NULL for other smooths.
contrast_penalties <- function(smooth) {
  count <- length(smooth$S)
  size <- ncol(smooth$S[[1]]) / (count - 1)
  if (size != floor(size)) return(NULL)
  first <- seq_len(size)
  B <- smooth$S[[1]][first, first, drop = FALSE]
  levels <- c(lapply(seq_len(count - 1), function(k) diag(as.numeric(seq_len(count - 1) == k), count - 1)),
              list(matrix(1, count - 1, count - 1)))
  apart <- max(mapply(function(S, level) max(abs(S - kronecker(level, B))), smooth$S, levels))
  if (apart > 1e-8 * max(abs(B))) return(NULL)
  penalty <- eigen(B, symmetric = TRUE)
  random <- which(penalty$values > 1e-10 * penalty$values[[1]])
  whole <- unit_penalty_vectors(penalty, random)
  each <- diag(count - 1)
  list(random = kronecker(each, whole), trend = kronecker(each, penalty$vectors[, -random, drop = FALSE]),
       contrasts = count)
}

is_contrast <- function(leaf) !is.null(leaf$kernel$constants$contrasts)

# The kernel of points whose columns are basis functions of the first L - 1 levels.
contrasts_kernel <- kernel("smooth", function(variance, x, y, contrasts, size) {
  levels <- seq_len(contrasts - 1) - 1
  v <- code_text("Elem(", variance, ", ", levels, ")")
  block <- function(point) code_text("Extract(", point, ", ", levels * size, ", ", size, ")")
  sum_of <- function(point) paste(v, "*", block(point), collapse = " + ")
  sprintf("(%s - ((%s) | (%s)) / Sum(%s))", paste0(v, " * (", block(x), " | ", block(y), ")", collapse = " + "),
          sum_of(x), sum_of(y), variance)
}, screens = FALSE, mean_square = function(leaf, u) {
  v <- leaf$parameters$variance %||% 1
  v <- rep_len(ifelse(is.na(v), 1, v), leaf$kernel$constants$contrasts)
  squares <- crossprod(effect_covariates(leaf, u)) / nrow(u)
  slopes <- contrast_slopes(v, leaf$kernel$constants$size)
  pmax(vapply(slopes, function(slope) sum(slope * squares), 0), .Machine$double.xmin)
})

contrast_covariance <- function(variance, size) {
  first <- variance[-length(variance)]
  kronecker(diag(first, length(first)) - tcrossprod(first) / sum(variance), diag(size))
}

# The derivatives of the covariance D - v v' / sum(v) with respect to the variances.
contrast_slopes <- function(variance, size) {
  share <- variance[-length(variance)] / sum(variance)
  lapply(seq_along(variance), function(k) {
    direction <- (seq_along(share) == k) - share
    kronecker(tcrossprod(direction), diag(size))
  })
}

# The methods of effects (cov_effects.R) for the coefficients of smooths that add up to zero.
effect_root.contrast_effect <- function(effect, theta) {
  variance <- effect_parameters(effect, theta)$variance
  t(chol(contrast_covariance(variance, effect$leaf$kernel$constants$size)))
}

effect_slopes.contrast_effect <- function(effect, theta) {
  contrast_slopes(effect_parameters(effect, theta)$variance, effect$leaf$kernel$constants$size)
}
