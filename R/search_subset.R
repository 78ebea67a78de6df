# The optima of subsets, as starting values of a search with all data.

# A matrix with one start in each row: the optima of the subset, and the starts that target$beside() adds. If there are
# many observations and a likelihood takes as long as a step of the search, a larger subset selects one start.
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

# Starting values from an optimum of a subset: the optimum and, if it is the best so far, the optimum with the user's
# values, and the optimum with a larger nugget, since the subset may not identify the nugget.
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

# If the likelihood of all data chooses between the optima, the optima keep the order of the search, so that later
# optima never replace earlier optima. Otherwise the best optimum comes first, and far worse optima are omitted.
ordered_optima <- function(search, subset, target) {
  if (target$likelihood$dense && length(search$optima)) return(search$optima)
  c(list(search$best), rivals_of(search, subset, if (has_formula(subset$model)) 20 else 4))
}

# If there are many observations, the best optimum for a part of them, by the same likelihood. This search takes far
# less time, and its result is near the optimum for all observations.
part_optimum <- function(candidates, target) {
  size <- target$likelihood$subset_sizes()[["same"]]
  if (size == 0) return(candidates)
  part <- subset_target(target, target$sample_rows(target$data, size))
  candidates <- part_optimum(candidates, part) # starts from the optimum for a smaller part
  part$likelihood$use(10L)
  best <- best_from(candidates, part)
  if (is_singular(best)) candidates else rbind(best$theta)
}
