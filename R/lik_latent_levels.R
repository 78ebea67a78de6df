# The posterior precision H of effects and of the field of a family, if effects have too many coefficients for a sparse
# factor of H. An example is a grouping factor with thousands of levels whose observations are scattered over the whole
# domain.
#
# Let F = Q + A' D A be the precision of the field given observations with weights D. The matrix A assigns observations
# to the places of the field, and C has the columns of effects. Then
#   H = [I + C' D C, C' D A; A' D C, F]     det H = det F det S,  S = I + C' D (C - A F^-1 A' D C).
# F is the posterior precision of a model without effects, for which lik_latent_sets.R computes a sparse factor. Systems
# with H are solved by conjugate gradients, with a preconditioner that contains this factor. S is not computed; a
# product with S requires a solution with F, and lik_level_forms.R computes log det S from such products.

# A list with the functions of a result of sparse_posterior(). The rows of H are the coefficients of effects, followed
# by the places of the field. `factor` has the rows of U, and `probes` is a result of level_probes(). The list also has
# error(), the standard error of the latest logdet(). Precisions are lists that observed_levels() returns.
# long: the operators of one matrix, each a few lines long, which share the data of the matrix
levels_posterior <- function(pattern, factor, probes) {
  field <- sparse_posterior(pattern, factor)
  first <- seq_len(pattern$levels)
  latest <- determinant <- changes <- NULL
  logdet <- function(w) {
    if (identical(w$share, latest$share)) return(determinant$value)
    latest <<- w
    changes <<- NULL
    of_field <- field$logdet(w$places)
    levels <- if (!is.nan(of_field) && isTRUE(probes$determinant)) logdet_of_levels(schur_of_levels(field, w), probes)
    determinant <<- c(list(value = of_field + if (isTRUE(probes$determinant)) levels$logdet %||% NaN else 0), levels)
    determinant$value
  }
  solve <- function(w, b, from = 0 * b, tol = 1e-12) solution_of_levels(field, w, b, from, tol, first)
  # computes H^-1 b, in groups of columns of b
  solved <- function(b) if (ncol(b)) by_columns(b, function(part) solve(latest, part)) else b
  size <- length(first) + length(factor$sd)
  # computes b' H^-1 b
  inner <- function(b) crossprod(b, solved(b))
  half <- function(b) semidefinite_half(inner(b))
  sums <- function(sets) {
    parts <- split(seq_len(ncol(sets$neighbours)), (seq_len(ncol(sets$neighbours)) - 1) %/% 16)
    as.numeric(unlist(lapply(parts, function(numbers) diag(inner(dense_sets(some_sets(sets, numbers), size))))))
  }
  changes_of_levels <- function() {
    changes <<- changes %||% changes_along(field, factor, latest, determinant)
    changes
  }
  list(
    logdet = logdet, solve = solve, error = function() list(logdet = 0, std_error = determinant$error),
    held = function() list(base = size, solve = solved, half = half),
    parts = function(sets) half(dense_sets(sets, size)),
    sums = function(sets, nothing = 0) sums(sets), # ignores `nothing`: no contribution is omitted
    differentiate = function(f, g) {
      by <- field$differentiate(f[-first], g[-first])
      along <- changes_of_levels()
      list(weights = by$weights + along$weights, log_sd = by$log_sd + along$log_sd)
    },
    sum_variances = function(points, columns, values) {
      if (isTRUE(probes$determinant)) return(field$variances()[points] + changes_of_levels()$variances)
      sums(list(neighbours = rbind(columns, length(first) + points), weights = rbind(values, 1)))
    },
    effects = function() {
      along <- if (isTRUE(probes$determinant)) changes_of_levels()[c("signs", "directions", "images")]
      structure(c(along, list(diagonal = function(...) variances_of_levels(field, latest))), class = "level_directions")
    }
  )
}

# Let L L' be the covariance of the coefficients of a level, and L^-1 d(L L') L'^-1 its relative change, as in
# gap_of_blocks.default(). This change is E + E', where E has a lower triangular block for each level. The columns C
# change by C E, and v' S v changes by 2 v' (S - I) E v. Therefore the derivatives are the upper triangles of the blocks
# of v v' (S - I).
gap_of_blocks.level_directions <- function(x, before, size, count) {
  rows <- before + seq_len(size * count)
  by_level <- function(x) matrix(x[rows, , drop = FALSE], size)
  gap <- tcrossprod(by_level(x$directions * rep(x$signs, each = nrow(x$directions))), by_level(x$images))
  gap[lower.tri(gap)] <- t(gap)[lower.tri(gap)]
  gap
}
