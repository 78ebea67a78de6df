# Predictions by Vecchia's approximation of the field for fits with a family and with random effects or smooths. The
# base points (predict_base.R) are the coefficients of the effects, with the prior N(0, I), and the field at the places,
# the distinct locations of the observations.

effects_kriging.gp_family_fit <- function(object, how) {
  system <- kept_for(object, fitted_system)
  parts <- system$sets$observed$parts
  field <- replace(object, c("model", "theta"), list(parts$field, object$theta[parts$rows]))
  field$data$u <- parts$u
  base <- effects_base(object, system, field)
  nearest <- nearest_conditioning(object, base, prior_draws = function(u, nsim, features) {
    entries <- effect_entries(parts$effects, object$theta, u)
    entries$times(normal_numbers(entries$size, nsim)) +
      neighbour_draws(field)(points_of_field(parts$field, u), nsim, features)
  }, determined = function(leaf) {
    system$logdet(system$weight)
    rows <- coefficients_of(parts$effects, leaf)
    covariances <- system$posterior$effects()
    sum(1 - covariances$diagonal(covariances$value)[rows]) - sum(system$entries$crossprod(object$state$z)[rows, ]^2)
  })
  # without a field, all base points are coefficients, so nearest conditioning is used
  if (is_joint(object) && !parts$without_field) joint_conditioning(object, base, nearest) else nearest
}

# The base points of the field, preceded by the coefficients.
effects_base <- function(object, system, field) {
  of_field <- field_base(field, system, function() object$vecchia$new %||% max(60L, object$vecchia$local))
  parts <- system$sets$observed$parts
  count <- system$sets$observed$count
  entries_of <- function(u) effect_entries(parts$effects, object$theta, u)
  new_columns_of <- function(targets) {
    entries <- entries_of(targets$u)
    gathered(dense_entries(entries, seq_len(entries$size)[-seq_len(count)]), targets)
  }
  base <- replace(of_field, c("nearest", "unexplained", "draws", "points_of", "entries"), list(
    function(u) {
      sets <- if (parts$without_field) no_sets(nrow(u)) else of_field$nearest(points_of_field(parts$field, u))
      entries <- entries_of(u)
      known <- entries$columns <= count
      list(neighbours = rbind(sets$neighbours + count * (sets$neighbours > 0L), entries$columns * known),
           weights = rbind(sets$weights, entries$values * known),
           sd = sqrt(sets$sd^2 + colSums(entries$values^2 * !known)))
    },
    function(targets, terms) {
      terms <- lapply(terms, `[`, terms$near > count)
      terms$near <- terms$near - count
      on_field <- replace(targets, "u", list(points_of_field(parts$field, targets$u)))
      of_field$unexplained(on_field, terms) + tcrossprod(new_columns_of(targets))
    },
    function(nsim) as.vector(system$field) + posterior_errors(system, nsim),
    function(u) points_of_field(parts$field, u),
    function(u) {
      entries <- entries_of(u)
      c(entries[c("columns", "values")], list(count = count, new = entries$size - count, total = nrow(u)))
    }
  ))
  c(base, list(field = field))
}

no_sets <- function(n) list(neighbours = matrix(0L, 0, n), weights = matrix(0, 0, n), sd = numeric(n))
