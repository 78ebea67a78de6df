# The global optimum of a likelihood that is cheap enough for many searches.

# The best optimum that searches from the most promising `starts` reach, and its `rivals`: up to three other optima
# whose log-likelihood is at most two units lower.
best_optimum <- function(starts, target) {
  result <- find_optima(starts, target)
  result$best <- finish(result$best, target)
  c(result$best, list(starts = result$starts, rivals = rivals_of(result, target)))
}

rivals_of <- function(result, target, within = 4) {
  near <- Filter(function(end) end$value <= result$best$value + within, from_best(result$optima))
  utils::head(Filter(function(end) apart(result$best, end, target), near), 3)
}

# The optima, in the order in which the searches found them. The starts are divided into groups. For one group at a
# time, rough searches descend from the starts of the group. Precise searches then continue from points around the best
# optimum, and from the end points of rough searches. An end point is omitted if it is much worse than the best optimum,
# or belongs to an optimum that was already found. The search of a group does not depend on later groups, so more groups
# never give a worse optimum.
find_optima <- function(starts, target) {
  starts <- promising(starts, target)
  ends <- descents(starts, target)
  result <- list(best = ends[[1]], optima = list(), seen = list(), starts = nrow(starts))
  for (group in split(ends, ceiling(vapply(ends, function(end) end$row, 0) / group_size(target)))) {
    result <- with_around(with_ends(result, group, target), target)
  }
  result
}

from_best <- function(ends) ends[order(values_of(ends))]

# Adds the optima of one group. Precise searches reach these optima from the ends of rough searches: from the best end
# and from at most three other ends.
with_ends <- function(result, ends, target) {
  new <- 0
  elsewhere <- function(end) all(vapply(result$optima, apart, NA, end, target))
  for (end in from_best(ends)) {
    lowest <- if (length(result$optima)) result$best$value else Inf
    if (new == 4 || end$value == Inf || end$value > lowest + 6) break
    if (end$value >= lowest && !elsewhere(end)) next
    end <- finish(end, target, 1e-4)
    end$leads <- end$value < lowest
    if (!end$leads && !elsewhere(end)) next
    new <- new + 1
    result$optima <- c(result$optima, list(end))
    if (end$leads) result$best <- end
  }
  result
}

with_around <- function(result, target) {
  best <- result$best
  if (best$value == Inf || !all(vapply(result$seen, apart, NA, best, target))) return(result)
  result$seen <- c(result$seen, list(best))
  around <- rbind(look_around(best, target), restarts_around(best, target))
  if (nrow(around)) with_ends(result, rough_searches(around, target), target) else result
}

# Searches start from all rows of `from`. In each group, only some searches continue after the first steps: the searches
# from the two starts with the lowest values, and the two searches with the lowest values after the first steps.
descents <- function(from, target) {
  first <- first_steps(from, target)
  group <- ceiling(seq_along(first) / group_size(target))
  kept <- unlist(lapply(split(seq_along(first), group), function(rows) {
    union(utils::head(rows, 2), utils::head(rows[order(values_of(first[rows]))], 2))
  }))
  Map(function(end, row) c(end, list(row = row)), last_steps(first[kept], target), kept)
}

rough_searches <- function(from, target) last_steps(first_steps(from, target), target)

# first_steps() takes a few quasi-Newton steps; the value after these steps predicts the value of the optimum far better
# than the value at the start. last_steps() takes a few Newton steps, which are sufficient near an optimum.
first_steps <- function(from, target) descend_all(from, roughly(target, 8), search_from)
last_steps <- function(ends, target) {
  descend_all(do.call(rbind, lapply(ends, function(end) end$theta)), roughly(target, Inf), information_search)
}

roughly <- function(target, maxit) {
  control <- target$how$control
  target$how$control <- replace(control, c("tol", "gain", "maxit"),
                                list(max(control$tol, 1e-3), 1e-2, min(control$maxit, maxit)))
  target
}

# The number of starts in each group. Groups are larger if many parameters vary, because the values at the starts
# predict the optima poorly in this case.
group_size <- function(target) if (start_axes(target$model$parameters) > 4) 4 else 1

# The starts with the lowest values, enough for control$starts groups. A start near another start with a lower value is
# omitted.
promising <- function(starts, target) {
  if (nrow(starts) == 1) return(starts)
  most <- target$how$control$starts * group_size(target)
  values <- apply(starts, 1, target$value)
  scaled <- matrix(apply(starts, 1, to_search, parameters = target$model$parameters), nrow(starts), byrow = TRUE)
  kept <- integer()
  for (row in order(values)[seq_len(max(1, sum(is.finite(values))))]) {
    near <- vapply(kept, function(other) max(abs(scaled[row, ] - scaled[other, ])) < 0.5, NA)
    if (!any(near)) kept <- c(kept, row)
    if (length(kept) == most) break
  }
  starts[kept, , drop = FALSE]
}

