# Predictions in a cell of a table, which is a box of the domain (table_cells.R), from values of the field at the
# observations in the cell and around it (table_halo.R). Joint predictions of a fit in memory also use values of the
# field (predict_field.R). In predictions by cells, each new point is conditioned only on its nearest values of the
# field, so that a prediction does not depend on other new points.

# Returns a function f(points, near), which computes the columns of predictions at new points of cell k; `near` has the
# coordinates of these points in which distances are computed. The field is computed once for all calls of f.
predictor_of_cell <- function(object, k, request) {
  local <- if (predicts_from_field(object, request)) with_trees(field_of_cell(object, k))
  if (is.null(local)) return(function(points, near) columns_by_nearest(object, points, near, request, k))
  function(points, near) {
    as.data.frame(predicted_columns(local, points_of_parts(local, points), request), optional = TRUE)
  }
}

predicts_from_field <- function(object, request) {
  object$vecchia$joint %||% (object$vecchia$local < object$blocks$n) && !is_local_trend(request$how)
}

# The result of fit_around_cell(). The fit keeps the result for the latest cell, so that the field is not computed again
# for further new points of this cell.
field_of_cell <- function(object, k) {
  of_fit <- object[c("theta", "beta", "known", "vecchia", "chosen")]
  about <- list(k, of_fit, object$blocks$store$path, object$blocks$halo)
  kept_in(object$cell, function() {
    free_dropped_fields(object$blocks$n)
    fit_around_cell(object, k)
  }, about)
}

# Frees the memory of the previous cell's field, to which no object refers any more, and of the units of conditioning
# sets that a likelihood cached. Without this call, two fields would be in memory at once.
free_dropped_fields <- function(n) {
  if (n <= few_latent) return(invisible())
  the$units <- NULL
  gc()
}

# A fit to the observations that determine the field in cell k, with the parameters of `object`, a result of
# fit_for_tasks(). NULL if the precision of the field given the data has no factor, or if there are more than three
# dimensions, in which the halo around a cell is about as wide as the cell.
fit_around_cell <- function(object, k) {
  blocks <- object$blocks
  if (blocks$d > 3) return(NULL)
  m <- neighbours_of_field(object)
  records <- records_of_field(blocks, k, m)
  object$vecchia[c("field", "local")] <- list(m, object$vecchia$new %||% (2L * blocks$m))
  object$how$control$ordering <- "given"
  object[c("data", "cell", "blocks")] <- list(data_of_records(records), NULL, NULL)
  class(object) <- "gp"
  object <- with_chosen(object)
  system <- if (may_have_latent_field(object, Inf)) gaussian_system(object)
  if (is.null(system)) return(NULL)
  nothing <- if (nrow(records) <= few_latent) 1e-18 else small_share
  object$prepared <- nearest_conditioning(object, field_base(object, system, NULL, nothing))
  object
}

# If there are many observations, a contribution to a variance is omitted if it is smaller than this fraction of the
# variance. With 1e6 observations, the omission changes standard errors by less than 6e-5 and reduces the time to a
# quarter.
small_share <- 1e-8

# The number of neighbours in the factor of the field, which is chosen as for a fit in memory, see with_latent_field().
neighbours_of_field <- function(object) {
  if (object$blocks$n <= few_latent) object$blocks$m else min(object$blocks$m, most_of_field)
}
