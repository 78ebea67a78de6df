# Joint predictions from more observations than one factor of the field can hold. Means and variances of points are
# computed from values of the field in one cell of the observations at a time (predict_cells.R), as in fits of tables.
# Sums, draws and covariances come from the joint distribution given the observations. Covariances of points are scaled
# so that the variances are those of the predictions by cells.

# TRUE if predictions from values of the field are more accurate than predictions from the observations, but there are
# too many observations for one factor of the field.
predicts_by_cells <- function(object) {
  length(object$data$y) > most_latent && may_have_cells(object) && has_latent_field(object)
}

may_have_cells <- function(object) object$model$d <= 3 && !isTRUE(object$model$intrinsic)

cells_conditioning <- function(object, joint = joint_conditioning(object)) {
  moments <- function(targets, variance) {
    # sums of points, and maps with zones (`among`), require the joint distribution
    if (are_points(targets) && is.null(targets$among)) return(moments_by_cells(object, joint, targets, variance))
    if (variance) joint$moments(targets) else joint$means(targets)
  }
  new_conditioning(
    object, function(targets) moments(targets, FALSE), function(targets) moments(targets, TRUE),
    errors_among = function(targets) {
      among <- joint$errors_among(targets)
      if (!are_points(targets)) return(among)
      function(numbers) {
        errors <- among(numbers)
        variance <- moments(some_targets(targets, numbers), TRUE)$variance
        scale <- sqrt(variance / diag(errors))
        scale[variance == 0] <- 0
        replace(errors * outer(scale, scale), cbind(seq_along(numbers), seq_along(numbers)), variance)
      }
    },
    draws = joint$draws, prior_draws = joint$prior_draws, inverse = joint$inverse, determined = joint$determined
  )
}

# The moments of points, given the values of the field in the cell of each point. If the field of a cell has no factor,
# the moments are conditioned on observations.
moments_by_cells <- function(object, joint, targets, variance) {
  if (!targets$n) return(if (variance) joint$moments(targets) else joint$means(targets))
  object <- with_cells(object)
  tasks <- fit_for_tasks(object)
  near <- tasks$blocks$near_of(targets$u)
  groups <- split(seq_len(targets$n), cells_near(tasks$blocks, near))
  units <- Map(function(rows, cell, fraction) {
    list(targets = some_targets(targets, rows), cell = as.integer(cell), fraction = fraction)
  }, groups, names(groups), (seq_along(groups) - 1) / length(groups))
  parts <- over_units(unname(units), moments_of_unit, tasks, variance,
                      workers = workers_for_fields(object, as.integer(names(groups))))
  parts <- Map(function(part, unit) {
    part %||% if (variance) joint$moments(unit$targets) else joint$means(unit$targets)
  }, parts, units)
  do.call(rbind, unname(parts))[order(unlist(groups)), , drop = FALSE]
}

moments_of_unit <- function(unit, object, variance) {
  say_progress(fraction = unit$fraction)
  with_trees({
    local <- field_of_cell(object, unit$cell)
    if (is.null(local)) NULL else if (variance) local$prepared$moments(unit$targets) else
      local$prepared$means(unit$targets)
  })
}

# The fit in the form of a fit of a table, with its observations divided into cells.
with_cells <- function(object) {
  if (!is.null(object$table)) return(object$table)
  blocks <- kept_for(object, cells_of_fit)
  object[c("blocks", "data", "cell")] <- list(blocks, NULL, blocks$field)
  structure(object, class = c("gp_blocks", class(object)))
}

# Writes the observations of a fit in memory to files of a temporary work directory, see table_blocks().
cells_of_fit <- function(object) {
  data <- object$data
  near_of <- near_by_reference(object$model, object$theta, typical_sites(data$u, 4096))
  near <- near_of(data$u)
  n <- nrow(near)
  partition <- partition_of(near[some_positions(n, 2e5), , drop = FALSE], n)
  store <- new_store(NULL, "observations")
  columns <- record_columns(ncol(data$u), ncol(data$x))
  records <- unname(cbind(seq_len(n), 0, data$y, data$noise, data$weights, data$u, data$x))
  count <- cell_count(partition)
  of <- cells_of(partition, near)
  rows <- tabulate(of, count)
  write_rows(in_store(store, "rows-1"), records[order(of), , drop = FALSE])
  sorted <- list(n = n, rows = rows, counts = rbind(rows), boxes = boxes_of_cells(near, of, count), columns = columns)
  ordered <- stage_of(store, "ordered", function() order_cells(sorted, partition, near_of, store))
  unlink(in_store(store, "rows-1"))
  c(sorted, ordered, list(store = store, partition = partition, d = object$model$d, m = object$vecchia$m,
                          near_of = near_of, field = new_cell()))
}
