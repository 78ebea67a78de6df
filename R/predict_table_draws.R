# Draws of the field at new points for fits of tables, given the data or from the model.

#' @rdname simulate.gp
#' @export
simulate.gp_blocks <- function(object, nsim = 1, seed = NULL, newdata = NULL, conditional = TRUE, noise = FALSE,
                               features = 2000, coords = NULL, ...) {
  no_further("simulate", ...)
  check_new_in_memory(newdata, coords)
  check_simulation(nsim, seed, conditional, noise, features)
  object$how$backend <- usable_backend(object$how$backend)
  with_trees(simulate_points(object, newdata, coords, nsim, seed, noise, function(points) {
    simulated(joint_fit(object, points$u), points, nsim, conditional, noise, features)
  }))
}

check_new_in_memory <- function(newdata, coords, call = caller_env()) {
  if (is_table(newdata)) {
    stop_kernops("input", "{.arg newdata} of draws must be in memory, not a table that is read in chunks.", call = call)
  }
  if (!is.null(newdata) || !is.null(coords)) return(invisible())
  stop_kernops("input", c("Draws of a fit of a table need {.arg newdata}.",
                          i = "New responses of the observations are drawn by {.code noise = TRUE} at their rows."),
               call = call)
}
