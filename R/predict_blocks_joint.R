# Joint distributions of new points of a fit of a table, for sums, means over blocks, covariances, draws and zones.
# These distributions are computed with a fit in memory to the observations on which the new points depend; this fit has
# the parameters and the coefficients of the whole fit, and the standard errors of these coefficients. The means and
# variances of points equal those of predictions by cells (predict_cells.R).

# A fit in memory to the observations on which the new points u depend. Its element `table` is the fit of the table.
joint_fit <- function(object, u, call = caller_env()) {
  few <- object$blocks$n <= few_latent
  known <- if (few) list(records = typical_records(object$blocks, few_latent)) else records_near(object, u, call)
  fit <- object
  fit[c("cell", "blocks")] <- list(new_cell(), NULL)
  fit$data <- c(data_of_records(known$records), known["cover"])
  class(fit) <- setdiff(class(object), "gp_blocks")
  fit$table <- object
  base <- if (few) joint_base(fit) else observed_base(fit)
  fit$prepared <- if (is_joint(fit)) cells_conditioning(fit, joint_conditioning(fit, base)) else {
    nearest_conditioning(fit)
  }
  fit
}

# The `records` of the observations on which points u depend. The first records, in the rows `cover`, are a few heads
# that cover all observations; heads are the first points in the ordering of each cell. The other records are the
# nearest observations of each point.
records_near <- function(object, u, call) {
  blocks <- object$blocks
  near <- blocks$near_of(u)
  # reads 20 more, because some of the nearest observations may be among the heads that cover all observations
  count <- (object$vecchia$new %||% object$vecchia$local) + 20L
  most <- most_records(object)
  heads <- blocks$heads[covering_points(blocks$head_near()), , drop = FALSE]
  records <- heads
  groups <- split(seq_len(nrow(near)), cells_near(blocks, near))
  for (k in names(groups)) {
    say_progress(step = paste("observations near", length(groups[[k]]), "points"))
    reach <- first_reach(blocks, as.integer(k), count)
    records <- rbind(records, nearest_records(blocks, near[groups[[k]], , drop = FALSE], reach, count))
    records <- records[!duplicated(records[, "row"]), , drop = FALSE]
    if (nrow(records) > most) stop_many_records(most, call)
  }
  list(records = records, cover = seq_len(nrow(heads)))
}

# The records of the nearest `count` observations of each point. The observations within the distance `reach` of the box
# around all points are sufficient for points with `count` observations within `reach`. For the other points,
# observations within a larger distance are read.
nearest_records <- function(blocks, near, reach, count) {
  around <- observations_around(blocks, near, reach, count)
  from <- around$near_of(around$records)
  chosen <- nearest_points(near, from, min(count, nrow(from)))
  last <- from[chosen[nrow(chosen), ], , drop = FALSE]
  radius <- sqrt(rowSums((near - last)^2))
  far <- which(radius > around$reach)
  settled <- setdiff(seq_len(nrow(near)), far)
  records <- around$records[unique(as.vector(chosen[, settled])), , drop = FALSE]
  if (!length(far)) return(records)
  rbind(records, nearest_records(blocks, near[far, , drop = FALSE], max(radius[far]) * (1 + 1e-9), count))
}

# The number of observations that fit into memory together with their search tree, neighbours and weights.
most_records <- function(object) {
  memory <- object$how$control$memory
  if (is.null(memory)) return(5e6)
  floor(memory_bytes(memory) / (8 * 8 * (5 + length(object$blocks$columns))))
}

stop_many_records <- function(most, call) {
  stop_kernops("memory", c("The joint distribution of the new points depends on more than {most} observations of the
                            table.",
                           i = "Fewer new points, or {.arg memory} of {.fn gp_control} in the fit, mend that."),
               call = call)
}
