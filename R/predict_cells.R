# Predictions in a cell of a table from values of the field at the observations in the cell and around it
# (table_halo.R). Joint predictions of a fit in memory also use values of the field (predict_field.R). Each new point is
# conditioned on its nearest values alone, so that a prediction does not depend on other new points.

# Returns f(points, near): the columns of predictions at new points of cell k, whose coordinates for distances are
# `near`. The field is computed once for all calls of f.
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

# Frees the field of the previous cell, which a cell dropped, and the units of a likelihood: the memory for the field of
# a large cell is then that of one field.
free_dropped_fields <- function(n) {
  if (n <= few_latent) return(invisible())
  the$units <- NULL
  gc()
}

# The fit to the observations that determine the field in cell k of a fit_for_tasks(), with the parameters of that fit.
# NULL if the field has no posterior, or if there are many dimensions, where a cell is hardly wider than its halo.
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

# Contributions to variances below this fraction are omitted if there are many observations. With 1e6 observations, this
# changes standard errors by less than 6e-5, and takes a quarter of the time.
small_share <- 1e-8

# The number of neighbours in the factor of the field, which is chosen as for a fit in memory, see with_latent_field().
neighbours_of_field <- function(object) {
  if (object$blocks$n <= few_latent) object$blocks$m else min(object$blocks$m, most_of_field)
}
