# The Laplace approximation for observations of a family with Vecchia's approximation of the field: gp_laplace.R has the
# dense one.
#
# With f the field at its mode, h = f + nugget k the process of each observation, and k = dlog p / dh,
#   -2 log p(y) = -2 log p(y | h) + h' k + log det(Q + D) - log det Q + sum log(1 + nugget W)

# As vecchia_likelihood().
# long: closures that share the sets and the latest mode
vecchia_laplace <- function(data, model, how) {
  own <- model$own
  places <- field_places(data$u, own)
  most <- max(1L, nrow(places$u) - 1L)
  m <- latent_neighbour_count(how$control, most)
  sets <- latest <- NULL
  used <- Inf
  own_theta <- function(theta) unname(theta)[seq_len(nrow(own$parameters))]
  group <- function(theta) latent_sets(places, own, own_theta(theta), m, how)
  fewer <- NULL # the sets with the count that was used last
  current <- function() {
    if (used >= m) return(sets)
    if (!identical(fewer$near, sets$near)) {
      fewer <<- with_latent_neighbours(sets, sets$neighbours[seq_len(used), , drop = FALSE])
    }
    fewer
  }
  with_count <- function(count) with_latent_neighbours(sets, ordered_neighbours(sets$near, count))
  at_places <- list(u = places$u)
  list(
    evaluate = function(theta, profile = FALSE, search = FALSE) {
      if (is.null(sets)) sets <<- group(theta)
      state <- latent_state(current(), data, model, theta, latest)
      if (data$family$density$one_mode && !identical(state$value, Inf)) latest <<- state$h
      state
    },
    use = function(count) used <<- count,
    outdated = function(theta) neighbours_moved(sets, at_places, own, own_theta(theta)),
    regroup = function(theta) if (neighbours_moved(sets, at_places, own, own_theta(theta))) sets <<- group(theta),
    double = function() {
      m <<- min(2L * m, most)
      sets <<- with_count(m)
    },
    doubled = function(theta, state) if (m < most) {
      (state$value - latent_state(with_count(min(2L * m, most)), data, model, theta, state$h)$value) / 2
    },
    count = function() m, sets = function() sets
  )
}

# The field itself has no noise, so that fewer neighbours screen the others off than from noisy observations.
latent_neighbour_count <- function(control, most) {
  m <- control$neighbours
  as.integer(min(if (is.numeric(m)) m else 20, most))
}

latent_state <- function(sets, data, model, theta, latest) {
  at <- split_parameters(theta, model, data)
  system <- latent_system(sets, model$own, at$own)
  if (is.null(system)) return(list(value = Inf, bad = 1L))
  terms_at <- terms_of(data, at)
  newton <- latent_newton(system)
  none <- numeric(length(data$y))
  starts <- list(list(h = none, k = none))
  if (!is.null(latest)) starts <- c(starts, list(newton(list(h = latest), terms_at(latest))))
  # Newton's steps are those of a quadratic function soon, where weights are second derivatives
  less <- if (data$family$density$one_mode) 0.1 else 1
  mode <- if (all(lengths(starts))) latent_mode(newton, terms_at, starts, enough = 1e-20, less = less)
  if (is.null(mode)) return(list(value = Inf, bad = 1L))
  weight <- mode$terms$weight
  logdet <- system$logdet(weight)
  if (!is.finite(logdet)) return(list(value = Inf, bad = 1L))
  state <- c(mode, at, list(
    value = -2 * sum(mode$terms$value) + sum(mode$h * mode$k) + logdet + sum(log1p(system$nugget * weight))
  ))
  project <- function(b) system$project(weight, b)
  state$variances <- once(system$variances)
  state$changes <- once(function() latent_changes(sets, system, state, model$own))
  state$gradient <- function() latent_gradient(system, state, data, model$own)
  state$information <- function(profiled = FALSE) {
    derivatives <- latent_derivatives(system, state, model$own)
    alpha <- list(alpha = mode$k, z = matrix(0, length(data$y), 0), scale = 1)
    laplace_information(average_information(derivatives, alpha, project, FALSE, 0),
                        crossprod(data$basis, project(data$basis)), state, data)
  }
  state$trend <- function() {
    if (!ncol(data$x)) return(list(root = matrix(0, 0, 0), z = matrix(0, length(data$y), 0)))
    solved <- project(unname(data$x))
    root <- chol(crossprod(unname(data$x), solved))
    list(root = root, z = t(backsolve(root, t(solved), transpose = TRUE)))
  }
  state
}

