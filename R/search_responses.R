# The search of parameters for many responses at the same points: the parameters on the scale of the search, and
# starting values.

# The roles of parameters in the search, with the names that the C++ code uses (src/sets/response_parameters.h).
response_roles <- c("fixed", "logarithm", "linear", "first", "nugget", "multiple")

# The parameters of a model, with their bounds on the scale s of the search. Variances have three roles. One element s
# of the search determines two variances, before all variances are multiplied by the profiled scale: the first variance
# is 1 - exp(-s), and the nugget is exp(-s). Each other variance has a separate element s and is exp(s) times the first
# variance.
response_parameters <- function(model) {
  table <- model$parameters
  first <- setdiff(model$scale, model$nugget)[[1]]
  role <- ifelse(table$fixed, "fixed", ifelse(table$log, "logarithm", "linear"))
  role[model$scale] <- "multiple"
  role[c(first, model$nugget)] <- c("first", "nugget")
  bounds <- function(values) to_search(table, values)
  low <- ifelse(role == "multiple", -log(1e6), ifelse(role == "first", 0, bounds(table$lower)))
  high <- ifelse(role == "multiple", log(1e6), ifelse(role == "first", log(1e8), bounds(table$upper)))
  # ranges have the upper limit that without_ridge() sets
  far <- table$kind == "range" & table$coordinate == 0 & !table$fixed
  ridge <- ifelse(far, pmin(high, to_search(table, 20 * table$extent)), high)
  finite <- function(x) ifelse(is.finite(x), x, sign(x) * 1e300)
  list(role = match(role, response_roles), value = ifelse(is.na(table$value), 1, table$value), unit = table$unit,
       low = finite(low), high = finite(high), ridge = finite(ridge), first = first)
}

# Converts a vector s on the scale of the search to the parameters theta.
response_theta <- function(parameters, s) {
  role <- response_roles[parameters$role]
  first <- -expm1(-s[role == "first"])
  theta <- parameters$value
  for (row in seq_along(s)) theta[[row]] <- switch(
    role[[row]], fixed = theta[[row]], logarithm = exp(s[[row]]), linear = s[[row]] * parameters$unit[[row]],
    first = first, nugget = 1 - first, multiple = first * exp(s[[row]])
  )
  theta
}

is_searched <- function(parameters) !response_roles[parameters$role] %in% c("fixed", "nugget")

# Starting values that fill the space of the parameters evenly, and `near`, the indices of the nearest other starts of
# each start.
response_starts <- function(model, u, parameters, count = NULL) {
  table <- model$parameters
  searched <- is_searched(parameters)
  open <- !table$fixed
  axes <- min(sum(searched), 4)
  count <- count %||% c(24, 300, 500, 700)[[axes]]
  unit <- even_points(count, nrow(table) + 1)
  along <- unit[, -1, drop = FALSE]
  theta <- lapply(seq_len(count), function(n) start_at(model, u, 1, open, c(unit[n, 1], along[n, open]), NULL, n))
  s <- vapply(theta, to_search, numeric(nrow(table)), parameters = table)
  ranges <- which(searched & table$kind == "range")
  s[ranges, ] <- longer_axis(s[ranges, , drop = FALSE])
  s[parameters$first, ] <- 0.01 * 700^along[, parameters$first]
  multiple <- which(response_roles[parameters$role] == "multiple")
  s[multiple, ] <- log(0.1) + log(100) * t(along[, multiple])
  s[!searched, ] <- 0
  apart <- cbind(unit[, 1], along[, searched & table$kind != "range", drop = FALSE])
  near <- nearest_points(apart, apart, min(3 * axes + 1, count))[-1, , drop = FALSE]
  list(s = pmin(pmax(s, parameters$low), parameters$high), near = near, within = 3, most = 3L, gain = 1e-6)
}

# The parameters s that all responses share: the optimum of the sum of their profile likelihoods. `groups` are lists of
# `sets` and standard responses `y`; held(group) returns held_responses() for a group.
common_optimum <- function(held, groups, parameters, starts, reml) {
  searched <- is_searched(parameters)
  total <- function(groups, s) {
    theta <- response_theta(parameters, s)
    sums <- vapply(groups, function(group) {
      products <- held(group)$products(theta)
      if (is.null(products)) Inf else sum(profiled_products(products, group$sets$n, reml)$value)
    }, 0)
    if (all(is.finite(sums))) sum(sums) else 1e300
  }
  some <- few_responses(groups)
  values <- apply(starts$s, 2, total, groups = some)
  start <- starts$s[, which.min(values)]
  size <- sum(vapply(groups, function(group) ncol(group$y), 0))
  end <- stats::nlminb(start[searched], function(s) total(groups, replace(start, which(searched), s)) / size,
                       lower = parameters$low[searched], upper = parameters$ridge[searched],
                       control = list(rel.tol = 1e-12, iter.max = 200, eval.max = 400))
  replace(start, which(searched), end$par)
}

# The first groups, with at most `max_count` responses in total.
few_responses <- function(groups, max_count = 64) {
  left <- max_count
  kept <- list()
  for (group in groups) {
    if (left <= 0) break
    group$y <- group$y[, seq_len(min(left, ncol(group$y))), drop = FALSE]
    left <- left - ncol(group$y)
    kept <- c(kept, list(group))
  }
  kept
}

# Stretches s, the logarithms of starting values of ranges. The shortest starting value is at first the distance of
# neighbouring points in an even arrangement of the points; this function divides the shortest value by 16. Ranges below
# this distance are needed, because estimates of short ranges depend on a few points that are close to each other.
longer_axis <- function(s) {
  if (!length(s)) return(s)
  high <- apply(s, 1, max)
  high - (high - s) * (1 + log(16) / max(high - apply(s, 1, min)))
}
