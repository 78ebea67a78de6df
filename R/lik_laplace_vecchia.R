# The Laplace approximation for observations with the distribution of a family, in which Vecchia's approximation
# replaces the density of the field. lik_laplace.R has the Laplace approximation with a dense covariance.
#
# Let f be the mode of the field, h = f + nugget k the process at each observation, and k = dlog p / dh. Then
#   -2 log p(y) = -2 log p(y | h) + h' k + log det(Q + D) - log det Q + sum log(1 + nugget W)
#
# Q and D are explained in lik_latent_sets.R. With random effects, log det(Q + D) is corrected by an estimate of the
# error of the incomplete factor (lik_latent_error.R).

# long: the functions of one likelihood, which share the conditioning sets
vecchia_laplace <- function(data, model, how) {
  parts <- latent_parts(model$field, data$u)
  parts$kept <- level_probes(how$control$seed, max(how$control$probes, 16))
  field <- parts$field
  places <- places_of_parts(parts)
  most <- max(1L, nrow(places$u) - 1L)
  field_theta <- function(theta) unname(theta)[parts$rows]
  tracker <- neighbour_tracker(
    group = function(theta, m) {
      parts$kept$reference <- NULL
      latent_sets(places, field, field_theta(theta), m, how, parts, unname(theta))
    },
    recount = function(sets, m) with_latent_neighbours(sets, sets$search(m)),
    moved = function(sets, theta) {
      reference_moved(parts$kept) || neighbours_moved(sets, list(u = places$u), field, field_theta(theta))
    },
    m = neighbour_count(how$control, field$d, most, default = 20), max_count = most
  )
  fewer <- NULL # the latest sets that use() has limited to fewer neighbours
  rough <- list(wide = wide_sets(probes = 4, enough = Inf), kept = level_probes(how$control$seed, 4, Inf))
  limited <- function(sets) {
    if (tracker$limit() >= tracker$count()) fewer <<- NULL else
      if (!identical(fewer$near, sets$near)) fewer <<- with_fewer(sets, tracker$limit(), rough)
    fewer %||% sets
  }
  latest <- NULL
  evaluate <- remembering(function(theta) limited(tracker$place(theta)), function(theta, sets) {
    state <- latent_state(sets, parts, data, model, theta, latest)
    if (data$family$density$one_mode && !is_singular(state)) latest <<- state$h
    state
  })
  # a comparison with twice as many neighbours takes five times as long as one likelihood; for more than 20,000
  # observations, the user must request the comparison with neighbours = "auto"
  compared <- length(data$y) <= 2e4 || identical(how$control$neighbours, "auto")
  doubled <- function(theta, state) if (compared && tracker$count() < most) {
    change_between(state, latent_state(tracker$recounted(tracker$twice()), parts, data, model, theta, state$h))
  }
  kept_neighbours <- function(theta) {
    sets <- tracker$sets()
    m <- tracker$count()
    list(m = m, all = m == most, ordering = how$control$ordering,
         local = as.integer(min(max(30L, m), nrow(sets$points))), order = sets$order, neighbours = sets$neighbours,
         wide = parts$wide$count, iterative = has_iterative_levels(sets))
  }
  # if the sets are as wide as possible, a likelihood with fewer neighbours takes about as long as with all neighbours
  few <- if (starts_wide(parts, nrow(places$u))) 0L else 10L
  likelihood_with_neighbours(tracker, evaluate, doubled, kept_neighbours, few = function() few,
                             subset_sizes = function() tenth(data, 2e4))
}

# Returns a function evaluate(theta), whose result is compute(theta, sets_at(theta)). The latest result is kept, because
# a fit evaluates the likelihood again at the end of a search.
remembering <- function(sets_at, compute) {
  known <- NULL
  function(theta, profile = FALSE, search = FALSE) {
    sets <- sets_at(theta)
    about <- function() list(unname(theta), sets$pattern, sets$wide$count)
    if (!is.null(known) && identical(known$about, about())) return(known$state)
    known <<- NULL # lets R free the state
    state <- compute(theta, sets)
    known <<- list(about = about(), state = state)
    state
  }
}

# The conditioning sets, reduced to the m nearest neighbours, with the settings `wide` and `kept` of the list `rough`.
with_fewer <- function(sets, m, rough) {
  with_latent_neighbours(replace(sets, names(rough), rough), sets$neighbours[seq_len(m), , drop = FALSE])
}

# The sizes of the subsets for preliminary searches: a tenth of the observations if there are at least `least`
# observations, otherwise no subset.
tenth <- function(data, least) {
  n <- length(data$y)
  c(dense = 0, same = if (n < least) 0 else n %/% 10)
}

