# Terms of a covariance that are random effects or smooths, in addition to the field: observations are X beta + B b +
# field + noise. The coefficients b of a term at one level have the covariance S, a function of the parameters. A smooth
# has one level; an effect of time has one level with a coefficient for each time.

is_effect <- function(leaf) length(leaf$sees) > 0

# The terms of a sum that are effects, named by their paths. An effect in a product belongs to the field, except in
# structures of lmc() (cov_effect_structures.R).
added_effects <- function(x) do.call(c, lapply(Filter(is_effect_term, added_terms(x)), effect_of_term))

has_effects <- function(model) length(added_effects(model$covariance)) > 0

# The covariance without effect terms; NULL if all terms are effects.
without_effects <- function(x) {
  rest <- without_terms(x, is_effect_term)
  if (is_lmc(x)) with_lmc_class(rest, x$variables) else rest
}

# The model of the field and the noise, without effects. `width` is the number of columns of points that this model
# reads, and `rows` are the positions of its parameters in theta.
field_part <- function(model) {
  marked <- change_leaves(model$covariance, function(leaf, path) replace(leaf, "origin", path))
  covariance <- without_effects(marked) %||% nugget()
  leaves <- leaves_of(covariance)
  origin <- vapply(leaves, function(leaf) leaf$origin %||% "", "")
  path <- names(leaves)[match(model$parameters$leaf, origin)]
  # noise with known variances has no parameter, but a formula needs at least one parameter
  rows <- if (all(is.na(path))) 1L else which(!is.na(path))
  field <- model
  field$covariance <- covariance
  field$parameters <- replace(model$parameters[rows, ], "leaf", list(ifelse(is.na(path[rows]), "", path[rows])))
  field$nugget <- which(field$parameters$label == "nugget" & field$parameters$leaf != "")
  field$scale <- integer()
  field["unit"] <- list(model$unit[rows])
  field["prior"] <- list(NULL)
  columns <- c(seq_len(space_columns(model)), 1L, group_of(field), unlist(lapply(leaves, `[[`, "dims")),
               unlist(lapply(leaves, `[[`, "indicator")))
  field$width <- max(columns)
  field$formula <- covariance_text(field)
  c(field, list(rows = rows))
}

# The columns of points that the field reads.
points_of_field <- function(field, u) u[, seq_len(field$width), drop = FALSE]

# The effects of a model. Each effect has its `levels` at points u; the `rows` of its parameters in theta; `of`, the
# name of the parameter in each of these rows; `size`, the number of coefficients of a level; and `before`, the number
# of coefficients of earlier effects.
effects_of <- function(model, u) {
  effects <- added_effects(model$covariance)
  before <- 0
  for (path in names(effects)) {
    leaf <- effects[[path]]
    rows <- leaf_rows(model, path)
    effect <- list(leaf = leaf, rows = rows, of = model$parameters$parameter[rows], before = before)
    class(effect) <- if (is_process(leaf)) "effect_of_times" else
      c(if (is_penalised(leaf)) "penalised_effect", if (is_contrast(leaf)) "contrast_effect", "effect_of_levels")
    effects[[path]] <- with_structure(settle_effect(effect, u), model, before)
    before <- count_coefficients(effects[path])
  }
  effects
}

# The methods for effects of levels, of times (cov_time_effects.R) and of several penalties (cov_smooth_penalties.R):
#   settle_effect(effect, u)    adds the `size`, and the `levels` or `times`, of observations at points u
#   effect_root(effect, theta)  the lower triangular root L of S
#   effect_slopes(effect, theta)  the derivatives of S with respect to the parameters of the effect in theta
#   effect_columns(effect, theta, u, known)  for effect_entries(): the numbers of columns, the values, and the new
#       number of coefficients; coefficients without observations come after the first `known` coefficients
settle_effect <- function(effect, u) UseMethod("settle_effect")
effect_root <- function(effect, theta) UseMethod("effect_root")
effect_slopes <- function(effect, theta) UseMethod("effect_slopes")
effect_columns <- function(effect, theta, u, known) UseMethod("effect_columns")

settle_effect.effect_of_levels <- function(effect, u) {
  leaf <- effect$leaf
  effect$levels <- if (!is.null(leaf$level)) sort(unique(u[, leaf$level]))
  effect$size <- ncol(effect_covariates(leaf, u[0, , drop = FALSE]))
  effect
}

count_coefficients <- function(effects) {
  if (!length(effects)) return(0)
  last <- effects[[length(effects)]]
  last$before + last$size * max(1, length(last$levels))
}

# The values at points u of the covariates that multiply the coefficients of a level.
effect_covariates <- function(leaf, u) {
  covariates <- setdiff(leaf$dims, leaf$level)
  slopes <- unname(u[, covariates, drop = FALSE])
  if ("(Intercept)" %in% leaf$effect) cbind(rep(1, nrow(u)), slopes) else slopes
}

