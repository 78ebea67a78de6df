# Random effects as structures of lmc(): the effects of the variables are correlated for each level of a factor, or each
# time. Let S be the covariance matrix of the coefficients of one variable, and let B = L L' be the coregionalisation
# matrix. The covariance of the coefficients of all variables is the Kronecker product of S and B. In this product each
# coefficient of S has one row for each variable, and these rows are adjacent.

# TRUE if the leaves of a term are one effect, or a coregionalisation matrix and an effect (a structure of lmc()).
is_effect_term <- function(leaves) {
  number <- length(leaves)
  is_effect(leaves[[number]]) && (number == 1 || number == 2 && is_coregion(leaves[[1]]))
}

# The leaf of an effect term, as a list named by the path of the leaf. If the effect is a structure of lmc(), the
# element `structure` of the leaf is the path of the coregionalisation matrix.
effect_of_term <- function(leaves) {
  number <- length(leaves)
  if (number == 2) leaves[[2]][c("structure", "indicator")] <- list(names(leaves)[[1]], leaves[[1]]$indicator)
  leaves[number]
}

# Stops if a structure is an effect with several variances, because a structure has one variance.
check_effect_structure <- function(x, call = caller_env()) {
  effects <- Filter(is_effect, leaves_of(x))
  if (!length(effects)) return(invisible())
  leaf <- effects[[1]]
  if (x$kind == "leaf" && is.null(leaf$belongs) && !is_smooth_leaf(leaf) && !is_correlated(leaf)) return(invisible())
  stop_kernops("input", c("The structures of {.fn lmc} must be fields, or effects with one coefficient for each level
                           or time.",
                          i = "Add other effects to it: {.code lmc(matern(), nugget()) + smooth_effect(~ s(x))}."),
               call = call)
}

# Converts an effect of one variable that is a structure of lmc() to an effect of all variables. `before` is the number
# of coefficients of the preceding effects.
with_structure <- function(effect, model, before) {
  leaf <- effect$leaf
  if (is.null(leaf$structure)) return(effect)
  coregion <- leaf_at(model$covariance, leaf$structure)
  sills <- leaf_rows(model, leaf$structure)
  p <- length(coregion$variables)
  structure(list(leaf = leaf, base = replace(effect, "before", 0), sills = sills, rows = c(sills, effect$rows),
                 before = before, size = p * effect$size, levels = effect$levels, diagonal = coregion$diagonal,
                 variables = p, column = coregion$dims), class = "lmc_effect")
}

sill_root <- function(effect, theta) root_matrix(unname(theta)[effect$sills], effect$variables, effect$diagonal)

effect_root.lmc_effect <- function(effect, theta) {
  kronecker(effect_root(effect$base, theta), sill_root(effect, theta))
}

effect_slopes.lmc_effect <- function(effect, theta) {
  L <- sill_root(effect, theta)
  S <- tcrossprod(effect_root(effect$base, theta))
  entries <- as.matrix(sill_entries(effect$variables, effect$diagonal))
  by_sills <- lapply(seq_len(nrow(entries)), function(k) {
    half <- tcrossprod(replace(0 * L, entries[k, , drop = FALSE], 1), L)
    kronecker(S, half + t(half))
  })
  # the first derivative is the derivative with respect to the variance of the base effect, which is fixed at 1, so this
  # derivative is omitted
  c(by_sills, lapply(effect_slopes(effect$base, theta)[-1], kronecker, tcrossprod(L)))
}

effect_columns.lmc_effect <- function(effect, theta, u, known) {
  p <- effect$variables
  count <- count_coefficients(list(effect$base))
  base <- effect_columns(effect$base, theta, u, count)
  first <- ifelse(base$columns <= count, effect$before + (base$columns - 1) * p, known + (base$columns - count - 1) * p)
  L <- sill_root(effect, theta)[u[, effect$column] + 1, , drop = FALSE]
  size <- ncol(base$values)
  list(columns = matrix(rep(first, each = p) + seq_len(p), p * size), known = known + (base$known - count) * p,
       values = base$values[, rep(seq_len(size), each = p), drop = FALSE] * L[, rep(seq_len(p), size), drop = FALSE])
}
