# The likelihood of Vecchia (1988): each observation is conditioned on its nearest neighbours among earlier
# observations.

# The neighbours are chosen at the first evaluated theta, and kept until the search calls regroup().
vecchia_likelihood <- function(data, model, how) {
  operators <- set_operators(model, how$backend %||% "auto", how$precision %||% "float64")
  most <- length(data$y) - 1L
  trend <- orthonormal_trend(data)
  tracker <- neighbour_tracker(
    group = function(theta, m) c(vecchia_sets(data, model, theta, m, how, trend), list(id = new_id())),
    recount = function(sets, m) replace(with_neighbours(sets, sets$search(m)), "id", new_id()),
    moved = function(sets, theta) neighbours_moved(sets, data, model, theta),
    m = min(how$neighbours %||% neighbour_count(how$control, model$d, most), most), max_count = most
  )
  shared <- !identical(how$backend, "cuda") && worth_sharing(length(data$y), tracker$count())
  state_of <- function(sets, theta, profile = FALSE, derivatives = FALSE, count = Inf) {
    summed <- if (shared) function(derivatives) sums_elsewhere(sets, model, theta, count, derivatives) else {
      function(derivatives) set_totals(operators, theta, model$nugget, sets$held, derivatives, count)
    }
    only_rounded <- function() {
      identical(how$precision, "float32") &&
        set_totals(set_operators(model), theta, model$nugget, sets$held, FALSE, count)$bad == 0
    }
    vecchia_state(summed, sets, data, theta, trend, how$reml, profile, derivatives, only_rounded)
  }
  doubled <- function(theta, state) {
    m <- tracker$count()
    twice <- tracker$twice()
    if (m == twice) return(NULL)
    if (most > compared_points) {
      return(change_of_some(tracker$sets(), operators, model, theta, state$contrast, c(m, twice)))
    }
    change_between(state, state_of(tracker$recounted(twice), theta, derivatives = TRUE))
  }
  kept_neighbours <- function(theta) {
    m <- tracker$count()
    values <- covariance_matrix(model, how$precision, how$backend)
    list(m = m, all = m == most, ordering = how$control$ordering,
         local = local_count(data, model, theta, min(2L * m, length(data$y)), values))
  }
  likelihood_with_neighbours(tracker, function(theta, profile = FALSE, search = FALSE) {
    state_of(tracker$place(theta), theta, profile, search, tracker$limit())
  }, doubled, kept_neighbours)
}

# At most `max_count` positions that are evenly spaced in an ordering of n points and represent all n points.
some_positions <- function(n, max_count = 1e5) {
  if (n <= max_count) seq_len(n) else round(seq(1, n, length.out = max_count))
}

# The default number of neighbours. In the plane and in space, 30 neighbours suffice for the screening effect, unless
# observations are noisy. More coordinates need more neighbours, and more neighbours cost little if a likelihood takes
# less than a tenth of a second. The latent field of a family has no noise, so 20 neighbours are sufficient for the
# screening effect.
neighbour_count <- function(control, d, n, default = if (d <= 3 && n > 2e4) 30 else 60) {
  as.integer(min(if (is.numeric(control$neighbours)) control$neighbours else default, n))
}

# The trend as an orthonormal matrix times r, the least-squares coefficients of the response, and the residual of the
# response. If the trend is orthonormal and the response is orthogonal to the trend, little cancellation occurs in the
# inner products of whitened columns.
orthonormal_trend <- function(data) {
  if (!ncol(data$x)) return(list(r = matrix(0, 0, 0), residual = data$y))
  timed("trend", recalled("trend", data[c("x", "y", "constant")], function() {
    response <- without_level(data)
    solved <- stats::.lm.fit(data$x, response$y) # replaces qr(), qr.coef() and qr.resid(), each of which copies x
    decomposed <- structure(solved[c("qr", "rank", "qraux", "pivot")], class = "qr")
    list(qr = decomposed, r = qr.R(decomposed), coefficients = stats::setNames(solved$coefficients, colnames(data$x)),
         level = response$beta, residual = solved$residuals)
  }))
}

# The observations in the order of the approximation, and the neighbours of each observation.
vecchia_sets <- function(data, model, theta, m, how, trend) {
  sets <- ordered_observations(data, model, theta, how, trend)
  with_neighbours(sets, sets$search(m))
}

