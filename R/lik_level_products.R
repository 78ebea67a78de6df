# Products, solutions and derivatives for the posterior precision of a field and of effects, and for the Schur
# complement of the coefficients of effects. The notation is that of R/lik_latent_levels.R.

# A list that describes the contribution of observations to the posterior precision: `share`, the weights of the
# observations, which are the diagonal of D; `places`, the diagonal of the contribution A' D A to the precision of the
# field at its places, which are distinct locations; `entries`, the matrix C of effects; and the functions gather() and
# spread() of observed_places().
observed_levels <- function(entries, system, share) {
  list(share = share, places = system$precision(share), entries = entries, gather = system$gather,
       spread = system$spread)
}

# gathered_levels() returns A' D C x; left_of_levels() returns a list of `left` = C x - A F^-1 A' D C x and `field` =
# F^-1 A' D C x.
gathered_levels <- function(w, x) w$gather(w$share * w$entries$times(x))

left_of_levels <- function(field, w, x, tol = level_tolerance) {
  along <- w$entries$times(x)
  solved <- solve_places(field, w, w$gather(w$share * along), tol)
  list(left = along - w$spread(solved), field = solved)
}
level_tolerance <- 1e-9

solve_places <- function(field, w, b, tol = level_tolerance) {
  solved <- field$solve(w$places, b, tol = tol)
  if (is.null(solved)) b * NaN else solved
}

# The Schur complement S in the form of the argument `schur` of logdet_of_levels(). In product(x, loose), the tolerance
# of systems with F is `loose` times `level_tolerance`.
schur_of_levels <- function(field, w) {
  list(
    size = w$entries$size,
    product = function(x, loose = 1) {
      x + w$entries$crossprod(w$share * left_of_levels(field, w, x, min(1e-2, loose * level_tolerance))$left)
    },
    rough = list(
      diagonal = function() diagonal_of_levels(w) - sums_of_columns(field, w),
      forms = function(x) {
        b <- gathered_levels(w, x)
        near <- matrix(seq_len(nrow(b)), nrow(b), ncol(b))
        colSums(x^2) + colSums(w$share * w$entries$times(x)^2) - field$sums(list(neighbours = near, weights = b))
      }
    )
  )
}

# The diagonal of I + C' D C.
diagonal_of_levels <- function(w) {
  columns <- w$entries$columns
  squares <- row_sparse(columns, w$entries$values^2, w$entries$size)
  1 + as.vector(squares$crossprod(w$share))
}

# The forms b' F^-1 b for the columns b of A' D C, computed with the factor of the field. Columns with similar numbers
# of nonzero rows are processed together.
sums_of_columns <- function(field, w, max_entries = 1e7) {
  size <- w$entries$size
  places <- length(w$places)
  place <- rep(w$spread(cbind(seq_len(places)))[, 1], each = nrow(w$entries$columns))
  if (all(place == 0)) return(numeric(size))
  key <- (as.vector(w$entries$columns) - 1) * places + place
  value <- as.vector(w$entries$values) * rep(w$share, each = nrow(w$entries$columns))
  total <- rowsum(value, key)
  key <- as.numeric(rownames(total))
  column <- (key - 1) %/% places + 1
  count <- tabulate(column, size)
  position <- sequence(count[count > 0])
  sums <- numeric(size)
  ordered <- order(count)
  for (columns in split(ordered, cumsum(as.numeric(count[ordered])) %/% max_entries)) {
    rows <- which(column %in% columns)
    at <- cbind(position[rows], match(column[rows], columns))
    near <- matrix(0L, max(1, count[columns]), length(columns))
    weights <- 0 * near
    near[at] <- as.integer((key[rows] - 1) %% places + 1)
    weights[at] <- total[rows, 1]
    sums[columns] <- field$sums(list(neighbours = near, weights = weights))
  }
  sums
}