once <- function(f) {
  found <- NULL
  function() found <<- found %||% f()
}

# As dense_newton(); b = W (h + slope / W) / (1 + nugget W).
latent_newton <- function(system) {
  field <- NULL
  function(at, terms) {
    b <- (terms$weight * at$h + terms$slope) / (1 + system$nugget * terms$weight)
    gathered <- system$gather(b)
    field <<- system$mean(terms$weight, gathered, field %||% (0 * gathered))
    if (is.null(field)) return(NULL)
    f <- as.vector(system$spread(field))
    k <- b - system$share(terms$weight) * f
    list(h = f + system$nugget * k, k = k)
  }
}

# Which parameters of the field itself are estimated.
free_of_field <- function(own) !own$parameters$fixed & !seq_len(nrow(own$parameters)) %in% own$nugget

# What the likelihood and C k, with C the covariance of the observations' process, change by with each parameter of the
# field, by what the rows of U = D^-1 (I - B) change by. With w = U f and f = C k at the places,
#   dC k = U^-1 (2 dlog(D) w + D^-1 dB f + U'^-1 dB' D^-1 w)
# Derivatives of rows are as large as the rows for each parameter: so many numbers are there at a time. Besides, v are
# the variances of the process given the data, and g = K u at the places.
latent_changes <- function(sets, system, state, own, most = 2^22) {
  weight <- state$terms$weight
  shrunk <- 1 + system$nugget * weight
  field <- as.vector(system$spread(cbind(state$variances())))
  v <- field / shrunk^2 + system$nugget / shrunk
  s <- v * state$terms$bend
  f <- system$at_places(state$h - system$nugget * state$k)
  g <- 0 * f
  u <- 0 * s
  if (any(s != 0)) {
    b <- s / shrunk
    g <- system$mean(weight, system$gather(b))
    u <- b - system$share(weight) * as.vector(system$spread(g))
  }
  c(list(v = v, s = s, u = u, field = field),
    changes_of_rows(sets, system, state$own, f, system$differentiate(f, g), free_of_field(own), most))
}

changes_of_rows <- function(sets, system, theta, f, by, free, most) {
  n <- nrow(sets$points)
  sd <- system$factor$sd
  w <- as.vector(whitened(system$factor, f))
  value <- numeric(length(theta))
  along <- back <- matrix(0, n, length(theta))
  size <- max(1, most %/% ((1 + nrow(sets$neighbours)) * (1 + length(theta))))
  for (first in seq(1, n, size)) {
    at <- first:min(n, first + size - 1)
    near <- sets$neighbours[, at, drop = FALSE]
    to <- seq_len(max(at))
    slopes <- set_slopes(sets$operators, theta, sets$points[to, , drop = FALSE], 0 * to, near, latent_diagonal)
    for (p in which(free)) {
      change <- list(weights = array(slopes$weights[, p, ], dim(near)), neighbours = near)
      log_sd <- slopes$log_sd[p, ]
      value[[p]] <- value[[p]] + sum(by$weights[, at] * change$weights) + sum(by$log_sd[at] * log_sd)
      along[at, p] <- 2 * log_sd * w[at] + neighbour_means(change, f) / sd[at]
      back[, p] <- back[, p] + neighbour_scatter(change, w[at] / sd[at], n)
    }
  }
  list(value = value, process = coloured(system$factor, along + coloured_back(system$factor, back)))
}

# As dense_laplace_gradient().
latent_gradient <- function(system, state, data, own) {
  weight <- state$terms$weight
  at <- state$changes()
  total <- at$value
  if (length(own$nugget)) {
    share <- system$share(weight)
    total[[own$nugget]] <- sum(share - at$field * share^2 - state$k^2 + at$u * state$k)
  }
  c(total, family_gradient(state, data, at$v, (at$s - at$u) / weight, at$u))
}

# dC k for each parameter.
latent_derivatives <- function(system, state, own) {
  derivatives <- system$spread(state$changes()$process)
  if (length(own$nugget)) derivatives[, own$nugget] <- state$k
  derivatives
}
