# Predictions of fits by a VIF approximation (lik_vif.R) with random effects and smooths. The low-rank part V'b of the
# field is an additional effect with a coefficient for each inducing point, and Vecchia's approximation predicts the
# residual process.

# The inducing points in the form of an effect. The function factors(u) of this effect returns the columns v(u) at
# points u of the field. NULL for fits without inducing points.
inducing_effect <- function(object, problem, sets) {
  rank <- object$vecchia$inducing
  if (is.null(rank)) return(NULL)
  sets <- vif_sets(sets, problem$field, rank)
  low <- low_rank_factors(problem$operators$values, object$theta[problem$field$rows], sets)
  if (is.null(low)) stop_singular(object, singular_state(sets$order[[1]]), NULL)
  structure(list(leaf = list(label = ""), before = 0, size = rank, factors = low$factors),
            class = "inducing_effect")
}

# Adds to `problem`, a result of effects_problem(), the function points_of(u), which returns the columns of points u
# that the field reads. If the effect `low` of inducing points is not NULL, it becomes the first effect, and the field
# is the residual process.
beside_inducing <- function(problem, low) {
  field <- problem$field
  problem$points_of <- function(u) points_of_field(field, u)
  if (is.null(low)) return(problem)
  factors_of <- function(u) low$factors(points_of_field(field, u))
  problem$points_of <- function(u) cbind(points_of_field(field, u), t(factors_of(u)))
  later <- lapply(problem$effects, function(effect) replace(effect, "before", effect$before + low$size))
  problem$effects <- c(list(replace(low, "factors", list(factors_of))), later)
  problem$data$u <- problem$points_of(problem$data$u)
  problem$field <- residual_model(field, low$size)
  problem
}

effect_columns.inducing_effect <- function(effect, theta, u, known) {
  list(columns = matrix(effect$before + seq_len(effect$size), effect$size, nrow(u)), values = t(effect$factors(u)),
       known = known)
}
