# Fits of tables: gp() with data that are read in chunks. A sample of the rows determines the model, the bounds of its
# parameters and the design of the trend. All rows are sorted into cells (table_blocks.R), which are boxes of a k-d
# tree. The search for the optimum of the likelihood of all rows (lik_blocks.R) begins at the optimum for typical
# observations.

# The argument `noise` of gp(known = list(noise = )) as a quosure.
noise_quosure <- function(noise) {
  if (inherits(noise, "formula")) rlang::new_quosure(noise[[length(noise)]], environment(noise)) else
    rlang::new_quosure(noise)
}

fit_table <- function(data, formula, covariance, coords, values, known, how, estimate, prior, call) {
  source <- gp_table(data)
  check_model_formula(formula, call)
  coords <- named_coordinates(coords, list2DF(as.list(stats::setNames(nm = source$columns))))
  check_table_model(formula, covariance, coords, how, call)
  columns <- columns_of_fit(source, formula, coords, values)
  how[c("method", "reml")] <- list("vecchia", estimate == "REML")
  control <- how$control
  size <- chunk_rows(control$memory, length(columns))
  key <- list(source$stamp, columns, deparse(formula), deparse(coords), format(covariance),
              lapply(values[c("weights", "noise")], rlang::as_label), values$transform, known$beta, estimate,
              control[c("seed", "neighbours")], as.character(utils::packageVersion("kernops")))
  store <- new_store(control$workdir, key, call)
  done <- FALSE
  on.exit(if (!done && !store$kept) remove_store(store))
  fit <- withCallingHandlers({
    wait <- once(wake_workers())
    scan <- stage_of(store, "scan", function() {
      if (reads_elsewhere(source, formula)) wait()
      timed("reading", scan_table(source, columns, formula, size, control$seed, store, call = call))
    })
    wait()
    pilot <- pilot_of(scan, formula, covariance, coords, values, known, how, estimate, prior, call)
    check_table_memory(control$memory, scan$n, pilot, call)
    m <- neighbour_count(control, pilot$model$d, scan$n - 1L)
    limits <- limits_of_fit(control$memory, scan$n, pilot, m, how$backend)
    blocks <- table_blocks(scan, columns, pilot, store, m, limits, call)
    start <- while_units_are_written(blocks, search_of_typical(blocks, pilot, how, estimate, call))
    search <- search_blocks(blocks, pilot, start, how, estimate, call)
    block_fit(blocks, pilot, search, how, estimate, call)
  }, kernops_disk_error = function(e) remove_store(store))
  done <- TRUE
  fit
}

# The columns of the table that a fit reads.
columns_of_fit <- function(source, formula, coords, values) {
  expressions <- lapply(values[c("weights", "noise")], rlang::quo_get_expr)
  used <- c(all.vars(formula), all.vars(coords), unlist(lapply(expressions, all.vars)))
  if ("." %in% used) source$columns else intersect(source$columns, used)
}

# The pilot consists of the model, the `parts` of a fit and the estimation problem, computed from a sample of the rows
# as if the sample were the whole table. `theta` contains the parameters that scale the distances in cells.
pilot_of <- function(scan, formula, covariance, coords, values, known, how, estimate, prior, call) {
  sample <- scan$sample
  source <- data_source(spatial_parts(sample))
  arguments <- list(weights = within_data(values$weights, sample, call),
                    noise = within_data(values$noise, sample, call), na.action = values$na.action)
  made <- data_and_model(formula, covariance, source, coords, arguments, "vecchia", NULL, call)
  made$parts <- transformed_sample(made$parts, values$transform)
  model <- made$model
  check_block_model(model, call)
  known$beta <- known_coefficients(known$beta, colnames(made$parts$x), call)
  model$prior <- priors_of(prior, model, estimate, call)
  problem <- prepare_problem(made$parts, model, known, estimate, call)
  pilot <- c(problem, list(formula = formula, parts = made$parts, known = known, quosures = values, total = scan$n,
                           sample = problem$data))
  pilot$theta <- theta_of_cells(pilot, how, estimate, call)
  pilot
}

