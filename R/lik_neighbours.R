# Chooses the neighbours of a Vecchia approximation, and chooses them again when the parameters of a search change.

# The conditioning sets of a likelihood, as a list of the functions that lik.R requires of a likelihood with neighbours.
# Additional functions are
#   place(theta)   the sets, which are created at the theta of the first call
#   limit()        the number of neighbours in use
#   twice()        twice the number of neighbours, at most `max_count`
#   recounted(m)   the sets with m neighbours
# The arguments are functions: group(theta, m) creates sets, recount(sets, m) changes the number of neighbours, and
# moved(sets, theta) returns TRUE if the points in `sets` are no longer the nearest neighbours at theta.
neighbour_tracker <- function(group, recount, moved, m, max_count) {
  group <- timed_function("neighbours", group)
  recount <- timed_function("neighbours", recount)
  moved <- timed_function("neighbours", moved)
  sets <- NULL
  limit <- Inf
  twice <- function() min(2L * m, max_count)
  list(
    sets = function() sets, count = function() m, limit = function() limit, twice = twice,
    place = function(theta) sets <<- sets %||% group(theta, m),
    recounted = function(m) recount(sets, m),
    use = function(count) limit <<- count,
    outdated = function(theta) moved(sets, theta),
    regroup = function(theta) if (is.null(sets) || moved(sets, theta)) sets <<- group(theta, m),
    double = function() {
      m <<- twice()
      sets <<- recount(sets, m)
    }
  )
}

# TRUE for fits by a method that conditions each observation on neighbours.
has_neighbours <- function(object) object$how$method %in% c("vecchia", "vif")

likelihood_with_neighbours <- function(tracker, evaluate, doubled, kept_neighbours, ...) {
  verbs <- tracker[c("sets", "count", "use", "outdated", "regroup", "double")]
  choice <- lapply(list(doubled = doubled, kept_neighbours = kept_neighbours), timed_function, part = "neighbours")
  do.call(new_likelihood, c(list(evaluate), choice, list(...), verbs))
}

# TRUE if the points in `sets` may no longer be the nearest neighbours at theta, because ratios of distances have
# changed by more than a tenth.
neighbours_moved <- function(sets, data, model, theta) {
  if (nrow(sets$near) < 2) return(FALSE)
  second <- some_positions(nrow(sets$near))[-1]
  first <- sets$neighbours[1, second]
  squares <- function(coordinates) rowSums((coordinates(second) - coordinates(first))^2)
  now <- function(rows) neighbour_coordinates(model, theta, sets$points[rows, , drop = FALSE], reference = data$u)
  ratio <- squares(now) / squares(function(rows) sets$near[rows, , drop = FALSE])
  group <- group_of(model)
  if (!is.null(group)) ratio <- ratio[sets$points[first, group] == sets$points[second, group]]
  ratio <- ratio[is.finite(ratio) & ratio > 0]
  length(ratio) > 0 && diff(log(stats::quantile(ratio, c(0.02, 0.98)))) > 2 * log(1.1)
}