latent_state <- function(sets, parts, data, model, theta, latest) {
  theta <- split_parameters(theta, model, data)
  if (is_degenerate(parts$effects, theta$field)) return(singular_state())
  repeat {
    system <- latent_system(sets, parts$field, theta$field[parts$rows], whole = theta$field)
    if (is.null(system)) return(singular_state())
    mode <- timed("mode", field_mode(system, data, theta, latest, fallback = !can_widen(sets)))
    if (has_precise_factor(mode, sets) || !widen(sets, mode$posterior$error$std_error)) break
    if (!is.null(mode) && data$family$density$one_mode) latest <- mode$h
    mode <- system <- NULL # frees memory for the pattern of wider sets
  }
  if (is.null(mode)) return(singular_state())
  # the information determines steps and standard errors, which need fewer digits than the likelihood
  roughly <- function(b) system$project(mode$terms$weight, b, tol = 1e-8)
  value <- -2 * sum(mode$terms$value) + sum(mode$h * mode$k) + mode$posterior$logdet
  error <- mode$posterior$error$std_error
  results <- c(mode, theta, list(value = value, logdet_error = error,
                                 variances = once(function() system$variances(system$posterior))))
  results$changes <- once(function() latent_changes(sets, system, results, parts))
  results$trend <- function() latent_trend(data, system, mode)
  warn <- function() {
    warn_of_mode(mode)
    warn_of_factor(error, sets)
  }
  # iterative solutions are inexact, so a search need not resolve changes far below the error of the likelihood
  new_state(results, warn = warn, resolution = if (has_iterative_levels(sets)) 1e-3 * error else 0,
            gradient = function() latent_gradient(sets, system, results, data, parts),
            information = function(profiled = FALSE) {
              laplace_information(latent_derivatives(sets, system, results, parts), roughly, results, data)
            })
}

# The trend of a state: the root of the information on its coefficients, and the design projected by the weights.
latent_trend <- function(data, system, mode) {
  if (!ncol(data$x)) return(no_trend(data))
  design <- unname(data$x)
  solved <- system$project(mode$terms$weight, design)
  root <- chol_or_null(crossprod(design, solved))
  if (is.null(root)) {
    # if the information on the trend is not positive definite, the expected weights are used
    solved <- system$project(step_weights(mode$terms), design)
    root <- chol(crossprod(design, solved))
  }
  list(root = root, z = t(backsolve(root, t(solved), transpose = TRUE)))
}

# The mode, as a result of weighted_mode(). The search for the mode starts from a field that is zero everywhere or from
# the latest field, whichever has the higher density. `posterior` has the `logdet` of I + K W, which includes a
# correction by the `error` of the factor. Without `fallback` to expected weights, the result is NULL if the factor does
# not exist. The caller then widens the sets: at a maximum, the factor of sufficiently wide sets exists.
field_mode <- function(system, data, theta, latest, fallback = TRUE) {
  terms_at <- terms_of(data, theta)
  newton <- latent_newton(system)
  none <- numeric(length(data$y))
  starts <- list(list(h = none, k = none))
  if (!is.null(latest)) starts <- c(starts, list(newton(list(h = latest), terms_at(latest))))
  # if the log density is concave, the weights are exact second derivatives, so Newton's method converges
  # quadratically near the mode
  less <- if (data$family$density$one_mode) 0.1 else 1
  if (!all(lengths(starts))) return(NULL)
  highest <- latent_mode(newton, terms_at, starts, enough = 1e-20, decrease = less)
  weighted_mode(highest, terms_at, function(terms) {
    alone <- 1 + system$nugget * terms$weight
    logdet <- if (all(alone > 0)) system$logdet(terms$weight) + sum(log(alone)) else NaN
    if (!is.finite(logdet)) return(NULL)
    error <- system$error()
    list(logdet = logdet + (error$logdet %||% 0), error = error)
  }, fallback || !highest$converged)
}

once <- function(f) {
  value <- NULL
  function() value <<- value %||% f()
}

# Newton's step, the counterpart of newton() in dense_process(). The right-hand side is b = W (h + slope / W) / (1 +
# nugget W).
latent_newton <- function(system) {
  field <- NULL
  function(state, terms) {
    weight <- step_weights(terms)
    if (!is.null(terms$expected) && !is.null(state$k)) return(curved_step(state, terms, latent_change(system, weight)))
    b <- (weight * state$h + terms$slope) / (1 + system$nugget * weight)
    gathered <- system$gather(b)
    field <<- system$mean(weight, gathered, field %||% (0 * gathered))
    if (is.null(field)) return(NULL)
    f <- as.vector(system$spread(field))
    k <- b - system$share(weight) * f
    list(h = f + system$nugget * k, k = k)
  }
}

# Returns the argument step_solve of change_of_mode(), a function of s that solves (I + W K) u = s, where W has the
# given weights.
latent_change <- function(system, weight) {
  share <- system$share(weight)
  function(s) {
    s <- s / (1 + system$nugget * weight)
    field <- system$mean(weight, system$gather(s))
    if (is.null(field)) return(NULL)
    f <- as.vector(system$spread(field))
    u <- s - share * f
    list(u = u, ku = f + system$nugget * u)
  }
}