# The parameters by which distances are scaled: the user's parameters or, if the scaling depends on ratios of estimated
# ranges, estimates from the sample.
theta_of_cells <- function(pilot, how, estimate, call) {
  parameters <- pilot$model$parameters
  if (estimate == "none") {
    check_all_given(parameters, call)
    return(parameters$value)
  }
  shapes <- is_direction(parameters) | parameters$coordinate > 0 | parameters$kind %in% c("ratio", "speed", "free")
  if (!any(shapes & !parameters$fixed)) return(starting_values(pilot$model, pilot$data$u, pilot$residual)[1, ])
  rows <- some_positions(length(pilot$data$y), 2e4)
  estimate_covariance(problem_of_some(pilot, rows_of_data(pilot$data, rows), pilot$residual[rows]),
                      likelihood_for(rows_of_data(pilot$data, rows), pilot$model, how), how, estimate, call)$theta
}

# The optimum of typical observations, in memory. The search uses no workers, because the workers write the units
# (table_sets.R) at this time.
search_of_typical <- function(blocks, pilot, how, estimate, call) {
  model <- pilot$model
  if (estimate == "none") return(list(theta = pilot$theta))
  search <- function() without_workers({
    data <- subset_data(data_of_records(typical_records(blocks)), TRUE)
    problem <- problem_of_some(pilot, data, orthonormal_trend(data)$residual)
    estimate_covariance(problem, likelihood_for(data, model, how), how, estimate, call)[c("theta", "rivals")]
  })
  # a separate clock for this search: its times must not count as times of the search over all observations
  stage_of(blocks$store, "start", function() timed("start", with_clock(new_clock(), "search", search())))
}

# The optimum of all observations. The search begins at the optimum of typical observations, `start`, continues with the
# likelihood of some of the cells, and ends with the likelihood of all cells.
search_blocks <- function(blocks, pilot, start, how, estimate, call) {
  if (estimate == "none") return(start)
  model <- pilot$model
  theta <- start$theta
  target_of <- function(some) {
    likelihood <- block_likelihood(blocks, model, how, some)
    data <- block_data(blocks, some)
    search_target(likelihood, data, model, how, is_profiled(model, data))
  }
  some <- units_for_start(blocks)
  if (length(some)) {
    say_progress(step = paste("start from", sum(blocks$sizes[some]), "observations"))
    best <- descend(theta, target_of(some))
    if (!is_singular(best)) theta <- best$theta
  }
  target <- reporting_target(target_of(seq_along(blocks$units)))
  best <- descend(theta, target)
  if (is_singular(best)) stop_singular(list(data = block_data(blocks)), singular_state(), call)
  resumable(c(best, start["rivals"]), target)
}

# The indices of the units of evenly spaced cells: an eighth of the cells, but at most 32 cells. NULL if there are at
# most eight cells.
units_for_start <- function(blocks) {
  cells <- which(!vapply(blocks$units, function(unit) is.null(unit$cell), NA))
  if (length(cells) > 8) cells[some_positions(length(cells), max(1, min(32, length(cells) %/% 8)))]
}

problem_of_some <- function(pilot, data, residual) {
  replace(pilot, c("data", "residual"), list(data, residual))
}

block_fit <- function(blocks, pilot, search, how, estimate, call) {
  problem <- replace(pilot, "data", list(block_data(blocks)))
  fit <- finish_fit(problem, block_likelihood(blocks, pilot$model, how), search, call)
  fit <- fitted_parts(fit, search, how, without_rows(pilot$parts), pilot$known, estimate, class = "gp_blocks")
  fit["transform"] <- list(pilot$quosures$transform)
  fit$loglik <- fit$loglik + jacobian_of_table(blocks, fit$transform)
  fit$blocks <- blocks
  fit$vecchia$moved <- NULL
  fit$vecchia$changes[c("predictions", "se")] <- NA_real_
  if (estimate != "none") {
    warn_about_search(fit$search, how$control)
    warn_about_fit(replace(fit, "data", list(data_of_records(typical_records(blocks)))))
  }
  fit
}