# Finishes a search by Newton steps, whose gain measures convergence. If the Newton steps stop before convergence,
# quasi-Newton steps follow, and then Newton steps again.
finish <- function(end, target, gain = 1e-8) {
  if (end$value == Inf) return(end)
  newton <- function(theta) descend(theta, target, replace(target$how$control, "gain", gain))
  first <- newton(end$theta)
  if (isTRUE(first$gain < 100 * gain)) return(first)
  other <- descend(first$theta, target, search = search_from)
  again <- newton(other$theta)
  again[c("iterations", "evaluations")] <- Map(`+`, Map(`+`, first[c("iterations", "evaluations")], other[c(
    "iterations", "evaluations")]), again[c("iterations", "evaluations")])
  again
}

# The best optimum that searches from the candidates reach. A few Newton steps from the best candidate are sufficient,
# because it is near the optimum. If the likelihood is cheap to evaluate, searches also start from other candidates.
best_from <- function(candidates, target) {
  control <- target$how$control
  dense <- target$likelihood$dense
  costly <- target$likelihood$costly
  if (dense) control$gain <- if (control$starts == 0) 1e-3 else 1e-5
  search <- function(theta) descend(theta, target, control)
  if (nrow(candidates) == 1) return(search(candidates[1, ]))
  values <- apply(candidates, 1, target$value)
  if (dense || !costly && has_formula(target$model)) {
    return(best_beside(candidates, values, search, target, if (dense) 6 else 40))
  }
  best <- search(candidates[which.min(values), ])
  for (other in which(!costly & values < best$value)) best <- lowest(list(best, search(candidates[other, ])))
  best
}

# TRUE if the model has user-defined formulas, whose optima may differ in parameters other than ranges and nuggets.
has_formula <- function(model) any(model$parameters$kind == "free" & !model$parameters$fixed)

# The best of the optima reached from candidates, and its rivals. The values of candidates predict the values of optima
# poorly, because candidates are optima of a subset. Therefore a search starts from each candidate whose value is near
# the lowest value, in the order of the values, unless the candidate belongs to an optimum that was already found.
best_beside <- function(candidates, values, search, target, within = 6) {
  optima <- list()
  for (k in which(values < Inf & values <= cummin(values) + within)) {
    end <- list(theta = candidates[k, ], value = values[[k]])
    if (all(vapply(optima, apart, NA, end, target))) optima <- c(optima, list(search(end$theta)))
  }
  if (!length(optima)) return(search(candidates[1, ]))
  best <- lowest(optima)
  rivals <- list()
  for (end in Filter(function(end) end$value <= best$value + 4, from_best(optima))) {
    if (length(rivals) < 3 && all(vapply(c(list(best), rivals), apart, NA, end, target))) rivals <- c(rivals, list(end))
  }
  best$rivals <- rivals
  best
}

values_of <- function(ends) vapply(ends, function(end) end$value, 0)
lowest <- function(ends) ends[[which.min(values_of(ends))]]

# TRUE if the ends a and b of two searches are different optima: the likelihood between a and b is lower than at a and
# at b.
apart <- function(a, b, target) {
  parameters <- target$model$parameters
  from <- to_search(parameters, a$theta)
  to <- to_search(parameters, b$theta)
  angle <- is_direction(parameters) # half a turn does not change a direction
  to[angle] <- from[angle] + (to[angle] - from[angle] + pi / 2) %% pi - pi / 2
  if (all(abs(to - from)[parameters$kind != "variance"] < 0.05)) return(FALSE)
  between <- vapply(c(0.2, 0.4, 0.6, 0.8), function(t) {
    target$value(mixed_sills(target$model, from_search(parameters, from + t * (to - from)), a$theta, b$theta, t))
  }, 0)
  max(between) > max(a$value, b$value) + 1e-3 * (1 + abs(b$value - a$value))
}

# Starting values of further searches. On lines through the optimum, the starting values are the local minima of -2
# log-likelihood that are not much worse than the optimum. On lines along which a period varies, all points are starting
# values, because the likelihood has many optima between two periods.
look_around <- function(best, target) {
  minima <- lapply(lines_through(best$theta, target$model), function(line) {
    values <- apply(line, 1, target$value)
    before <- c(Inf, utils::head(values, -1))
    after <- c(values[-1], Inf)
    low <- if (is.null(attr(line, "all"))) values <= before & values <= after & values < best$value + 10 else TRUE
    low <- low & is.finite(values)
    line[low & rowSums(abs(line - rep(best$theta, each = nrow(line)))) > 0, , drop = FALSE]
  })
  matrix(do.call(rbind, c(list(matrix(0, 0, length(best$theta))), minima)), ncol = length(best$theta))
}

