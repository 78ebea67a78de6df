# Random effects and smooths in addition to the latent field of a family (lik_latent_sets.R): the coefficients b ~ N(0,
# I) and the field f have one joint posterior precision. The rows of this precision are the coefficients, followed by
# the places, which are the distinct locations of the observations.

# The model of the field, the `rows` of its parameters in theta, and the effects at the points u of observations. If
# there are no effects, `field` is `model`.
latent_parts <- function(model, u) {
  if (!has_effects(model)) return(list(field = model, rows = seq_len(nrow(model$parameters)), u = u))
  effects <- effects_of(model, u)
  field <- field_part(model)
  list(field = field, rows = field$rows, u = points_of_field(field, u), effects = effects, all_u = u,
       without_field = is_noise_alone(field), wide = wide_sets(), kept = level_probes(determinant = FALSE))
}

# The places of the field; without a field, a single place with no observations.
places_of_parts <- function(parts) {
  if (!isTRUE(parts$without_field)) return(field_places(parts$u, parts$field))
  list(u = parts$u[1, , drop = FALSE], of = rep(1L, nrow(parts$u)))
}

# The functions of observed_places() for a model without a field. Such a model has a single place.
no_places <- function(sets) {
  n <- length(sets$of)
  list(
    of = sets$of, gather = function(x) matrix(0, 1, NCOL(x)), spread = function(f) matrix(0, n, NCOL(f)),
    precision = function(share) 0, at_places = function(process, k) matrix(0, 1, 1),
    variances = function(posterior) numeric(n)
  )
}

# A list: `parts`, the argument; `count`, the number of coefficients; `dense`, the indices of the dense coefficients;
# `sparse`, the pairs of a distinct location and a coefficient that is not dense, in the form that sparse_pattern()
# reads; and `pair`. For each observation and each of its coefficients that are not dense, `pair` has the index of the
# pair. `locations` has the index of the location of each observation. Without a field, no location is observed.
observed_effects <- function(parts, locations, places, theta) {
  if (is.null(parts$effects)) return(NULL)
  entries <- effect_entries(parts$effects, theta, parts$all_u)
  dense <- if (!isTRUE(parts$without_field)) dense_coefficients_of(entries, parts$effects)
  sparse <- without_coefficients(entries, dense)
  count <- sparse$size
  columns <- if (isTRUE(parts$without_field)) sparse$columns[0, , drop = FALSE] else sparse$columns
  keys <- rep((locations - 1) * count, each = nrow(columns)) + as.vector(columns)
  pairs <- sort(unique(keys))
  list(count = as.integer(entries$size), dense = dense, pair = match(keys, pairs), parts = parts, sparse = list(
    count = count, start = cumsum(c(0, tabulate((pairs - 1) %/% count + 1, places))),
    columns = as.integer((pairs - 1) %% count + 1), dense = dense,
    within = weighted_products(sparse, rep(1, length(locations)))
  ))
}

# The indices of the dense coefficients, for which every point has an entry, such as coefficients of smooths. The
# coefficients of one effect are all dense or all sparse.
dense_coefficients_of <- function(entries, effects) {
  columns <- entries$columns
  constant <- vapply(seq_len(nrow(columns)), function(row) all(columns[row, ] == columns[[row, 1]]), NA)
  once <- setdiff(columns[constant, 1], as.vector(columns[!constant, ]))
  once <- setdiff(once, columns[constant, 1][duplicated(columns[constant, 1])])
  whole <- lapply(effects, function(effect) {
    rows <- effect$before + seq_len(effect$size * max(1, length(effect$levels)))
    if (all(rows %in% once)) rows
  })
  sort(unlist(whole, use.names = FALSE))
}

# `entries` without the entries of the coefficients `dense`.
without_coefficients <- function(entries, dense) {
  if (!length(dense)) return(entries)
  rows <- !entries$columns[, 1] %in% dense
  number <- replace(seq_len(entries$size), dense, 0L)
  number[-dense] <- seq_len(entries$size - length(dense))
  columns <- entries$columns[rows, , drop = FALSE]
  columns[] <- number[columns]
  row_sparse(columns, entries$values[rows, , drop = FALSE], entries$size - length(dense))
}

