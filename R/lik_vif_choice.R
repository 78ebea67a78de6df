# The choice between Vecchia's approximation and VIF for fits with `method = "auto"`, by a subset of the observations.

# The likelihood of how$method "vecchia"; without effects and with how$compared, it is a choice until suited_method()
# is called.
neighbour_likelihood <- function(data, model, how) {
  if (has_effects(model)) return(effects_likelihood(data, model, how))
  current <- vecchia_likelihood(data, model, how)
  if (!isTRUE(how$compared)) return(current)
  verbs <- c("evaluate", "count", "use", "outdated", "regroup", "double", "doubled", "kept_neighbours", "sets")
  delegates <- lapply(stats::setNames(nm = verbs), function(verb) function(...) current[[verb]](...))
  do.call(new_likelihood, c(delegates, suited_method = function(theta) {
    method <- method_of_subset(data, model, how, theta)
    if (method == "vif") current <<- vif_likelihood(data, model, how)
    method
  }))
}

# Settings with the method that a likelihood has chosen, if it has.
with_method <- function(how, method) {
  if (is.null(method)) return(how)
  how$compared <- NULL
  replace(how, "method", list(method))
}

# Fields for which neighbours screen off the other observations slowly.
may_need_inducing_points <- function(model) {
  model$d >= 4 || !all_leaves(model$covariance, function(leaf) !isTRUE(leaf$kernel$smooth))
}

# "vif" if Vecchia's approximation of the log-likelihood of a subset is not good (see gp_control()), and VIF halves its
# difference from the exact one.
method_of_subset <- function(data, model, how, theta, size = 1500) {
  rows <- representative_rows(model, data, size, how$control$seed)
  some <- subset_data(data, rows)
  deviance <- function(likelihood) likelihood$evaluate(theta)$value
  exact <- deviance(exact_likelihood(some, model, how$reml))
  off <- function(make) abs(deviance(make(some, model, how)) - exact) / 2
  by_neighbours <- off(vecchia_likelihood)
  if (!is.finite(by_neighbours)) return("vecchia")
  if (by_neighbours <= tolerable_changes(length(rows), how$control$neighbour_tol)[["loglik"]]) return("vecchia")
  if (isTRUE(off(vif_likelihood) < by_neighbours / 2)) "vif" else "vecchia"
}
