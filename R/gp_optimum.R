# The global optimum of a likelihood that is cheap enough for many searches.

# The best end of searches from the most promising `starts`, and its `rivals`: other optima of a log-likelihood within
# two units. Searches go down roughly from all starts, to the end from the best, then from what is seen around it.
best_optimum <- function(starts, target) {
  ends <- descents(promising(starts, target), target)
  if (all(values_of(ends) == Inf)) return(ends[[1]])
  best <- finish(lowest(ends), target)
  around <- look_around(best, target)
  if (nrow(around)) ends <- c(ends, descents(around, target, many = nrow(around)))
  rivals <- list()
  for (end in ends[order(values_of(ends))]) {
    if (length(rivals) == 3 || end$value > best$value + 6) break
    elsewhere <- function(end) all(vapply(c(list(best), rivals), apart, NA, end, target))
    if (end$value >= best$value && !elsewhere(end)) next
    end <- finish(end, target)
    if (elsewhere(end)) rivals <- c(rivals, list(if (end$value < best$value) best else end))
    if (end$value < best$value) best <- end
  }
  best$starts <- length(ends)
  best$rivals <- Filter(function(rival) rival$value <= best$value + 4 && apart(best, rival, target), rivals)
  best
}

# Rough searches from all rows: a few quasi-Newton steps, which predict the end far better than the value at the start,
# then steps of Newton's kind, which are few near an optimum. If there are many rows, only the searches that were best
# before or after the first steps continue.
descents <- function(from, target, many = 2 * target$how$control$starts) {
  control <- target$how$control
  rough <- function(from, search, maxit) {
    target$how$control <- replace(control, c("tol", "gain", "maxit"),
                                  list(max(control$tol, 1e-3), 1e-2, min(control$maxit, maxit)))
    searches(from, search, target)
  }
  first <- rough(from, search_from, 8)
  if (nrow(from) > many) {
    first <- first[union(seq_len(control$starts), order(values_of(first))[seq_len(control$starts)])]
  }
  rough(do.call(rbind, lapply(first, function(end) end$theta)), information_search, Inf)
}

# The starts of lowest value, none of which is near a lower one: their number is control$starts, or four times that if
# they differ in many ways, for which the value at a start predicts little.
promising <- function(starts, target) {
  if (nrow(starts) == 1) return(starts)
  most <- target$how$control$starts * if (start_axes(target$model$parameters) > 4) 4 else 1
  values <- apply(starts, 1, target$value)
  at <- matrix(apply(starts, 1, to_search, parameters = target$model$parameters), nrow(starts), byrow = TRUE)
  kept <- integer()
  for (row in order(values)[seq_len(max(1, sum(is.finite(values))))]) {
    near <- vapply(kept, function(other) max(abs(at[row, ] - at[other, ])) < 0.5, NA)
    if (!any(near)) kept <- c(kept, row)
    if (length(kept) == most) break
  }
  starts[kept, , drop = FALSE]
}

# By steps of Newton's kind, which know when they are there; where they are stuck, by others in between.
finish <- function(end, target) {
  control <- target$how$control
  newton <- function(from) {
    information_search(from, target$evaluate, target$model, target$profile, replace(control, "gain", 1e-8))
  }
  found <- newton(end$theta)
  if (isTRUE(found$gain < 1e-6)) return(found)
  other <- search_from(found$theta, target$evaluate, target$model, target$profile, control)
  again <- newton(other$theta)
  again[c("iterations", "evaluations")] <- Map(`+`, Map(`+`, found[c("iterations", "evaluations")], other[c(
    "iterations", "evaluations")]), again[c("iterations", "evaluations")])
  again
}

values_of <- function(ends) vapply(ends, function(end) end$value, 0)
lowest <- function(ends) ends[[which.min(values_of(ends))]]