# The products B' W B of effects for diagonal weights W, which may be negative; NULL if these products have too many
# entries.
weighted_products <- function(entries, weights) {
  n <- length(weights)
  products <- function(weights) {
    none <- list(weights = matrix(0, 0, n), neighbours = matrix(0L, 0, n), sd = 1 / sqrt(weights))
    entries$sparse_gram(none, most_products)
  }
  if (all(weights >= 0)) return(products(weights))
  positive <- products(pmax(weights, 0))
  positive$with(positive$value - products(pmax(-weights, 0))$value)
}

# The functions of observed_places() for the coefficients and the places together: the posterior precision given
# observations with precisions `share`, and products with the matrix [B L, A], which has a row for each observation. The
# matrix A assigns observations to places. `system` has the functions of observed_places() for the places alone. With
# `iterative`, precisions are lists from observed_levels() (lik_level_products.R).
with_observed_effects <- function(system, observed, theta, iterative = FALSE) {
  parts <- observed$parts
  entries <- effect_entries(parts$effects, theta, parts$all_u)
  sparse <- without_coefficients(entries, observed$dense)
  of <- as.integer(system$of)
  first <- seq_len(observed$count)
  pairs <- if (length(observed$pair)) {
    row_sparse(matrix(observed$pair, 1), matrix(sparse$values, 1), length(observed$sparse$columns))
  }
  replace(system, c("entries", "gather", "spread", "precision", "at_places", "variances"), list(
    entries, function(x) rbind(entries$crossprod(x), system$gather(x)),
    function(x) entries$times(x[first, , drop = FALSE]) + system$spread(x[-first, , drop = FALSE]),
    if (iterative) function(share) observed_levels(entries, system, share) else function(share) {
      within <- weighted_products(sparse, share)
      across <- if (!is.null(pairs)) as.vector(pairs$crossprod(rep(share, each = nrow(sparse$columns))))
      list(diagonal = c(within$diagonal(within$value), system$precision(share)), within = within,
           across = as.numeric(across), share = share, border = list(of = of, entries = entries))
    },
    function(process, k) {
      coefficients <- entries$crossprod(k)
      rbind(coefficients, system$at_places(process - entries$times(coefficients), k))
    },
    function(posterior) {
      posterior$sum_variances(system$of, entries$columns, entries$values) - isTRUE(parts$without_field)
    }
  ))
}

# The derivatives of the likelihood with respect to the parameters of effects, see dense_laplace_gradient(). For each
# level, a change dS of the covariance S = L L' of its coefficients changes the value by tr H (I - C - b b' + (c b' + b
# c') / 2), with H = L^-1 dS L'^-1 and c = L' B' u. C is the covariance of the coefficients given the data, and b is
# their mode.
latent_effects_gradient <- function(system, state, parts, u) {
  theta <- state$field
  b <- as.vector(system$entries$crossprod(state$k))
  along <- as.vector(system$entries$crossprod(u))
  covariances <- system$posterior$effects()
  total <- numeric(length(theta))
  for (effect in parts$effects) {
    levels <- max(1, length(effect$levels))
    rows <- effect$before + seq_len(effect$size * levels)
    by_level <- function(x, y) tcrossprod(matrix(x[rows], effect$size), matrix(y[rows], effect$size))
    block <- gap_of_blocks(covariances, effect$before, effect$size, levels) - by_level(b, b) +
      (by_level(b, along) + by_level(along, b)) / 2
    total[effect$rows] <- vapply(whitened_slopes(effect, theta), function(change) sum(block * change), 0)
  }
  total
}

# The columns dC k for the parameters of effects, and zero columns for other parameters, see latent_derivatives().
latent_effects_derivatives <- function(system, state, parts) {
  theta <- state$field
  b <- as.vector(system$entries$crossprod(state$k))
  derivatives <- matrix(0, length(state$k), length(theta))
  for (effect in parts$effects) {
    derivatives[, effect$rows] <- system$entries$times(change_of_coefficients(effect, theta, b))
  }
  derivatives
}