ordered_observations <- function(data, model, theta, how, trend) {
  sets <- ordered_sets(neighbour_coordinates(model, theta, data$u), how)
  order <- sets$order
  values <- cbind(trend$residual, if (ncol(data$x)) orthonormal_columns(trend$qr))
  sets <- c(sets, list(points = gathered_rows(data$u, order), noise = gathered_rows(data$noise, order),
                       noise_derivative = 1 / gathered_rows(data$weights, order),
                       values = gathered_rows(values, order)))
  sets$search <- correlated_search(sets$search, model, theta, sets$points)
  sets
}

# A list of the order of the points `near` by the `ordering` of gp_control(); the points in this order; and search(m,
# of), which returns the m nearest earlier points of all points, or of the points at the positions `of`.
ordered_sets <- function(near, how) {
  tree <- search_tree(near)
  ordering <- how$control$ordering
  order <- vecchia_order(near, ordering, how$control$seed, tree)
  list(ordering = ordering, order = order, near = gathered_rows(near, order), search = function(m, of = NULL) {
    ordered_neighbours(tree, m, of = of, order = order, backend = how$backend %||% "auto")
  })
}

with_neighbours <- function(sets, neighbours) {
  sets$neighbours <- neighbours
  sets$held <- hold_sets(sets$points, sets$noise, sets$noise_derivative, sets$values, neighbours)
  sets
}

# The state of the likelihood. summed(derivatives) returns the sums over the conditioning sets.
vecchia_state <- function(summed, sets, data, theta, trend, reml, profile, derivatives, only_rounded) {
  sums_with <- function(derivatives) set_moments(summed(derivatives), ncol(sets$values), length(theta), derivatives)
  sums <- sums_with(derivatives)
  results <- if (sums$bad == 0 && is.finite(sums$logdet)) gram_results(sums, data, trend, reml, profile)
  if (is.null(results)) return(singular_state(sets$order[[max(1, sums$bad)]], only_rounded))
  with_derivatives <- if (derivatives) function() sums else once(function() sums_with(TRUE))
  new_state(results, gradient = function() vecchia_gradient(with_derivatives(), results, reml),
            information = function(profiled = profile) {
              vecchia_information(with_derivatives(), results, reml, profiled)
            })
}

# Generalised least squares from the inner products of whitened columns; the first column is the response. If the
# observations are not in memory, `data` must contain their number `n`.
gram_results <- function(sums, data, trend, reml, profile) {
  n <- data[["n"]] %||% length(data$y)
  p <- ncol(data$x)
  gram <- sums$gram
  root <- if (p) chol_or_null(gram[-1, -1, drop = FALSE]) else matrix(0, 0, 0)
  if (is.null(root)) return(NULL)
  along <- if (p) backsolve(root, gram[-1, 1], transpose = TRUE) else numeric()
  coefficients <- if (p) backsolve(root, along) else numeric()
  beta <- if (p) backsolve(trend$r, coefficients) + trend$coefficients + trend$level else numeric()
  results <- likelihood_results(
    n = n, p = p, logdet = sums$logdet, quadratic = gram[1, 1] - sum(along^2), beta = beta,
    root = root %*% trend$r, alpha = NULL, z = NULL, logdet_xx = data$logdet_xx, reml = reml, profile = profile
  )
  degrees <- n - if (reml) p else 0
  c(results, list(contrast = c(1, -coefficients), inverse = if (p) chol2inv(root), degrees = degrees))
}

vecchia_gradient <- function(sums, results, reml) {
  contrast <- results$contrast
  residual <- apply(sums$gram_derivative, 3, function(slope) sum(contrast * (slope %*% contrast)))
  trace_derivative(sums, results, reml) + residual / results$scale
}

# The derivatives of log det K; with REML, of log det K + log det X' K^-1 X.
trace_derivative <- function(sums, results, reml) {
  if (!reml || is.null(results$inverse)) return(sums$logdet_derivative)
  sums$logdet_derivative + apply(sums$gram_derivative, 3, function(slope) sum(results$inverse * slope[-1, -1]))
}

# The expected information. For REML, the expected information ignores the trend; the relative error of the information
# is p / n for a trend of p columns.
vecchia_information <- function(sums, results, reml, profiled) {
  if (!profiled) return(sums$information)
  sums$information - tcrossprod(trace_derivative(sums, results, reml)) / results$degrees
}
