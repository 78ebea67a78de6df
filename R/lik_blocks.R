# The likelihood of a table: a sum over units. A unit is a part of the conditioning sets (table_sets.R), stored in a
# file.
#
# The sums of a unit depend only on the unit, and are added in the order of the units. Therefore results are
# bit-identical for any number of workers and any limit of memory. `blocks` is a result of table_blocks(). `units` has
# the indices of the units whose sums are added. A unit contains its observations and all their neighbours.

block_likelihood <- function(blocks, model, how, units = seq_along(blocks$units)) {
  limit <- Inf
  data <- block_data(blocks, units)
  trend <- blocks$trend
  kind <- list(model = model, precision = how$precision, backend = how$backend)
  evaluate <- function(theta, profile = FALSE, search = FALSE) {
    summed <- function(derivatives) sums_of_units(blocks, units, kind, theta, limit, derivatives)
    sets <- list(values = matrix(0, 0, 1 + ncol(data$x)), order = seq_len(data$n))
    vecchia_state(summed, sets, data, theta, trend, how$reml, profile, search, function() FALSE)
  }
  kept_neighbours <- function(theta) {
    data <- data_of_records(halo_of_cell(blocks, which.max(blocks$rows), reach = 0)$records)
    local <- local_count(data, model, theta, min(2L * blocks$m, length(data$y)),
                         covariance_matrix(model, how$precision, how$backend))
    list(m = blocks$m, all = FALSE, ordering = "cells", local = local)
  }
  with_prior(new_likelihood(evaluate, count = function() blocks$m, use = function(count) limit <<- count,
                            kept_neighbours = kept_neighbours), model)
}

# The data of a likelihood that the units do not contain.
block_data <- function(blocks, units = seq_along(blocks$units)) {
  columns <- names(blocks$trend$coefficients)
  list(n = sum(blocks$sizes[units]), y = numeric(), x = matrix(0, 0, length(columns), dimnames = list(NULL, columns)),
       u = matrix(0, 0, blocks$d), noise = blocks$noise, logdet_xx = 2 * sum(log(abs(diag(blocks$trend$r)))))
}

# Converts records to the form of observation_data().
data_of_records <- function(records) {
  list(y = unname(records[, "y"]), x = design_of_records(records), u = coordinates_of_records(records),
       noise = unname(records[, "noise"]), weights = unname(records[, "weight"]), rows = unname(records[, "row"]),
       block = rep(1L, nrow(records)), logdet_xx = 0)
}

# The trend in the form of orthonormal_trend(), computed from `root`, the triangular factor of the QR decomposition of
# [X, y] for all observations.
block_trend <- function(root, names) {
  p <- length(names)
  r <- root[seq_len(p), seq_len(p), drop = FALSE]
  coefficients <- if (p) backsolve(r, root[seq_len(p), p + 1]) else numeric()
  list(r = r, coefficients = stats::setNames(coefficients, names), level = 0)
}

sums_of_units <- function(blocks, units, kind, theta, count, derivatives) {
  workers <- blocks$limits$workers
  # keeps only the elements of `blocks` that a worker needs, because `blocks` is sent to the workers
  blocks <- list(store = list(path = blocks$store$path), trend = blocks$trend,
                 kept = length(units) <= min(blocks$limits$units, kept_units * running_workers(workers)))
  parts <- over_units(units, sums_of_unit, blocks, kind, theta, count, derivatives, workers = workers)
  bad <- vapply(parts, function(part) part$bad, 0)
  list(sums = Reduce(`+`, lapply(parts, function(part) part$sums)), bad = max(bad))
}

sums_of_unit <- function(k, blocks, kind, theta, count, derivatives) {
  operators <- set_operators(kind$model, kind$backend, kind$precision)
  set_totals(operators, theta, kind$model$nugget, held_unit(blocks, k), derivatives, count)
}

# The conditioning sets of a unit in the form of hold_sets(), with response and trend in the form of
# orthonormal_trend(). If `blocks$kept` is TRUE, the process keeps the sets in memory as long as their files do not
# change.
held_unit <- function(blocks, k) {
  path <- unit_path(blocks, k)
  if (!blocks$kept) return(new_held_unit(read_object(path), blocks$trend))
  key <- paste(path, format(file.mtime(path), digits = 15), file.size(path))
  held <- the$units[[key]] %||% new_held_unit(read_object(path), blocks$trend)
  the$units <- utils::tail(c(the$units[setdiff(names(the$units), key)], stats::setNames(list(held), key)), kept_units)
  held
}

# The largest number of units of 65,536 points that a process keeps in memory.
kept_units <- 24

new_held_unit <- function(unit, trend) {
  records <- unit$records
  hold_sets(coordinates_of_records(records), unname(records[, "noise"]), unname(1 / records[, "weight"]),
            values_of_records(records, trend), unit$neighbours)
}

values_of_records <- function(records, trend) {
  x <- design_of_records(records)
  if (!ncol(x)) return(cbind(unname(records[, "y"])))
  unname(cbind(records[, "y"] - x %*% trend$coefficients, t(backsolve(trend$r, t(x), transpose = TRUE))))
}
