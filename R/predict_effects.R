# Predictions by Vecchia's approximation of the field for fits with random effects and smooths.

effects_kriging <- function(object, how) UseMethod("effects_kriging")

effects_kriging.default <- function(object, how) {
  fitted <- fitted_effects(object)
  if (fitted$rank) object <- settings_of_residual(object)
  fitted$inner[c("vecchia", "how", "method")] <- object[c("vecchia", "how", "method")]
  inner <- conditioning_for(fitted$inner, how)
  base <- once(function() nearest_base(fitted$inner))
  entries_of <- function(u) effect_entries(fitted$effects, object$theta, u)
  means <- function(moments, uncertain) function(targets) {
    entries <- entries_of(targets$u)
    moments <- moments(field_targets(fitted, targets))
    effects <- entries$times(with_new(fitted, entries, fitted$mean))
    moments$process <- moments$process + as.vector(gathered(effects, targets))
    moments$trend <- with_trend(object, targets)$trend
    if (!uncertain) return(moments)
    with_gaps(moments, object, fitted, base(), targets)
  }
  new_conditioning(
    object, means(inner$means, FALSE), means(inner$moments, TRUE),
    errors_among = function(targets) {
      errors <- inner$errors_among(field_targets(fitted, targets))
      function(numbers) {
        gaps <- coefficient_gap(object, fitted, base(), some_targets(targets, numbers))
        errors(numbers) + crossprod(gaps$gap) + tcrossprod(gaps$new)
      }
    },
    prior_draws = function(u, nsim, features) {
      entries <- entries_of(u)
      entries$times(normal_numbers(entries$size, nsim)) +
        inner$prior_draws(fitted$points_of(u), nsim, features)
    },
    draws = function(points, nsim, features) effects_draws(object, fitted, points, nsim),
    inverse = function() effects_inverse(object, fitted),
    determined = function(leaf) {
      fitted$joint$determined(coefficients_of(fitted$effects, leaf))
    }
  )
}

# Adds the variance of the gaps to the moments. The gap of a target is its error due to the uncertain coefficients of
# trend and effects.
with_gaps <- function(moments, object, fitted, base, targets) {
  sparse <- are_points(targets) && !is.null(fitted$joint$forms)
  gap_of <- if (sparse) coefficient_forms else coefficient_gap
  each <- if (sparse) (1 + object$vecchia$local) * nrow(fitted$entries$columns) else length(fitted$mean)
  width <- min(gap_width(each + ncol(targets$x)), fitted$joint$width)
  parts <- by_parts(targets, width, function(some) {
    list2DF(gap_of(object, fitted, base, some)[c("variance", "lagrange")])
  })
  moments$variance <- moments$variance + parts$variance
  replace(moments, "lagrange", list(parts$lagrange))
}

# The values of all coefficients of `entries`: `known` has the values of coefficients with observations, and `new` is
# the value of coefficients of new levels.
with_new <- function(fitted, entries, known, new = 0) {
  known <- as.matrix(known)
  rbind(known, matrix(new, entries$size - nrow(known), ncol(known)))
}

# The targets, whose points have only the columns that the field reads.
field_targets <- function(fitted, targets) {
  targets$x <- matrix(0, targets$n, 0)
  targets$among <- moved_among(targets$among, fitted$points_of)
  replace(targets, "u", list(fitted$points_of(targets$u)))
}

# The number of targets whose gaps fit into 160 MB, if the gap of one target consists of `each` numbers.
gap_width <- function(each) max(1, floor(2e7 / each))

# The errors of targets due to the coefficients of trend and effects, a result of trend_uncertainty(). The errors are
# computed from the columns of trend and effects at the targets, minus the part of these columns that the neighbours
# explain. `new` has the columns of levels without observations.
coefficient_gap <- function(object, fitted, base, targets) {
  entries <- effect_entries(fitted$effects, object$theta, targets$u)
  count <- length(fitted$mean)
  columns <- function(numbers) gathered(dense_entries(entries, numbers), targets)
  near <- base$nearest(fitted$points_of(targets$u))
  explained <- cbind(neighbour_means(near, object$data$x), fitted$entries$means(near))
  uncertain <- list(joint = fitted$joint, random = count)
  gap <- trend_uncertainty(uncertain, cbind(targets$x, columns(seq_len(count))), gathered(explained, targets))
  new <- if (are_points(targets)) entries$values * (entries$columns > count) else
    t(columns(count + seq_len(entries$size - count)))
  gap$variance <- gap$variance + colSums(new^2)
  c(gap, list(new = columns(count + seq_len(entries$size - count))))
}

# The variance and the Lagrange multiplier of coefficient_gap() for points, whose columns are sparse.
coefficient_forms <- function(object, fitted, base, targets) {
  entries <- effect_entries(fitted$effects, object$theta, targets$u)
  known <- entries$columns <= length(fitted$mean)
  near <- base$nearest(fitted$points_of(targets$u))
  explained <- neighbour_entries(near, fitted$entries)
  forms <- fitted$joint$forms(t(targets$x - neighbour_means(near, object$data$x)), t(targets$x),
                              rbind(entries$columns * known, explained$columns),
                              rbind(entries$values * known, -explained$values))
  forms$variance <- forms$variance + colSums(entries$values^2 * !known)
  forms
}

