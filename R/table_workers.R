# Runs tasks for the units of a table (table_sets.R), or for its cells. The tasks run in this process, in processes of
# future::plan(), or in daemons of mirai. A task depends only on its unit and on files, and results are returned in the
# order of the units. Therefore results are bit-identical for any number of workers.
#
# A pool of workers is a list:
#   count                           the number of workers
#   start(part, task, arguments)    starts shared_tasks() in a worker, and returns an object that represents the job
#   value(job, here)                the result of a job, or the result of here(error) if the worker has died
#   renew()                         replaces workers that have died

# Runs task(k, ...) for each unit k, and returns a list of the results in the order of the units. Each worker runs the
# tasks of consecutive units, which are the same units in each evaluation of the likelihood, and keeps the data of these
# units (held_unit()). If a worker dies, this process runs the tasks of its units, and the worker is replaced. At most
# `workers` workers run tasks; table_memory.R determines this number from the memory. If `workers` is 1, this process
# runs all tasks.
over_units <- function(units, task, ..., workers = Inf) begin_units(units, task, ..., workers = workers)()

# Begins the tasks of over_units() in workers; returns a function that waits for their end and returns their results. If
# there are no workers, this function does the tasks.
begin_units <- function(units, task, ..., workers = Inf) {
  pool <- if (length(units) > 1 && workers > 1) worker_pool()
  if (!is.null(pool)) return(units_elsewhere(units, task, list(...), pool, min(workers, pool$count)))
  force(list(task, ...))
  function() {
    lapply(seq_along(units), function(number) {
      say_progress(detail = paste0(", part ", number, " of ", length(units)))
      task(units[[number]], ...)
    })
  }
}

# The pool of the processes of future::plan() if there are several processes; if not, the pool of mirai daemons if there
# are several daemons; NULL if there are no workers, or within without_workers(). Package future.apply is not needed.
worker_pool <- function() {
  if (!is.null(the$alone)) return(NULL)
  if (has_future() && future::nbrOfWorkers() > 1) future_pool() else mirai_pool()
}

has_future <- function() requireNamespace("future", quietly = TRUE)

worker_count <- function() worker_pool()$count %||% 1

units_elsewhere <- function(units, task, arguments, pool, count = pool$count) {
  parts <- consecutive_parts(units, count)
  errors <- list()
  here <- function(part) function(error) {
    errors <<- c(errors, list(error))
    tasks_of_part(part, task, arguments)
  }
  jobs <- lapply(parts, function(part) tryCatch(pool$start(part, task, arguments), error = identity))
  function() {
    results <- Map(function(job, part) {
      if (inherits(job, "error")) here(part)(job) else pool$value(job, here(part))
    }, jobs, parts)
    if (length(errors)) pool$renew()
    if (length(errors) == length(parts)) warn_idle_workers(errors[[1]])
    do.call(c, unname(results))
  }
}

# Warns that no worker has run a task.
warn_idle_workers <- function(error) {
  reason <- if (inherits(error, "condition")) conditionMessage(error) else "The workers have ended."
  cli::cli_warn(c("The workers ran no task; this process ran all tasks.", x = "{shortly(reason)}"),
                class = "kernops_worker_warning", call = NULL)
}

# Evaluates code in this process alone, for example while workers have other tasks.
without_workers <- function(code) {
  before <- the$alone
  on.exit(the$alone <- before)
  the$alone <- TRUE
  code
}

# Lets each worker load the package while this process reads the table; returns a function that waits for the workers.
wake_workers <- function() {
  count <- worker_count()
  if (count > 1) begin_units(seq_len(count), function(k) Sys.getpid()) else function() NULL
}

consecutive_parts <- function(units, count) {
  unname(split(units, ceiling(seq_along(units) * min(count, length(units)) / length(units))))
}

tasks_of_part <- function(part, task, arguments) lapply(part, function(k) do.call(task, c(list(k), arguments)))

# Runs tasks_of_part() in a worker. On `host`, the machine of the main process, `count` workers share the cores; on
# another machine, a worker uses all cores, because the number of workers there is unknown.
shared_tasks <- function(part, task, arguments, count, host) {
  sharing_cores(if (identical(host, host_name())) count else 1, tasks_of_part(part, task, arguments))
}

host_name <- function() Sys.info()[["nodename"]]

future_pool <- function() {
  count <- future::nbrOfWorkers()
  host <- host_name()
  start <- function(part, task, arguments) {
    future::future(shared_tasks(part, task, arguments, count, host), packages = "kernops", seed = NULL,
                   globals = list(shared_tasks = shared_tasks, part = part, task = task, arguments = arguments,
                                  count = count, host = host))
  }
  value <- function(job, here) tryCatch(future::value(job), FutureError = here)
  list(count = count, start = start, value = value, renew = renew_workers)
}

# Starts the processes of future::plan() again.
renew_workers <- function() {
  plans <- future::plan("list")
  future::plan("sequential")
  future::plan(plans)
}

# The pool of the daemons of mirai::daemons(), which run on this machine or on other machines that can read the work
# directory; for example, there may be a daemon for each GPU. If a daemon dies or its task raises an error, this process
# computes its part, so that an error has its original class.
mirai_pool <- function() {
  mirai <- mirai_functions()
  count <- if (is.null(mirai)) 0 else mirai$status()$connections
  if (!is.numeric(count) || count < 2) return(NULL)
  died <- 0
  host <- host_name()
  start <- function(part, task, arguments) {
    mirai$mirai(shared_tasks(part, task, arguments, count, host),
                .args = list(shared_tasks = shared_tasks, part = part, task = task, arguments = arguments,
                             count = count, host = host))
  }
  value <- function(job, here) {
    value <- mirai$call_mirai(job)$data
    if (!mirai$is_error_value(value)) return(value)
    if (!mirai$is_mirai_error(value)) died <<- died + 1
    here(value)
  }
  list(count = count, start = start, value = value, renew = function() if (died) try(mirai$launch_local(died), TRUE))
}

# The functions of package mirai that this file calls; NULL if mirai is not loaded. If mirai is not loaded, the user has
# not started daemons.
mirai_functions <- function() {
  if (!isNamespaceLoaded("mirai")) return(NULL)
  mget(c("mirai", "call_mirai", "status", "is_error_value", "is_mirai_error", "launch_local"),
       envir = asNamespace("mirai"))
}