effect_root.effect_of_levels <- function(effect, theta) {
  p <- effect_parameters(effect, theta)
  if (!is_correlated(effect$leaf)) return(diag(sqrt(p$variance), effect$size))
  sqrt(p$variance) * correlation_root(p$correlation, effect$size)
}

# TRUE if the covariance S of the coefficients of an effect has no inverse.
is_degenerate <- function(effects, theta) {
  roots <- lapply(effects, function(effect) tryCatch(diag(effect_root(effect, theta)), error = function(e) 0))
  !isTRUE(all(unlist(roots) != 0)) && length(effects) > 0
}

effect_slopes.effect_of_levels <- function(effect, theta) {
  size <- effect$size
  if (!is_correlated(effect$leaf)) return(list(diag(size)))
  p <- effect_parameters(effect, theta)
  sd <- sqrt(p$variance)
  C <- correlation_root(p$correlation, size)
  S <- tcrossprod(sd * C)
  by_variance <- lapply(seq_len(size), function(j) {
    share <- outer(seq_len(size) == j, seq_len(size) == j, `+`) / 2
    S * share / p$variance[[j]]
  })
  by_correlation <- lapply(correlation_root_slopes(p$correlation, size), function(slope) {
    half <- tcrossprod(sd * slope, sd * C)
    half + t(half)
  })
  c(by_variance, by_correlation)
}

effect_parameters <- function(effect, theta) {
  p <- split(unname(theta)[effect$rows], effect$of)
  p$variance <- p$variance %||% 1 # the variance is absent in structures of lmc()
  p
}

# The covariance S of the coefficients at the parameters of a leaf.
coefficient_covariance <- function(leaf) {
  p <- leaf$parameters
  if (is_penalised(leaf)) return(diag(1 / coefficient_precisions(leaf, p$variance), ncol(leaf$kernel$constants$shares)))
  if (is_contrast(leaf)) return(contrast_covariance(p$variance, leaf$kernel$constants$size))
  if (!is_correlated(leaf)) return(diag(p$variance, 1))
  tcrossprod(sqrt(p$variance) * correlation_root(p$correlation, length(p$variance)))
}

# The matrix B L at points u: for each point, the indices of the columns with entries, and the entries in these columns.
# Coefficients of levels and times without observations come last. The smooths of all levels of a factor share one block
# of entries, because a point has one level.
effect_entries <- function(effects, theta, u) {
  count <- count_coefficients(effects)
  blocks <- list()
  for (k in seq_along(effects)) {
    effect <- effects[[k]]
    entries <- effect_columns(effect, theta, u, count)
    block <- list(columns = entries$columns,
                  values = t(shown_at(effect$leaf, u) * seen_by(effect$leaf, u) * entries$values))
    key <- family_of_levels(effect) %||% paste("effect", k)
    blocks[[key]] <- if (is.null(blocks[[key]])) block else overlaid(blocks[[key]], block)
    count <- entries$known
  }
  row_sparse(do.call(rbind, lapply(blocks, `[[`, "columns")), do.call(rbind, lapply(blocks, `[[`, "values")), count)
}

# A key of the smooth of a level of a factor. The smooths of two levels have the same key if they belong to the same
# term and have equally many coefficients. NULL for other effects.
family_of_levels <- function(effect) {
  column <- if (is_smooth_leaf(effect$leaf)) effect$leaf$sees[[1]]
  if (!is.null(column$by_level)) paste(effect$leaf$belongs$name, column$label, effect$size)
}

# Combines two blocks of entries: a point has its entries from `upper` if one of these is nonzero, otherwise from
# `block`.
overlaid <- function(block, upper) {
  used <- colSums(upper$values != 0) > 0
  block$columns[, used] <- upper$columns[, used]
  block$values[, used] <- upper$values[, used]
  block
}

effect_columns.effect_of_levels <- function(effect, theta, u, known) {
  first <- rep(effect$before, nrow(u))
  if (!is.null(effect$levels)) {
    level <- u[, effect$leaf$level]
    number <- match(level, effect$levels)
    new <- is.na(number)
    first <- effect$before + (number - 1) * effect$size
    first[new] <- known + (match(level[new], unique(level[new])) - 1) * effect$size
    known <- max(known, first[new] + effect$size)
  }
  list(columns = outer(seq_len(effect$size), as.integer(first), `+`), known = known,
       values = effect_covariates(effect$leaf, u) %*% effect_root(effect, theta))
}

# The entries as a dense matrix with a row for each point and only the columns with the given indices.
dense_entries <- function(entries, numbers) {
  dense <- matrix(0, ncol(entries$columns), length(numbers))
  column <- match(entries$columns, numbers)
  used <- which(!is.na(column))
  dense[cbind(col(entries$columns)[used], column[used])] <- entries$values[used]
  dense
}