# For each set, the entries of effects at the neighbours of the set: their `columns`, and their `values` multiplied by
# the weights of the neighbours.
neighbour_entries <- function(sets, entries) {
  used <- sets$neighbours > 0
  near <- sets$neighbours[used]
  all <- function(x, of) {
    whole <- array(x[0], c(nrow(x), dim(used)))
    whole[] <- 0L
    whole[rep(used, each = nrow(x))] <- of
    matrix(whole, ncol = ncol(used))
  }
  list(columns = all(entries$columns, entries$columns[, near]),
       values = all(entries$values, entries$values[, near] * rep(sets$weights[used], each = nrow(entries$values))))
}

# Draws of the coefficients given the data, and of the field given the coefficients.
effects_draws <- function(object, fitted, points, nsim) {
  p <- ncol(object$data$x)
  off <- fitted$joint$draw(nsim)
  trend <- off[seq_len(p), , drop = FALSE]
  effects <- off[p + seq_along(fitted$mean), , drop = FALSE]
  shift <- object$data$x %*% trend + fitted$entries$times(effects)
  entries <- effect_entries(fitted$effects, object$theta, points$u)
  new <- normal_numbers(entries$size - length(fitted$mean), nsim)
  mean <- trend_mean(object, points) + estimated_trend(object, points) %*% trend
  points[c("u", "x", "offset")] <- list(fitted$points_of(points$u), matrix(0, nrow(points$u), 0), 0)
  mean + entries$times(with_new(fitted, entries, fitted$mean + effects, new)) +
    joint_draws(fitted$inner, joint_base(fitted$inner), points, nsim, shift)
}

# A list of the `effects` of a fit, and their `entries` at the observations; the `mean` of the coefficients of effects;
# the `joint` distribution of the coefficients of trend and effects (lik_coefficients.R); the `inner` fit of the field
# and the noise; and points_of(u), the columns of points u that the inner fit reads. The low-rank part of a VIF
# approximation (lik_vif.R) is an effect with `rank` coefficients.
fitted_effects <- function(object) {
  about <- list(object[c("data", "model", "theta", "beta", "known")], object$vecchia[c("m", "inducing")],
                object$how$control[c("ordering", "seed")], object$how$backend)
  kept_in(object$effects, function() effects_of_fit(object), about)
}

effects_of_fit <- function(object) {
  how <- replace(object$how, "backend", list(usable_backend(object$how$backend)))
  problem <- effects_problem(object$data, object$model, how)
  theta <- unname(object$theta)
  m <- min(object$vecchia$m, length(object$data$y) - 1L)
  sets <- effects_sets(problem, theta[problem$field$rows], if (is_noise_alone(problem$field)) 0L else m, how)
  low <- inducing_effect(object, problem, sets)
  factors <- if (!is.null(low)) low$factors(sets$points)
  rows <- rows_beside_effects(problem$operators, problem$field, sets, theta, factors = factors)
  if (!is.null(rows$bad)) stop_singular(object, singular_state(sets$order[[rows$bad]]), NULL)
  # the first column of values is the response, which is replaced by the response minus the estimated trend
  sets$values[, 1] <- process_of_data(object)[sets$order]
  problem <- beside_inducing(problem, low)
  known <- 1 + ncol(object$data$x)
  given <- solve_effects(products_of_columns(entries_beside_trend(problem, sets, theta), rows, known), known)
  mean <- given$along[, 1]
  entries <- effect_entries(problem$effects, theta, problem$u)
  c(problem[c("effects", "points_of")], list(
    mean = mean, joint = given$joint(problem$trend$r), entries = entries, rank = max(0, low$size),
    inner = inner_fit(object, problem, entries$times(mean))
  ))
}

# The fit of the field and the noise to the data minus the trend and the given `effects`.
inner_fit <- function(object, problem, effects) {
  data <- problem$data
  data$y <- process_of_data(object) - as.vector(effects)
  data$x <- matrix(0, length(data$y), 0)
  inner <- replace(object, c("data", "model", "theta", "beta"), list(
    data, problem$field, object$theta[problem$field$rows], numeric()
  ))
  inner$state <- list(root = matrix(0, 0, 0), z = data$x)
  inner$known["beta"] <- list(NULL)
  inner$effects <- NULL
  inner$cell <- new_cell()
  inner
}

# The indices of the coefficients that belong to a leaf of the covariance, which is a single term.
coefficients_of <- function(effects, leaf) {
  effect <- Find(function(effect) identical(leaf_key(effect$leaf), leaf_key(leaf)), effects)
  effect$before + seq_len(effect$size * max(1, length(effect$levels)))
}

# The function inverse() of new_conditioning(), by Woodbury's identity.
effects_inverse <- function(object, fitted) {
  sets <- observation_sets(fitted$inner, object$vecchia$local)
  p <- ncol(object$data$x)
  order <- sets$order
  check_memory(16 * length(order) * length(fitted$mean))
  columns <- dense_entries(fitted$entries, seq_along(fitted$mean))[order, , drop = FALSE]
  known <- sparse_multiply(sets, cbind(process_of_data(object), object$data$x)[order, , drop = FALSE])
  random <- sparse_multiply(sets, columns)
  half <- t(backsolve(chol(crossprod(random) + diag(ncol(random))), t(random), transpose = TRUE))
  left <- sparse_multiply(sets, known - half %*% crossprod(half, known), transposed = TRUE)
  diagonal <- diagonal_beside_low_rank(sets, half)
  z <- left[, -1, drop = FALSE]
  if (p) z <- t(backsolve(object$state$root, t(z), transpose = TRUE))
  back <- order(order)
  list(alpha = left[back, 1], z = z[back, , drop = FALSE], diagonal = diagonal[back])
}