# TRUE for the estimated parameters of the field; FALSE for parameters of effects and noise.
free_of_field <- function(field) !field$parameters$fixed & !seq_len(nrow(field$parameters)) %in% field$nugget

# The derivatives of the likelihood and of C k with respect to each parameter of the field, from the derivatives of the
# rows of U = D^-1 (I - B). C is the covariance matrix of the process, without the nugget, at the observations. Let f =
# C k at the places, which are the distinct locations, and let w = U f. Then
#   dC k = U^-1 (2 dlog(D) w + D^-1 dB f + U'^-1 dB' D^-1 w)
# The derivatives of the rows with respect to one parameter take as much memory as the rows, so the derivatives are
# computed in blocks of at most `max_entries` numbers. v denotes the variances of the process given the data, and g = C
# u at the places.
latent_changes <- function(sets, system, state, parts, max_entries = 2^22) {
  weight <- state$terms$weight
  shrunk <- 1 + system$nugget * weight
  variances <- state$variances()
  v <- variances / shrunk^2 + system$nugget / shrunk
  s <- v * state$terms$bend
  f <- system$at_places(state$h - system$nugget * state$k, state$k)
  g <- 0 * f
  u <- 0 * s
  ku <- u
  if (any(s != 0)) {
    change <- change_of_mode(s, state$terms$curvature, latent_change(system, weight))
    u <- change$u
    ku <- change$ku
    g <- system$at_places(ku - system$nugget * u, u)
  }
  at_points <- utils::tail(seq_along(f), nrow(sets$points))
  c(list(v = v, ku = ku, u = u, field = variances),
    changes_of_rows(sets, system, state$field[parts$rows], f[at_points], system$posterior$differentiate(f, g),
                    free_of_field(parts$field), max_entries))
}

changes_of_rows <- function(sets, system, theta, f, adjoint, free, max_entries) {
  if (isTRUE(sets$without_field)) return(list(value = 0 * theta, process = matrix(0, 1, length(theta))))
  n <- nrow(sets$points)
  sd <- system$factor$sd
  w <- as.vector(sparse_multiply(system$factor, f))
  value <- numeric(length(theta))
  along <- back <- matrix(0, n, length(theta))
  size <- max(1, max_entries %/% ((1 + nrow(sets$neighbours)) * (1 + length(theta))))
  for (first in seq(1, n, size)) {
    rows <- first:min(n, first + size - 1)
    near <- sets$neighbours[, rows, drop = FALSE]
    to <- seq_len(max(rows))
    slopes <- set_slopes(sets$operators, theta, sets$points[to, , drop = FALSE], 0 * to, near, latent_diagonal)
    for (p in which(free)) {
      change <- list(weights = array(slopes$weights[, p, ], dim(near)), neighbours = near)
      log_sd <- slopes$log_sd[p, ]
      value[[p]] <- value[[p]] + sum(adjoint$weights[, rows] * change$weights) + sum(adjoint$log_sd[rows] * log_sd)
      along[rows, p] <- 2 * log_sd * w[rows] + neighbour_means(change, f) / sd[rows]
      back[, p] <- back[, p] + neighbour_means(change, w[rows] / sd[rows], n)
    }
  }
  list(value = value, process = sparse_multiply(
    system$factor, along + sparse_multiply(system$factor, back, inverse = TRUE, transposed = TRUE), inverse = TRUE
  ))
}

# The gradient of the value, the counterpart of dense_laplace_gradient().
latent_gradient <- function(sets, system, state, data, parts) {
  weight <- state$terms$weight
  changes <- state$changes()
  field <- changes$value
  nugget <- parts$field$nugget
  if (length(nugget)) {
    share <- system$share(weight)
    field[[nugget]] <- sum(share - changes$field * share^2 - state$k^2 + changes$u * state$k)
  }
  total <- replace(numeric(length(state$field)), parts$rows, field)
  if (!is.null(sets$observed)) total <- total + timed("effects", {
    latent_effects_gradient(system, state, parts, changes$u)
  })
  c(total, family_gradient(state, data, changes$v, changes$ku, changes$u))
}

# The vectors dC k, with one column for each parameter; latent_changes() explains C and k.
latent_derivatives <- function(sets, system, state, parts) {
  derivatives <- matrix(0, length(state$k), length(state$field))
  derivatives[, parts$rows] <- state$changes()$process[sets$of, , drop = FALSE]
  if (length(parts$field$nugget)) derivatives[, parts$rows[parts$field$nugget]] <- state$k
  if (is.null(sets$observed)) derivatives else derivatives + latent_effects_derivatives(system, state, parts)
}
