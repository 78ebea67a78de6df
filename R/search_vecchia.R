# The search for fits by Vecchia's approximation, in which neighbours are updated when the ranges change; and the number
# of neighbours of new points.

# The first search uses 10 neighbours, so that a likelihood takes a fifth of the time; the second search uses all
# neighbours. The conditioning sets are fixed during a search. If the nearest neighbours at the end of the search differ
# from those in the sets, the search continues with the new nearest neighbours. A search may raise variances that are
# nearly zero, and the variances may return to nearly zero. In this case, the next searches do not raise these variances
# again at their ends, because such a detour takes as long as all other steps. When the next searches begin, they still
# test whether raised variances increase the likelihood.
vecchia_search <- function(candidates, target) {
  likelihood <- target$likelihood
  few <- likelihood$few()
  if (few == 0 && nrow(candidates) == 1) {
    return(with_settled_neighbours(list(theta = candidates[1, ], iterations = 0L, evaluations = 0L), target))
  }
  rough <- target
  rough$how$control$gain <- max(0.1, target$how$control$gain)
  likelihood$use(if (few > 0) few else Inf)
  best <- best_from(candidates, rough)
  likelihood$use(Inf)
  if (is_singular(best)) best else with_settled_neighbours(best, target)
}

# Repeats the search until the neighbours in the conditioning sets are the nearest neighbours for the estimated ranges.
with_settled_neighbours <- function(best, target) {
  for (round in 1:4) {
    target$likelihood$regroup(best$theta)
    end <- descend(best$theta, target, replace(target$how$control, "lifted", list(best$lifted)))
    for (count in c("iterations", "evaluations")) end[[count]] <- end[[count]] + best[[count]]
    best <- end
    if (!target$likelihood$outdated(best$theta)) break
  }
  best
}

# The number of observations on which a new point is conditioned, at least `m`. The number is doubled as long as the
# doubling decreases standard errors of the field by more than 0.5 %. If observations are noisy, a single observation
# has little information, so many neighbours are necessary.
local_count <- function(data, model, theta, m, values = covariance_matrix(model), max_count = 240L) {
  n <- length(data$y)
  if (m >= n - 1) return(n)
  near <- neighbour_coordinates(model, theta, data$u)
  tree <- search_tree(near)
  sites <- prediction_sites(data$u, near, model, tree = tree)
  base <- list(u = data$u, near = near, noise = noise_variance(data, model, theta), diagonal = 1)
  weights_at <- nearest_weights(values, base, model, theta, tree = tree)
  sd_of <- function(m) mean(weights_at(sites, m)$sd)
  m <- max(1L, m)
  sd <- sd_of(min(m, n))
  while (m < n && m < max_count) {
    finer <- sd_of(min(2L * m, n))
    if (!is.finite(finer) || finer >= 0.995 * sd) break
    m <- 2L * m
    sd <- finer
  }
  min(m, n)
}

# The sites where standard errors are compared. Half of the sites are between neighbouring observations. The other half
# are anywhere in the range of the coordinates, so that gaps between observations are included. Columns that are not
# coordinates, such as groups and indices of variables, are copied from observations.
prediction_sites <- function(u, near, model, count = 100, tree = search_tree(near)) {
  n <- nrow(u)
  space <- seq_len(model$d)
  variables <- length(model$covariance$variables)
  sample <- spaced_rows(n, count)
  # the last point of a pair is at another location if a location has at most one observation of each variable
  pairs <- nearest_points(near[sample, , drop = FALSE], tree, min(max(variables, 1L) + 1L, n))
  between <- u[pairs[1, ], , drop = FALSE]
  between[, space] <- (between[, space] + u[pairs[nrow(pairs), ], space]) / 2
  anywhere <- u[round(seq(1, n, length.out = count)), , drop = FALSE]
  ranges <- column_ranges(u)[, space, drop = FALSE]
  anywhere[, space] <- t(ranges[1, ] + t(even_points(count, max(1L, model$d))[, space, drop = FALSE]) *
                           (ranges[2, ] - ranges[1, ]))
  sites <- rbind(between, anywhere)
  if (!variables) return(sites)
  beside <- sites[, -seq_len(space_columns(model)), drop = FALSE]
  at_variables(sites[, space, drop = FALSE], sites[, model$d + 1] + 1, z = beside)
}

# The method that `method = "auto"` chooses. The limit for the exact method is lower for a family, because its
# likelihood requires about ten factorisations of the covariance matrix.
chosen_method <- function(parts, model, precision, control, family = NULL) {
  u <- observation_sites(parts$layout, parts$u, parts)
  of <- if (!is_lmc(model$covariance)) location_strata(model, c(list(u = u), parts[c("noise", "weights")]))$of
  blocks <- tabulate(separate_blocks(model, if (is.null(of)) u else u[!duplicated(of), , drop = FALSE]))
  fits <- function(limit) sum(blocks^2) <= limit^2
  if (fits(control$exact_limit / if (is.null(family)) 1 else 4)) return("exact")
  suited <- precision == "float64" && model$d <= 10 && is_local(without_effects(model$covariance) %||% nugget())
  if (!suited && fits(control$exact_limit)) return("exact")
  if (suited) "vecchia" else "iterative"
}

# TRUE if distant observations have little influence given the near observations, because the correlation decreases with
# the distance.
is_local <- function(x) {
  fold_covariance(x, function(leaf, path) is_white(leaf$label) || leaf$kernel$screens,
                  function(operation, parts) (if (operation == "*") any else all)(unlist(parts)))
}

check_neighbours <- function(m, call = caller_env()) {
  if (is.null(m) || identical(m, "auto")) return(invisible())
  if (is.numeric(m) && length(m) == 1 && is.finite(m) && m >= 1 && m == floor(m)) return(invisible())
  stop_kernops("input", "{.arg neighbours} must be one whole number, at least 1, or {.val auto}.", call = call)
}
