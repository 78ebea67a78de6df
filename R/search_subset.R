# The optima of the likelihood of subsets, which are starting values of a search with all data.

# A matrix with one start in each row: the optima of the subset, and the starts that target$beside() adds. If the dense
# likelihood of a larger subset can be computed, this likelihood selects one start, because with many observations each
# evaluation takes as long as a step of a search.
start_candidates <- function(starts, target, rows) {
  if (target$too_little(subset_data(target$data, rows))) return(starts[1, , drop = FALSE])
  subset <- subset_target(target, rows, dense_settings(target$how))
  subset$how$control$tol <- max(subset$how$control$tol, 1e-7)
  search <- find_optima(starts, subset)
  if (!target$likelihood$dense) search$best <- c(finish(search$best, subset), leads = TRUE)
  size <- target$likelihood$subset_sizes()[["dense"]]
  if (size > 0) {
    larger <- subset_target(target, target$sample_rows(target$data, size), dense_settings(target$how))
    search$best$theta <- descend(search$best$theta, larger)$theta
  }
  candidates <- unique(do.call(rbind, lapply(ordered_optima(search, subset, target), target$beside)))
  if (size == 0 || nrow(candidates) == 1) return(candidates)
  values <- apply(candidates, 1, function(theta) larger$evaluate(theta)$value)
  candidates[which.min(values), , drop = FALSE]
}

# Starting values near an optimum of a subset. The first start is the optimum. If this optimum was the best so far, two
# further starts follow: the optimum with the parameter values that the user gave, and the optimum with a larger nugget,
# since the subset may not identify the nugget.
starts_beside <- function(end, model) {
  theta <- unname(end$theta)
  if (!isTRUE(end$leads)) return(rbind(theta, deparse.level = 0))
  parameters <- model$parameters
  known <- !parameters$fixed & !is.na(parameters$value)
  white <- white_rows(model)
  sill <- total_variance(model, theta)
  little <- setdiff(white[theta[white] < 1e-3 * sill], which(parameters$fixed))
  rbind(theta, replace(theta, known, parameters$value[known]), replace(theta, little, 0.01 * sill), deparse.level = 0)
}

# The optima of a subset from which searches with all data start. If the likelihood of all data is dense, the search
# with all data compares the optima, so all optima are returned, in the order in which they were found: a later optimum
# then never replaces an earlier optimum. For other likelihoods, the best optimum comes first, and far worse optima are
# omitted.
ordered_optima <- function(search, subset, target) {
  if (target$likelihood$dense && length(search$optima)) return(search$optima)
  c(list(search$best), rivals_of(search, subset, if (has_formula(subset$model)) 20 else 4))
}

# If there are many observations, searches the optimum for a part of the observations first, with the same type of
# likelihood. This search takes far less time than a search with all observations, and its result is near the optimum
# for all observations.
part_optimum <- function(candidates, target) {
  size <- target$likelihood$subset_sizes()[["same"]]
  if (size == 0) return(candidates)
  part <- subset_target(target, target$sample_rows(target$data, size))
  candidates <- part_optimum(candidates, part) # first searches a smaller part
  part$likelihood$use(10L)
  best <- best_from(candidates, part)
  if (is_singular(best)) candidates else rbind(best$theta)
}
