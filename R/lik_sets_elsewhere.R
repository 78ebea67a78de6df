# Sums over conditioning sets, and predictions, that worker processes of future::plan() compute. Each worker keeps a
# part of the sets, so that only the parameters are sent for an evaluation of the likelihood.

# The sum of the results of set_totals() for the parts, in the order of the parts; the number of processes changes this
# sum only by rounding errors.
sums_elsewhere <- function(sets, model, theta, count, derivatives) {
  ends <- ends_of_parts(ncol(sets$neighbours))
  names <- paste(sets$id, seq_along(ends[-1]), length(ends))
  results <- future_each(names, sums_of_part, theta, count, derivatives)
  if (length(lacking <- which(vapply(results, is.null, NA)))) {
    parts <- lapply(lacking, function(k) {
      c(part_of_sets(sets, ends[[k]] + 1, ends[[k + 1]]), list(name = names[[k]], model = model))
    })
    results[lacking] <- future_each(parts, sums_of_sent_part, theta, count, derivatives)
  }
  bad <- vapply(results, function(part) part$bad, 0)
  first <- which(bad > 0)[1]
  list(sums = Reduce(`+`, lapply(results, function(part) part$sums)),
       bad = if (is.na(first)) 0 else ends[[first]] + bad[[first]])
}

# The number 0, followed by the index of the last set in the part of each process.
ends_of_parts <- function(n) unique(round(seq(0, n, length.out = future::nbrOfWorkers() + 1)))

future_each <- function(x, f, ...) {
  with_workers(
    future.apply::future_lapply(x, f, ..., future.seed = NULL, future.packages = "kernops", future.globals = FALSE)
  )
}

# Stops with a separate message if a process dies or a connection breaks, because such an error does not come from the
# computation.
with_workers <- function(code) tryCatch(code, FutureError = function(e) {
  stop_kernops("worker", c("A process of {.fn future::plan} did not return its part of the computation.",
                           i = "It may have been killed, for instance because memory ran out. {.fn future::plan} starts
                                new processes; {.code future::plan(\"sequential\")} computes in this one."), parent = e)
})

# The conditioning sets of the points `first` to `last`, and the points 1 to `last`, which contain the neighbours.
part_of_sets <- function(sets, first, last) {
  points <- seq_len(last)
  members <- first:last
  list(id = sets$id, neighbours = sets$neighbours[, members, drop = FALSE],
       points = sets$points[points, , drop = FALSE], noise = sets$noise[points],
       noise_derivative = sets$noise_derivative[points], values = sets$values[points, , drop = FALSE])
}

# The moments of nearest_conditioning(); each process computes the moments of a part of the targets.
moments_elsewhere <- function(object, targets, variance) {
  ends <- ends_of_parts(targets$n)
  parts <- lapply(seq_along(ends[-1]), function(k) some_targets(targets, (ends[[k]] + 1):ends[[k + 1]]))
  object[c("factor", "cell", "parts")] <- NULL
  object$state <- object$state["root"]
  do.call(rbind, future_each(parts, moments_of_part, object, variance))
}

moments_of_part <- function(targets, object, variance) {
  nearest_moments(object, nearest_base(object), targets, variance)
}

# The sums of the part that this process keeps; NULL if this process has no part with this name.
sums_of_part <- function(name, theta, count, derivatives) {
  part <- the$parts[[name]]
  if (!is.null(part)) set_totals(part$operators, theta, part$model$nugget, part$held, derivatives, count)
}

# Keeps a part that was sent to this process, and returns the sums of this part. Parts that belong to other likelihoods
# are deleted.
sums_of_sent_part <- function(part, theta, count, derivatives) {
  part$operators <- set_operators(part$model)
  part$held <- with(part, hold_sets(points, noise, noise_derivative, values, neighbours))
  the$parts <- c(Filter(function(kept) identical(kept$id, part$id), the$parts), stats::setNames(list(part), part$name))
  sums_of_part(part$name, theta, count, derivatives)
}

# A name that is unique over all sets on all hosts.
new_id <- function() paste(Sys.info()[["nodename"]], Sys.getpid(), basename(tempfile("sets")))

# TRUE if worker processes should compute sums over n sets of m neighbours. The computation must take at least a fifth
# of a second, and the worker processes must have more cores than this process uses.
worth_sharing <- function(n, m) n * m^2 >= 2e8 && many_workers() && cores_elsewhere() > threads()

# TRUE if worker processes should predict. The number of `points` must be large, because each process receives all
# observations and builds a search tree.
worth_predicting_elsewhere <- function(object, points, m = object$vecchia$local) {
  !identical(object$how$backend, "cuda") && points * m >= length(object$data$y) && worth_sharing(points, m)
}

# The number of cores of all worker processes; processes on one host share the cores of the host. The task
# about_worker() sleeps before it returns, so that each task runs in a different process.
cores_elsewhere <- function() {
  workers <- future_each(seq_len(future::nbrOfWorkers()), about_worker)
  workers <- unique(do.call(rbind, workers))
  sum(vapply(split(workers, workers$host), function(same) min(same$cores[[1]], sum(same$threads)), 0))
}

about_worker <- function(k) {
  Sys.sleep(0.1)
  data.frame(host = Sys.info()[["nodename"]], id = Sys.getpid(), threads = threads(),
             cores = available_cores())
}
