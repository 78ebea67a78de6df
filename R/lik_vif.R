# The likelihood of Vecchia-inducing-points full-scale approximations (VIF; Gyger, Furrer and Sigrist 2025): a low-rank
# part from inducing points Z, and Vecchia's approximation of the residual process and the noise.
#
# Let L L' = k(Z, Z) and v(x) = L^-1 k(Z, x), and let v(x_i) be the columns of V. The covariance of the observations is
# V'V + R. By Vecchia's approximation of the residual covariance k(x, y) - v(x)'v(y) and the noise, R^-1 = U'U with a
# sparse factor U. The low-rank part is a random trend V'b with b ~ N(0, I). With S = I + V R^-1 V', the determinant of
# the covariance is det R det S, and inner products x' (V'V + R)^-1 y follow from inner products of whitened columns
# (Woodbury). Random effects and smooths add columns to this random trend, see lik_vif_effects.R.

# The neighbours and the inducing points are chosen at the first evaluated theta, and kept until the search calls
# regroup(). If a search doubles the number of neighbours, the number of inducing points is doubled, too.
vif_likelihood <- function(data, model, how) {
  problem <- vif_problem(data, model, how)
  check_coefficients(problem$effects)
  data <- problem$data
  field <- problem$field
  most <- length(data$y) - 1L
  first <- vif_count(how, field, most)
  rank <- function(m) inducing_count(how, data, m / first)
  field_theta <- function(theta) unname(theta)[field$rows]
  tracker <- neighbour_tracker(
    group = function(theta, m) vif_sets(effects_sets(problem, field_theta(theta), m, how), field, rank(m)),
    recount = function(sets, m) vif_sets(with_neighbours(sets, sets$search(m)), field, rank(m)),
    moved = function(sets, theta) neighbours_moved(sets, data, field, field_theta(theta)), m = first, max_count = most
  )
  # a limit on the number of neighbours is ignored, because it would save little time compared with the time of the
  # low-rank part
  tracker$use <- function(count) invisible()
  state_at <- with_latest(function(sets, theta, profile) vif_state(problem, sets, theta, profile))
  evaluate <- function(theta, profile = FALSE, search = FALSE) state_at(tracker$place(theta), theta, profile)
  doubled <- function(theta, state) {
    m <- tracker$count()
    twice <- tracker$twice()
    if (m == twice) return(NULL)
    if (most <= compared_points) {
      return(change_between(state, vif_state(problem, tracker$recounted(twice), theta, FALSE)))
    }
    loss <- sampled_loss(tracker$sets(), field, problem$operators, field_theta(theta))
    list(loglik = (most + 1) * (loss(m, rank(m)) - loss(twice, rank(twice))))
  }
  kept_neighbours <- function(theta) {
    m <- tracker$count()
    list(m = m, all = m == most, ordering = how$control$ordering, local = min(2L * m, length(data$y)),
         inducing = rank(m))
  }
  part <- if (most < 4e4) 0 else max(1e4, most %/% 10)
  likelihood_with_neighbours(tracker, evaluate, doubled, kept_neighbours,
                             subset_sizes = function() c(dense = 0, same = part))
}

# Returns a function that calls f, or returns the latest result if the arguments have not changed. Returning the latest
# result saves an evaluation, because a search begins at the parameters at which the previous search ended.
with_latest <- function(f) {
  latest <- NULL
  function(...) {
    arguments <- list(...)
    if (!identical(latest$arguments, arguments)) latest <<- list(arguments = arguments, result = f(...))
    latest$result
  }
}

# A list in the form of effects_problem(), also for a model without effects.
vif_problem <- function(data, model, how) {
  how$backend <- "cpu"
  if (has_effects(model)) return(effects_problem(data, model, how))
  list(field = c(model, list(rows = seq_len(nrow(model$parameters)))), u = data$u, reml = how$reml, data = data,
       trend = orthonormal_trend(data), operators = set_operators(model))
}

# The number of neighbours and the number of inducing points of a new fit. The number of inducing points increases with
# the number of neighbours.
vif_count <- function(how, model, n) neighbour_count(how$control, model$d, n, default = 30)

inducing_count <- function(how, data, factor = 1) {
  as.integer(min(ceiling(how$control$inducing * factor), length(data$y)))
}

vif_state <- function(problem, sets, theta, profile) {
  if (is_degenerate(problem$effects, theta)) return(singular_state())
  vif <- vif_factor(problem, sets, theta)
  if (!is.null(vif$bad)) return(singular_state(sets$order[[vif$bad]]))
  vif$white <- vif$rows$whiten(rbind(t(sets$values), vif$factors))
  sums <- vif_sums(vif, ncol(sets$values))
  results <- if (!is.null(sums)) gram_results(sums, problem$data, problem$trend, problem$reml, profile)
  if (is.null(results)) return(singular_state(sets$order[[1]]))
  new_state(results, gradient = once(function() vif_gradient(problem, sets, theta, vif, sums, results)),
            information = vif_information(problem, sets, theta, vif, sums, results, profile))
}

# The factors of the approximation at theta: `low`, a result of low_rank_factors(); `factors`, the matrix V; the `rows`
# of the sparse U; `bad`, the index of the first set whose covariance is not positive definite, if such a set exists;
# and the `entries` of effects.
vif_factor <- function(problem, sets, theta) {
  low <- low_rank_factors(problem$operators$values, theta[problem$field$rows], sets)
  if (is.null(low)) return(list(bad = 1L))
  factors <- low$factors(sets$points)
  rows <- rows_beside_effects(problem$operators, problem$field, sets, theta, factors = factors)
  list(low = low, factors = factors, rows = rows, bad = rows$bad, entries = vif_entries(problem, sets, theta))
}

vif_sums <- function(vif, known) sums_without(vif_gram(vif), known, 2 * sum(log(vif$rows$sd)))

# The log-determinant of K, and the products a' K^-1 b of the first `known` columns a and b, which are the response y
# and the trend X, in a list with the names of set_moments(). These results are computed from `gram`, the inner products
# of all whitened columns, and from the `logdet` of R. All other columns C have random coefficients b ~ N(0, I): `root`
# is the upper triangular root of S = I + C' R^-1 C, and `along` = S^-1 C' R^-1 [y X].
sums_without <- function(gram, known, logdet) {
  low <- -seq_len(known)
  root <- chol_or_null(gram[low, low, drop = FALSE] + diag(nrow(gram) - known))
  if (is.null(root)) return(NULL)
  half <- backsolve(root, gram[low, -low, drop = FALSE], transpose = TRUE)
  list(bad = 0, logdet = logdet + 2 * sum(log(diag(root))), gram = gram[-low, -low, drop = FALSE] - crossprod(half),
       along = backsolve(root, half), root = root)
}

# The mean of b given the observations.
low_rank_mean <- function(sums, results) as.vector(sums$along %*% results$contrast)

check_vif <- function(model, family, backend, call) {
  refuse <- function(wrong, rule, hint) if (wrong) stop_kernops("input", c(rule, i = hint), call = call)
  refuse(!has_field(model),
         "{.code method = \"vif\"} approximates a field, but the covariance has none.",
         "{.code method = \"exact\"} or {.val vecchia} fits the model.")
  refuse(!is.null(family), "{.code method = \"vif\"} is for Gaussian observations.",
         "{.code method = \"exact\"} or {.val vecchia} fits a {.arg family}.")
  refuse(identical(backend, "cuda"), "{.code method = \"vif\"} computes on the CPU, not with
                                      {.code backend = \"cuda\"}.", "{.code backend = \"auto\"} or {.val cpu} does.")
}