# Whether the likelihood is lower between two ends of searches than at both: else they are on their way to one optimum.
apart <- function(a, b, target) {
  parameters <- target$model$parameters
  from <- to_search(parameters, a$theta)
  to <- to_search(parameters, b$theta)
  angle <- is_direction(parameters) # half a turn changes nothing
  to[angle] <- from[angle] + (to[angle] - from[angle] + pi / 2) %% pi - pi / 2
  if (all(abs(to - from)[parameters$kind != "variance"] < 0.05)) return(FALSE)
  between <- vapply(c(0.2, 0.4, 0.6, 0.8), function(t) target$value(from_search(parameters, from + t * (to - from))), 0)
  max(between) > max(a$value, b$value) + 1e-3 * (1 + abs(b$value - a$value))
}

# Starts of further searches: local minima, on lines through the optimum, that are not much worse than it; and other
# periods, between which the likelihood has many.
look_around <- function(best, target) {
  found <- lapply(lines_through(best$theta, target$model), function(line) {
    values <- apply(line, 1, target$value)
    before <- c(Inf, utils::head(values, -1))
    after <- c(values[-1], Inf)
    low <- if (is.null(attr(line, "all"))) values <= before & values <= after & values < best$value + 10 else TRUE
    low <- low & is.finite(values)
    line[low & rowSums(abs(line - rep(best$theta, each = nrow(line)))) > 0, , drop = FALSE]
  })
  matrix(do.call(rbind, c(list(matrix(0, 0, length(best$theta))), found)), ncol = length(best$theta))
}

# Lines, each a matrix with rows of theta: the ranges of a part longer and shorter, more and less nugget, other angles.
lines_through <- function(theta, model) {
  parameters <- model$parameters
  free <- !parameters$fixed
  # a row for each of the rows of `values`, which has a column for each of the `changed` parameters
  line <- function(changed, values) {
    rows <- matrix(theta, nrow(values), length(theta), byrow = TRUE)
    limits <- lapply(parameters[changed, c("lower", "upper")], rep, each = nrow(values))
    rows[, changed] <- pmin(pmax(values, limits$lower), limits$upper)
    unique(rows)
  }
  ranges <- split(which(free & parameters$kind == "range"), parameters$leaf[free & parameters$kind == "range"])
  nugget <- intersect(white_rows(model), which(free))
  sill <- sum(theta[parameters$kind == "variance"])
  # covariances of compact support have an optimum wherever their range passes many distances
  fine <- function(of) if (nth_leaf(model$covariance, parameters$leaf[[of[[1]]]])$most_dims < Inf) 0.1 else 0.3
  c(lapply(unname(ranges), function(of) line(of, outer(2^seq(-3, 3, by = fine(of)), theta[of]))),
    lapply(nugget, function(of) line(of, cbind(sort(c(theta[[of]], sill * c(1e-3, 0.01, 0.03, 0.1, 0.3, 1, 3)))))),
    lapply(which(free & parameters$kind == "period"), function(of) {
      structure(line(of, cbind(theta[[of]] * c(1 / 3, 1 / 2, 2))), all = TRUE)
    }),
    unlist(lapply(which(free & parameters$kind == "angle"), angle_lines, theta, model, line), recursive = FALSE))
}

# All directions, at the ratio that was found and at smaller ones, whose range across is the same, with the nugget that
# was found and with much more.
angle_lines <- function(angle, theta, model, line) {
  parameters <- model$parameters
  own <- function(kind) which(parameters$leaf == parameters$leaf[[angle]] & parameters$kind == kind)
  ratio <- own("ratio")
  range <- own("range")
  angles <- theta[[angle]] + seq(0, 165, by = 15)
  # in space, or without a range, or not free
  alone <- length(ratio) != 1 || length(range) != 1 || any(parameters$fixed[c(ratio, range)])
  if (alone) return(list(line(angle, cbind(angles))))
  nugget <- model$nugget[!parameters$fixed[model$nugget]]
  more <- 2 * sum(theta[own("variance")])
  shapes <- expand.grid(part = c(1, 0.25, 0.06), more = if (length(nugget)) c(FALSE, TRUE) else FALSE)
  Map(function(part, raised) {
    changed <- c(angle, ratio, range, if (raised) nugget)
    line(changed, cbind(angles, theta[[ratio]] * part, theta[[range]] / part, if (raised) max(more, theta[[nugget]])))
  }, shapes$part, shapes$more)
}
