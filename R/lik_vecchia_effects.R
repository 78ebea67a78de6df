# The likelihood of a model with random effects or smooths, by Vecchia's approximation of the field and the noise.
#
# With the covariance V of field and noise, V^-1 = U' U, and effects B L b with b ~ N(0, I), the covariance of the
# observations is V + B L L' B'. With S = I + L' B' V^-1 B L, the determinant of this covariance is det V det S, and
# products with its inverse follow from inner products of the columns of U [y X B L]. As in lik_vif.R, effects are a
# trend whose coefficients have a prior. A row of U B L has few entries (src/gp_effects.cpp).

effects_likelihood <- function(data, model, how) {
  problem <- effects_problem(data, model, how)
  field <- problem$field
  most <- length(data$y) - 1L
  field_theta <- function(theta) unname(theta)[field$rows]
  tracker <- neighbour_tracker(
    group = function(theta, m) effects_sets(problem, field_theta(theta), m, how),
    recount = function(sets, m) with_neighbours(sets, sets$search(m)),
    moved = function(sets, theta) neighbours_moved(sets, problem$data, field, field_theta(theta)),
    m = neighbour_count_beside_effects(how, field, most), max_count = most
  )
  doubled <- function(theta, state) {
    counts <- c(tracker$count(), tracker$twice())
    if (counts[[1]] == counts[[2]]) return(NULL)
    if (most > compared_points) return(change_beside_effects(problem, tracker$sets(), theta, state, counts))
    change_between(state, effects_state(problem, tracker$recounted(counts[[2]]), theta, FALSE))
  }
  kept_neighbours <- function(theta) {
    m <- tracker$count()
    local <- local_count(problem$data, field, field_theta(theta), min(2L * m, most + 1L), problem$operators$values)
    list(m = m, all = m == most || is_noise_alone(field), ordering = how$control$ordering, local = local)
  }
  likelihood_with_neighbours(tracker, function(theta, profile = FALSE, search = FALSE) {
    effects_state(problem, tracker$place(theta), theta, profile, tracker$limit())
  }, doubled, kept_neighbours)
}

# The parts of the likelihood that do not depend on theta: the model of the field, the operators of its covariance, the
# data with the columns that the field reads, the `effects`, and `u`, the columns that the field or the effects read.
effects_problem <- function(data, model, how) {
  field <- field_part(model)
  effects <- effects_of(model, data$u)
  list(field = field, effects = effects, u = data$u, reml = how$reml,
       data = replace(data, "u", list(points_of_field(field, data$u))), trend = orthonormal_trend(data),
       operators = set_operators(field, how$backend %||% "auto"), probes = probes_for_coefficients(how$control))
}

# Up to this number of coefficients, S is a dense matrix whose factorisation takes less than a second.
most_coefficients <- 2000

# The number of neighbours for the field; 0 if the model has noise but no field.
neighbour_count_beside_effects <- function(how, field, n) {
  if (is_noise_alone(field)) return(0L)
  min(how$neighbours %||% neighbour_count(how$control, field$d, n), n)
}

has_field <- function(model) !is_noise_alone(list(covariance = without_effects(model$covariance) %||% nugget()))

is_noise_alone <- function(field) all_leaves(field$covariance, function(leaf) leaf$label == "nugget")

effects_sets <- function(problem, theta, m, how) vecchia_sets(problem$data, problem$field, theta, m, how, problem$trend)

effects_state <- function(problem, sets, theta, profile, count = Inf) {
  if (is_degenerate(problem$effects, theta)) return(singular_state())
  rows <- rows_beside_effects(problem$operators, problem$field, sets, theta, count)
  if (!is.null(rows$bad)) return(singular_state(sets$order[[rows$bad]]))
  entries <- entries_beside_trend(problem, sets, theta)
  known <- ncol(sets$values)
  coefficients <- timed("effects", {
    solve_effects(products_of_columns(entries, rows, known, problem$probes), known)
  })
  results <- if (!is.null(coefficients)) results_beside_effects(problem, coefficients, rows, profile)
  if (is.null(results)) return(singular_state(sets$order[[1]]))
  # the residual is the product of `entries`, the columns of response, trend and effects, and these weights
  weights <- c(results$contrast, -low_rank_mean(coefficients, results))
  results$logdet_error <- coefficients$logdet_error
  results$residual <- entries$times(weights)
  white <- sparse_multiply(rows, results$residual)
  results$alpha <- sparse_multiply(rows, white, transposed = TRUE)[order(sets$order), 1]
  by_gram <- once(function() coefficients$by_gram(adjoint_of_known(results, problem$reml)))
  solved <- list(rows = rows, entries = entries, coefficients = coefficients, weights = weights, white = white,
                 residual = results$residual, by_gram = by_gram)
  new_state(results, gradient = once(function() timed("effects", effects_gradient(problem, sets, theta, solved))),
            information = function(profiled = profile) {
              effects_information(problem, sets, theta, solved, results, profiled)
            }, resolution = 0.3 * (results$logdet_error %||% 0),
            warn = function() warn_of_monte_carlo(results$logdet_error))
}

results_beside_effects <- function(problem, coefficients, rows, profile) {
  sums <- list(gram = coefficients$gram, logdet = 2 * sum(log(rows$sd)) + coefficients$logdet)
  gram_results(sums, problem$data, problem$trend, problem$reml, profile)
}

rows_beside_effects <- function(operators, field, sets, theta, count = Inf, factors = NULL) {
  factored_rows(operators, theta[field$rows], field$nugget, sets$held, sets$neighbours, factors, count)
}

# The columns of the response, the trend and the effects; the rows are the observations in the order of the sets.
entries_beside_trend <- function(problem, sets, theta) {
  known <- ncol(sets$values)
  entries <- effect_entries(problem$effects, theta, problem$u[sets$order, , drop = FALSE])
  row_sparse(rbind(matrix(seq_len(known), known, ncol(entries$columns)), known + entries$columns),
                 rbind(t(sets$values), entries$values), known + entries$size)
}

# Estimates how much the results change with more neighbours, from a sample of the points and for fixed coefficients of
# the trend and of the effects.
change_beside_effects <- function(problem, sets, theta, state, counts) {
  field <- problem$field
  data <- replace(sets, "values", list(state$residual))
  change <- change_of_some(data, problem$operators, field, unname(theta)[field$rows], 1, counts)
  if (!is.null(change$gradient)) change$gradient <- replace(numeric(length(theta)), field$rows, change$gradient)
  change
}