# H^-1 b, by iterations that start from the approximation `from`; NULL if F has no factor. If few iterations are
# sufficient with a factor L that was computed at other weights, this factor is reused.
solution_of_levels <- function(field, w, b, from, tol, first) {
  b <- as.matrix(b)
  system <- system_of_levels(field, w, first)
  solved <- function(from, most = 1e4) solve_system(system, b, system$precondition, tol, most, from, check = 0)
  if (field$has_factor()) {
    near <- solved(as.matrix(from), 40)
    if (all(near$converged)) return(near$solution)
    from <- near$solution
  }
  if (is.nan(field$logdet(w$places))) return(NULL)
  solved(as.matrix(from))$solution
}

# The system with the matrix H, in the form that solve_system() requires. The preconditioner is the matrix
#   [D, E'; E, L L' + E D^-1 E'],  E = A' D_y C,
# where D is the diagonal of I + C' D_y C for observations with weights D_y, and L is the factor of F.
system_of_levels <- function(field, w, first) {
  scale <- diagonal_of_levels(w)
  levels_of <- function(x) x[first, , drop = FALSE]
  places_of <- function(x) x[-first, , drop = FALSE]
  list(
    n = length(first) + length(w$places), lambda = 0, precision = "float64", any_width = TRUE,
    product = function(x, precision) {
      levels <- levels_of(x)
      places <- places_of(x)
      along <- w$share * w$entries$times(levels)
      rbind(levels + w$entries$crossprod(along + w$share * w$spread(places)),
            field$product(w$places, places) + w$gather(along))
    },
    precondition = function(r) {
      levels <- levels_of(r) / scale
      places <- field$precondition(places_of(r) - gathered_levels(w, levels))
      rbind(levels - w$entries$crossprod(w$share * w$spread(places)) / scale, places)
    }
  )
}

dense_sets <- function(sets, size) {
  b <- matrix(0, size, ncol(sets$neighbours))
  near <- sets$neighbours > 0
  total <- rowsum(sets$weights[near], (col(near)[near] - 1) * size + sets$neighbours[near])
  b[as.numeric(rownames(total))] <- total
  b
}

# The derivatives of log det S, from the directions v of its forms: with respect to the rows of U, and with respect to
# the weights of observations. The derivatives with respect to the weights are the element `variances`, because callers
# add them to the variances of the field, which are the derivatives of log det F with respect to the weights. `images`
# has the columns (S - I) v. With f = F^-1 A' D C v, a change dQ of Q changes v' S v by f' dQ f, and a change dD of D
# changes v' S v by the sum of dD (C v - A f)^2.
changes_along <- function(field, factor, w, determinant, width = 16) {
  signs <- determinant$signs
  directions <- determinant$directions
  images <- 0 * directions
  total <- list(weights = 0 * factor$weights, log_sd = 0 * factor$sd, variances = numeric(length(w$share)))
  sd <- rep(factor$sd, each = nrow(factor$weights))
  for (part in split(seq_along(signs), (seq_along(signs) - 1) %/% width)) {
    solved <- left_of_levels(field, w, directions[, part, drop = FALSE])
    images[, part] <- w$entries$crossprod(w$share * solved$left)
    total$variances <- total$variances + as.vector(solved$left^2 %*% signs[part])
    if (is.null(factor$neighbours)) next
    white <- sparse_multiply(factor, solved$field)
    signed <- white * rep(signs[part], each = nrow(white))
    along <- factors_inner(factor$neighbours, t(signed), t(solved$field), threads())
    total$weights <- total$weights - 2 * along / sd
    total$log_sd <- total$log_sd - 2 * rowSums(white * signed)
  }
  c(total, list(signs = signs, directions = directions, images = images))
}

# Estimates of the variances of coefficients given the data, by random signs (Bekas, Kokiopoulou and Saad 2007).
variances_of_levels <- function(field, w, count = 32) {
  size <- w$entries$size
  signs <- with_seed(1, random_signs(size, count))
  b <- rbind(signs, matrix(0, length(w$places), count))
  rowMeans(signs * solution_of_levels(field, w, b, 0 * b, 1e-5, seq_len(size))[seq_len(size), , drop = FALSE])
}
