# Tasks over units of a table: in this process, or in those of future::plan(). A task depends on its unit and on files
# alone, and results come in the order of the units: with any number of workers they are the same digits.

# task(k, ...) for units k, a list in their order. Each worker has consecutive units, the same ones in each step, and
# keeps the data that it reads (held_unit()). The units of a worker that dies are computed here, and it is replaced.
over_units <- function(units, task, ...) {
  if (length(units) > 1 && many_workers()) return(units_elsewhere(units, task, list(...)))
  lapply(seq_along(units), function(number) {
    say_progress(detail = paste0(", part ", number, " of ", length(units)))
    task(units[[number]], ...)
  })
}

units_elsewhere <- function(units, task, arguments) {
  parts <- consecutive_parts(units, future::nbrOfWorkers())
  died <- FALSE
  here <- function(part) function(e) {
    died <<- TRUE
    tasks_of_part(part, task, arguments)
  }
  futures <- lapply(parts, function(part) tryCatch(future_task(part, task, arguments), error = identity))
  results <- Map(function(future, part) {
    if (inherits(future, "error")) return(here(part)(future))
    tryCatch(future::value(future), FutureError = here(part))
  }, futures, parts)
  if (died) renew_workers()
  do.call(c, unname(results))
}

consecutive_parts <- function(units, count) {
  unname(split(units, ceiling(seq_along(units) * min(count, length(units)) / length(units))))
}

future_task <- function(part, task, arguments) {
  future::future(tasks_of_part(part, task, arguments), packages = "kernops", seed = NULL,
                 globals = list(tasks_of_part = tasks_of_part, part = part, task = task, arguments = arguments))
}

tasks_of_part <- function(part, task, arguments) lapply(part, function(k) do.call(task, c(list(k), arguments)))

# Starts the processes of the plan again.
renew_workers <- function() {
  plans <- future::plan("list")
  future::plan("sequential")
  future::plan(plans)
}
