# For fits with `method = "auto"`: the choice between Vecchia's approximation and VIF (lik_vif.R), and the choice of the
# number of neighbours.

# The likelihood if how$method is "vecchia". If how$compared is TRUE, suited_settings() chooses between Vecchia's
# approximation and VIF.
neighbour_likelihood <- function(data, model, how) {
  current <- likelihood_by_neighbours(data, model, how)
  if (!isTRUE(how$compared)) return(current)
  verbs <- c("evaluate", "subset_sizes", "count", "use", "outdated", "regroup", "double", "doubled", "kept_neighbours",
             "sets")
  delegates <- lapply(stats::setNames(nm = verbs), function(verb) function(...) current[[verb]](...))
  do.call(new_likelihood, c(delegates, suited_settings = function(theta) {
    settings <- least_loss(neighbour_candidates(data, model, how), expected_loss(data, model, how, theta),
                           how$control$neighbour_tol)
    how <- with_settings(how, settings)
    make <- if (how$method == "vif") vif_likelihood else likelihood_by_neighbours
    current <<- make(data, model, how)
    settings
  }))
}

likelihood_by_neighbours <- function(data, model, how) {
  make <- if (has_effects(model)) effects_likelihood else vecchia_likelihood
  make(data, model, how)
}

# The settings `how` of a fit, in which `settings`, the settings that a likelihood has chosen, replace the previous
# values.
with_settings <- function(how, settings) {
  if (is.null(settings)) return(how)
  how$compared <- NULL
  replace(how, names(settings), settings)
}

# TRUE for fields in which distant observations may have influence even if the values of a few neighbours are known.
may_need_inducing_points <- function(model) {
  if (!has_field(model)) return(FALSE)
  model$d >= 4 || !all_leaves(model$covariance, function(leaf) !isTRUE(leaf$kernel$smooth))
}

# Candidate settings in the order of the time that a likelihood takes: Vecchia's approximation with the default number
# of neighbours and with more neighbours, up to `max_count`, and VIF with up to `largest` entries of the factors. If the
# user chose the number of neighbours, all candidates have the chosen number.
neighbour_candidates <- function(data, model, how, max_count = 120L, largest = 2e8) {
  limit <- length(data$y) - 1L
  m <- neighbour_count(how$control, model$d, limit)
  counts <- if (is.numeric(how$control$neighbours)) m else unique(pmin(m * c(1L, 2L, 4L), max(m, max_count), limit))
  vif <- list(method = "vif", neighbours = vif_count(how, model, limit))
  able <- length(data$y) * inducing_count(how, data) <= largest &&
    count_coefficients(effects_of(model, data$u)) <= most_coefficients
  c(lapply(counts, function(count) list(method = "vecchia", neighbours = count)), if (able) list(vif))
}

# The first of the candidates whose loss is at most `tol`. If every candidate has a larger loss, a slower candidate
# replaces a faster candidate only if it halves the loss.
least_loss <- function(candidates, loss, tol) {
  chosen <- candidates[[1]]
  least <- loss(chosen)
  for (candidate in candidates[-1]) {
    if (isTRUE(least <= tol)) break
    lost <- loss(candidate)
    if (!isTRUE(lost < least / 2)) next
    chosen <- candidate
    least <- lost
  }
  chosen
}

# Returns loss(settings): the difference from the exact log-likelihood per observation at theta. The result is the
# larger of two estimates. The difference for a subset includes the information of distant observations. The expected
# difference for all observations reflects the spacing of all observations.
expected_loss <- function(data, model, how, theta) {
  losses <- list(loss_of_subset(data, model, how, theta), loss_of_some(data, model, how, theta))
  function(settings) max(vapply(losses, function(loss) loss(settings), 0))
}

loss_of_subset <- function(data, model, how, theta, size = 1500) {
  some <- subset_data(data, representative_rows(model, data, size, how$control$seed))
  deviance <- function(likelihood) likelihood$evaluate(theta)$value
  exact <- deviance(exact_likelihood(some, model, how$reml))
  function(settings) {
    make <- switch(settings$method, vecchia = likelihood_by_neighbours, vif = vif_likelihood)
    abs(deviance(make(some, model, with_settings(how, settings))) - exact) / 2 / length(some$y)
  }
}

# Returns a function of the settings that estimates the loss by sampled_loss(), for the field without effects.
loss_of_some <- function(data, model, how, theta) {
  problem <- vif_problem(data, model, how)
  theta <- unname(theta)[problem$field$rows]
  sets <- ordered_observations(problem$data, problem$field, theta, how, problem$trend)
  loss <- sampled_loss(sets, problem$field, problem$operators, theta)
  function(settings) loss(settings$neighbours, if (settings$method == "vif") inducing_count(how, data))
}

# Returns a function loss(m, rank): the expected difference from the exact log-likelihood per observation, with m
# neighbours and `rank` inducing points, or no inducing points if `rank` is NULL. The difference is the mean of log(sd /
# exact sd) over observations, where sd is the standard deviation of an observation given its neighbours. The mean is
# over `count` observations that are evenly spaced in the ordering, and the sd given `reference` neighbours approximates
# the exact sd. With inducing points, both standard deviations are those of the residual process, so the result is an
# upper bound.
sampled_loss <- function(sets, model, operators, theta, reference = 480L, count = 100) {
  some <- some_positions(nrow(sets$near), count)
  near <- sets_of_some(sets, some, sets$search(min(reference, nrow(sets$near) - 1L), some))
  log_sd <- function(factors, most) {
    rows <- factored_rows(operators, theta, model$nugget, near$held, near$neighbours, factors, most)
    if (is.null(rows$bad)) mean(log(rows$sd)) else Inf
  }
  function(m, rank = NULL) {
    low <- if (length(rank)) low_rank_factors(operators$values, theta, vif_sets(sets, model, rank))
    if (length(rank) && is.null(low)) return(Inf)
    factors <- if (length(rank)) low$factors(near$points)
    log_sd(factors, m) - log_sd(factors, Inf)
  }
}