# Starting values for covariances with user-defined formulas. The starts differ from an optimum in every parameter, by
# up to four standard errors or a factor of 20. The noise at these starts is positive, even if the optimum has no noise.
restarts_around <- function(best, target, count = 6) {
  model <- target$model
  parameters <- model$parameters
  free <- which(!parameters$fixed)
  if (!has_formula(model) || is.null(best$information)) return(NULL)
  s <- to_search(parameters, best$theta)
  steps <- 4 / sqrt(pmax(diag(best$information) / 2, .Machine$double.eps))
  least <- ifelse(parameters$log[free], log(2), 0)
  steps <- pmin(pmax(steps, least), ifelse(parameters$log[free], log(20), 4 + 4 * abs(s[free])))
  white <- intersect(white_rows(model), free)
  unit <- even_points(count, length(free))
  do.call(rbind, lapply(seq_len(count), function(k) {
    theta <- from_search(parameters, replace(s, free, s[free] + (2 * unit[k, ] - 1) * steps))
    theta[white] <- total_variance(model, best$theta) * 10^(-3 * unit[k, match(white, free)])
    pmin(pmax(theta, parameters$lower), parameters$upper)
  }))
}

# A list of lines through theta; a line is a matrix whose rows are parameter vectors. Along a line, one of the following
# varies: the ranges of one leaf by a common factor, the nugget, a period, an angle, or a parameter of a user-defined
# formula.
lines_through <- function(theta, model) {
  parameters <- model$parameters
  free <- !parameters$fixed
  # copies of theta in which the `changed` parameters have the values in the rows of `values`
  line <- function(changed, values) {
    rows <- matrix(theta, nrow(values), length(theta), byrow = TRUE)
    limits <- lapply(parameters[changed, c("lower", "upper")], rep, each = nrow(values))
    rows[, changed] <- pmin(pmax(values, limits$lower), limits$upper)
    unique(rows)
  }
  ranges <- split(which(free & parameters$kind == "range"), parameters$leaf[free & parameters$kind == "range"])
  nugget <- intersect(white_rows(model), which(free))
  sill <- if (length(nugget)) total_variance(model, theta)
  # covariances of compact support have a local optimum wherever the range passes the distances of many pairs
  fine <- function(of) if (leaf_at(model$covariance, parameters$leaf[[of[[1]]]])$kernel$most_dims < Inf) 0.1 else 0.3
  c(lapply(unname(ranges), function(of) line(of, outer(2^seq(-3, 3, by = fine(of)), theta[of]))),
    lapply(nugget, function(of) line(of, cbind(sort(c(theta[[of]], sill * c(1e-3, 0.01, 0.03, 0.1, 0.3, 1, 3)))))),
    lapply(which(free & parameters$kind == "period"), function(of) {
      structure(line(of, cbind(theta[[of]] * c(1 / 3, 1 / 2, 2))), all = TRUE)
    }),
    lapply(which(free & parameters$kind == "free"), function(of) line(of, cbind(moved_free(
      parameters[of, ], theta[[of]], c(-2, -1, -0.5, -0.25, 0, 0.25, 0.5, 1, 2))))),
    unlist(lapply(which(free & parameters$kind == "angle"), angle_lines, theta, model, line), recursive = FALSE))
}

# Lines along which the direction of anisotropy varies: with the estimated ratio, and with smaller ratios at the same
# range across the direction. Each ratio is combined with the estimated nugget and with a much larger nugget.
angle_lines <- function(angle, theta, model, line) {
  parameters <- model$parameters
  rows_of_kind <- function(kind) which(parameters$leaf == parameters$leaf[[angle]] & parameters$kind == kind)
  ratio <- rows_of_kind("ratio")
  range <- rows_of_kind("range")
  angles <- theta[[angle]] + seq(0, 165, by = 15)
  # only the angle varies if the leaf has several ratios (in space) or no range, or if the ratio or the range is fixed
  alone <- length(ratio) != 1 || length(range) != 1 || any(parameters$fixed[c(ratio, range)])
  if (alone) return(list(line(angle, cbind(angles))))
  nugget <- model$nugget[!parameters$fixed[model$nugget]]
  more <- 2 * sum(theta[rows_of_kind("variance")])
  shapes <- expand.grid(part = c(1, 0.25, 0.06), more = if (length(nugget)) c(FALSE, TRUE) else FALSE)
  Map(function(part, raised) {
    changed <- c(angle, ratio, range, if (raised) nugget)
    line(changed, cbind(angles, theta[[ratio]] * part, theta[[range]] / part, if (raised) max(more, theta[[nugget]])))
  }, shapes$part, shapes$more)
}
